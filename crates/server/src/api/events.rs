//! Server-sent events: the log as it grows. The id of an event is its place in
//! the log, so a client that reconnects misses nothing; when it was away for
//! too long it is told so with one `reset`.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use engine::read::Entry;
use futures_util::stream;
use store::EntryQuery;
use tokio::sync::watch;

use crate::{App, auth::Reader};

/// How far back a client can resume; older history is read through the API.
const REPLAY: u64 = 10_000;
const CHUNK: usize = 256;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Feed {
    app: App,
    is_owner: bool,
    next: u64,
    size: watch::Receiver<u64>,
    ready: VecDeque<Event>,
}

pub async fn events(State(app): State<App>, reader: Reader, headers: HeaderMap) -> Response {
    let size = app.shared().size();
    let now = *size.borrow();
    let mut ready = VecDeque::new();
    let last = headers
        .get("last-event-id")
        .map(|id| id.to_str().ok().and_then(|id| id.parse::<u64>().ok()));
    let next = match last {
        None => now,
        Some(Some(last)) if last < now && now - last <= REPLAY => last + 1,
        Some(_) => {
            let reset = format!("{{\"position\":{}}}", now.saturating_sub(1));
            let event = Event::default().event("reset").data(reset);
            ready.push_back(event.id(now.saturating_sub(1).to_string()));
            now
        }
    };
    let feed = Feed {
        app,
        is_owner: reader.is_owner,
        next,
        size,
        ready,
    };
    let events = stream::unfold(feed, |mut feed| async move {
        let event = feed.next_event().await?;
        Some((Ok::<_, Infallible>(event), feed))
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    let no_buffering = [
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (no_buffering, Sse::new(events).keep_alive(alive)).into_response()
}

impl Feed {
    /// The next event; `None` ends the stream, and the client comes back.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            tokio::select! {
                grown = self.size.wait_for(|size| *size > self.next) => drop(grown.ok()?),
                () = self.app.stopped() => return None,
            }
            let query = EntryQuery {
                from: self.next,
                limit: CHUNK,
                ..EntryQuery::default()
            };
            let entries = self.app.shared().entries(query).await.ok()?;
            self.next = entries.last()?.position + 1;
            let seen = entries
                .iter()
                .filter(|entry| self.is_owner || is_public(entry));
            self.ready.extend(seen.filter_map(event));
        }
    }
}

/// Accounts and administration are owners' business.
pub fn is_public(entry: &Entry) -> bool {
    entry.stream.starts_with("agent/")
}

fn event(entry: &Entry) -> Option<Event> {
    let data = serde_json::to_string(entry).ok()?;
    Some(
        Event::default()
            .id(entry.position.to_string())
            .event(&entry.event_type)
            .data(data),
    )
}

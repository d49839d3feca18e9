//! Server-sent events: the log as it grows. The id of an event is its place in
//! the log and which log that is, so a client that reconnects misses nothing;
//! when it was away for too long, or the log is not the one it knew, it is told
//! so with one `reset`.
//!
//! Between them stands what is on no log: that a device of the reader's came or
//! went. It has no id, and is not told again.
//!
//! A stream lasts no longer than the right to read it: who reads is looked up
//! again before each event.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use ::wake::sweep::digits;
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
use serde_json::json;
use store::EntryQuery;
use tokio::sync::{broadcast, watch};
use trail::Hash;

use crate::{App, auth::Reader, link::Presence};

/// How far back a client can resume; older history is read through the API.
const REPLAY: u64 = 10_000;
const CHUNK: usize = 256;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Feed {
    app: App,
    reader: Reader,
    log: String,
    /// What tells a new client where it stands.
    opening: Option<Event>,
    next: u64,
    size: watch::Receiver<u64>,
    presences: broadcast::Receiver<Presence>,
    ready: VecDeque<Entry>,
}

pub async fn events(State(app): State<App>, reader: Reader, headers: HeaderMap) -> Response {
    let size = app.shared().size();
    let now = *size.borrow();
    let log = fingerprint(app.shared().keys.log.name());
    let last = headers
        .get("last-event-id")
        .map(|id| id.to_str().ok().and_then(|id| place(id, &log)));
    let newest = now.saturating_sub(1);
    let here = Event::default().id(id(newest, &log));
    let (opening, next) = match last {
        // An id without data is remembered and shown to nobody: who is cut off
        // before the first event still knows where to go on.
        None => (Some(here), now),
        Some(Some(last)) if last < now && now - last <= REPLAY => (None, last + 1),
        Some(_) => {
            let reset = format!("{{\"position\":{newest}}}");
            (Some(here.event("reset").data(reset)), now)
        }
    };
    let feed = Feed {
        presences: app.link.presences(),
        app,
        reader,
        log,
        opening,
        next,
        size,
        ready: VecDeque::new(),
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

/// Eight hex digits for a log's origin: a restored log has another one, and
/// what its places hold may differ from what a client has seen there.
fn fingerprint(origin: &str) -> String {
    let mut digits = Hash::of("wakeful/events/1", &[origin.as_bytes()]).to_string();
    digits.truncate(8);
    digits
}

fn id(position: u64, log: &str) -> String {
    format!("{position}@{log}")
}

/// The place that an id names in this log. A bare number is taken at its word.
fn place(id: &str, log: &str) -> Option<u64> {
    let position = match id.split_once('@') {
        Some((position, of)) if of == log => position,
        Some(_) => return None,
        None => id,
    };
    digits(position)
}

impl Feed {
    /// A device is its owner's business alone.
    fn presence(&self, heard: &Presence) -> Option<Event> {
        if self.reader.again(&self.app)?.name.as_deref() != Some(&*heard.owner) {
            return None;
        }
        let data = json!({ "agent_id": &*heard.agent_id, "online": heard.online });
        Some(
            Event::default()
                .event("agent_status")
                .data(data.to_string()),
        )
    }

    /// The next event; `None` ends the stream, and the client comes back.
    async fn next_event(&mut self) -> Option<Event> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        loop {
            self.reader = self.reader.again(&self.app)?;
            while let Some(entry) = self.ready.pop_front() {
                if self.reader.is_owner || is_public(&entry) {
                    return event(&entry, &self.log);
                }
            }
            let heard = tokio::select! {
                grown = self.size.wait_for(|size| *size > self.next) => {
                    drop(grown.ok()?);
                    None
                }
                heard = self.presences.recv() => Some(heard),
                () = self.app.stopped() => return None,
            };
            if let Some(heard) = heard {
                // Who missed some is not told of those.
                match heard.ok().and_then(|heard| self.presence(&heard)) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let query = EntryQuery {
                from: self.next,
                limit: CHUNK,
                ..EntryQuery::default()
            };
            let entries = self.app.shared().entries(query).await.ok()?;
            self.next = entries.last()?.position + 1;
            self.ready.extend(entries);
        }
    }
}

/// Accounts and administration are owners' business.
pub fn is_public(entry: &Entry) -> bool {
    is_public_stream(&entry.stream)
}

pub fn is_public_stream(stream: &str) -> bool {
    stream.starts_with("agent/")
}

fn event(entry: &Entry, log: &str) -> Option<Event> {
    let data = serde_json::to_string(entry).ok()?;
    Some(
        Event::default()
            .id(id(entry.position, log))
            .event(&entry.event_type)
            .data(data),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_a_place_in_one_log_alone() {
        let (log, other) = (
            fingerprint("wakeful.local/a"),
            fingerprint("wakeful.local/b"),
        );
        assert_eq!(log.len(), 8);
        assert_eq!(place(&id(7, &log), &log), Some(7));
        assert_eq!(place(&id(7, &log), &other), None);
        assert_eq!(place("7", &log), Some(7));
        for text in ["", "x", "-1", "+7", "7@", "@", &format!("x@{log}")] {
            assert_eq!(place(text, &log), None, "{text}");
        }
    }
}

//! Server-sent events: the log as it grows. The id of an event is its place in
//! the log and which log that is, so a client that reconnects misses nothing;
//! when it was away for too long, or the log is not the one it knew, it is told
//! so with one `reset`.
//!
//! Between them stands what is on no log: that a device of the reader's came or
//! went. It has no id, and is not told again.
//!
//! A stream lasts no longer than the right to read it: who reads is looked up
//! again before each piece. What they read comes from the feed that all share
//! (`feed.rs`); only who was away for a while reads from the store.

use ::wake::sweep::digits;
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderName, header},
    response::{IntoResponse, Response},
};
use engine::read::Entry;
use futures_util::stream;
use serde_json::json;
use store::EntryQuery;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use trail::{Hash, Stream};

use crate::{
    App, Problem,
    auth::Reader,
    feed::{Chunk, News, Seat},
    link::Presence,
};

/// How far back a client can resume; older history is read through the API.
const REPLAY: u64 = 10_000;
/// Entries read from the store at once.
pub const CHUNK: usize = 256;
/// Says nothing, and shows that the connection lives.
const ALIVE: &[u8] = b":\n\n";

struct Watcher {
    app: App,
    reader: Reader,
    log: String,
    /// What tells a new client where it stands.
    opening: Option<Bytes>,
    next: u64,
    seat: Seat,
    presences: broadcast::Receiver<Presence>,
    _place: Option<OwnedSemaphorePermit>,
}

pub async fn events(
    State(app): State<App>,
    reader: Reader,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let holder = reader.holder.as_ref();
    let place = holder
        .map(|holder| app.limits.place_to_watch(holder))
        .transpose()?;
    let last = headers.get("last-event-id");
    if let (Some(holder), Some(_)) = (holder, last) {
        app.limits.may_search(holder, app.shared().clock.now())?;
    }
    let now = *app.shared().size().borrow();
    let log = fingerprint(app.shared().keys.log.name());
    let last = last.map(|id| id.to_str().ok().and_then(|id| place_in(id, &log)));
    let newest = now.saturating_sub(1);
    let here = id(newest, &log);
    let (opening, next) = match last {
        // An id without data is remembered and shown to nobody: who is cut off
        // before the first event still knows where to go on.
        None => (Some(format!("id: {here}\n\n")), now),
        Some(Some(last)) if last < now && now - last <= REPLAY => (None, last + 1),
        Some(_) => {
            let data = format!("{{\"position\":{newest}}}");
            let reset = format!("id: {here}\nevent: reset\ndata: {data}\n\n");
            (Some(reset), now)
        }
    };
    let watcher = Watcher {
        seat: app.feed.sit(now),
        presences: app.link.presences(),
        app,
        reader,
        log,
        opening: opening.map(Bytes::from),
        next,
        _place: place,
    };
    let events = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), watcher))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// The id of the last event so far.
pub fn here(app: &App) -> String {
    let newest = app.shared().size().borrow().saturating_sub(1);
    id(newest, &fingerprint(app.shared().keys.log.name()))
}

/// Eight hex digits for a log's origin: a restored log has another one, and
/// what its places hold may differ from what a client has seen there.
pub fn fingerprint(origin: &str) -> String {
    let mut digits = Hash::of("wakeful/events/1", &[origin.as_bytes()]).to_string();
    digits.truncate(8);
    digits
}

fn id(position: u64, log: &str) -> String {
    format!("{position}@{log}")
}

/// The place that an id names in this log. A bare number is taken at its word.
fn place_in(id: &str, log: &str) -> Option<u64> {
    let position = match id.split_once('@') {
        Some((position, of)) if of == log => position,
        Some(_) => return None,
        None => id,
    };
    digits(position)
}

impl Watcher {
    /// A device is its owner's business alone.
    fn presence(&self, heard: &Presence) -> Option<Bytes> {
        if self.reader.again(&self.app)?.name.as_deref() != Some(&*heard.owner) {
            return None;
        }
        let data = json!({ "agent_id": &*heard.agent_id, "online": heard.online });
        Some(format!("event: agent_status\ndata: {data}\n\n").into())
    }

    /// What to send next; `None` ends the stream, and the client comes back.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        loop {
            self.reader = self.reader.again(&self.app)?;
            let news = self.app.feed.after(self.next, self.reader.is_owner);
            let (text, next) = match news {
                News::Some { text, next } => (text, next),
                News::TooOld => self.catch_up().await?,
                News::Nothing => match self.wait().await? {
                    Some(text) => return Some(text),
                    None => continue,
                },
            };
            self.next = next;
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    /// Waits for something to happen; gives what is on no log.
    async fn wait(&mut self) -> Option<Option<Bytes>> {
        tokio::select! {
            is_alive = self.seat.called() => {
                let nothing_new = is_alive?;
                Some(nothing_new.then_some(Bytes::from_static(ALIVE)))
            }
            // Who missed some is not told of those.
            heard = self.presences.recv() => Some(heard.ok().and_then(|heard| self.presence(&heard))),
            () = self.app.stopped() => None,
        }
    }

    /// Reads what the feed has forgotten.
    async fn catch_up(&self) -> Option<(Bytes, u64)> {
        let query = EntryQuery {
            from: self.next,
            limit: CHUNK,
            ..EntryQuery::default()
        };
        let entries = self.app.shared().entries(query).await.ok()?;
        if let Some(holder) = &self.reader.holder {
            let now = self.app.shared().clock.now();
            self.app.limits.searched(holder, entries.len(), now);
        }
        let chunk = Chunk::of(&entries, &self.log)?;
        Some((chunk.text(self.reader.is_owner), chunk.end()))
    }
}

/// Accounts and administration are owners' business.
pub fn is_public(entry: &Entry) -> bool {
    is_public_stream(&entry.stream)
}

pub fn is_public_stream(stream: &str) -> bool {
    Stream::agent_of(stream).is_some()
}

/// An entry as an event.
pub fn event(entry: &Entry, log: &str) -> Option<String> {
    let data = serde_json::to_string(entry).ok()?;
    let id = id(entry.position, log);
    let name = &entry.event_type;
    Some(format!("id: {id}\nevent: {name}\ndata: {data}\n\n"))
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
        assert_eq!(place_in(&id(7, &log), &log), Some(7));
        assert_eq!(place_in(&id(7, &log), &other), None);
        assert_eq!(place_in("7", &log), Some(7));
        for text in ["", "x", "-1", "+7", "7@", "@", &format!("x@{log}")] {
            assert_eq!(place_in(text, &log), None, "{text}");
        }
    }
}

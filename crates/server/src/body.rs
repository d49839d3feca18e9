//! Request bodies: JSON, within a limit, within a time, and all that are held
//! at once within a share of memory.
//!
//! What commonly arrives together with the head needs no room: the connection
//! has it in memory anyway. For anything more, whoever is known reserves all of
//! it at once within a share of their own; a stranger has room for nothing that
//! has not arrived, little of it, and a share of that for each address.

use std::{
    net::IpAddr,
    ops::Deref,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, StatusCode, Version, header},
};
use engine::Refusal;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wakelink::relay::network;

use crate::{
    Problem,
    code::Code,
    limits::{Holder, Shares},
};

/// A sender slower than this holds a connection for nothing.
const TIME: Duration = Duration::from_secs(30);
/// A stranger sends a name and a password, or what they wrote before their
/// session ended: that takes seconds.
const STRANGERS_TIME: Duration = Duration::from_secs(10);
/// How much of a refused body is read before the refusal is sent.
const DISCARDED: usize = 16 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// What commonly arrives together with the head.
const WITH_THE_HEAD: u64 = 8 << 10;
/// For requests that carry no content of their own.
pub const SMALL: usize = 64 << 10;

/// Who sends a body.
#[derive(Clone, Copy, Debug)]
pub enum Sender<'a> {
    /// By the id of its key.
    Agent(&'a str),
    /// By name; the operator is one too.
    Person(&'a str),
    /// By a session's id: its cookie is the only proof so far.
    Cookie(&'a str),
    Stranger(IpAddr),
}

impl<'a> Sender<'a> {
    pub fn of(holder: &'a Holder) -> Sender<'a> {
        match holder {
            Holder::Person(name) => Sender::Person(name),
            Holder::Cookie { session_id, .. } => Sender::Cookie(session_id),
        }
    }
}

/// Room for the bodies that are in memory at once, from the first byte to the
/// answer: connections are many, and what each may send is large. Agents who
/// fill theirs keep no person from answering, and no stranger keeps anyone.
#[derive(Debug)]
pub struct Rooms {
    agents: Room,
    people: Room,
    /// Of people as far as their cookie shows it: a page's form has its key
    /// inside.
    by_cookie: Room,
    strangers: Room,
}

impl Default for Rooms {
    fn default() -> Rooms {
        Rooms {
            // A quarter for one key: a dozen of the largest deliveries at once.
            agents: Room::new(48 << 20, 12 << 20),
            // The largest form of a person has 3 MiB.
            people: Room::new(16 << 20, 4 << 20),
            by_cookie: Room::new(12 << 20, 3 << 20),
            // Two drafts of the largest kind from one address, eight in all.
            strangers: Room::new(2 << 20, 512 << 10),
        }
    }
}

#[derive(Debug)]
struct Room {
    bytes: u32,
    free: Arc<Semaphore>,
    /// The part of it that one sender may have.
    shares: Shares,
}

/// A body, and its share of the room for as long as it is needed.
#[derive(Debug)]
pub struct Held {
    bytes: Bytes,
    _share: Share,
}

/// A part of the sender's share, and as much of the room.
#[derive(Debug, Default)]
struct Share {
    own: Option<OwnedSemaphorePermit>,
    room: Option<OwnedSemaphorePermit>,
}

impl Share {
    fn bytes(&self) -> usize {
        self.own
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn add(&mut self, more: Share) {
        let join = |held: &mut Option<OwnedSemaphorePermit>, more| match (held.as_mut(), more) {
            (Some(held), Some(more)) => held.merge(more),
            (None, more) => *held = more,
            (Some(_), None) => {}
        };
        join(&mut self.own, more.own);
        join(&mut self.room, more.room);
    }
}

impl Room {
    /// How long to wait for others to be done.
    const PATIENCE: Duration = Duration::from_secs(2);

    fn new(bytes: u32, share: u32) -> Room {
        Room {
            bytes,
            free: Arc::new(Semaphore::new(bytes as usize)),
            shares: Shares::new(share as usize),
        }
    }

    /// Room for so many bytes more than are held. A body larger than its
    /// sender's share has the share for itself.
    async fn grow(&self, sender: &str, held: &Share, to: usize) -> Result<Share, Problem> {
        let most = self.shares.each().min(self.bytes as usize);
        let Some(more) = to
            .min(most)
            .checked_sub(held.bytes())
            .filter(|more| *more > 0)
        else {
            return Ok(Share::default());
        };
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let own = self.shares.take(sender, more, Self::PATIENCE).await;
        let own = own.ok_or_else(too_many)?;
        let room = Arc::clone(&self.free).acquire_many_owned(more);
        match tokio::time::timeout(Self::PATIENCE, room).await {
            Ok(Ok(room)) => Ok(Share {
                own: Some(own),
                room: Some(room),
            }),
            _ => Err(Refusal::Busy.into()),
        }
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a JSON body of at most `limit` bytes.
pub async fn read(
    rooms: &Rooms,
    sender: Sender<'_>,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Held, Problem> {
    if !is_json(headers) {
        let detail = "Send JSON, with Content-Type: application/json.";
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::NotJsonContent,
            detail,
        ));
    }
    read_any(rooms, sender, body, limit).await
}

/// Reads a body of any kind, of at most `limit` bytes.
pub async fn read_any(
    rooms: &Rooms,
    sender: Sender<'_>,
    body: Body,
    limit: usize,
) -> Result<Held, Problem> {
    let size = body.size_hint();
    if size.lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let most = size.upper().and_then(|upper| usize::try_from(upper).ok());
    let most = most.unwrap_or(limit).min(limit);
    let (room, name, time) = match sender {
        Sender::Agent(key_id) => (&rooms.agents, key_id, TIME),
        Sender::Person(name) => (&rooms.people, name, TIME),
        Sender::Cookie(session_id) => (&rooms.by_cookie, session_id, TIME),
        Sender::Stranger(address) => {
            let name = network(address).to_string();
            let reading = read_as_it_comes(&rooms.strangers, &name, body, limit);
            let read = tokio::time::timeout(STRANGERS_TIME, reading).await;
            return read.unwrap_or_else(|_| Err(too_slow()));
        }
    };
    let mut share = Share::default();
    if most as u64 > WITH_THE_HEAD {
        share = room.grow(name, &share, most).await?;
    }
    match tokio::time::timeout(time, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(Held {
            bytes: collected.to_bytes(),
            _share: share,
        }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(_)) => Err(incomplete()),
        Err(_) => Err(too_slow()),
    }
}

/// Reads a body for which room is made only when some of it is there.
async fn read_as_it_comes(
    room: &Room,
    sender: &str,
    mut body: Body,
    limit: usize,
) -> Result<Held, Problem> {
    let (mut read, mut share) = (Vec::new(), Share::default());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| incomplete())?.into_data() else {
            continue;
        };
        if read.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        read.extend_from_slice(&data);
        if read.len() as u64 > WITH_THE_HEAD {
            let more = room.grow(sender, &share, read.len()).await?;
            share.add(more);
        }
    }
    Ok(Held {
        bytes: read.into(),
        _share: share,
    })
}

fn incomplete() -> Problem {
    let detail = "The body ended early. Send it again.";
    Problem::new(StatusCode::BAD_REQUEST, Code::BodyIncomplete, detail)
}

fn too_slow() -> Problem {
    let detail = "The body took too long to arrive. Send it again.";
    Problem::new(StatusCode::REQUEST_TIMEOUT, Code::BodyTooSlow, detail)
}

fn too_many() -> Problem {
    let detail = "Too many large bodies of yours are arriving at once. Send fewer at a time.";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::TooManyBodies, detail).retry_after(2)
}

fn too_large(limit: usize) -> Problem {
    let detail =
        format!("The body is larger than {limit} bytes. Send less, or a link to the rest.");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge, detail)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// A body that whoever refuses the request can still read to its end.
#[derive(Clone, Debug)]
pub struct Lent(Arc<Mutex<Body>>);

impl Lent {
    /// Lends the body of a request to those who answer it, unless all of it is
    /// there already, or its sender waits to be asked for it.
    ///
    /// Over HTTP/2 a body never comes together with the head. The protocol lets a
    /// server refuse it midway, but curl then fails and shows no answer.
    pub fn of(request: &mut Request) -> Option<Lent> {
        let body = request.body();
        let is_small = |bytes| bytes <= WITH_THE_HEAD;
        let is_there = body.is_end_stream()
            || (request.version() <= Version::HTTP_11
                && body.size_hint().upper().is_some_and(is_small));
        if is_there || request.headers().contains_key(header::EXPECT) {
            return None;
        }
        let body = std::mem::take(request.body_mut());
        let lent = Lent(Arc::new(Mutex::new(body)));
        *request.body_mut() = Body::new(lent.clone());
        Some(lent)
    }

    /// Reads on for a while without keeping anything: a sender that is cut off
    /// while it writes would see a broken connection and not the reason.
    pub async fn discard(mut self) {
        let mut read = 0;
        let reading = async {
            while let Some(Ok(frame)) = self.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > DISCARDED {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
    }

    fn with<T>(&self, look: impl FnOnce(Pin<&mut Body>) -> T) -> T {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(Pin::new(&mut body))
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.with(|body| body.poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.with(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.with(|body| body.size_hint())
    }
}

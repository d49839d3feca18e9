//! Request bodies: JSON, within a limit, within a time, and all that are held
//! at once within a share of memory.

use std::{
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
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::Problem;

/// A sender slower than this holds a connection for nothing.
const TIME: Duration = Duration::from_secs(30);
/// How much of a refused body is read before the refusal is sent.
const DISCARDED: usize = 16 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// What commonly arrives together with the head.
const WITH_THE_HEAD: u64 = 8 << 10;
/// For requests that carry no content of their own.
pub const SMALL: usize = 64 << 10;

/// Room for the bodies that are in memory at once, from the first byte to the
/// answer: connections are many, and what each may send is large. Agents who
/// fill theirs keep no person from answering.
#[derive(Debug)]
pub struct Rooms {
    pub agents: Room,
    pub people: Room,
}

impl Default for Rooms {
    fn default() -> Rooms {
        Rooms {
            agents: Room::new(48 << 20),
            people: Room::new(16 << 20),
        }
    }
}

#[derive(Debug)]
pub struct Room {
    bytes: u32,
    free: Semaphore,
}

/// A body, and its share of the room for as long as it is needed.
#[derive(Debug)]
pub struct Held<'a> {
    bytes: Bytes,
    _share: SemaphorePermit<'a>,
}

impl Room {
    /// How long to wait for others to be done.
    const PATIENCE: Duration = Duration::from_secs(2);

    fn new(bytes: u32) -> Room {
        Room {
            bytes,
            free: Semaphore::new(bytes as usize),
        }
    }

    /// A share for so many bytes. A body larger than the room has it for itself.
    async fn share(&self, bytes: usize) -> Result<SemaphorePermit<'_>, Problem> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.bytes);
        match tokio::time::timeout(Self::PATIENCE, self.free.acquire_many(bytes)).await {
            Ok(Ok(share)) => Ok(share),
            _ => Err(Refusal::Busy.into()),
        }
    }
}

impl Deref for Held<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a JSON body of at most `limit` bytes.
pub async fn read<'a>(
    room: &'a Room,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Held<'a>, Problem> {
    if !is_json(headers) {
        let detail = "Send JSON, with Content-Type: application/json.";
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json_content",
            detail,
        ));
    }
    read_any(room, body, limit).await
}

/// Reads a body of any kind, of at most `limit` bytes.
pub async fn read_any(room: &Room, body: Body, limit: usize) -> Result<Held<'_>, Problem> {
    let size = body.size_hint();
    if size.lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let most = size.upper().and_then(|upper| usize::try_from(upper).ok());
    let share = room.share(most.unwrap_or(limit).min(limit)).await?;
    match tokio::time::timeout(TIME, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(Held {
            bytes: collected.to_bytes(),
            _share: share,
        }),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(_)) => {
            let detail = "The body ended early. Send it again.";
            Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "body_incomplete",
                detail,
            ))
        }
        Err(_) => {
            let detail = "The body took too long to arrive. Send it again.";
            Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                detail,
            ))
        }
    }
}

fn too_large(limit: usize) -> Problem {
    let detail =
        format!("The body is larger than {limit} bytes. Send less, or a link to the rest.");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
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
    /// there already, its sender waits to be asked for it, or the protocol can
    /// refuse it by itself.
    pub fn of(request: &mut Request) -> Option<Lent> {
        let there = request.body().size_hint().upper();
        if there.is_some_and(|bytes| bytes <= WITH_THE_HEAD)
            || request.headers().contains_key(header::EXPECT)
            || request.version() > Version::HTTP_11
        {
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

//! From an HTTP request to a WebSocket (RFC 6455, 4.2).

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header},
    response::{IntoResponse, Response},
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};
use wakelink::relay::Pace;

use super::{connection, meter::Metered, seats::Full, wire::Wire};
use crate::{App, Problem, code::Code, transport::Peer};

/// Taken from the wire at once. An idle connection has so much of it in memory.
const READ_BYTES: usize = 1 << 10;

/// For each frame that one may send, so many fragments or control frames.
const PIECES: u32 = 16;

pub async fn open(State(app): State<App>, peer: Peer, mut request: Request) -> Response {
    let key = match key(request.version(), request.headers()) {
        Ok(key) => derive_accept_key(key.as_bytes()),
        Err(refusal) => return refusal.into_response(),
    };
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return Refusal::NotAnUpgrade(request.version()).into_response();
    };
    let seat = match app.link.seats.take(peer.address, &app.link.limits) {
        Ok(seat) => seat,
        Err(full) => return refused(full).into_response(),
    };
    tokio::spawn(async move {
        // Who is gone before it began is no one's failure.
        let Ok(upgraded) = upgrade.await else { return };
        let frame_bytes = app.link.limits.frame_bytes;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            // Frames are gathered on the wire.
            .write_buffer_size(0)
            .max_write_buffer_size(2 * frame_bytes)
            .max_message_size(Some(frame_bytes))
            .max_frame_size(Some(frame_bytes));
        let limits = &app.link.limits;
        let pieces = Pace::new(
            limits.frames_per_second.saturating_mul(PIECES),
            limits.frames_at_once.saturating_mul(PIECES),
        );
        let wire = Wire::new(Metered::new(TokioIo::new(upgraded), pieces));
        let socket = WebSocketStream::from_raw_socket(wire, Role::Server, Some(config)).await;
        // A task of its own: this one holds more than an idle connection needs.
        tokio::spawn(connection::serve(app, seat, socket));
    });
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&key) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

/// The client's key, if it asks for what we speak.
fn key(version: Version, headers: &HeaderMap) -> Result<&HeaderValue, Refusal> {
    let asks = version == Version::HTTP_11
        && lists(headers, header::CONNECTION, "upgrade")
        && lists(headers, header::UPGRADE, "websocket");
    if !asks {
        return Err(Refusal::NotAnUpgrade(version));
    }
    let ours = headers.get(header::SEC_WEBSOCKET_VERSION);
    if ours.is_none_or(|ours| ours != "13") {
        return Err(Refusal::OtherVersion);
    }
    // 16 bytes in base64.
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    key.filter(|key| key.len() == 24).ok_or(Refusal::NoKey)
}

fn lists(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let mut lists = headers.get_all(name).iter();
    lists.any(|list| {
        let list = list.to_str().unwrap_or_default();
        list.split(',')
            .any(|item| item.trim().eq_ignore_ascii_case(word))
    })
}

#[derive(Debug)]
enum Refusal {
    NotAnUpgrade(Version),
    OtherVersion,
    NoKey,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, detail) = match &self {
            Refusal::NotAnUpgrade(_) => (
                StatusCode::UPGRADE_REQUIRED,
                Code::UpgradeRequired,
                "This is a WebSocket: connect with a WebSocket client.",
            ),
            Refusal::OtherVersion => (
                StatusCode::UPGRADE_REQUIRED,
                Code::UpgradeRequired,
                "Only version 13 of WebSocket is spoken here.",
            ),
            Refusal::NoKey => (
                StatusCode::BAD_REQUEST,
                Code::BadWebsocketKey,
                "Send a Sec-WebSocket-Key of 16 random bytes in base64.",
            ),
        };
        let mut response = Problem::new(status, code, detail).into_response();
        let headers = response.headers_mut();
        match self {
            // HTTP/2 has no such headers.
            Refusal::NotAnUpgrade(version) if version <= Version::HTTP_11 => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            }
            Refusal::OtherVersion => {
                let ours = HeaderValue::from_static("13");
                headers.insert(header::SEC_WEBSOCKET_VERSION, ours);
            }
            _ => {}
        }
        response
    }
}

fn refused(full: Full) -> Problem {
    match full {
        Full::ForThisAddress => Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            Code::TooManyConnections,
            "There are too many connections from your address. Close one, or try again later.",
        )
        .retry_after(30),
        Full::Everywhere => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::TooManyConnections,
            "This server has as many connections as it may. Try again later.",
        )
        .retry_after(30),
        Full::Stopping => engine::Refusal::Stopping.into(),
    }
}

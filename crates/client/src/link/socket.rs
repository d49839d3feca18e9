//! One connection to a relay: texts go in and come out. Keep-alive is answered
//! here, and a connection on which nothing is heard counts as broken, since
//! the server would have sent a ping long before.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Upgraded;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};
use wakelink::frame::{Auth, AuthResponse, Error, Frame};

use crate::{Server, link::LinkFault};

/// What the relay lets through.
const FRAME_BYTES: usize = 64 << 10;
/// The server pings every 30 s and gives up after two that were missed.
pub const SILENCE: Duration = Duration::from_secs(75);
/// To connect and to be let in; the server gives 30 s for the latter.
const ADMISSION: Duration = Duration::from_secs(30);

/// What the server grants to whom it lets in.
#[derive(Clone, PartialEq, Eq)]
pub struct Admission {
    pub session_token: String,
    pub expires_in_seconds: u64,
    pub max_requests: u64,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("expires_in_seconds", &self.expires_in_seconds)
            .field("max_requests", &self.max_requests)
            .finish_non_exhaustive()
    }
}

pub struct Socket {
    stream: WebSocketStream<Upgraded>,
    silence: Duration,
    /// The server said that this session is used up; it closes the connection.
    used_up: Option<Error>,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Socket(…)")
    }
}

impl Socket {
    /// Connects and is let in, or not.
    pub async fn connect(server: &Server, auth: Auth) -> Result<(Socket, Admission), LinkFault> {
        let connecting = async {
            let mut socket = Socket::open(server).await?;
            let admission = socket.authenticate(auth).await?;
            Ok((socket, admission))
        };
        let late = |_| LinkFault::Silent(ADMISSION.as_secs());
        timeout(ADMISSION, connecting).await.map_err(late)?
    }

    async fn open(server: &Server) -> Result<Socket, LinkFault> {
        let key = generate_key();
        let headers = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", &key),
        ];
        let response = server.upgrade("/wss", &headers).await?;
        let status = response.status().as_u16();
        let accept = response.headers().get("sec-websocket-accept");
        let accepted = accept.is_some_and(|value| *value == derive_accept_key(key.as_bytes()));
        if status != 101 || !accepted {
            let base = server.base().to_owned();
            return Err(LinkFault::NoSocket { base, status });
        }
        let broken = |error: reqwest::Error| LinkFault::Broken(error.to_string());
        let upgraded = response.upgrade().await.map_err(broken)?;
        let config = WebSocketConfig::default()
            .read_buffer_size(8 << 10)
            .write_buffer_size(0)
            .max_write_buffer_size(4 * FRAME_BYTES)
            .max_message_size(Some(FRAME_BYTES))
            .max_frame_size(Some(FRAME_BYTES));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Socket {
            stream,
            silence: SILENCE,
            used_up: None,
        })
    }

    async fn authenticate(&mut self, auth: Auth) -> Result<Admission, LinkFault> {
        self.send(Frame::Auth(auth).text()).await?;
        loop {
            match Frame::read(&self.next().await?) {
                Ok(Frame::AuthResponse(AuthResponse::Authenticated {
                    session_token,
                    expires_in,
                    max_requests,
                })) => {
                    return Ok(Admission {
                        session_token,
                        expires_in_seconds: expires_in,
                        max_requests,
                    });
                }
                Ok(Frame::AuthResponse(AuthResponse::Failed {
                    error,
                    code: Some(code),
                    ..
                })) => return Err(LinkFault::Relay { code, error }),
                Ok(Frame::AuthResponse(AuthResponse::Failed {
                    error, retry_after, ..
                })) => {
                    return Err(LinkFault::Refused {
                        error,
                        retry_after_seconds: retry_after,
                    });
                }
                Ok(Frame::Error(Error { code, error, .. })) => {
                    return Err(LinkFault::Relay { code, error });
                }
                _ => {}
            }
        }
    }

    /// With another time after which silence means that it is broken.
    pub fn patient(self, silence: Duration) -> Socket {
        Socket { silence, ..self }
    }

    pub async fn send(&mut self, text: String) -> Result<(), LinkFault> {
        let sent = self.stream.send(Message::text(text)).await;
        sent.map_err(|error| LinkFault::Broken(error.to_string()))
    }

    /// The next text that is not about the connection itself.
    pub async fn next(&mut self) -> Result<String, LinkFault> {
        loop {
            let silent = |_| LinkFault::Silent(self.silence.as_secs());
            let message = timeout(self.silence, self.stream.next()).await;
            match message.map_err(silent)? {
                Some(Ok(Message::Text(text))) => match Frame::read(&text) {
                    Ok(Frame::Ping) => self.send(Frame::Pong.text()).await?,
                    Ok(Frame::Error(error)) if is_final(&error) => self.used_up = Some(error),
                    _ => return Ok(text.to_string()),
                },
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = frame.map_or((1005, String::new()), |frame| {
                        (frame.code.into(), frame.reason.to_string())
                    });
                    return Err(self.ended(LinkFault::Closed { code, reason }));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    return Err(self.ended(LinkFault::Broken(error.to_string())));
                }
                None => return Err(self.ended(LinkFault::Broken("it ended".to_owned()))),
            }
        }
    }

    /// Why it ended: what the server said before is the better reason.
    fn ended(&mut self, fault: LinkFault) -> LinkFault {
        match self.used_up.take() {
            Some(Error { code, error, .. }) => LinkFault::UsedUp { code, error },
            None => fault,
        }
    }

    /// Ends it in an orderly way, if the other side still listens.
    pub async fn close(mut self) {
        let _ = timeout(Duration::from_secs(2), self.stream.close(None)).await;
    }
}

/// Errors after which the server closes, and a new session is all it takes.
/// Only noted: a relayed text can look like one.
fn is_final(error: &Error) -> bool {
    matches!(error.code.as_str(), "LIMIT_EXCEEDED" | "SESSION_EXPIRED")
}

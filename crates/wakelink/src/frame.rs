//! What passes between the server and whoever is connected to it, as JSON text
//! frames: both sides write and read these. Packets between a client and a
//! device are no frames of ours, and have no `type`.

use serde::{Deserialize, Serialize};

use crate::json::object;

/// A frame, told apart by its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Frame {
    Auth(Auth),
    AuthResponse(AuthResponse),
    Ping,
    Pong,
    AgentStatus(AgentStatus),
    Relay(Relay),
    Error(Error),
}

impl Frame {
    pub fn read(text: &str) -> serde_json::Result<Frame> {
        object(text.as_bytes())
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a frame has string keys and cannot fail")
    }
}

/// The first thing that is said, by whoever connects.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auth {
    /// A person's `wl_` token, or a device's `wld_` token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_token: Option<String>,
    /// A `wls_` token, which lasts a day: better for a person's programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
    /// One of [`ClientType`]; what is none of them is refused in words.
    #[serde(default)]
    pub client_type: String,
    /// Of a device: which one it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Tokens stay out of what is printed.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth")
            .field("client_type", &self.client_type)
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}

/// What somebody says they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientType {
    Client,
    Device,
    /// The same as a device.
    Firmware,
}

impl ClientType {
    pub const ALL: [ClientType; 3] = [ClientType::Client, ClientType::Device, ClientType::Firmware];

    pub fn as_str(self) -> &'static str {
        match self {
            ClientType::Client => "client",
            ClientType::Device => "device",
            ClientType::Firmware => "firmware",
        }
    }

    pub fn parse(text: &str) -> Option<ClientType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Auth {
    /// A device with its own token.
    pub fn device(agent_id: impl Into<String>, token: impl Into<String>) -> Auth {
        Auth {
            api_token: Some(token.into()),
            client_type: ClientType::Device.as_str().to_owned(),
            agent_id: Some(agent_id.into()),
            ..Auth::default()
        }
    }

    /// A person's program, with their own token.
    pub fn client(token: impl Into<String>) -> Auth {
        Auth {
            api_token: Some(token.into()),
            client_type: ClientType::Client.as_str().to_owned(),
            ..Auth::default()
        }
    }

    /// A person's program, with a session token.
    pub fn session(token: impl Into<String>) -> Auth {
        Auth {
            session_token: Some(token.into()),
            client_type: ClientType::Client.as_str().to_owned(),
            ..Auth::default()
        }
    }
}

/// The `code` for whoever would be one too many of their person's.
pub const TOO_MANY_CONNECTIONS: &str = "TOO_MANY_CONNECTIONS";

/// What the server says to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AuthResponse {
    Authenticated {
        session_token: String,
        /// Seconds that are left of the session.
        expires_in: u64,
        /// Requests that are left of it.
        max_requests: u64,
    },
    Failed {
        error: String,
        /// There only if it is not the token that is wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Seconds; there only while nobody at this address is let in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
}

impl std::fmt::Debug for AuthResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AuthResponse::Authenticated {
                expires_in,
                max_requests,
                ..
            } => f
                .debug_struct("Authenticated")
                .field("expires_in", expires_in)
                .field("max_requests", max_requests)
                .finish_non_exhaustive(),
            AuthResponse::Failed {
                error,
                code,
                retry_after,
            } => f
                .debug_struct("Failed")
                .field("error", error)
                .field("code", code)
                .field("retry_after", retry_after)
                .finish(),
        }
    }
}

/// Whether a device is connected: to all of its owner's clients, when it
/// changes and right after they came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub agent_id: String,
    pub online: bool,
}

/// A client's envelope. The device gets the payload and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay {
    pub payload: String,
    /// Taken, and neither looked at nor passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    pub agent_id: String,
    /// Comes back in an error about this envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Something was not done, or the connection is about to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// A sentence.
    pub error: String,
    /// For programs; see [`crate::relay::Code`].
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The session that a packet named which went nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_spelled_as_on_the_wire_and_read_back() {
        let frames = [
            (
                Frame::Auth(Auth::device("WL35080814", "wld_abc")),
                r#"{"type":"auth","api_token":"wld_abc","client_type":"device","agent_id":"WL35080814"}"#,
            ),
            (
                Frame::Auth(Auth::session("wls_abc")),
                r#"{"type":"auth","session_token":"wls_abc","client_type":"client"}"#,
            ),
            (
                Frame::AuthResponse(AuthResponse::Authenticated {
                    session_token: "wls_abc".to_owned(),
                    expires_in: 86_400,
                    max_requests: 10_000,
                }),
                r#"{"type":"auth_response","status":"authenticated","session_token":"wls_abc","expires_in":86400,"max_requests":10000}"#,
            ),
            (
                Frame::AuthResponse(AuthResponse::Failed {
                    error: "Invalid token".to_owned(),
                    code: None,
                    retry_after: Some(600),
                }),
                r#"{"type":"auth_response","status":"failed","error":"Invalid token","retry_after":600}"#,
            ),
            (
                Frame::AuthResponse(AuthResponse::Failed {
                    error: "Invalid token".to_owned(),
                    code: None,
                    retry_after: None,
                }),
                r#"{"type":"auth_response","status":"failed","error":"Invalid token"}"#,
            ),
            (
                Frame::AuthResponse(AuthResponse::Failed {
                    error: "Too many".to_owned(),
                    code: Some(TOO_MANY_CONNECTIONS.to_owned()),
                    retry_after: None,
                }),
                r#"{"type":"auth_response","status":"failed","error":"Too many","code":"TOO_MANY_CONNECTIONS"}"#,
            ),
            (Frame::Ping, r#"{"type":"ping"}"#),
            (Frame::Pong, r#"{"type":"pong"}"#),
            (
                Frame::AgentStatus(AgentStatus {
                    agent_id: "WL35080814".to_owned(),
                    online: true,
                }),
                r#"{"type":"agent_status","agent_id":"WL35080814","online":true}"#,
            ),
            (
                Frame::Relay(Relay {
                    payload: r#"{"sid":"a1"}"#.to_owned(),
                    signature: None,
                    agent_id: "WL35080814".to_owned(),
                    request_id: Some("X7K2M9P1".to_owned()),
                }),
                r#"{"type":"relay","payload":"{\"sid\":\"a1\"}","agent_id":"WL35080814","request_id":"X7K2M9P1"}"#,
            ),
            (
                Frame::Error(Error {
                    error: "Session request limit exceeded".to_owned(),
                    code: "LIMIT_EXCEEDED".to_owned(),
                    request_id: None,
                    sid: None,
                }),
                r#"{"type":"error","error":"Session request limit exceeded","code":"LIMIT_EXCEEDED"}"#,
            ),
        ];
        for (frame, text) in frames {
            assert_eq!(frame.text(), text);
            assert_eq!(Frame::read(text).unwrap(), frame);
        }
    }

    #[test]
    fn what_is_no_object_is_no_frame() {
        for text in [
            r#"["auth","wl_x",null,"client"]"#,
            r#" ["ping"]"#,
            r#""ping""#,
            "null",
            "",
        ] {
            assert!(Frame::read(text).is_err(), "{text}");
        }
        let spaced = " \r\n\t{\"type\":\"ping\"}";
        assert_eq!(Frame::read(spaced).unwrap(), Frame::Ping);
    }

    #[test]
    fn tokens_are_not_in_what_is_printed() {
        let auth = Frame::Auth(Auth::client("wl_secret"));
        assert!(!format!("{auth:?}").contains("secret"));
        let response = AuthResponse::Authenticated {
            session_token: "wls_secret".to_owned(),
            expires_in: 1,
            max_requests: 1,
        };
        assert!(!format!("{response:?}").contains("secret"));
    }
}

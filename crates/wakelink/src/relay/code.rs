//! The `code` of an error frame, and its sentence.

use crate::{
    frame::{Error, Frame},
    relay::incoming::SID_BYTES,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    BadFrame,
    UnknownAgent,
    AgentOffline,
    UnknownSession,
    LimitExceeded,
    SessionExpired,
}

impl Code {
    pub const ALL: [Code; 6] = [
        Code::BadFrame,
        Code::UnknownAgent,
        Code::AgentOffline,
        Code::UnknownSession,
        Code::LimitExceeded,
        Code::SessionExpired,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Code::BadFrame => "BAD_FRAME",
            Code::UnknownAgent => "UNKNOWN_AGENT",
            Code::AgentOffline => "AGENT_OFFLINE",
            Code::UnknownSession => "UNKNOWN_SESSION",
            Code::LimitExceeded => "LIMIT_EXCEEDED",
            Code::SessionExpired => "SESSION_EXPIRED",
        }
    }

    pub fn sentence(self) -> &'static str {
        match self {
            Code::BadFrame => "The frame is not one that can be taken here",
            Code::UnknownAgent => "You have no device with this agent_id",
            Code::AgentOffline => "The device is not connected",
            Code::UnknownSession => "No session with this sid is open on this connection",
            Code::LimitExceeded => "Session request limit exceeded",
            Code::SessionExpired => "The session has ended: authenticate again",
        }
    }

    /// The frame that says so.
    pub fn frame(self, request_id: Option<&str>) -> Frame {
        self.frame_in_words(self.sentence(), request_id)
    }

    /// The same in other words.
    pub fn frame_in_words(self, sentence: &str, request_id: Option<&str>) -> Frame {
        Frame::Error(Error {
            error: sentence.to_owned(),
            code: self.as_str().to_owned(),
            request_id: request_id.map(str::to_owned),
            sid: None,
        })
    }

    /// The same about a packet of this session.
    pub fn frame_about(self, sid: &str, request_id: Option<&str>) -> Frame {
        Frame::Error(Error {
            error: self.sentence().to_owned(),
            code: self.as_str().to_owned(),
            request_id: request_id.map(str::to_owned),
            sid: (sid.len() <= SID_BYTES).then(|| sid.to_owned()),
        })
    }
}

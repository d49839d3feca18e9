//! Why something did not come about over the relay.

use wakelink::{Refusal, frame::TOO_MANY_CONNECTIONS};

use crate::ServerFault;

#[derive(Debug, thiserror::Error)]
pub enum LinkFault {
    #[error(transparent)]
    Server(#[from] ServerFault),
    #[error("{base} opened no WebSocket: it answered {status}")]
    NoSocket { base: String, status: u16 },
    #[error("the server refused the token: {error}")]
    Refused {
        error: String,
        retry_after_seconds: Option<u64>,
    },
    /// Neither yes nor no: a proxy whose server is away, a server that is full
    /// or stopping, or something that is no such server at all.
    #[error("{base} answered {status}{detail}")]
    Answered {
        base: String,
        status: u16,
        /// Empty, or what it said, after a colon.
        detail: String,
        retry_after_seconds: Option<u64>,
    },
    #[error("the server closed the connection ({code} {reason})")]
    Closed { code: u16, reason: String },
    #[error("the session is used up: {error} ({code})")]
    UsedUp { code: String, error: String },
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("nothing was heard for {0} s")]
    Silent(u64),
    #[error("{error} ({code})")]
    Relay { code: String, error: String },
    #[error("the device has another secret: compare fingerprints, and pair again")]
    OtherSecret,
    #[error("the device did not answer in {0} s")]
    NoAnswer(u64),
    #[error("what the device said cannot be read")]
    Unreadable,
    #[error("it could not be sealed: {0}")]
    Sealed(Refusal),
    #[error("the system gave no random bytes")]
    Random,
}

impl LinkFault {
    /// How long the server wants to be left alone.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            LinkFault::Refused {
                retry_after_seconds,
                ..
            }
            | LinkFault::Answered {
                retry_after_seconds,
                ..
            } => *retry_after_seconds,
            _ => None,
        }
    }

    /// Whether the same may be granted later although nobody does anything
    /// about it.
    pub fn may_pass(&self) -> bool {
        match self {
            LinkFault::Relay { code, .. } => code == TOO_MANY_CONNECTIONS,
            fault => !fault.is_refusal() || fault.retry_after_seconds().is_some(),
        }
    }

    /// Refused or not there, in contrast to what failed on the way.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            LinkFault::Refused { .. } | LinkFault::Relay { .. } | LinkFault::OtherSecret
        )
    }
}

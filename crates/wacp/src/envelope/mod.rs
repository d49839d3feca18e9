//! The unit of communication: checked, perhaps held at a gate, delivered in
//! order, acknowledged, and sent again up to three times (WACP §4.2, §5.5).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    content::Content,
    event::EnvelopeCreated,
    id::{EnvelopeId, GateId, Party, UserId, WorkspaceId},
    integrity::{Check, Proof},
    right::RightKind,
    role::EnvelopeType,
};

pub mod apply;
pub mod delivery;
pub mod send;

pub use apply::{acknowledged, pause_or_resume};
pub use delivery::{acknowledge, drain, drain_with, post_directive, redeliver, reject_pending};
pub use send::{Post, check_sent, dispatch, inject, post, send, turn_away};

/// Redeliveries after the first attempt (WACP §12.5).
pub const MAX_REDELIVERIES: u8 = 3;
/// Acknowledged envelopes that an inbox remembers, to know a repetition.
pub const MAX_TAKEN: usize = 32;
/// Injections that can still be named as the cause of a workspace: the latest.
pub const MAX_CAUSES: usize = 4096;
/// Envelopes that may wait for one receiver at once.
pub const MAX_WAITING: u32 = 10_000;
/// Rights that one envelope may carry.
pub const MAX_RIGHTS: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Later deliveries to the same inbox wait until it is taken.
    Blocking,
    Urgent,
    #[default]
    Normal,
}

/// Assigned by the runtime, never by the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Agent,
    Human,
}

/// What an envelope of the protocol's own asks for (WACP §6.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    GracefulTermination,
}

/// What a sender may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEnvelope {
    pub check: Check,
    pub envelope_type: EnvelopeType,
    pub in_reply_to: Option<EnvelopeId>,
    pub payload: Content,
    pub priority: Priority,
    pub proof: Option<Proof>,
    pub rights: Arc<[(RightKind, WorkspaceId)]>,
    pub to: WorkspaceId,
}

impl NewEnvelope {
    /// A plain envelope whose proof the caller has verified; the hash of what
    /// it carries is recorded as the proof until another is put in its place.
    pub fn to(to: WorkspaceId, envelope_type: EnvelopeType, payload: Content) -> NewEnvelope {
        NewEnvelope {
            check: Check::Valid,
            envelope_type,
            in_reply_to: None,
            payload,
            priority: Priority::Normal,
            proof: Some(Proof::unverified(payload.hash)),
            rights: Arc::from([]),
            to,
        }
    }
}

/// Who wrote an envelope. With the receiver it is the channel, in which order is
/// kept: every person has one of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The directive of a creation, which the runtime delivers.
    Creation,
    User(UserId),
    Workspace(WorkspaceId),
}

impl Sender {
    pub fn workspace(self) -> Option<WorkspaceId> {
        match self {
            Sender::Workspace(id) => Some(id),
            Sender::Creation | Sender::User(_) => None,
        }
    }

    pub fn origin(self) -> Origin {
        match self {
            Sender::User(_) => Origin::Human,
            Sender::Creation | Sender::Workspace(_) => Origin::Agent,
        }
    }

    /// The sender of an envelope on the trail: a person is its originator.
    pub fn of(created: &EnvelopeCreated) -> Sender {
        match (created.from, created.origin, created.originator) {
            (Some(id), ..) => Sender::Workspace(id),
            (None, Origin::Human, Party::User(user)) => Sender::User(user),
            (None, ..) => Sender::Creation,
        }
    }
}

/// An accepted envelope that its receiver has not taken yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub sender: Sender,
    pub envelope_type: EnvelopeType,
    pub priority: Priority,
    pub originator: Party,
    pub payload: Content,
    pub rights: Arc<[(RightKind, WorkspaceId)]>,
    /// Of the request to finish: how long the receiver has.
    pub grace_us: Option<u64>,
    pub progress: Progress,
    /// A person is to be asked about it, and was not yet.
    pub unasked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Accepted; the inbox, the channel or the receiver is not free.
    Queued,
    /// A person is asked first, or the coordinator after them.
    Gated(GateId),
    Delivered {
        /// Redeliveries so far.
        attempt: u8,
        next_at: Micros,
    },
}

impl Pending {
    pub fn gate(&self) -> Option<GateId> {
        match self.progress {
            Progress::Gated(gate) => Some(gate),
            _ => None,
        }
    }

    pub fn attempts(&self) -> u8 {
        match self.progress {
            Progress::Delivered { attempt, .. } => attempt + 1,
            _ => 0,
        }
    }

    /// Whether nothing else arrives until it is taken.
    pub fn blocks_inbox(&self) -> bool {
        self.priority == Priority::Blocking && self.attempts() > 0
    }

    /// Whether it holds others back or is itself held back.
    pub fn is_hindrance(&self) -> bool {
        match self.progress {
            Progress::Queued | Progress::Gated(_) => true,
            Progress::Delivered { attempt, .. } => {
                attempt > 0 || self.priority == Priority::Blocking
            }
        }
    }
}

/// How long to wait after the given redelivery: longer each time, linearly.
pub fn patience_us(base_us: u64, attempt: u8) -> u64 {
    base_us.saturating_mul(u64::from(attempt) + 1)
}

//! Facts of signals, envelopes and port rights.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    content::Content,
    envelope::{Intent, Origin, Priority},
    id::{CheckpointId, EnvelopeId, Party, RightId, SignalId, WorkspaceId},
    integrity::Proof,
    rejection::Refusal,
    right::RightKind,
    role::{EnvelopeType, Text},
    signal::{SignalEffect, SignalType},
};

/// What a signal speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    Checkpoint(CheckpointId),
    Envelope(EnvelopeId),
    Workspace(WorkspaceId),
}

/// A signal was emitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalEmitted {
    pub effect: SignalEffect,
    pub from: WorkspaceId,
    pub reason: Option<Text>,
    #[serde(rename = "ref")]
    pub reference: Option<Reference>,
    pub signal: SignalId,
    #[serde(rename = "type")]
    pub signal_type: SignalType,
}

/// A signal reached the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalDelivered {
    pub delivered_to: WorkspaceId,
    pub from: WorkspaceId,
    pub signal: SignalId,
}

/// An envelope was accepted: created and validated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeCreated {
    pub envelope: EnvelopeId,
    /// `None` for what the runtime or a person sends.
    pub from: Option<WorkspaceId>,
    /// With an intent to end: how long the receiver has.
    pub grace_us: Option<u64>,
    pub in_reply_to: Option<EnvelopeId>,
    pub intent: Option<Intent>,
    pub origin: Origin,
    pub originator: Party,
    pub payload: Content,
    pub priority: Priority,
    /// The sender's integrity proof; `None` for the runtime's own.
    pub proof: Option<Proof>,
    pub rights: Arc<[(RightKind, WorkspaceId)]>,
    pub to: WorkspaceId,
    #[serde(rename = "type")]
    pub envelope_type: EnvelopeType,
}

/// An envelope is in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeDelivered {
    /// How much the receiver's budget is charged for.
    pub bytes: u64,
    pub envelope: EnvelopeId,
    /// Set where a person changed the payload at the gate.
    pub payload: Option<Content>,
    pub to: WorkspaceId,
}

/// An envelope is not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeRejected {
    /// `None` when it was refused before it had an identifier.
    pub envelope: Option<EnvelopeId>,
    pub envelope_type: EnvelopeType,
    pub from: Option<WorkspaceId>,
    pub reason: Refusal,
    pub to: WorkspaceId,
}

/// An envelope was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeUndeliverable {
    pub attempts: u8,
    pub envelope: EnvelopeId,
    pub from: Option<WorkspaceId>,
    pub reason: Undeliverable,
    pub to: WorkspaceId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undeliverable {
    DeliveryExhausted,
    /// The receiver stopped reading before it took the envelope.
    WorkspaceSealed,
    WorkspaceTerminal,
}

/// An envelope was sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeRedelivered {
    pub attempt: u8,
    pub envelope: EnvelopeId,
    pub next_at: Micros,
    pub to: WorkspaceId,
}

/// A right exists and is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRightCreated {
    pub holder: WorkspaceId,
    pub kind: RightKind,
    pub right: RightId,
    pub target: WorkspaceId,
}

/// A right travelled in an envelope: the receiver holds it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRightTransferred {
    pub from: WorkspaceId,
    pub kind: RightKind,
    pub right: RightId,
    pub target: WorkspaceId,
    pub to: WorkspaceId,
}

/// A right was taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRightRevoked {
    pub holder: WorkspaceId,
    pub kind: RightKind,
    pub right: RightId,
    pub target: WorkspaceId,
}

/// A send-once right was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRightConsumed {
    pub envelope: EnvelopeId,
    pub holder: WorkspaceId,
    pub right: RightId,
    pub target: WorkspaceId,
}

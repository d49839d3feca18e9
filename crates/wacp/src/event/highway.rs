//! Facts of the human highway: gates, injection, escalation.

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    escalation,
    gate::{Answer, GateType, Modification, Proposal, Subject, config::Fallback},
    id::{EnvelopeId, GateId, GraphId, Party, SignalId, TaskId, UserId, WorkspaceId},
    rejection::Refusal,
    role::{EnvelopeType, Text},
};

/// A transition waits for an answer. The subject is here in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateTriggered {
    /// The workspace whose agent wants it; the root is the coordinator's.
    pub asked_by: WorkspaceId,
    pub fallback: Fallback,
    pub gate: GateId,
    pub gate_type: GateType,
    pub graph: Option<GraphId>,
    pub proposal: Proposal,
    /// Gates that were waiting before it.
    pub queue_position: u32,
    pub subject: Subject,
    pub task: Option<TaskId>,
    /// When the fallback happens; `None` waits for ever, by explicit override.
    pub timeout_at: Option<Micros>,
    pub workspace: Option<WorkspaceId>,
}

/// Whom the answer at a gate is for, and what it is about or led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub asked_by: WorkspaceId,
    pub envelope: Option<EnvelopeId>,
    pub task: Option<TaskId>,
    /// The new workspace, if the question was whether to create one.
    pub workspace: Option<WorkspaceId>,
}

/// A gate is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResolved {
    pub about: About,
    pub action: Answer,
    pub gate: GateId,
    pub gate_type: GateType,
    pub modification: Option<Modification>,
    pub reason: Option<ResolutionReason>,
    pub resolver: Resolver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionReason {
    SubjectInvalidated,
    /// The fallback hands the question to the coordinator.
    EscalatedToCoordinator,
}

/// Who answered: a person, the fallback, or the runtime; and the coordinator
/// what a fallback handed to it, which no `gate_resolved` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolver {
    Coordinator,
    Fallback,
    Protocol,
    User(UserId),
}

/// Nobody answered in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateTimeout {
    pub elapsed_us: u64,
    pub fallback: Fallback,
    pub gate: GateId,
    pub gate_type: GateType,
}

/// The same question was asked again after its fallback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReentryBlocked {
    /// About the gate that was handed to the coordinator.
    pub about: Option<About>,
    pub converted_to: Answer,
    /// The gate that was handed to the coordinator, if it was.
    pub gate: Option<GateId>,
    pub gate_type: GateType,
    pub subject: Subject,
}

/// A person sent an envelope, or tried to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanInjection {
    pub envelope: Option<EnvelopeId>,
    pub envelope_type: EnvelopeType,
    /// Why it was rejected; `None` when it was accepted.
    pub rejected: Option<Refusal>,
    pub to: WorkspaceId,
    pub user: UserId,
}

/// An agent asks for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationReceived {
    pub fallback: escalation::Fallback,
    pub owner: Party,
    /// The owner is away for a while; the escalation waits, and its time runs.
    pub queued: bool,
    pub reason: Option<Text>,
    pub signal: SignalId,
    pub timeout_at: Option<Micros>,
    pub workspace: WorkspaceId,
}

/// An escalation is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationResolved {
    pub envelope: Option<EnvelopeId>,
    pub resolver: Resolver,
    pub response: escalation::Response,
    pub signal: SignalId,
    pub workspace: WorkspaceId,
}

/// Nobody answered an escalation in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationTimeout {
    pub elapsed_us: u64,
    pub fallback: escalation::Fallback,
    pub signal: SignalId,
    pub workspace: WorkspaceId,
}

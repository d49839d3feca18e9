//! Why something was not done.
//!
//! A refusal is a value with a stable code. Where the protocol wants the denial
//! on the trail, the rejection carries the entries that record it; they are
//! appended and applied like any others (WACP §5.1, §11.8).

use serde::{Deserialize, Serialize};

use crate::{event::Entry, workspace::budget::Dimension};

/// A refused command, with what the trail must say about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct Rejection {
    pub refusal: Refusal,
    pub record: Vec<Entry>,
}

impl Rejection {
    pub fn code(&self) -> &'static str {
        self.refusal.code()
    }
}

/// The reasons, closed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    // the run
    #[error("the run has not started")]
    NotStarted,
    #[error("the run has already started")]
    AlreadyStarted,
    #[error("the run has ended")]
    RunEnded,
    #[error("something that was due comes first: tick")]
    DueFirst,
    #[error("nothing is due")]
    NothingDue,
    #[error("the taxonomy is not valid")]
    InvalidTaxonomy,
    #[error("the highway is not configured validly")]
    InvalidHighway,
    #[error("a limit of the run is not valid")]
    InvalidLimits,
    #[error("workspaces are still at work")]
    WorkspacesOpen,
    // who
    #[error("this principal may not do this")]
    PermissionDenied,
    #[error("the capability is missing")]
    MissingCapability,
    #[error("the capability does not reach this workspace")]
    WrongScope,
    #[error("the user is not active")]
    UserNotActive,
    #[error("there is no such user")]
    UnknownUser,
    #[error("the user exists already")]
    UserExists,
    #[error("this name cannot be a user's")]
    ReservedName,
    #[error("a user in this state cannot do that")]
    InvalidUserTransition,
    #[error("this capability is implicit and cannot be revoked")]
    Irrevocable,
    #[error("the user does not hold this capability")]
    NotHeld,
    // workspaces
    #[error("there is no such workspace")]
    TargetNotFound,
    #[error("the workspace has ended")]
    TargetTerminal,
    #[error("the workspace is read-only")]
    WorkspaceSealed,
    #[error("not possible in this state")]
    InvalidState,
    #[error("the root workspace is the runtime's")]
    RootIsFixed,
    #[error("an owner must be named")]
    OwnerRequired,
    #[error("there is no such role in this run")]
    UnknownRole,
    #[error("a workspace must have a timeout")]
    TimeoutRequired,
    #[error("the agent must be named")]
    AgentRequired,
    #[error("the agent is bound to another workspace")]
    AgentBound,
    #[error("visibility exceeds the parent's")]
    VisibilityNotContained,
    #[error("authority exceeds the parent's")]
    AuthorityNotContained,
    #[error("the budget exceeds what the parent has left")]
    BudgetNotContained(Dimension),
    #[error("delegation needs the root coordinator's approval")]
    DelegationNotApproved,
    #[error("no more workspaces can be open at once")]
    CapacityExhausted,
    #[error("the tree would be too deep")]
    TreeTooDeep,
    #[error("a limit can only be raised")]
    NotAnIncrease,
    #[error("this measure has no limit")]
    NoLimit,
    #[error("children are still at work")]
    ChildrenOpen,
    #[error("the new parent is the workspace itself or beneath it")]
    ParentCycle,
    #[error("there is no such group")]
    UnknownGroup,
    #[error("the cause is not an injected envelope")]
    UnknownCause,
    #[error("a text is too long")]
    TooLong,
    // signals
    #[error("this signal needs a reason")]
    ReasonRequired,
    #[error("the signal has no meaning in this state")]
    SignalNotAllowed,
    #[error("escalation is off in this run")]
    EscalationDisabled,
    // envelopes and rights
    #[error("no valid send right is held")]
    NoSendRight,
    #[error("the type is not registered")]
    InvalidType,
    #[error("the structure is not valid")]
    InvalidStructure,
    #[error("the integrity proof does not fit")]
    IntegrityViolation,
    #[error("rejected by a person at the gate")]
    GateRejectedByHuman,
    #[error("rejected by the gate's fallback")]
    GateRejectedByFallback,
    #[error("there is no such envelope")]
    UnknownEnvelope,
    #[error("the envelope is not delivered yet")]
    NotDelivered,
    #[error("a receive right cannot be given away")]
    ReceiveRightFixed,
    #[error("injection is off in this run")]
    InjectionDisabled,
    // checkpoints
    #[error("the parent is not the head of the chain")]
    NotChainHead,
    #[error("a resource is outside the workspace's authority")]
    OutsideAuthority,
    #[error("too many artifacts")]
    TooManyArtifacts,
    // integration
    #[error("there is no final checkpoint")]
    NoFinalCheckpoint,
    #[error("there is no such checkpoint")]
    UnknownCheckpoint,
    #[error("another integration into the same parent is under way")]
    IntegrationUnderWay,
    #[error("this strategy does not find conflicts of this type")]
    StrategyCannotDetect,
    #[error("salvage is for failed workspaces with checkpoints")]
    NothingToSalvage,
    #[error("salvage needs the evaluated strategy")]
    SalvageNeedsEvaluated,
    #[error("there is no such open conflict")]
    UnknownConflict,
    // tasks
    #[error("there is no such task")]
    UnknownTask,
    #[error("the tasks would form a cycle")]
    Cycle,
    #[error("a graph needs tasks")]
    EmptyGraph,
    #[error("too many tasks")]
    TooManyTasks,
    #[error("a dependency is in another graph")]
    OtherGraph,
    #[error("not possible in this task's status")]
    InvalidTaskStatus,
    #[error("a dependency is not done")]
    TaskNotReady,
    #[error("an estimate is not valid")]
    InvalidEstimate,
    // gates and escalations
    #[error("there is no such pending gate")]
    UnknownGate,
    #[error("this cannot be modified at this gate")]
    NotModifiable,
    #[error("the gate fell back already; the question is closed")]
    GateFellBack,
    #[error("there is no such open escalation")]
    UnknownEscalation,
    #[error("waits at a gate already")]
    GatePending,
    // the trail
    #[error("not in the reader's scope")]
    OutOfScope,
    #[error("only a finished workspace can be compacted")]
    NotTerminal,
}

/// The word of each reason, written once for both directions.
macro_rules! codes {
    ($($reason:pat => $code:literal,)*) => {
        impl Refusal {
            /// All words, one for each reason.
            pub const CODES: &[&str] = &[$($code),*];

            /// The word that stands for it everywhere.
            pub fn code(self) -> &'static str {
                match self {
                    $($reason => $code,)*
                }
            }
        }
    };
}

codes! {
    Refusal::NotStarted => "not_started",
    Refusal::AlreadyStarted => "already_started",
    Refusal::RunEnded => "run_ended",
    Refusal::DueFirst => "due_first",
    Refusal::NothingDue => "nothing_due",
    Refusal::InvalidTaxonomy => "invalid_taxonomy",
    Refusal::InvalidHighway => "invalid_highway",
    Refusal::InvalidLimits => "invalid_limits",
    Refusal::WorkspacesOpen => "workspaces_open",
    Refusal::PermissionDenied => "permission_denied",
    Refusal::MissingCapability => "missing_capability",
    Refusal::WrongScope => "wrong_scope",
    Refusal::UserNotActive => "user_not_active",
    Refusal::UnknownUser => "unknown_user",
    Refusal::UserExists => "user_exists",
    Refusal::ReservedName => "reserved_name",
    Refusal::InvalidUserTransition => "invalid_user_transition",
    Refusal::Irrevocable => "irrevocable",
    Refusal::NotHeld => "not_held",
    Refusal::TargetNotFound => "target_not_found",
    Refusal::TargetTerminal => "target_terminal",
    Refusal::WorkspaceSealed => "workspace_sealed",
    Refusal::InvalidState => "invalid_state",
    Refusal::RootIsFixed => "root_is_fixed",
    Refusal::OwnerRequired => "owner_required",
    Refusal::UnknownRole => "unknown_role",
    Refusal::TimeoutRequired => "timeout_required",
    Refusal::AgentRequired => "agent_required",
    Refusal::AgentBound => "agent_bound",
    Refusal::VisibilityNotContained => "visibility_not_contained",
    Refusal::AuthorityNotContained => "authority_not_contained",
    Refusal::BudgetNotContained(_) => "budget_not_contained",
    Refusal::DelegationNotApproved => "delegation_not_approved",
    Refusal::CapacityExhausted => "capacity_exhausted",
    Refusal::TreeTooDeep => "tree_too_deep",
    Refusal::NotAnIncrease => "not_an_increase",
    Refusal::NoLimit => "no_limit",
    Refusal::ChildrenOpen => "children_open",
    Refusal::ParentCycle => "parent_cycle",
    Refusal::UnknownGroup => "unknown_group",
    Refusal::UnknownCause => "unknown_cause",
    Refusal::TooLong => "too_long",
    Refusal::ReasonRequired => "reason_required",
    Refusal::SignalNotAllowed => "signal_not_allowed",
    Refusal::EscalationDisabled => "escalation_disabled",
    Refusal::NoSendRight => "no_send_right",
    Refusal::InvalidType => "invalid_type",
    Refusal::InvalidStructure => "invalid_structure",
    Refusal::IntegrityViolation => "integrity_violation",
    Refusal::GateRejectedByHuman => "gate_rejected_by_human",
    Refusal::GateRejectedByFallback => "gate_rejected_by_fallback",
    Refusal::UnknownEnvelope => "unknown_envelope",
    Refusal::NotDelivered => "not_delivered",
    Refusal::ReceiveRightFixed => "receive_right_fixed",
    Refusal::InjectionDisabled => "injection_disabled",
    Refusal::NotChainHead => "not_chain_head",
    Refusal::OutsideAuthority => "outside_authority",
    Refusal::TooManyArtifacts => "too_many_artifacts",
    Refusal::NoFinalCheckpoint => "no_final_checkpoint",
    Refusal::UnknownCheckpoint => "unknown_checkpoint",
    Refusal::IntegrationUnderWay => "integration_under_way",
    Refusal::StrategyCannotDetect => "strategy_cannot_detect",
    Refusal::NothingToSalvage => "nothing_to_salvage",
    Refusal::SalvageNeedsEvaluated => "salvage_needs_evaluated",
    Refusal::UnknownConflict => "unknown_conflict",
    Refusal::UnknownTask => "unknown_task",
    Refusal::Cycle => "cycle",
    Refusal::EmptyGraph => "empty_graph",
    Refusal::TooManyTasks => "too_many_tasks",
    Refusal::OtherGraph => "other_graph",
    Refusal::InvalidTaskStatus => "invalid_task_status",
    Refusal::TaskNotReady => "task_not_ready",
    Refusal::InvalidEstimate => "invalid_estimate",
    Refusal::UnknownGate => "unknown_gate",
    Refusal::NotModifiable => "not_modifiable",
    Refusal::GateFellBack => "gate_fell_back",
    Refusal::UnknownEscalation => "unknown_escalation",
    Refusal::GatePending => "gate_pending",
    Refusal::OutOfScope => "out_of_scope",
    Refusal::NotTerminal => "not_terminal",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_a_code() {
        assert_eq!(Refusal::NoSendRight.code(), "no_send_right");
        let stored = serde_json::to_string(&Refusal::NoSendRight).unwrap();
        assert_eq!(stored, "\"no_send_right\"");
        assert_eq!(
            Refusal::BudgetNotContained(Dimension::Cost).code(),
            "budget_not_contained"
        );
    }
}

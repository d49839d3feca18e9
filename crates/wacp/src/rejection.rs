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

/// Declares the reasons: each with its word, which is the same everywhere, and
/// the sentence that says it.
macro_rules! refusals {
    ($($reason:ident $(($about:ty))? = $code:literal: $says:literal,)*) => {
        /// The reasons, closed.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
        )]
        pub enum Refusal {
            $(#[error($says)] #[serde(rename = $code)] $reason $(($about))?,)*
        }

        impl Refusal {
            /// All words, one for each reason.
            pub const CODES: &[&str] = &[$($code),*];

            /// The word that stands for it everywhere.
            pub fn code(self) -> &'static str {
                match self { $(Refusal::$reason { .. } => $code,)* }
            }
        }
    };
}

refusals! {
    // the run
    NotStarted = "not_started": "the run has not started",
    AlreadyStarted = "already_started": "the run has already started",
    RunEnded = "run_ended": "the run has ended",
    DueFirst = "due_first": "something that was due comes first: tick",
    NothingDue = "nothing_due": "nothing is due",
    InvalidTaxonomy = "invalid_taxonomy": "the taxonomy is not valid",
    InvalidHighway = "invalid_highway": "the highway is not configured validly",
    InvalidLimits = "invalid_limits": "a limit of the run is not valid",
    WorkspacesOpen = "workspaces_open": "workspaces are still at work",
    // who
    PermissionDenied = "permission_denied": "this principal may not do this",
    MissingCapability = "missing_capability": "the capability is missing",
    WrongScope = "wrong_scope": "the capability does not reach this workspace",
    UserNotActive = "user_not_active": "the user is not active",
    UnknownUser = "unknown_user": "there is no such user",
    UserExists = "user_exists": "the user exists already",
    ReservedName = "reserved_name": "this name cannot be a user's",
    InvalidUserTransition = "invalid_user_transition": "a user in this state cannot do that",
    Irrevocable = "irrevocable": "this capability is implicit and cannot be revoked",
    NotHeld = "not_held": "the user does not hold this capability",
    // workspaces
    TargetNotFound = "target_not_found": "there is no such workspace",
    TargetTerminal = "target_terminal": "the workspace has ended",
    WorkspaceSealed = "workspace_sealed": "the workspace is read-only",
    InvalidState = "invalid_state": "not possible in this state",
    RootIsFixed = "root_is_fixed": "the root workspace is the runtime's",
    OwnerRequired = "owner_required": "an owner must be named",
    UnknownRole = "unknown_role": "there is no such role in this run",
    TimeoutRequired = "timeout_required": "a workspace must have a timeout",
    AgentRequired = "agent_required": "the agent must be named",
    AgentBound = "agent_bound": "the agent is bound to another workspace",
    VisibilityNotContained = "visibility_not_contained": "visibility exceeds the parent's",
    AuthorityNotContained = "authority_not_contained": "authority exceeds the parent's",
    BudgetNotContained(Dimension) = "budget_not_contained":
        "the budget exceeds what the parent has left",
    DelegationNotApproved = "delegation_not_approved":
        "delegation needs the root coordinator's approval",
    CapacityExhausted = "capacity_exhausted": "no more workspaces can be open at once",
    TreeTooDeep = "tree_too_deep": "the tree would be too deep",
    NotAnIncrease = "not_an_increase": "a limit can only be raised",
    NoLimit = "no_limit": "this measure has no limit",
    ChildrenOpen = "children_open": "children are still at work",
    ParentCycle = "parent_cycle": "the new parent is the workspace itself or beneath it",
    UnknownGroup = "unknown_group": "there is no such group",
    UnknownCause = "unknown_cause": "the cause is not an injected envelope",
    TooLong = "too_long": "a text is too long",
    // signals
    ReasonRequired = "reason_required": "this signal needs a reason",
    SignalNotAllowed = "signal_not_allowed": "the signal has no meaning in this state",
    EscalationDisabled = "escalation_disabled": "escalation is off in this run",
    // envelopes and rights
    NoSendRight = "no_send_right": "no valid send right is held",
    InvalidType = "invalid_type": "the type is not registered",
    InvalidStructure = "invalid_structure": "the structure is not valid",
    IntegrityViolation = "integrity_violation": "the integrity proof does not fit",
    GateRejectedByHuman = "gate_rejected_by_human": "rejected by a person at the gate",
    GateRejectedByFallback = "gate_rejected_by_fallback": "rejected by the gate's fallback",
    UnknownEnvelope = "unknown_envelope": "there is no such envelope",
    NotDelivered = "not_delivered": "the envelope is not delivered yet",
    ReceiveRightFixed = "receive_right_fixed": "a receive right cannot be given away",
    InjectionDisabled = "injection_disabled": "injection is off in this run",
    // checkpoints
    NotChainHead = "not_chain_head": "the parent is not the head of the chain",
    OutsideAuthority = "outside_authority": "a resource is outside the workspace's authority",
    TooManyArtifacts = "too_many_artifacts": "too many artifacts",
    // integration
    NoFinalCheckpoint = "no_final_checkpoint": "there is no final checkpoint",
    UnknownCheckpoint = "unknown_checkpoint": "there is no such checkpoint",
    IntegrationUnderWay = "integration_under_way":
        "another integration into the same parent is under way",
    StrategyCannotDetect = "strategy_cannot_detect":
        "this strategy does not find conflicts of this type",
    NothingToSalvage = "nothing_to_salvage": "salvage is for failed workspaces with checkpoints",
    SalvageNeedsEvaluated = "salvage_needs_evaluated": "salvage needs the evaluated strategy",
    UnknownConflict = "unknown_conflict": "there is no such open conflict",
    // tasks
    UnknownTask = "unknown_task": "there is no such task",
    Cycle = "cycle": "the tasks would form a cycle",
    EmptyGraph = "empty_graph": "a graph needs tasks",
    TooManyTasks = "too_many_tasks": "too many tasks",
    OtherGraph = "other_graph": "a dependency is in another graph",
    InvalidTaskStatus = "invalid_task_status": "not possible in this task's status",
    TaskNotReady = "task_not_ready": "a dependency is not done",
    InvalidEstimate = "invalid_estimate": "an estimate is not valid",
    // gates and escalations
    UnknownGate = "unknown_gate": "there is no such pending gate",
    NotModifiable = "not_modifiable": "this cannot be modified at this gate",
    GateFellBack = "gate_fell_back": "the gate fell back already; the question is closed",
    UnknownEscalation = "unknown_escalation": "there is no such open escalation",
    GatePending = "gate_pending": "waits at a gate already",
    // the trail
    OutOfScope = "out_of_scope": "not in the reader's scope",
    NotTerminal = "not_terminal": "only a finished workspace can be compacted",
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

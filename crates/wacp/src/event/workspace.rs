//! Facts of workspaces.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Hash;

use crate::{
    content::Content,
    gate::config::Highway,
    id::{ArtifactId, CheckpointId, ConflictId, EnvelopeId, Party, TaskId, UserId, WorkspaceId},
    integration::{ConflictType, Mode},
    rejection::Refusal,
    role::{Role, Taxonomy, Text},
    workspace::{
        Band, Limits, Seen,
        budget::{Budget, Dimension, Usage},
        lifecycle::{Reason, State, Trigger},
    },
};

/// A workspace exists, and is idle. For the root it also says what holds for
/// the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceCreated {
    /// The authenticated identity of the agent bound to it.
    pub agent: Text,
    pub authority: Arc<[Text]>,
    pub budget: Budget,
    /// The injected envelope this workspace answers, if a person caused it.
    pub cause: Option<EnvelopeId>,
    pub context: Option<Content>,
    pub delegate: bool,
    pub directive: Content,
    pub group: Option<Text>,
    pub liveness_us: Option<u64>,
    /// Whether someone other than the agent counts tokens and cost.
    pub metered: bool,
    pub mounts: Arc<[Text]>,
    pub originator: Party,
    pub owner: Party,
    pub parent: Option<WorkspaceId>,
    pub priority: Band,
    pub role: Role,
    pub run: Option<Box<RunStarted>>,
    pub task: Option<TaskId>,
    pub timeout_us: u64,
    pub visibility: Arc<[Seen]>,
    pub workspace: WorkspaceId,
}

/// What the first entry of a run fixes for all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    pub hash_algorithm: Text,
    pub highway: Highway,
    pub limits: Limits,
    pub taxonomy: Taxonomy,
}

/// A workspace moved along the transition table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceStateChanged {
    /// At its end: what the workspace itself has used in total, where no
    /// earlier entry tells it.
    pub consumed: Option<Usage>,
    pub from_state: State,
    pub reason: Option<Reason>,
    pub to_state: State,
    pub trigger: Trigger,
    pub workspace: WorkspaceId,
}

/// A workspace was asked for and does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRejected {
    pub parent: WorkspaceId,
    pub reason: Refusal,
}

/// Consumption passed the threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetWarning {
    pub consumed: u64,
    pub dimension: Dimension,
    pub limit: u64,
    /// Whose use it was: the workspace itself, or one beneath it.
    pub source: WorkspaceId,
    /// That one's own total.
    pub source_consumed: u64,
    pub threshold_percent: u8,
    pub workspace: WorkspaceId,
}

/// Consumption reached the limit; the workspace fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetExceeded {
    pub consumed: u64,
    pub dimension: Dimension,
    pub limit: u64,
    pub source: WorkspaceId,
    pub source_consumed: u64,
    pub workspace: WorkspaceId,
}

/// A limit was raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetModified {
    pub dimension: Dimension,
    pub new_limit: u64,
    pub old_limit: u64,
    pub workspace: WorkspaceId,
}

/// Nothing was heard of a workspace for its interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivenessWarning {
    pub interval_us: u64,
    pub silent_us: u64,
    pub workspace: WorkspaceId,
}

/// A workspace moved to another priority band.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityChanged {
    pub new_priority: Band,
    pub old_priority: Band,
    pub workspace: WorkspaceId,
}

/// A workspace may read more. In `idle` the same event may also set authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisibilityGranted {
    /// Only while idle: authority added before it freezes.
    pub authority: Arc<[Text]>,
    pub reason: Option<Text>,
    pub targets: Arc<[Seen]>,
    pub workspace: WorkspaceId,
}

/// A whole group was aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchAbort {
    pub affected: Arc<[WorkspaceId]>,
    pub group: Text,
    pub skipped: u32,
}

/// A whole group moved to another priority band.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPriorityChanged {
    pub affected: Arc<[WorkspaceId]>,
    pub group: Text,
    pub new_priority: Band,
    pub skipped: u32,
}

/// The agent is being replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationStarted {
    pub new_agent: Text,
    pub old_agent: Text,
    pub reason: Text,
    pub workspace: WorkspaceId,
}

/// The new agent is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationCompleted {
    pub duration_us: u64,
    pub new_agent: Text,
    pub old_agent: Text,
    pub workspace: WorkspaceId,
}

/// The new agent could not be bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationFailed {
    pub error: Text,
    pub new_agent: Text,
    pub old_agent: Text,
    pub workspace: WorkspaceId,
}

/// A workspace was paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspensionStarted {
    pub pre_suspension_state: State,
    pub reason: Text,
    pub workspace: WorkspaceId,
}

/// A workspace goes on where it was paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspensionResumed {
    pub duration_us: u64,
    pub resumed_to_state: State,
    pub workspace: WorkspaceId,
}

/// An agent was asked to finish within a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GracefulTerminationInitiated {
    pub grace_us: u64,
    pub reason: Text,
    pub workspace: WorkspaceId,
}

/// The period ended without `complete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GracefulTerminationExpired {
    pub grace_us: u64,
    pub partial_checkpoint: Option<CheckpointId>,
    pub workspace: WorkspaceId,
}

/// A merge does not fit what was merged before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictDetected {
    pub artifact: Option<ArtifactId>,
    pub conflict: ConflictId,
    pub conflict_type: ConflictType,
    pub description: Option<Text>,
    pub mode: Mode,
    pub resource: Option<Text>,
    /// What the parent holds now.
    pub theirs: Option<Hash>,
    pub workspace: WorkspaceId,
}

/// A conflict is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictResolved {
    pub conflict: ConflictId,
    pub mode: Mode,
    pub resolution: Option<Content>,
    pub strategy: ResolvedBy,
    pub workspace: WorkspaceId,
}

/// How a conflict came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    CoordinatorResolve,
    Escalate,
    AgentRework,
    Timeout,
    /// The workspace or the integration ended for another reason.
    Abandoned,
}

/// Someone else answers for a workspace from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceOwnershipTransferred {
    pub from_user: Party,
    pub reason: Option<Text>,
    pub to_user: UserId,
    pub workspace: WorkspaceId,
}

/// A workspace outlived its parent and hangs under another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceReparented {
    /// What was measured of it and not written yet: it counts where it was used.
    pub consumed: Option<Usage>,
    pub new_parent: WorkspaceId,
    pub old_parent: WorkspaceId,
    pub reason: Text,
    pub workspace: WorkspaceId,
}

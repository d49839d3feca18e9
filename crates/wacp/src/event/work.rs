//! Facts of checkpoints, tasks and integration.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    checkpoint::{Artifact, Confidence, Status as CheckpointStatus},
    content::Content,
    id::{ArtifactId, CheckpointId, GraphId, TaskId, UserId, WorkspaceId},
    integration::{Mode, Strategy},
    integrity::Proof,
    rejection::Refusal,
    role::{CheckpointType, Text},
    task::{Estimate, Priority, Status},
    workspace::{
        budget::{Dimension, Usage},
        lifecycle::Reason,
    },
};

/// A snapshot of work, never changed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointCreated {
    pub artifacts: Arc<[Artifact]>,
    pub checkpoint: CheckpointId,
    #[serde(rename = "checkpoint_type")]
    pub checkpoint_type: CheckpointType,
    pub confidence: Confidence,
    /// What the workspace itself has used in total, where no earlier entry
    /// tells it.
    pub consumed: Option<Usage>,
    pub content: Option<Content>,
    /// The number of the first artifact; the others follow it.
    pub first_artifact: ArtifactId,
    /// Why it exists, by hash: the words are the agent's.
    pub intent: Content,
    pub parent: Option<CheckpointId>,
    pub proof: Option<Proof>,
    pub resource_usage: Option<Usage>,
    pub status: CheckpointStatus,
    pub workspace: WorkspaceId,
}

/// A checkpoint was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointRejected {
    pub checkpoint_type: CheckpointType,
    pub reason: Refusal,
    pub workspace: WorkspaceId,
}

/// An agent's own count differs from the meter's; the meter's stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDiscrepancy {
    pub dimension: Dimension,
    pub measured: u64,
    pub reported: u64,
    pub workspace: WorkspaceId,
}

/// A task stands in a graph, as a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCreated {
    pub depends_on: Arc<[TaskId]>,
    pub description: Content,
    pub graph: GraphId,
    pub name: Text,
    pub parent_task: Option<TaskId>,
    pub priority: Priority,
    pub resource_estimate: Option<Estimate>,
    pub task: TaskId,
}

/// A task may be worked on; what a person changed is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskApproved {
    pub description: Option<Content>,
    pub name: Option<Text>,
    pub priority: Option<Priority>,
    pub resource_estimate: Option<Estimate>,
    pub source: ApprovalSource,
    pub task: TaskId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSource {
    /// No person was asked: the gate is off in this run.
    Configuration,
    Coordinator,
    Human(UserId),
    TimeoutAutoApprove,
}

/// A workspace works on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAssigned {
    pub attempt_number: u32,
    pub task: TaskId,
    pub workspace: WorkspaceId,
}

/// A task moved on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatusChanged {
    pub from_status: Status,
    pub task: TaskId,
    pub to_status: Status,
    pub workspace: Option<WorkspaceId>,
}

/// A task's work is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCompleted {
    pub checkpoint: Option<CheckpointId>,
    pub task: TaskId,
    pub workspace: WorkspaceId,
}

/// An attempt at a task failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailed {
    pub attempt_number: u32,
    pub reason: Reason,
    pub task: TaskId,
    pub workspace: WorkspaceId,
}

/// A plan was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphCreated {
    pub graph: GraphId,
    pub root_task: TaskId,
    pub task_count: u32,
}

/// A merge began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationStarted {
    pub checkpoint: CheckpointId,
    pub confidence: Confidence,
    pub mode: Mode,
    pub source: WorkspaceId,
    pub strategy: Strategy,
    pub synthesis: Option<Arc<[Artifact]>>,
    pub target: WorkspaceId,
}

/// A merge is done: the parent holds the artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationCompleted {
    pub checkpoint: CheckpointId,
    pub conflict_resolved: bool,
    pub mode: Mode,
    pub source: WorkspaceId,
    pub strategy: Strategy,
    /// What a synthesis put in place of the artifacts, with `evaluated`.
    pub synthesis: Option<Arc<[Artifact]>>,
    pub target: WorkspaceId,
}

/// A merge was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationAborted {
    pub mode: Mode,
    pub reason: Aborted,
    pub source: WorkspaceId,
    pub target: WorkspaceId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aborted {
    Failed(Reason),
    /// What was salvaged is of no use.
    Unusable,
    IntegrityViolation,
}

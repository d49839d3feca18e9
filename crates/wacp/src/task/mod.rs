//! The unit of work: plans as graphs without cycles, from draft to integrated.
//!
//! A task follows its workspace; only the coordinator retries and cancels. A
//! dependency never changes, and a graph only grows (WACP §4.6, §8.2).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    content::Content,
    event::{TaskCompleted, TaskStatusChanged},
    id::{CheckpointId, GateId, GraphId, TaskId, WorkspaceId},
    rejection::Refusal,
    role::Text,
    stage::Stage,
    state::Run,
    workspace::LARGEST,
};

pub mod apply;
pub mod graph;

pub use graph::{approve, cancel, cancel_now, decompose, retry, submit};

trail::closed! {
    Status {
        Draft,
        Pending,
        Assigned,
        InProgress,
        Completed,
        Failed,
        Integrated,
        Cancelled,
    }
}

impl Status {
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Integrated | Status::Cancelled)
    }

    /// Whether dependents may start.
    pub fn is_done(self) -> bool {
        matches!(self, Status::Completed | Status::Integrated)
    }

    /// Whether a task may go from here to there.
    pub fn may_become(self, to: Status) -> bool {
        use Status as S;
        match (self, to) {
            (S::Draft, S::Pending)
            | (S::Pending, S::Assigned)
            | (S::Assigned, S::InProgress)
            | (S::InProgress, S::Completed)
            | (S::Assigned | S::InProgress | S::Completed, S::Failed)
            | (S::Completed, S::Integrated)
            | (S::Failed, S::Pending) => true,
            // Salvage integrates what a failed attempt left.
            (S::Failed, S::Integrated) => true,
            (from, S::Cancelled) => !from.is_terminal(),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    #[default]
    Normal,
    Elevated,
    Urgent,
}

/// A prediction, never a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    pub cost_micros: Option<u64>,
    pub tokens: Option<u64>,
    pub wall_time_us: Option<u64>,
}

impl Estimate {
    pub fn is_valid(&self) -> bool {
        let amounts = [self.cost_micros, self.tokens, self.wall_time_us];
        let mut named = amounts.into_iter().flatten();
        self.wall_time_us != Some(0) && named.all(|amount| amount <= LARGEST)
    }
}

/// What a new task depends on: one of the same submission, or one that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependsOn {
    New(u32),
    Existing(TaskId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub depends_on: Vec<DependsOn>,
    pub description: Content,
    pub name: Text,
    pub priority: Priority,
    pub resource_estimate: Option<Estimate>,
}

impl NewTask {
    pub fn named(name: &str, depends_on: Vec<DependsOn>) -> NewTask {
        NewTask {
            depends_on,
            description: Content::markdown(name),
            name: Text::from(name),
            priority: Priority::Normal,
            resource_estimate: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGraph {
    /// Which of the tasks is the goal of all of them.
    pub root: u32,
    pub tasks: Vec<NewTask>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub graph: GraphId,
    pub name: Text,
    pub description: Content,
    pub priority: Priority,
    pub resource_estimate: Option<Estimate>,
    pub depends_on: Arc<[TaskId]>,
    pub parent_task: Option<TaskId>,
    pub status: Status,
    pub workspace: Option<WorkspaceId>,
    /// Every workspace that tried, in order.
    pub history: Vec<WorkspaceId>,
    pub checkpoint: Option<CheckpointId>,
    /// Where its approval waits.
    pub gate: Option<GateId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    pub root_task: TaskId,
    pub tasks: Vec<TaskId>,
}

/// Whether every dependency is done.
pub fn is_ready(run: &Run, task: &Task) -> bool {
    task.depends_on
        .iter()
        .all(|id| run.task(*id).is_some_and(|task| task.status.is_done()))
}

/// Whether a workspace that has not ended is bound to the task.
pub fn is_taken(run: &Run, task: &Task) -> bool {
    task.workspace.is_some_and(|id| run.open(id).is_some())
}

/// Whether a workspace may be created for the task now.
pub fn is_dispatchable(run: &Run, id: TaskId) -> Result<(), Refusal> {
    let task = run.task(id).ok_or(Refusal::UnknownTask)?;
    // Two never work on one task, whatever a crash left of its status.
    if task.status != Status::Pending || is_taken(run, task) {
        return Err(Refusal::InvalidTaskStatus);
    }
    if !is_ready(run, task) {
        return Err(Refusal::TaskNotReady);
    }
    Ok(())
}

/// Tasks of a graph that can be dispatched now, in order.
pub fn ready(run: &Run, graph: GraphId) -> impl Iterator<Item = TaskId> + '_ {
    let tasks = run
        .graphs
        .get(graph.0 as usize)
        .map_or(&[][..], |graph| &graph.tasks);
    tasks
        .iter()
        .copied()
        .filter(|id| is_dispatchable(run, *id).is_ok())
}

/// Moves a task along, if it may go there from where it is in the run.
pub fn set_status(
    stage: &mut Stage<'_>,
    task: TaskId,
    to_status: Status,
    workspace: Option<WorkspaceId>,
) {
    let Some(from_status) = stage.task_status(task) else {
        return;
    };
    if !from_status.may_become(to_status) {
        return;
    }
    stage.push_protocol(
        workspace,
        TaskStatusChanged {
            from_status,
            task,
            to_status,
            workspace,
        },
    );
}

/// The workspace's agent says it is done.
pub fn complete(stage: &mut Stage<'_>, workspace: WorkspaceId) {
    let Some(open) = stage.before().open(workspace) else {
        return;
    };
    let Some(task) = open.task else {
        return;
    };
    stage.push_protocol(
        Some(workspace),
        TaskCompleted {
            checkpoint: open.register.last_final(),
            task,
            workspace,
        },
    );
    set_status(stage, task, Status::Completed, Some(workspace));
}

#[cfg(test)]
mod tests {
    use super::Status;

    /// One row per status: where a task may go from it.
    const EXPECTED: &[(Status, &[Status])] = &[
        (Status::Draft, &[Status::Pending, Status::Cancelled]),
        (Status::Pending, &[Status::Assigned, Status::Cancelled]),
        (
            Status::Assigned,
            &[Status::InProgress, Status::Failed, Status::Cancelled],
        ),
        (
            Status::InProgress,
            &[Status::Completed, Status::Failed, Status::Cancelled],
        ),
        (
            Status::Completed,
            &[Status::Failed, Status::Integrated, Status::Cancelled],
        ),
        (
            Status::Failed,
            &[Status::Pending, Status::Integrated, Status::Cancelled],
        ),
        (Status::Integrated, &[]),
        (Status::Cancelled, &[]),
    ];

    #[test]
    fn a_task_goes_only_where_the_table_says() {
        for (from, expected) in EXPECTED {
            for to in Status::ALL {
                assert_eq!(
                    from.may_become(to),
                    expected.contains(&to),
                    "{from:?} > {to:?}"
                );
            }
        }
    }
}

//! Where a decision is put together: entries in order, numbers not yet taken.
//!
//! The run itself is only read. What a later step of the same command must know
//! of an earlier one is kept here, and it is little: the numbers handed out and
//! the states that have changed.

use std::collections::{BTreeMap, BTreeSet};

use trail::Micros;

use crate::{
    event::{Actor, Entry, Event, WorkspaceStateChanged},
    id::{
        ArtifactId, CheckpointId, ConflictId, EnvelopeId, GateId, GraphId, RightId, SignalId,
        TaskId, UserId, WorkspaceId,
    },
    rejection::Refusal,
    state::{Counters, Run, Slot},
    task::Status,
    workspace::{
        budget::Dimension,
        lifecycle::{Reason, State, Trigger, is_allowed},
        measured::Measured,
        meter,
    },
};

#[derive(Debug)]
pub struct Stage<'a> {
    pub run: &'a Run,
    pub measured: &'a Measured,
    /// Who acts; most entries of a command carry this actor.
    pub actor: Actor,
    /// What is asked for, by the command's name.
    pub action: &'static str,
    /// The delegate whose order this is, if it is one's.
    pub asker: Option<WorkspaceId>,
    /// When the command is decided.
    pub now: Micros,
    last: Micros,
    next: Counters,
    entries: Vec<Entry>,
    moved: BTreeMap<WorkspaceId, State>,
    tasks: BTreeMap<TaskId, Status>,
    /// Gates and escalations answered in this decision.
    pub answered_gates: BTreeSet<GateId>,
    pub answered_escalations: BTreeSet<SignalId>,
    /// Envelopes that reached their receiver in this decision.
    pub arrived: BTreeSet<EnvelopeId>,
    /// Signals that reached somebody in this decision.
    pub told: BTreeSet<SignalId>,
    /// Envelopes that left their inbox in this decision.
    pub gone: BTreeSet<EnvelopeId>,
    /// Send-once rights used up or given away in this decision.
    pub spent_rights: BTreeSet<RightId>,
    /// Workspaces handed to the root in this decision.
    pub adopted: BTreeSet<WorkspaceId>,
    /// What this decision makes workspaces use.
    pub charged: BTreeMap<(WorkspaceId, Dimension), Charged>,
}

/// What one decision has charged a workspace in one dimension so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charged {
    /// By the workspace itself.
    pub own: u64,
    /// By it and everything beneath it.
    pub total: u64,
    pub is_warned: bool,
}

/// Nothing, or why not. What the stage holds by then is the record of a refusal.
pub type Decision = Result<(), Refusal>;

macro_rules! number {
    ($($method:ident -> $id:ident: $field:ident,)*) => {
        $(pub fn $method(&mut self) -> $id {
            let id = $id(self.next.$field);
            self.next.$field += 1;
            id
        })*
    };
}

/// In the year 2112. No clock is believed beyond this moment, so that there is
/// always a later one, and room for the longest wait.
const LATEST: Micros = Micros(1 << 52);

impl<'a> Stage<'a> {
    pub fn new(
        (run, measured): (&'a Run, &'a Measured),
        actor: Actor,
        action: &'static str,
        now: Micros,
    ) -> Stage<'a> {
        Stage {
            run,
            measured,
            actor,
            action,
            asker: None,
            now: now.min(LATEST).max(run.clock),
            last: run.clock,
            next: run.next,
            entries: Vec::new(),
            moved: BTreeMap::new(),
            tasks: BTreeMap::new(),
            answered_gates: BTreeSet::new(),
            answered_escalations: BTreeSet::new(),
            arrived: BTreeSet::new(),
            told: BTreeSet::new(),
            gone: BTreeSet::new(),
            spent_rights: BTreeSet::new(),
            adopted: BTreeSet::new(),
            charged: BTreeMap::new(),
        }
    }

    number! {
        new_workspace -> WorkspaceId: workspaces,
        new_user -> UserId: users,
        new_envelope -> EnvelopeId: envelopes,
        new_signal -> SignalId: signals,
        new_checkpoint -> CheckpointId: checkpoints,
        new_task -> TaskId: tasks,
        new_graph -> GraphId: graphs,
        new_gate -> GateId: gates,
        new_right -> RightId: rights,
        new_conflict -> ConflictId: conflicts,
    }

    /// Numbers for so many artifacts, the first of them.
    pub fn new_artifacts(&mut self, count: usize) -> ArtifactId {
        let first = ArtifactId(self.next.artifacts);
        self.next.artifacts += count as u64;
        first
    }

    /// Adds an entry by the acting principal.
    pub fn push(&mut self, workspace: Option<WorkspaceId>, event: impl Into<Event>) {
        self.push_as(self.actor, workspace, event);
    }

    /// Adds an entry by the runtime.
    pub fn push_protocol(&mut self, workspace: Option<WorkspaceId>, event: impl Into<Event>) {
        self.push_as(Actor::Protocol, workspace, event);
    }

    pub fn push_as(
        &mut self,
        actor: Actor,
        workspace: Option<WorkspaceId>,
        event: impl Into<Event>,
    ) {
        // Strictly later than everything before, in the whole run, and so in
        // every workspace (WACP §6.7.5).
        let time = self.next_time();
        self.last = time;
        self.entries.push(Entry {
            actor,
            event: event.into(),
            time,
            workspace,
        });
    }

    /// The time that the next entry will have.
    pub fn next_time(&self) -> Micros {
        self.now.max(Micros(self.last.0.saturating_add(1)))
    }

    /// The state a workspace is in after what has been put together so far.
    pub fn state_of(&self, workspace: WorkspaceId) -> Option<State> {
        let moved = self.moved.get(&workspace).copied();
        moved.or_else(|| self.run.state_of(workspace))
    }

    /// The parent a workspace has after what has been put together so far.
    pub fn parent_of(&self, workspace: WorkspaceId) -> Option<WorkspaceId> {
        if self.adopted.contains(&workspace) {
            return Some(WorkspaceId::ROOT);
        }
        self.run.workspace(workspace).and_then(Slot::parent)
    }

    /// The status of a task after what has been put together so far.
    pub fn task_status(&self, task: TaskId) -> Option<Status> {
        let noted = self.tasks.get(&task).copied();
        noted.or_else(|| self.run.task(task).map(|task| task.status))
    }

    pub fn note_task(&mut self, task: TaskId, status: Status) {
        self.tasks.insert(task, status);
    }

    /// Moves a workspace along the table.
    pub fn transition(
        &mut self,
        workspace: WorkspaceId,
        to_state: State,
        trigger: Trigger,
        reason: Option<Reason>,
    ) {
        let Some(from_state) = self.state_of(workspace) else {
            return;
        };
        assert!(
            is_allowed(Some(from_state), to_state, trigger),
            "{workspace}: {from_state:?} to {to_state:?} by {trigger:?} is not in the table"
        );
        self.moved.insert(workspace, to_state);
        let consumed = match to_state.is_terminal() {
            true => meter::unwritten(self, workspace),
            false => None,
        };
        self.push(
            Some(workspace),
            WorkspaceStateChanged {
                consumed,
                from_state,
                reason,
                to_state,
                trigger,
                workspace,
            },
        );
    }

    /// Does something as the runtime, whoever gave the command.
    pub fn as_protocol<T>(&mut self, act: impl FnOnce(&mut Stage<'a>) -> T) -> T {
        let actor = std::mem::replace(&mut self.actor, Actor::Protocol);
        let done = act(self);
        self.actor = actor;
        done
    }

    /// How many envelopes have been delivered so far.
    pub fn delivered(&self) -> u32 {
        self.arrived.len() as u32
    }

    pub fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

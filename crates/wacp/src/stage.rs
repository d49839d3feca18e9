//! Where a decision is put together: entries in order, numbers not yet taken.
//!
//! The run itself is only read. What a later step of the same command must know
//! of an earlier one lies over the run: the stage reads it off the entries as
//! they are added, so that nobody has to remember to say it.

use trail::Micros;

use crate::{
    envelope::Pending,
    escalation::Escalation,
    event::{Actor, Entry, Event, WorkspaceStateChanged},
    gate::Gate,
    id::{
        ArtifactId, CheckpointId, ConflictId, EnvelopeId, GateId, GraphId, RightId, SignalId,
        TaskId, UserId, WorkspaceId,
    },
    rejection::Refusal,
    state::{Counters, Run, Slot},
    task::Status,
    workspace::{
        budget::{Dimension, Usage},
        lifecycle::{Reason, State, Trigger, is_allowed},
        measured::Measured,
        meter,
    },
};

mod overlay;

pub use overlay::Charged;
use overlay::{Done, Overlay};

#[derive(Debug)]
pub struct Stage<'a> {
    run: &'a Run,
    measured: &'a Measured,
    overlay: Overlay,
    /// Who acts; most entries of a command carry this actor.
    pub actor: Actor,
    /// What is asked for, by the command's name.
    pub action: &'static str,
    /// The delegate whose order this is, if it is one's.
    pub asker: Option<WorkspaceId>,
    /// When the command is decided, and the time of its first entry.
    pub now: Micros,
    next: Counters,
    entries: Vec<Entry>,
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
            overlay: Overlay::default(),
            actor,
            action,
            asker: None,
            now,
            next: run.next,
            entries: Vec::new(),
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
        let time = self.next_time();
        let event = event.into();
        self.overlay.follow(&event);
        self.entries.push(Entry {
            actor,
            event,
            time,
            workspace,
        });
    }

    /// The time that the next entry will have: strictly later than everything
    /// before, in the whole run, and so in every workspace (WACP §6.7.5).
    pub fn next_time(&self) -> Micros {
        Micros(self.now.0.saturating_add(self.entries.len() as i64))
    }

    /// Whether the decision has made no entry so far.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The run that this decision is made on, without what it has changed so
    /// far: for checks, which come first, and for what no decision changes on
    /// the way, as people, roles and limits.
    pub fn before(&self) -> &'a Run {
        self.run
    }

    /// What was last reported of a workspace and may not be written yet.
    pub fn measured(&self, workspace: WorkspaceId) -> Usage {
        self.measured.of(workspace)
    }

    /// The state of a workspace by now.
    pub fn state_of(&self, workspace: WorkspaceId) -> Option<State> {
        let moved = self.overlay.state(workspace);
        moved.or_else(|| self.run.state_of(workspace))
    }

    /// Who hears what a workspace says by now.
    pub fn parent_of(&self, workspace: WorkspaceId) -> Option<WorkspaceId> {
        let moved = self.overlay.parent(workspace);
        moved.or_else(|| self.run.workspace(workspace).and_then(Slot::parent))
    }

    /// The root hears this one's last words in place of a parent that has ended.
    pub fn speaks_to_root(&mut self, workspace: WorkspaceId) {
        self.overlay.hang(workspace, WorkspaceId::ROOT);
    }

    /// The status of a task by now.
    pub fn task_status(&self, task: TaskId) -> Option<Status> {
        let noted = self.overlay.status(task);
        noted.or_else(|| self.run.task(task).map(|task| task.status))
    }

    /// The gate, if it still waits for its answer.
    pub fn gate(&self, id: GateId) -> Option<&'a Gate> {
        let waits = !self.overlay.has(Done::Answered(id));
        self.run.gates.get(&id).filter(|_| waits)
    }

    /// How many gates wait before one that would be asked now.
    pub fn gates_before(&self) -> u32 {
        let asked = self.next.gates - self.run.next.gates;
        self.run.gates.len() as u32 + asked - self.overlay.answered()
    }

    /// The escalation, if it still waits for its answer.
    pub fn escalation(&self, id: SignalId) -> Option<&'a Escalation> {
        let waits = !self.overlay.has(Done::Settled(id));
        self.run.escalations.get(&id).filter(|_| waits)
    }

    /// The escalation has its answer, whatever that leads to before it is told.
    pub fn settle_escalation(&mut self, id: SignalId) {
        self.overlay.mark(Done::Settled(id));
    }

    /// What waits in an inbox by now, oldest first.
    pub fn inbox(&self, to: WorkspaceId) -> impl Iterator<Item = (EnvelopeId, &'a Pending)> {
        let range = (to, EnvelopeId(0))..=(to, EnvelopeId(u64::MAX));
        let all = self.run.inboxes.range(range);
        all.map(|((_, id), pending)| (*id, pending))
            .filter(|(id, _)| !self.overlay.has(Done::Taken(*id)))
    }

    /// Whether an envelope has not left its inbox in this decision.
    pub fn still_waits(&self, envelope: EnvelopeId) -> bool {
        !self.overlay.has(Done::Taken(envelope))
    }

    /// Whether an envelope reached its receiver in this decision.
    pub fn has_arrived(&self, envelope: EnvelopeId) -> bool {
        self.overlay.has(Done::Arrived(envelope))
    }

    /// How many envelopes have been delivered so far.
    pub fn delivered(&self) -> u32 {
        self.overlay.arrived()
    }

    /// Whether a signal reached somebody in this decision.
    pub fn is_told(&self, signal: SignalId) -> bool {
        self.overlay.has(Done::Told(signal))
    }

    /// Whether a send-once right was used or given away in this decision.
    pub fn is_spent(&self, right: RightId) -> bool {
        self.overlay.has(Done::Spent(right))
    }

    /// What this decision makes a workspace use.
    pub fn charged(&mut self, workspace: WorkspaceId, dimension: Dimension) -> &mut Charged {
        self.overlay.charged(workspace, dimension)
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

    pub fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

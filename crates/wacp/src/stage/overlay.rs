//! What a decision has changed so far, over the run that it is made on.
//!
//! It follows the entries. Only three things are said besides: who hears the
//! last words of a workspace whose parent has ended, that an escalation has its
//! answer before that is told, and what was used, which no single entry tells.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    event::{Event, Reference},
    id::{EnvelopeId, GateId, RightId, SignalId, TaskId, WorkspaceId},
    right::RightKind,
    signal::SignalType,
    task::Status,
    workspace::{budget::Dimension, lifecycle::State},
};

#[derive(Debug, Default)]
pub struct Overlay {
    states: BTreeMap<WorkspaceId, State>,
    parents: BTreeMap<WorkspaceId, WorkspaceId>,
    tasks: BTreeMap<TaskId, Status>,
    done: BTreeSet<Done>,
    charged: BTreeMap<(WorkspaceId, Dimension), Charged>,
}

/// Something that happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Done {
    /// A gate was answered.
    Answered(GateId),
    /// An escalation was answered.
    Settled(SignalId),
    /// An envelope reached its receiver.
    Arrived(EnvelopeId),
    /// An envelope left its inbox.
    Taken(EnvelopeId),
    /// A signal reached somebody.
    Told(SignalId),
    /// A send-once right was used up or given away.
    Spent(RightId),
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

impl Overlay {
    /// Reads off an entry what it changes.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::WorkspaceStateChanged(e) => {
                self.states.insert(e.workspace, e.to_state);
            }
            Event::WorkspaceReparented(e) => self.hang(e.workspace, e.new_parent),
            Event::TaskCreated(e) => {
                self.tasks.insert(e.task, Status::Draft);
            }
            Event::TaskStatusChanged(e) => {
                self.tasks.insert(e.task, e.to_status);
            }
            Event::GateResolved(e) => self.mark(Done::Answered(e.gate)),
            Event::EscalationResolved(e) => self.mark(Done::Settled(e.signal)),
            Event::EnvelopeDelivered(e) => self.mark(Done::Arrived(e.envelope)),
            Event::EnvelopeUndeliverable(e) => self.mark(Done::Taken(e.envelope)),
            Event::EnvelopeRejected(e) => {
                if let Some(envelope) = e.envelope {
                    self.mark(Done::Taken(envelope));
                }
            }
            Event::SignalEmitted(e) => {
                if let (SignalType::Acknowledged, Some(Reference::Envelope(envelope))) =
                    (e.signal_type, e.reference)
                {
                    self.mark(Done::Taken(envelope));
                }
            }
            Event::SignalDelivered(e) => self.mark(Done::Told(e.signal)),
            Event::PortRightConsumed(e) => self.mark(Done::Spent(e.right)),
            Event::PortRightTransferred(e) if e.kind == RightKind::SendOnce => {
                self.mark(Done::Spent(e.right));
            }
            _ => {}
        }
    }

    pub fn mark(&mut self, done: Done) {
        self.done.insert(done);
    }

    pub fn has(&self, done: Done) -> bool {
        self.done.contains(&done)
    }

    pub fn hang(&mut self, workspace: WorkspaceId, parent: WorkspaceId) {
        self.parents.insert(workspace, parent);
    }

    pub fn state(&self, workspace: WorkspaceId) -> Option<State> {
        self.states.get(&workspace).copied()
    }

    pub fn parent(&self, workspace: WorkspaceId) -> Option<WorkspaceId> {
        self.parents.get(&workspace).copied()
    }

    pub fn status(&self, task: TaskId) -> Option<Status> {
        self.tasks.get(&task).copied()
    }

    pub fn answered(&self) -> u32 {
        self.count(|done| matches!(done, Done::Answered(_)))
    }

    pub fn arrived(&self) -> u32 {
        self.count(|done| matches!(done, Done::Arrived(_)))
    }

    fn count(&self, kind: impl Fn(&Done) -> bool) -> u32 {
        self.done.iter().filter(|done| kind(done)).count() as u32
    }

    pub fn charged(&mut self, workspace: WorkspaceId, dimension: Dimension) -> &mut Charged {
        self.charged.entry((workspace, dimension)).or_default()
    }
}

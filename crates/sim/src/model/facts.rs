//! What the model reads off the trail because it does not model it: the
//! numbers and times that the runtime assigns, where the queues let an
//! envelope through, what budgets and merges led to.

use std::collections::{BTreeMap, VecDeque};

use trail::Micros;
use wacp::{
    Entry, Event,
    event::{ResolutionReason, Undeliverable},
    id::{CheckpointId, ConflictId, EnvelopeId, GateId, SignalId, TaskId, WorkspaceId},
};

#[derive(Debug, Default)]
pub struct Facts {
    workspaces: VecDeque<WorkspaceId>,
    gates: VecDeque<(GateId, Micros)>,
    envelopes: VecDeque<EnvelopeId>,
    /// When each workspace changed its state.
    moments: BTreeMap<WorkspaceId, VecDeque<Micros>>,
    pub checkpoint: Option<CheckpointId>,
    pub tasks: Vec<TaskId>,
    pub escalated: Vec<(SignalId, WorkspaceId)>,
    /// Found while merging.
    pub conflicts: Vec<ConflictId>,
    /// A proof did not verify.
    pub is_damaged: bool,
    /// A merge is over.
    pub is_merged: bool,
    pub wind_down_began: Option<Micros>,
    /// Questions that could not be put into effect any more.
    void: Vec<GateId>,
    /// What came of it elsewhere, in order.
    pub later: VecDeque<Later>,
    /// The word for what came first.
    pub first: &'static str,
}

/// Something that the model does not foresee and must follow.
#[derive(Clone, Copy, Debug)]
pub enum Later {
    Delivered(EnvelopeId),
    Redelivered(EnvelopeId),
    /// It was sent as often as it may be.
    Exhausted(EnvelopeId),
    Exceeded(WorkspaceId),
}

impl Facts {
    pub fn of(entries: &[Entry]) -> Facts {
        let mut facts = Facts::default();
        if let Some(first) = entries.first() {
            facts.first = first.event.event_type();
        }
        for entry in entries {
            facts.note(entry);
        }
        facts
    }

    fn note(&mut self, entry: &Entry) {
        match &entry.event {
            Event::WorkspaceCreated(e) => {
                self.workspaces.push_back(e.workspace);
                let moments = self.moments.entry(e.workspace).or_default();
                moments.push_back(entry.time);
            }
            Event::WorkspaceStateChanged(e) => {
                let moments = self.moments.entry(e.workspace).or_default();
                moments.push_back(entry.time);
            }
            Event::GateTriggered(e) => self.gates.push_back((e.gate, entry.time)),
            Event::GateResolved(e) if e.reason == Some(ResolutionReason::SubjectInvalidated) => {
                self.void.push(e.gate);
            }
            Event::EnvelopeCreated(e) => self.envelopes.push_back(e.envelope),
            Event::EnvelopeDelivered(e) => self.later.push_back(Later::Delivered(e.envelope)),
            Event::EnvelopeRedelivered(e) => self.later.push_back(Later::Redelivered(e.envelope)),
            Event::EnvelopeUndeliverable(e) if e.reason == Undeliverable::DeliveryExhausted => {
                self.later.push_back(Later::Exhausted(e.envelope));
            }
            Event::BudgetExceeded(e) => self.later.push_back(Later::Exceeded(e.workspace)),
            Event::CheckpointCreated(e) => self.checkpoint = Some(e.checkpoint),
            Event::TaskCreated(e) => self.tasks.push(e.task),
            Event::EscalationReceived(e) => self.escalated.push((e.signal, e.workspace)),
            Event::ConflictDetected(e) => self.conflicts.push(e.conflict),
            Event::IntegrityViolation(_) => self.is_damaged = true,
            Event::IntegrationCompleted(_) | Event::IntegrationAborted(_) => self.is_merged = true,
            Event::GracefulTerminationInitiated(_) => self.wind_down_began = Some(entry.time),
            _ => {}
        }
    }

    pub fn workspace(&mut self) -> Option<WorkspaceId> {
        self.workspaces.pop_front()
    }

    pub fn gate(&mut self) -> Option<(GateId, Micros)> {
        self.gates.pop_front()
    }

    pub fn envelope(&mut self) -> Option<EnvelopeId> {
        self.envelopes.pop_front()
    }

    /// When a workspace changed its state, each time once.
    pub fn moment(&mut self, id: WorkspaceId) -> Option<Micros> {
        self.moments.get_mut(&id)?.pop_front()
    }

    /// Whether a rule outside the model made this question void.
    pub fn is_void(&self, gate: GateId) -> bool {
        self.void.contains(&gate)
    }
}

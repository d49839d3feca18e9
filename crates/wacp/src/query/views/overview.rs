//! A run as a whole: how far it came and what waits.

use std::collections::BTreeMap;

use trail::Micros;

use crate::{
    id::WorkspaceId,
    query::{Fold, Reader, Visible},
    state::Slot,
    task::Status,
    workspace::lifecycle::{Reason, State},
};

/// What the state says of it, and from which entry to which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    pub entries: u64,
    pub began: Option<Micros>,
    pub last: Option<Micros>,
    pub workspaces: BTreeMap<State, u32>,
    pub failures: BTreeMap<Reason, u32>,
    pub tasks: BTreeMap<Status, u32>,
    pub pending_gates: u32,
    pub open_escalations: u32,
}

impl Overview {
    /// What the reader sees of the state, before any entry.
    pub fn of(reader: &Reader<'_>) -> Overview {
        let run = reader.run;
        let gates = run.gates.values().map(|gate| gate.proposal.workspace());
        let escalations = run.escalations.values();
        let mut view = Overview {
            pending_gates: gates.filter(|id| reader.contains(*id)).count() as u32,
            open_escalations: escalations
                .filter(|escalation| reader.contains(Some(escalation.workspace)))
                .count() as u32,
            ..Overview::default()
        };
        for (at, slot) in run.workspaces.iter().enumerate() {
            if !reader.contains(Some(WorkspaceId(at as u32))) {
                continue;
            }
            *view.workspaces.entry(slot.state()).or_default() += 1;
            if let Slot::Ended(ended) = slot
                && let Some(reason) = ended.reason
            {
                *view.failures.entry(reason).or_default() += 1;
            }
        }
        for task in &run.tasks {
            // A task nobody has worked on is the plan's, and so the coordinator's.
            let mut places = task.history.iter();
            if reader.contains(None) || places.any(|id| reader.contains(Some(*id))) {
                *view.tasks.entry(task.status).or_default() += 1;
            }
        }
        view
    }
}

impl Fold for Overview {
    fn push(&mut self, entry: Visible<'_>) {
        self.entries += 1;
        self.began = self.began.or(Some(entry.time));
        self.last = Some(entry.time);
    }
}

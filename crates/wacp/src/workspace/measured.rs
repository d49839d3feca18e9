//! Totals that were reported and that no entry tells yet.
//!
//! They are no part of the run, which entries alone make: they change no state
//! and are written with the next entry that carries totals. After a crash the
//! next report, being a total, says it all again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::budget::Usage;
use crate::{
    command::{Command, Order, Principal},
    id::WorkspaceId,
    state::Run,
};

/// Reported totals by workspace, kept beside the run they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured(BTreeMap<WorkspaceId, Usage>);

impl Measured {
    /// What was last reported of a workspace; nothing if nobody did.
    pub fn of(&self, id: WorkspaceId) -> Usage {
        self.0.get(&id).copied().unwrap_or_default()
    }

    /// Notes the totals of an order that was accepted and applied to the run.
    pub fn note(&mut self, run: &Run, order: &Order) {
        let (id, totals, by_agent) = match (&order.command, order.principal) {
            (Command::MeterUsage { workspace, totals }, _) => (*workspace, *totals, false),
            (Command::ReportUsage { totals }, Principal::Agent(id)) => (id, *totals, true),
            _ => return,
        };
        let counts = run
            .open(id)
            .is_some_and(|open| open.meter.is_some() && !(by_agent && open.metered));
        if counts {
            let known = self.0.entry(id).or_default();
            *known = known.max(totals);
        }
        // Of workspaces that have ended nothing is kept for long.
        if self.0.len() > 2 * run.open_count as usize {
            self.0.retain(|id, _| run.open(*id).is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept is bounded by the workspaces that are open.
    #[test]
    fn totals_of_workspaces_that_have_ended_are_dropped() {
        let totals = Usage {
            tokens: 7,
            ..Usage::default()
        };
        let ended = (1..=3).map(|id| (WorkspaceId(id), totals));
        let mut measured = Measured(ended.collect());
        let workspace = WorkspaceId(1);
        let order = Order::new(Principal::Meter, Command::MeterUsage { workspace, totals });
        let nothing_open = Run::default();
        measured.note(&nothing_open, &order);
        assert!(measured.0.is_empty());
    }
}

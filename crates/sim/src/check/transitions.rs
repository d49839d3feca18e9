//! No workspace goes where the table does not lead (WACP §6.3).
//!
//! The table stands here a second time, written from the specification by hand.

use std::collections::BTreeMap;

use wacp::{
    Entry, Event,
    id::WorkspaceId,
    workspace::lifecycle::{State, Trigger},
};

use super::{Checker, Verdict, View, ensure};

use State::{Active, Blocked, Closed, Conflicted, Failed, Idle, Integrating, Migrating, Suspended};
use Trigger as T;

/// From, to, and what may lead there. `BACK` stands for the state before.
type Row = (State, State, &'static [Trigger]);

const TABLE: [Row; 21] = [
    (Idle, Active, &[T::FirstEnvelope]),
    (Idle, Failed, &[T::CreationError, T::Timeout]),
    (Active, Blocked, &[T::BlockedSignal]),
    (Active, Migrating, &[T::MigrationInitiated]),
    (Active, Suspended, &[T::Suspended]),
    (Active, Integrating, &[T::CompleteSignal]),
    (
        Active,
        Failed,
        &[T::FailedSignal, T::Timeout, T::BudgetExceeded],
    ),
    (Blocked, Active, &[T::StartedSignal]),
    (Blocked, Migrating, &[T::MigrationInitiated]),
    (Blocked, Suspended, &[T::Suspended]),
    (Blocked, Failed, &[T::Timeout, T::BudgetExceeded]),
    (Migrating, Active, &[T::MigrationSucceeded]),
    (Migrating, Blocked, &[T::MigrationSucceeded]),
    (Migrating, Failed, &[T::MigrationError]),
    (Suspended, Active, &[T::Resumed]),
    (Suspended, Blocked, &[T::Resumed]),
    (Suspended, Failed, &[T::SystemShutdown]),
    (Integrating, Closed, &[T::IntegrationSucceeded]),
    (Integrating, Conflicted, &[T::ConflictDetected]),
    (Integrating, Failed, &[T::IntegrationError]),
    (Conflicted, Failed, &[T::ConflictUnresolvable]),
];

fn leads(from: State, to: State, trigger: Trigger) -> bool {
    // Aborts and the failure of the parent end whatever has not ended (§6.4,
    // §6.5).
    let ends = to == Failed && matches!(trigger, T::Aborted | T::ParentFailed);
    let resolved = (from, to, trigger) == (Conflicted, Closed, T::ConflictResolved);
    let row = |(a, b, triggers): &Row| (*a, *b) == (from, to) && triggers.contains(&trigger);
    resolved || (ends && !matches!(from, Closed | Failed)) || TABLE.iter().any(row)
}

#[derive(Debug, Default)]
pub struct Transitions {
    /// Where each is, and where it was before it was paused.
    states: BTreeMap<WorkspaceId, (State, Option<State>)>,
}

impl Checker for Transitions {
    fn claim(&self) -> &'static str {
        "no workspace goes where the table does not lead"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::WorkspaceCreated(e) => {
                let fresh = self.states.insert(e.workspace, (Idle, None)).is_none();
                ensure(fresh, || format!("{} is created again", e.workspace))
            }
            Event::WorkspaceStateChanged(e) => {
                let id = e.workspace;
                let Some((state, before)) = self.states.get(&id).copied() else {
                    return Err(format!("{id} moves and was never created"));
                };
                let (from, to) = (e.from_state, e.to_state);
                ensure(from == state, || {
                    format!("{id} leaves {from:?} and was {state:?}")
                })?;
                ensure(leads(from, to, e.trigger), || {
                    format!("{id}: {from:?} to {to:?} by {:?}", e.trigger)
                })?;
                let returns = matches!(e.trigger, T::Resumed | T::MigrationSucceeded);
                ensure(!returns || before == Some(to), || {
                    format!("{id} comes back to {to:?} and was {before:?}")
                })?;
                ensure((to == Failed) == e.reason.is_some(), || {
                    format!("{id} is {to:?} for the reason {:?}", e.reason)
                })?;
                let pauses = matches!(to, Suspended | Migrating);
                self.states.insert(id, (to, pauses.then_some(from)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        for (id, (state, _)) in &self.states {
            let found = view.run.state_of(*id);
            ensure(found == Some(*state), || {
                format!("{id} is {found:?} in the run and {state:?} by its trail")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn the_table_is_the_one_that_the_machine_has() {
        for from in State::ALL {
            for to in State::ALL {
                for trigger in Trigger::ALL {
                    let machine = wacp::workspace::lifecycle::is_allowed(Some(from), to, trigger);
                    assert_eq!(
                        leads(from, to, trigger),
                        machine,
                        "{from:?} {to:?} {trigger:?}"
                    );
                }
            }
        }
    }

    /// Changes the first move that is meant.
    fn moved(from: State, change: fn(&mut wacp::event::WorkspaceStateChanged)) {
        history::objects::<Transitions>(|entry| match &mut entry.event {
            Event::WorkspaceStateChanged(e) if e.from_state == from => {
                change(e);
                true
            }
            _ => false,
        });
    }

    #[test]
    fn a_move_outside_the_table_is_seen() {
        moved(Active, |e| e.trigger = T::Created);
        moved(Active, |e| e.to_state = Closed);
        moved(Active, |e| e.from_state = Idle);
        moved(Suspended, |e| match e.to_state {
            Active => e.to_state = Blocked,
            _ => e.to_state = Conflicted,
        });
    }

    #[test]
    fn a_missing_creation_is_seen() {
        history::without::<Transitions>(|e| matches!(e, Event::WorkspaceCreated(_)));
    }
}

//! The eleven signals, and what each of them does in each state.
//!
//! The set is closed (WACP §4.3). Whether a role may emit a signal is decided
//! in `role`; here stands only what the state makes of it.

use crate::workspace::lifecycle::{State, Trigger};

trail::closed! {
    SignalType {
        Ready,
        Started,
        Blocked,
        Checkpoint,
        Complete,
        Failed,
        Integrate,
        Acknowledged,
        Escalation,
        Suspend,
        Migrate,
    }
}

impl SignalType {
    /// Signals that say nothing without a reason.
    pub fn needs_reason(self) -> bool {
        matches!(
            self,
            SignalType::Blocked | SignalType::Failed | SignalType::Escalation
        )
    }
}

/// A set of signal types, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SignalSet(u16);

impl SignalSet {
    pub fn of(signals: &[SignalType]) -> SignalSet {
        let mut set = SignalSet(0);
        for signal in signals {
            set.insert(*signal);
        }
        set
    }

    pub fn contains(self, signal: SignalType) -> bool {
        self.0 & (1 << signal as u16) != 0
    }

    pub fn insert(&mut self, signal: SignalType) {
        self.0 |= 1 << signal as u16;
    }

    /// Whether it was there.
    pub fn remove(&mut self, signal: SignalType) -> bool {
        let had = self.contains(signal);
        self.0 &= !(1 << signal as u16);
        had
    }
}

/// What an agent's signal does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It moves the workspace.
    Moves(State, Trigger),
    /// It is recorded and delivered, and the state stays.
    Recorded,
    /// It has no meaning in this state; the denial is recorded instead.
    Denied,
}

/// What a signal emitted by the workspace's own agent does in this state.
///
/// A signal for a transition already made is recorded without effect (§4.2).
/// In a terminal state everything is recorded without effect; while an agent is
/// being replaced or paused it says nothing (§6.2).
pub fn outcome(state: State, signal: SignalType) -> Outcome {
    use Outcome::{Denied, Moves, Recorded};
    use SignalType as S;
    match (state, signal) {
        (State::Closed | State::Failed, _) => Recorded,
        (State::Migrating | State::Suspended, _) => Denied,
        // These accompany the coordinator's own commands and move nothing alone.
        (_, S::Integrate | S::Suspend | S::Migrate | S::Acknowledged) => Recorded,
        (_, S::Ready) => Recorded,
        (State::Idle, S::Failed) => Moves(State::Failed, Trigger::CreationError),
        (State::Active, S::Failed) => Moves(State::Failed, Trigger::FailedSignal),
        (State::Active, S::Blocked) => Moves(State::Blocked, Trigger::BlockedSignal),
        (State::Active, S::Complete) => Moves(State::Integrating, Trigger::CompleteSignal),
        (State::Blocked, S::Started) => Moves(State::Active, Trigger::StartedSignal),
        (State::Blocked, S::Blocked) => Recorded,
        (State::Active | State::Blocked, S::Started | S::Escalation) => Recorded,
        (State::Active, S::Checkpoint) => Recorded,
        (State::Integrating | State::Conflicted, S::Started | S::Complete) => Recorded,
        _ => Denied,
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    /// One row per signal, one column per state, in the order of §6.2.
    /// `.` recorded without effect, `x` denied, otherwise the state it leads to.
    const EXPECTED: &str = "
                     idle   active      blocked suspended migrating integrating conflicted closed failed
        ready        .      .           .       x         x         .           .          .      .
        started      x      .           active  x         x         .           .          .      .
        blocked      x      blocked     .       x         x         x           x          .      .
        checkpoint   x      .           x       x         x         x           x          .      .
        complete     x      integrating x       x         x         .           .          .      .
        failed       failed failed      x       x         x         x           x          .      .
        integrate    .      .           .       x         x         .           .          .      .
        acknowledged .      .           .       x         x         .           .          .      .
        escalation   x      .           .       x         x         x           x          .      .
        suspend      .      .           .       x         x         .           .          .      .
        migrate      .      .           .       x         x         .           .          .      .
    ";

    fn word<T: Serialize>(value: T) -> String {
        serde_json::to_string(&value)
            .unwrap()
            .trim_matches('"')
            .to_owned()
    }

    #[test]
    fn every_signal_in_every_state_does_what_the_table_says() {
        let rows: Vec<Vec<&str>> = EXPECTED
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect())
            .filter(|row: &Vec<&str>| !row.is_empty())
            .collect();
        assert_eq!(rows.len(), SignalType::ALL.len());
        for (signal, row) in SignalType::ALL.into_iter().zip(rows) {
            assert_eq!(row[0], word(signal));
            for (state, cell) in State::ALL.into_iter().zip(&row[1..]) {
                let found = match outcome(state, signal) {
                    Outcome::Moves(to, _) => word(to),
                    Outcome::Recorded => ".".to_owned(),
                    Outcome::Denied => "x".to_owned(),
                };
                assert_eq!(found, **cell, "{signal:?} in {state:?}");
            }
        }
    }

    #[test]
    fn a_signal_moves_only_along_the_transition_table() {
        for state in State::ALL {
            for signal in SignalType::ALL {
                if let Outcome::Moves(to, trigger) = outcome(state, signal) {
                    assert!(crate::workspace::lifecycle::is_allowed(
                        Some(state),
                        to,
                        trigger
                    ));
                }
            }
        }
    }
}

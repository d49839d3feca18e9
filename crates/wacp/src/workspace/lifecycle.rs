//! The nine states of a workspace and every way from one to another.
//!
//! The table is the whole truth: nothing else changes a state, and a
//! transition that is not a row of it cannot be written (WACP §6.2, §6.3).
//! Two triggers stand beside §6.3 because §6.4 and §6.5 allow them "at any
//! time": the abort and the failure of the parent.

use serde::{Deserialize, Serialize};

trail::closed! {
    State {
        Idle,
        Active,
        Blocked,
        Suspended,
        Migrating,
        Integrating,
        Conflicted,
        Closed,
        Failed,
    }
}

impl State {
    pub fn is_terminal(self) -> bool {
        matches!(self, State::Closed | State::Failed)
    }

    /// WACP §6.6: the timeout counts the time spent in these.
    pub fn is_timed(self) -> bool {
        matches!(self, State::Active | State::Blocked | State::Conflicted)
    }

    /// Wall time is consumed while the agent works or waits, not while it is
    /// suspended (§6.2).
    pub fn is_metered(self) -> bool {
        matches!(self, State::Active | State::Blocked)
    }

    /// What the inbox does with a new envelope in this state.
    pub fn inbox(self) -> Inbox {
        match self {
            State::Idle | State::Active | State::Blocked => Inbox::Open,
            State::Suspended | State::Migrating => Inbox::Queueing,
            State::Integrating | State::Conflicted => Inbox::Sealed,
            State::Closed | State::Failed => Inbox::Gone,
        }
    }
}

/// How an inbox treats what arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inbox {
    Open,
    /// Kept for later.
    Queueing,
    /// Read-only: refused.
    Sealed,
    /// Terminal: refused.
    Gone,
}

trail::closed! {
    /// What makes a workspace change its state.
    Trigger {
        Created,
        FirstEnvelope,
        CreationError,
        Timeout,
        BlockedSignal,
        MigrationInitiated,
        Suspended,
        CompleteSignal,
        FailedSignal,
        BudgetExceeded,
        StartedSignal,
        MigrationSucceeded,
        MigrationError,
        Resumed,
        SystemShutdown,
        IntegrationSucceeded,
        ConflictDetected,
        IntegrationError,
        ConflictResolved,
        ConflictUnresolvable,
        /// Possible from every state that is not terminal (§6.4).
        Aborted,
        /// Possible from every state that is not terminal (§6.5).
        ParentFailed,
    }
}

use State::{Active, Blocked, Closed, Conflicted, Failed, Idle, Integrating, Migrating, Suspended};
use Trigger as T;

/// WACP §6.3, one row per (from, to, trigger). `None` is "does not exist yet".
pub const TRANSITIONS: &[(Option<State>, State, Trigger)] = &[
    (None, Idle, T::Created),
    (Some(Idle), Active, T::FirstEnvelope),
    (Some(Idle), Failed, T::CreationError),
    (Some(Idle), Failed, T::Timeout),
    (Some(Active), Blocked, T::BlockedSignal),
    (Some(Active), Migrating, T::MigrationInitiated),
    (Some(Active), Suspended, T::Suspended),
    (Some(Active), Integrating, T::CompleteSignal),
    (Some(Active), Failed, T::FailedSignal),
    (Some(Active), Failed, T::Aborted),
    (Some(Active), Failed, T::Timeout),
    (Some(Active), Failed, T::BudgetExceeded),
    (Some(Blocked), Active, T::StartedSignal),
    (Some(Blocked), Migrating, T::MigrationInitiated),
    (Some(Blocked), Suspended, T::Suspended),
    (Some(Blocked), Failed, T::Aborted),
    (Some(Blocked), Failed, T::Timeout),
    (Some(Blocked), Failed, T::BudgetExceeded),
    (Some(Migrating), Active, T::MigrationSucceeded),
    (Some(Migrating), Blocked, T::MigrationSucceeded),
    (Some(Migrating), Failed, T::MigrationError),
    (Some(Suspended), Active, T::Resumed),
    (Some(Suspended), Blocked, T::Resumed),
    (Some(Suspended), Failed, T::Aborted),
    (Some(Suspended), Failed, T::SystemShutdown),
    (Some(Integrating), Closed, T::IntegrationSucceeded),
    (Some(Integrating), Conflicted, T::ConflictDetected),
    (Some(Integrating), Failed, T::IntegrationError),
    (Some(Conflicted), Closed, T::ConflictResolved),
    (Some(Conflicted), Failed, T::ConflictUnresolvable),
];

/// The two triggers that §6.4 and §6.5 allow from every state that is not
/// terminal, for the states where §6.3 does not already name them.
pub const AT_ANY_TIME: &[(Option<State>, State, Trigger)] = &[
    (Some(Idle), Failed, T::Aborted),
    (Some(Migrating), Failed, T::Aborted),
    (Some(Integrating), Failed, T::Aborted),
    (Some(Conflicted), Failed, T::Aborted),
    (Some(Idle), Failed, T::ParentFailed),
    (Some(Active), Failed, T::ParentFailed),
    (Some(Blocked), Failed, T::ParentFailed),
    (Some(Suspended), Failed, T::ParentFailed),
    (Some(Migrating), Failed, T::ParentFailed),
    (Some(Integrating), Failed, T::ParentFailed),
    (Some(Conflicted), Failed, T::ParentFailed),
];

/// Whether the protocol knows this transition.
pub fn is_allowed(from: Option<State>, to: State, trigger: Trigger) -> bool {
    let row = (from, to, trigger);
    TRANSITIONS.contains(&row) || AT_ANY_TIME.contains(&row)
}

/// Why a workspace failed. The first thirteen are the protocol's; the others
/// name what the protocol leaves to the agent or to us.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ParentFailed,
    AbortedByCoordinator,
    AbortedByHuman,
    Timeout,
    BudgetExceeded,
    MigrationError,
    GracefulTerminationExpired,
    SystemShutdown,
    BatchAbort,
    RevisionRequired,
    Rejected,
    ConflictTimeout,
    GateRejectedByHuman,
    /// The agent said so; its own words are in the signal.
    AgentFailed,
    CreationError,
    /// A conflict is resolved by doing the work again.
    AgentRework,
    GateRejectedByFallback,
    TaskCancelled,
    IntegrityViolation,
}

impl Reason {
    /// The word for it, as the trail spells it.
    pub fn word(self) -> &'static str {
        match self {
            Reason::ParentFailed => "parent_failed",
            Reason::AbortedByCoordinator => "aborted_by_coordinator",
            Reason::AbortedByHuman => "aborted_by_human",
            Reason::Timeout => "timeout",
            Reason::BudgetExceeded => "budget_exceeded",
            Reason::MigrationError => "migration_error",
            Reason::GracefulTerminationExpired => "graceful_termination_expired",
            Reason::SystemShutdown => "system_shutdown",
            Reason::BatchAbort => "batch_abort",
            Reason::RevisionRequired => "revision_required",
            Reason::Rejected => "rejected",
            Reason::ConflictTimeout => "conflict_timeout",
            Reason::GateRejectedByHuman => "gate_rejected_by_human",
            Reason::AgentFailed => "agent_failed",
            Reason::CreationError => "creation_error",
            Reason::AgentRework => "agent_rework",
            Reason::GateRejectedByFallback => "gate_rejected_by_fallback",
            Reason::TaskCancelled => "task_cancelled",
            Reason::IntegrityViolation => "integrity_violation",
        }
    }

    /// The trigger under which this reason ends a workspace in this state.
    ///
    /// A grace period that ends is a time that ran out, and so is the wait for an
    /// agent that never came to work that had begun. A run that shuts down is
    /// the runtime carrying out an abort, but where §6.3 has a row of its own.
    pub fn trigger(self, state: State) -> Trigger {
        match (self, state) {
            (Reason::ParentFailed, _) => T::ParentFailed,
            (Reason::SystemShutdown, Suspended) => T::SystemShutdown,
            (Reason::Timeout, Conflicted) | (Reason::ConflictTimeout, _) => T::ConflictUnresolvable,
            (Reason::Timeout, Idle | Active | Blocked) => T::Timeout,
            (Reason::GracefulTerminationExpired, Active | Blocked) => T::Timeout,
            (Reason::CreationError, Active) => T::Timeout,
            (Reason::BudgetExceeded, Active | Blocked) => T::BudgetExceeded,
            (Reason::MigrationError, Migrating) => T::MigrationError,
            (Reason::AgentFailed, Idle) | (Reason::CreationError, Idle) => T::CreationError,
            (Reason::AgentFailed, Active) => T::FailedSignal,
            (
                Reason::RevisionRequired
                | Reason::Rejected
                | Reason::GateRejectedByHuman
                | Reason::GateRejectedByFallback
                | Reason::IntegrityViolation,
                Integrating,
            ) => T::IntegrationError,
            (
                Reason::AgentRework
                | Reason::GateRejectedByHuman
                | Reason::GateRejectedByFallback
                | Reason::IntegrityViolation,
                Conflicted,
            ) => T::ConflictUnresolvable,
            _ => T::Aborted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §6.3 as a person reads it: every pair of states, and what leads from
    /// one to the other. What is not written here does not exist.
    const EXPECTED: &str = "
        -           > idle        : created
        idle        > active      : first_envelope
        idle        > failed      : creation_error timeout aborted parent_failed
        active      > blocked     : blocked_signal
        active      > migrating   : migration_initiated
        active      > suspended   : suspended
        active      > integrating : complete_signal
        active      > failed      : failed_signal aborted timeout budget_exceeded parent_failed
        blocked     > active      : started_signal
        blocked     > migrating   : migration_initiated
        blocked     > suspended   : suspended
        blocked     > failed      : aborted timeout budget_exceeded parent_failed
        migrating   > active      : migration_succeeded
        migrating   > blocked     : migration_succeeded
        migrating   > failed      : migration_error aborted parent_failed
        suspended   > active      : resumed
        suspended   > blocked     : resumed
        suspended   > failed      : aborted system_shutdown parent_failed
        integrating > closed      : integration_succeeded
        integrating > conflicted  : conflict_detected
        integrating > failed      : integration_error aborted parent_failed
        conflicted  > closed      : conflict_resolved
        conflicted  > failed      : conflict_unresolvable aborted parent_failed
    ";

    fn word<T: Serialize>(value: T) -> String {
        let text = serde_json::to_string(&value).unwrap();
        text.trim_matches('"').to_owned()
    }

    #[test]
    fn every_transition_is_in_the_table_and_no_other() {
        let mut seen = 0;
        let expected = |from: &str, to: &str, trigger: &str| {
            EXPECTED.lines().any(|line| {
                let Some((path, triggers)) = line.split_once(':') else {
                    return false;
                };
                let (a, b) = path.split_once('>').unwrap();
                a.trim() == from
                    && b.trim() == to
                    && triggers.split_whitespace().any(|t| t == trigger)
            })
        };
        for from in std::iter::once(None).chain(State::ALL.map(Some)) {
            for to in State::ALL {
                for trigger in Trigger::ALL {
                    let name = from.map_or("-".to_owned(), word);
                    let allowed = is_allowed(from, to, trigger);
                    assert_eq!(
                        allowed,
                        expected(&name, &word(to), &word(trigger)),
                        "{name} > {to:?} : {trigger:?}"
                    );
                    seen += usize::from(allowed);
                }
            }
        }
        assert_eq!(seen, TRANSITIONS.len() + AT_ANY_TIME.len());
    }

    #[test]
    fn terminal_states_are_never_left_and_every_other_can_be_aborted() {
        for state in State::ALL {
            let leaves = State::ALL.into_iter().any(|to| {
                Trigger::ALL
                    .into_iter()
                    .any(|trigger| is_allowed(Some(state), to, trigger))
            });
            assert_eq!(leaves, !state.is_terminal(), "{state:?}");
            for trigger in [Trigger::Aborted, Trigger::ParentFailed] {
                assert_eq!(
                    is_allowed(Some(state), State::Failed, trigger),
                    !state.is_terminal()
                );
            }
        }
    }
}

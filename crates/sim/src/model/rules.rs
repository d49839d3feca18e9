//! The tables of the specification, once more.

use wacp::{
    role::{EnvelopeType, Role},
    signal::SignalType,
    workspace::lifecycle::State,
};

/// The run's taxonomy has one derived role, which sends one registered type.
const REVIEWER: Role = Role::Derived(0);
const REPORT: EnvelopeType = EnvelopeType::Registered(0);

/// WACP §5.2: which signals a role emits.
pub fn may_emit(role: Role, signal: SignalType) -> bool {
    use SignalType as S;
    let allowed: &[SignalType] = match role {
        Role::Coordinator => &[
            S::Ready,
            S::Started,
            S::Failed,
            S::Integrate,
            S::Acknowledged,
            S::Suspend,
            S::Migrate,
        ],
        Role::Worker | Role::Derived(_) => &[
            S::Ready,
            S::Started,
            S::Blocked,
            S::Checkpoint,
            S::Complete,
            S::Failed,
            S::Escalation,
        ],
        Role::Observer => &[S::Ready, S::Started, S::Complete, S::Failed, S::Escalation],
    };
    allowed.contains(&signal)
}

/// What a signal does in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Moves(State),
    Nothing,
    Denied,
}

/// WACP §6.2, §6.3: which signals move a workspace, which are only recorded.
pub fn effect(state: State, signal: SignalType) -> Does {
    use SignalType as S;
    // Nobody speaks while paused; the dead may say what they like.
    if state == State::Suspended || state == State::Migrating {
        return Does::Denied;
    }
    if state == State::Closed || state == State::Failed {
        return Does::Nothing;
    }
    let at_work = state == State::Active || state == State::Blocked;
    let is_over = state == State::Integrating || state == State::Conflicted;
    match signal {
        S::Ready | S::Integrate | S::Acknowledged | S::Suspend | S::Migrate => Does::Nothing,
        S::Started if state == State::Blocked => Does::Moves(State::Active),
        S::Started if state == State::Active || is_over => Does::Nothing,
        S::Blocked if state == State::Active => Does::Moves(State::Blocked),
        S::Blocked if state == State::Blocked => Does::Nothing,
        S::Checkpoint if state == State::Active => Does::Nothing,
        S::Complete if state == State::Active => Does::Moves(State::Integrating),
        S::Complete if is_over => Does::Nothing,
        S::Failed if state == State::Active || state == State::Idle => Does::Moves(State::Failed),
        S::Escalation if at_work => Does::Nothing,
        _ => Does::Denied,
    }
}

/// Signals that say nothing without a reason.
pub fn needs_reason(signal: SignalType) -> bool {
    use SignalType as S;
    signal == S::Blocked || signal == S::Failed || signal == S::Escalation
}

/// WACP §5.5 and the taxonomy: the types a role sends.
pub fn sends(role: Role, kind: EnvelopeType) -> bool {
    match role {
        Role::Coordinator => kind == EnvelopeType::Directive || kind == EnvelopeType::Feedback,
        Role::Worker => kind == EnvelopeType::Query,
        REVIEWER => kind == REPORT,
        Role::Observer | Role::Derived(_) => false,
    }
}

/// Observers neither send nor receive.
pub fn corresponds(role: Role) -> bool {
    role != Role::Observer
}

/// Types that exist in the run.
pub fn is_registered(kind: EnvelopeType) -> bool {
    match kind {
        EnvelopeType::Registered(_) => kind == REPORT,
        _ => true,
    }
}

/// Roles that a new workspace can have.
pub fn is_role(role: Role) -> bool {
    match role {
        Role::Coordinator => false,
        Role::Worker | Role::Observer => true,
        Role::Derived(_) => role == REVIEWER,
    }
}

/// WACP §6.6: the states whose time counts.
pub fn is_timed(state: State) -> bool {
    state == State::Active || state == State::Blocked || state == State::Conflicted
}

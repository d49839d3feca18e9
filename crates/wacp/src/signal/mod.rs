//! The unit of notification: emitted, recorded, delivered to the parent.
//!
//! Signals go up one step and nowhere else. The root's are recorded and
//! delivered to no one; an acknowledgement stays where it was made, since the
//! sender reads it off the envelope (WACP §4.3).

use serde::{Deserialize, Serialize};

use crate::{
    command::Principal,
    envelope, escalation,
    event::{Entry, Event, Reference, SignalDelivered, SignalEmitted},
    id::{SignalId, WorkspaceId},
    rejection::Refusal,
    role::{
        BaseRole, Text,
        delegation::{deny, forbid},
    },
    stage::{Decision, Stage},
    state::{Run, Slot},
    workspace::{
        end, is_long,
        lifecycle::{Reason, State, Trigger},
    },
};

pub mod table;

pub use table::{Outcome, SignalSet, SignalType, outcome};

/// What follows a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalEffect {
    /// Nothing: the sender reads an acknowledgement off its envelope, and what
    /// the agent of an ended workspace still says is only recorded.
    None,
    /// The parent is told.
    Heard,
    /// The state changes, and the parent is told. If that is missing after a
    /// crash, it is made good then.
    Moves,
}

/// A state change that a recorded entry announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owed {
    /// A signal that moves its workspace.
    Signal(SignalType),
    /// A merge that is done: its workspace closes.
    Close,
}

/// An agent emits a signal.
pub fn emit(
    stage: &mut Stage<'_>,
    principal: Principal,
    signal: SignalType,
    reason: Option<&Text>,
    reference: Option<Reference>,
) -> Decision {
    let from = match principal {
        Principal::Coordinator => WorkspaceId::ROOT,
        Principal::Agent(id) => id,
        _ => {
            return Err(forbid(stage, principal, None));
        }
    };
    let run = stage.before();
    let slot = run.workspace(from).ok_or(Refusal::TargetNotFound)?;
    if !run
        .permissions(slot.role())
        .is_some_and(|p| p.may_emit(signal))
    {
        return Err(forbid(stage, principal, Some(from)));
    }
    if signal.needs_reason() && reason.is_none_or(|text| text.is_empty()) {
        return Err(Refusal::ReasonRequired);
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    let reason = reason.cloned();
    match outcome(slot.state(), signal) {
        Outcome::Denied => Err(deny(
            stage,
            principal,
            Some(from),
            (Refusal::SignalNotAllowed, None),
        )),
        Outcome::Moves(State::Integrating, _) => end::complete(stage, from, reason, reference),
        Outcome::Moves(State::Failed, _) => {
            say_and(stage, from, signal, reason, reference, |stage| {
                end::fail(stage, from, Reason::AgentFailed);
            });
            Ok(())
        }
        Outcome::Moves(to, trigger) => {
            say_and(stage, from, signal, reason, reference, |stage| {
                stage.transition(from, to, trigger, None);
            });
            Ok(())
        }
        Outcome::Recorded => {
            if let (SignalType::Acknowledged, Some(Reference::Envelope(envelope))) =
                (signal, reference)
            {
                return envelope::acknowledge(stage, principal, from, envelope);
            }
            if signal == SignalType::Escalation && !slot.state().is_terminal() {
                return escalation::escalate(stage, principal, from, reason, reference);
            }
            say(stage, from, signal, reason, reference);
            if signal == SignalType::Ready {
                begin(stage, from);
            }
            Ok(())
        }
    }
}

/// Observers receive no envelopes and the root has no sender: for both the
/// creation directive, delivered by the runtime, is the first envelope.
pub fn begin(stage: &mut Stage<'_>, id: WorkspaceId) {
    let Some(open) = stage
        .before()
        .open(id)
        .filter(|open| open.state == State::Idle)
    else {
        return;
    };
    let waits = stage
        .before()
        .permissions(open.role)
        .is_some_and(|p| p.base != BaseRole::Worker);
    if waits {
        let directive = open.directive;
        stage.as_protocol(|stage| envelope::post_directive(stage, id, directive));
    }
}

/// Records a signal and delivers it to the parent.
pub fn say(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    signal_type: SignalType,
    reason: Option<Text>,
    reference: Option<Reference>,
) -> SignalId {
    let is_late = stage
        .before()
        .state_of(from)
        .is_some_and(State::is_terminal);
    let effect = match signal_type {
        SignalType::Acknowledged => SignalEffect::None,
        _ if is_late => SignalEffect::None,
        _ => SignalEffect::Heard,
    };
    let signal = record(stage, from, signal_type, reason, reference, effect);
    if effect == SignalEffect::Heard {
        tell_parent(stage, from, signal);
    }
    signal
}

/// Records a signal, moves the workspace, then delivers it to the parent.
pub fn say_and(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    signal_type: SignalType,
    reason: Option<Text>,
    reference: Option<Reference>,
    moves: impl FnOnce(&mut Stage<'_>),
) {
    let effect = SignalEffect::Moves;
    let signal = record(stage, from, signal_type, reason, reference, effect);
    moves(stage);
    tell_parent(stage, from, signal);
}

fn record(
    stage: &mut Stage<'_>,
    from: WorkspaceId,
    signal_type: SignalType,
    reason: Option<Text>,
    reference: Option<Reference>,
    effect: SignalEffect,
) -> SignalId {
    let signal = stage.new_signal();
    stage.push(
        Some(from),
        SignalEmitted {
            effect,
            from,
            reason,
            reference,
            signal,
            signal_type,
        },
    );
    signal
}

fn tell_parent(stage: &mut Stage<'_>, from: WorkspaceId, signal: SignalId) {
    if let Some(parent) = stage.parent_of(from)
        && stage.state_of(parent).is_some_and(listens)
    {
        deliver(stage, parent, from, signal);
    }
}

/// A parent that is paused or being replaced hears later; an ended one never.
pub fn listens(state: State) -> bool {
    !state.is_terminal() && !matches!(state, State::Suspended | State::Migrating)
}

/// Delivers at most once in a decision; returns whether it did.
fn deliver(
    stage: &mut Stage<'_>,
    delivered_to: WorkspaceId,
    from: WorkspaceId,
    signal: SignalId,
) -> bool {
    if stage.is_told(signal) {
        return false;
    }
    stage.push_protocol(
        Some(delivered_to),
        SignalDelivered {
            delivered_to,
            from,
            signal,
        },
    );
    true
}

/// What waits for a workspace to listen, in the order of emission, and whose.
fn queued(run: &Run, parent: WorkspaceId) -> impl Iterator<Item = (SignalId, WorkspaceId)> {
    let range = (parent, SignalId(0))..=(parent, SignalId(u64::MAX));
    let waiting = run.queued_signals.range(range);
    waiting.map(|((_, signal), from)| (*signal, *from))
}

/// Delivers what waited.
pub fn deliver_queued(stage: &mut Stage<'_>, parent: WorkspaceId) -> u32 {
    deliver_all(stage, parent, parent)
}

/// What a workspace that ends did not hear any more the root hears: no signal is
/// dropped (WACP §10.4).
pub fn pass_on(stage: &mut Stage<'_>, ended: WorkspaceId) {
    let root = WorkspaceId::ROOT;
    if ended != root && stage.state_of(root).is_some_and(listens) {
        deliver_all(stage, ended, root);
    }
}

fn deliver_all(stage: &mut Stage<'_>, parent: WorkspaceId, to: WorkspaceId) -> u32 {
    let delivered = queued(stage.before(), parent)
        .map(|(signal, from)| u32::from(deliver(stage, to, from, signal)));
    delivered.sum()
}

/// What a workspace said and its old parent did not hear goes to the new one.
pub fn hand_over(stage: &mut Stage<'_>, child: WorkspaceId, old: WorkspaceId, new: WorkspaceId) {
    for signal in unheard(stage.before(), child, old) {
        deliver(stage, new, child, signal);
    }
}

fn unheard(run: &Run, child: WorkspaceId, parent: WorkspaceId) -> Vec<SignalId> {
    let theirs = queued(run, parent).filter(|(_, from)| *from == child);
    theirs.map(|(signal, _)| signal).collect()
}

/// Its unheard signals wait for the new parent.
pub(crate) fn reparented(run: &mut Run, child: WorkspaceId, old: WorkspaceId, new: WorkspaceId) {
    for signal in unheard(run, child, old) {
        run.queued_signals.remove(&(old, signal));
        run.queued_signals.insert((new, signal), child);
    }
}

/// Makes the state change that was announced and that a crash swallowed.
pub fn make_good(stage: &mut Stage<'_>, id: WorkspaceId, owed: Owed) {
    let Some(state) = stage.before().state_of(id) else {
        return;
    };
    let signal = match owed {
        Owed::Signal(signal) => signal,
        Owed::Close => {
            let trigger = match state {
                State::Conflicted => Trigger::ConflictResolved,
                _ => Trigger::IntegrationSucceeded,
            };
            stage.transition(id, State::Closed, trigger, None);
            crate::integration::merge::close(stage, id);
            return;
        }
    };
    match outcome(state, signal) {
        Outcome::Moves(State::Failed, _) => end::fail(stage, id, Reason::AgentFailed),
        Outcome::Moves(to, trigger) => {
            stage.transition(id, to, trigger, None);
            if to == State::Integrating {
                crate::task::complete(stage, id);
                crate::integration::abandon_salvage(stage, id, crate::event::Aborted::Unusable);
                end::settle(stage, id, crate::event::Undeliverable::WorkspaceSealed);
                let children: Vec<WorkspaceId> = stage.before().open_children(id).collect();
                for child in children {
                    end::adopt(stage, child, id, "parent_completed");
                }
            }
        }
        Outcome::Recorded | Outcome::Denied => {}
    }
}

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::SignalEmitted(e) => {
            run.next.signals = run.next.signals.max(e.signal.0.saturating_add(1));
            if e.effect == SignalEffect::Moves {
                run.owed.insert(e.from, Owed::Signal(e.signal_type));
            }
            if e.signal_type == SignalType::Acknowledged {
                if let Some(Reference::Envelope(envelope)) = e.reference {
                    envelope::acknowledged(run, e.from, envelope);
                }
            } else if e.effect != SignalEffect::None
                && let Some(parent) = run.workspace(e.from).and_then(Slot::parent)
                && run.open(parent).is_some()
            {
                run.queued_signals.insert((parent, e.signal), e.from);
            }
        }
        Event::SignalDelivered(e) => {
            run.queued_signals.remove(&(e.delivered_to, e.signal));
        }
        _ => {}
    }
}

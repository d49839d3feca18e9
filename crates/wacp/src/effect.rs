//! What the world must be told once the entries are durable.
//!
//! Effects are read off the entries; replay causes none. Each can be done more
//! than once without harm: it names the thing it is about.

use serde::Serialize;

use crate::{
    envelope::Intent,
    escalation::{Escalation, Response},
    event::{About, Entry, Event, ResolutionReason, Resolver, Undeliverable},
    gate::{Answer, GateType},
    id::{EnvelopeId, GateId, Party, SignalId, TaskId, UserId, WorkspaceId},
    role::Text,
    state::{Run, Slot},
    workspace::{lifecycle::State, wind_down},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Effect {
    /// Write the state down: an agent is replaced, and nothing of the workspace
    /// may depend on it. `RecordSnapshot` says when it is done.
    TakeSnapshot { workspace: WorkspaceId },
    /// Bind this agent to the workspace.
    BindAgent { workspace: WorkspaceId, agent: Text },
    /// The agent may do no more; it is told nothing further.
    UnbindAgent { workspace: WorkspaceId },
    /// Hand the agent an envelope, perhaps again. The request to finish names
    /// its intent and the time that it leaves.
    Deliver {
        to: WorkspaceId,
        envelope: EnvelopeId,
        intent: Option<Intent>,
        grace_us: Option<u64>,
    },
    /// Tell an agent that may receive no envelopes to finish.
    RequestFinish {
        to: WorkspaceId,
        intent: Intent,
        grace_us: u64,
        reason: Text,
    },
    /// Tell the parent's agent of a signal.
    DeliverSignal { to: WorkspaceId, signal: SignalId },
    /// Tell the sender that an envelope will not arrive.
    ReportUndeliverable {
        from: WorkspaceId,
        envelope: EnvelopeId,
    },
    /// Tell whoever asked at a gate of the answer, and of what came of it.
    ReportAnswer {
        to: WorkspaceId,
        gate: GateId,
        gate_type: GateType,
        answer: Answer,
        by: Resolver,
        task: Option<TaskId>,
        workspace: Option<WorkspaceId>,
        envelope: Option<EnvelopeId>,
    },
    /// Tell an agent what became of its escalation. An answer in words comes as
    /// an envelope besides.
    ReportEscalation {
        to: WorkspaceId,
        signal: SignalId,
        response: Response,
    },
    /// Show a gate to the people who may answer it.
    ShowGate { gate: GateId },
    /// A gate needs no answer any more.
    HideGate { gate: GateId },
    /// Show an escalation to its owner.
    ShowEscalation { user: UserId, signal: SignalId },
    /// An escalation needs no answer any more.
    HideEscalation { signal: SignalId },
    /// Tell the coordinator's agent something it must decide about.
    TellCoordinator(Notice),
}

/// What the coordinator is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    BudgetLow {
        workspace: WorkspaceId,
    },
    Silent {
        workspace: WorkspaceId,
    },
    Orphaned {
        workspace: WorkspaceId,
    },
    GateHandedOver {
        gate: GateId,
    },
    EscalationHandedOver {
        signal: SignalId,
    },
    OwnerGone {
        workspace: WorkspaceId,
    },
    /// And what that person caused, whoever owns it by now: it goes on until
    /// the coordinator decides otherwise.
    UserChanged {
        user: UserId,
        caused: Vec<WorkspaceId>,
    },
    Degraded,
    CreationRejected,
    /// An envelope was sent as often as it may be and never taken.
    DeliveryExhausted {
        envelope: EnvelopeId,
    },
}

/// Reads the effects off durable entries, in their order. `run` is the state
/// after they were applied.
pub fn effects(run: &Run, entries: &[Entry]) -> Vec<Effect> {
    let mut effects = Vec::new();
    for entry in entries {
        of(run, entry, &mut effects);
    }
    effects
}

fn of(run: &Run, entry: &Entry, effects: &mut Vec<Effect>) {
    use Effect::TellCoordinator as Tell;
    match &entry.event {
        Event::WorkspaceCreated(e) => effects.push(Effect::BindAgent {
            workspace: e.workspace,
            agent: e.agent.clone(),
        }),
        Event::MigrationStarted(e) => {
            effects.push(Effect::TakeSnapshot {
                workspace: e.workspace,
            });
            effects.push(Effect::UnbindAgent {
                workspace: e.workspace,
            });
            effects.push(Effect::BindAgent {
                workspace: e.workspace,
                agent: e.new_agent.clone(),
            });
        }
        Event::WorkspaceStateChanged(e)
            if e.to_state.is_terminal() || e.to_state == State::Suspended =>
        {
            effects.push(Effect::UnbindAgent {
                workspace: e.workspace,
            });
        }
        Event::SuspensionResumed(e) => {
            if let Some(open) = run.open(e.workspace) {
                effects.push(Effect::BindAgent {
                    workspace: e.workspace,
                    agent: open.agent.clone(),
                });
            }
        }
        Event::EnvelopeDelivered(e) => effects.push(deliver(run, e.to, e.envelope)),
        Event::EnvelopeRedelivered(e) => effects.push(deliver(run, e.to, e.envelope)),
        // Whoever reads envelopes is told by one, once it has passed its gate.
        Event::GracefulTerminationInitiated(e) if !wind_down::reads(run, e.workspace) => {
            effects.push(Effect::RequestFinish {
                to: e.workspace,
                intent: Intent::GracefulTermination,
                grace_us: e.grace_us,
                reason: e.reason.clone(),
            });
        }
        Event::EnvelopeUndeliverable(e) => {
            effects.extend(e.from.map(|from| Effect::ReportUndeliverable {
                from,
                envelope: e.envelope,
            }));
            // What keeps failing is the coordinator's matter, whoever sent it.
            if e.reason == Undeliverable::DeliveryExhausted {
                effects.push(Tell(Notice::DeliveryExhausted {
                    envelope: e.envelope,
                }));
            }
        }
        // Accepted, and turned down at a gate.
        Event::EnvelopeRejected(e) => {
            if let (Some(from), Some(envelope)) = (e.from, e.envelope) {
                effects.push(Effect::ReportUndeliverable { from, envelope });
            }
        }
        Event::SignalDelivered(e) => effects.push(Effect::DeliverSignal {
            to: e.delivered_to,
            signal: e.signal,
        }),
        Event::GateTriggered(e) => effects.push(Effect::ShowGate { gate: e.gate }),
        Event::GateResolved(e) => {
            effects.push(Effect::HideGate { gate: e.gate });
            // What is handed over has no answer yet.
            effects.push(match e.reason {
                Some(ResolutionReason::EscalatedToCoordinator) => {
                    Tell(Notice::GateHandedOver { gate: e.gate })
                }
                _ => answered((e.gate, e.gate_type), e.about, e.action, e.resolver),
            });
        }
        Event::GateReentryBlocked(e) => {
            if let (Some(about), Some(gate)) = (e.about, e.gate) {
                let (gate, by) = ((gate, e.gate_type), Resolver::Coordinator);
                effects.push(answered(gate, about, e.converted_to, by));
            }
        }
        Event::EscalationReceived(e) => {
            if let (Party::User(user), false) = (e.owner, e.queued) {
                effects.push(Effect::ShowEscalation {
                    user,
                    signal: e.signal,
                });
            }
        }
        Event::EscalationResolved(e) => {
            effects.push(Effect::HideEscalation { signal: e.signal });
            if e.response != Response::Invalidated {
                effects.push(Effect::ReportEscalation {
                    to: e.workspace,
                    signal: e.signal,
                    response: e.response,
                });
            }
            if e.response.is_handed_over() {
                effects.push(Tell(Notice::EscalationHandedOver { signal: e.signal }));
            }
        }
        Event::WorkspaceOwnershipTransferred(e) => {
            // What was asked of the old owner is now asked of the new one.
            let asked = run.open(e.workspace).map(|open| &open.escalations[..]);
            for signal in asked.unwrap_or_default() {
                effects.push(Effect::HideEscalation { signal: *signal });
                effects.push(Effect::ShowEscalation {
                    user: e.to_user,
                    signal: *signal,
                });
            }
        }
        Event::UserResumed(e) => shown_again(run, e.user, effects),
        Event::UserUnblocked(e) => shown_again(run, e.user, effects),
        Event::UserReactivated(e) => shown_again(run, e.user, effects),
        Event::UserSuspended(e) => effects.push(Tell(user_changed(run, e.user))),
        Event::UserBlocked(e) => effects.push(Tell(user_changed(run, e.user))),
        Event::UserDeactivated(e) => {
            effects.push(Tell(user_changed(run, e.user)));
            // Nobody answers what was asked of them.
            for (_, escalation) in asked_of(run, e.user) {
                let workspace = escalation.workspace;
                effects.push(Tell(Notice::OwnerGone { workspace }));
            }
        }
        Event::BudgetWarning(e) => effects.push(Tell(Notice::BudgetLow {
            workspace: e.workspace,
        })),
        Event::LivenessWarning(e) => effects.push(Tell(Notice::Silent {
            workspace: e.workspace,
        })),
        Event::WorkspaceReparented(e) => effects.push(Tell(Notice::Orphaned {
            workspace: e.workspace,
        })),
        Event::WorkspaceRejected(_) => effects.push(Tell(Notice::CreationRejected)),
        Event::SystemDegraded(_) => effects.push(Tell(Notice::Degraded)),
        Event::CapabilityDenied(e) if &*e.action == crate::escalation::ACTION => {
            effects.extend(
                e.target
                    .map(|workspace| Tell(Notice::OwnerGone { workspace })),
            );
        }
        _ => {}
    }
}

fn deliver(run: &Run, to: WorkspaceId, envelope: EnvelopeId) -> Effect {
    let pending = run.inboxes.get(&(to, envelope));
    let grace_us = pending.and_then(|pending| pending.grace_us);
    Effect::Deliver {
        to,
        envelope,
        intent: grace_us.map(|_| Intent::GracefulTermination),
        grace_us,
    }
}

fn answered(
    (gate, gate_type): (GateId, GateType),
    about: About,
    answer: Answer,
    by: Resolver,
) -> Effect {
    Effect::ReportAnswer {
        to: about.asked_by,
        gate,
        gate_type,
        answer,
        by,
        task: about.task,
        workspace: about.workspace,
        envelope: about.envelope,
    }
}

fn user_changed(run: &Run, user: UserId) -> Notice {
    let open = run.children.iter().map(|(_, child)| *child);
    let is_cause = |id: &WorkspaceId| {
        run.open(*id)
            .is_some_and(|open| open.originator == Party::User(user))
    };
    let mut caused: Vec<WorkspaceId> = open.filter(is_cause).collect();
    caused.sort_unstable();
    Notice::UserChanged { user, caused }
}

/// What waited for a person is shown when they are back.
fn shown_again(run: &Run, user: UserId, effects: &mut Vec<Effect>) {
    effects.push(Effect::TellCoordinator(user_changed(run, user)));
    let waiting = asked_of(run, user).map(|(signal, _)| Effect::ShowEscalation { user, signal });
    effects.extend(waiting);
}

/// The escalations that wait for a person.
fn asked_of(run: &Run, user: UserId) -> impl Iterator<Item = (SignalId, &Escalation)> {
    let is_theirs = move |escalation: &Escalation| {
        let owner = run.workspace(escalation.workspace).map(Slot::owner);
        owner == Some(Party::User(user))
    };
    let all = run.escalations.iter();
    all.filter(move |(_, escalation)| is_theirs(escalation))
        .map(|(signal, escalation)| (*signal, escalation))
}

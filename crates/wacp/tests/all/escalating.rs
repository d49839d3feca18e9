//! Escalations and injections: a person speaks, or is asked to.

use std::sync::Arc;

use wacp::{
    Command, Effect, Event, Principal, Refusal,
    content::Content,
    effects,
    envelope::NewEnvelope,
    escalation,
    event::Resolver,
    gate::{Answer, config::Highway},
    id::{GateId, WorkspaceId},
    role::EnvelopeType,
    signal::SignalType,
    state::Slot,
    user::{Capability, UserChange},
    workspace::{
        NewWorkspace,
        lifecycle::{Reason, State},
    },
};

use crate::highway::answer;
use crate::world::{ROOT, SECOND, World};

fn escalate(world: &mut World) -> (WorkspaceId, wacp::id::SignalId) {
    let id = world.active();
    world.emit(id, SignalType::Blocked);
    world.emit(id, SignalType::Escalation);
    let signal = *world.run.escalations.keys().next_back().unwrap();
    (id, signal)
}

#[test]
fn an_escalation_has_three_answers() {
    let ann_answers = |answer: escalation::Answer| {
        let mut world = World::open();
        let (id, signal) = escalate(&mut world);
        let ann = world.ann;
        // An abort needs what every abort needs.
        if answer == escalation::Answer::Abort {
            let answer = answer.clone();
            let abort = Command::AnswerEscalation { signal, answer };
            assert_eq!(
                world.refused(Principal::User(ann), abort),
                Refusal::MissingCapability
            );
            let grant = Command::GrantCapability {
                user: ann,
                capability: Capability::AbortOwn,
            };
            world.ok(Principal::Operator, grant);
        }
        world.ok(
            Principal::User(ann),
            Command::AnswerEscalation { signal, answer },
        );
        assert!(world.run.escalations.is_empty());
        assert_eq!(world.count("escalation_resolved"), 1);
        let again = Command::AnswerEscalation {
            signal,
            answer: escalation::Answer::Delegate,
        };
        assert_eq!(
            world.refused(Principal::User(ann), again),
            Refusal::UnknownEscalation
        );
        (world, id)
    };
    let (world, id) = ann_answers(escalation::Answer::Envelope {
        envelope_type: EnvelopeType::Feedback,
        payload: Content::markdown("do it so"),
    });
    assert_eq!(
        world.state(id),
        State::Blocked,
        "the agent goes on when it says started"
    );
    assert_eq!(world.count("human_injection"), 1);
    let (world, id) = ann_answers(escalation::Answer::Abort);
    assert!(
        matches!(world.run.workspace(id), Some(Slot::Ended(e)) if e.reason == Some(Reason::AbortedByHuman))
    );
    let (world, id) = ann_answers(escalation::Answer::Delegate);
    assert_eq!(world.state(id), State::Blocked);
}

#[test]
fn an_escalation_that_nobody_answers_falls_back_and_never_aborts() {
    use escalation::{Fallback, Response};
    for (fallback, expected) in [
        (Fallback::Approve, Response::Approved),
        (Fallback::Reject, Response::Rejected),
        (Fallback::DelegateToCoordinator, Response::Delegation),
    ] {
        let mut highway = Highway::open();
        highway.escalation.fallback = fallback;
        let mut world = World::with(highway);
        let (id, _) = escalate(&mut world);
        world.pass(61 * SECOND);
        let response = world.entries.iter().find_map(|entry| match &entry.event {
            Event::EscalationResolved(e) => Some((e.response, e.resolver)),
            _ => None,
        });
        assert_eq!(response, Some((expected, Resolver::Fallback)));
        assert_eq!(world.state(id), State::Blocked);
    }
    let mut world = World::with(Highway::gated());
    // In the gated preset an escalation waits without end; create past the gates.
    let create = Command::CreateWorkspace(Box::new(NewWorkspace {
        ..world.worker_of(ROOT)
    }));
    world.ok(Principal::Coordinator, create);
    answer(&mut world, Answer::Approve, None);
    let id = WorkspaceId(1);
    let send = NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("x"));
    world.ok(Principal::Coordinator, Command::Send(Box::new(send)));
    answer(&mut world, Answer::Approve, None);
    world.emit(id, SignalType::Escalation);
    world.pass(3000 * SECOND);
    assert_eq!(world.run.escalations.len(), 1);
}

/// The owner's state, and what happens to an escalation then.
#[test]
fn the_owners_state_decides_at_the_boundary() {
    for (change, queued) in [
        (None, Some(false)),
        (Some(UserChange::Suspend), Some(true)),
        (Some(UserChange::Block), Some(true)),
        (Some(UserChange::Deactivate), None),
    ] {
        let mut world = World::open();
        let id = world.active();
        let ann = world.ann;
        if let Some(change) = change {
            world.ok(
                Principal::Operator,
                Command::ChangeUser {
                    user: ann,
                    change,
                    reason: None,
                },
            );
        }
        let entries = world.emit(id, SignalType::Escalation);
        let found = entries.iter().find_map(|entry| match &entry.event {
            Event::EscalationReceived(e) => Some(e.queued),
            _ => None,
        });
        assert_eq!(found, queued, "{change:?}");
        let told = effects(&world.run, &entries);
        let shown = told
            .iter()
            .any(|effect| matches!(effect, Effect::ShowEscalation { .. }));
        assert_eq!(shown, queued == Some(false));
        if queued.is_none() {
            assert_eq!(world.last_types(1), ["capability_denied"]);
            assert!(
                told.iter()
                    .any(|effect| matches!(effect, Effect::TellCoordinator(_)))
            );
        }
        if change == Some(UserChange::Suspend) {
            let command = Command::ChangeUser {
                user: ann,
                change: UserChange::Resume,
                reason: None,
            };
            let back = world.ok(Principal::Operator, command);
            let shown = effects(&world.run, &back);
            assert!(
                shown
                    .iter()
                    .any(|effect| matches!(effect, Effect::ShowEscalation { .. }))
            );
        }
    }
}

#[test]
fn escalation_and_injection_can_be_off() {
    let mut highway = Highway::open();
    highway.escalation.enabled = false;
    highway.injection = false;
    let mut world = World::with(highway);
    let id = world.active();
    let escalate = crate::world::emission(SignalType::Escalation);
    assert_eq!(
        world.refused(Principal::Agent(id), escalate),
        Refusal::EscalationDisabled
    );
    let inject = NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("x"));
    let bob = world.bob;
    let refused = world.refused(Principal::User(bob), Command::Inject(Box::new(inject)));
    assert_eq!(refused, Refusal::InjectionDisabled);
    let wrong = Command::DecideGate {
        gate: GateId(0),
        proceed: true,
    };
    assert_eq!(
        world.refused(Principal::Coordinator, wrong),
        Refusal::UnknownGate
    );
}

#[test]
fn an_injection_bypasses_the_senders_role_and_nothing_else() {
    let mut world = World::open();
    let (active, sealed, failed) = (
        world.active(),
        world.in_state(State::Integrating),
        world.in_state(State::Failed),
    );
    let bob = Principal::User(world.bob);
    let to = |id| NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("x"));
    let entries = world.ok(bob, Command::Inject(Box::new(to(active))));
    assert!(
        matches!(&entries[0].event, Event::EnvelopeCreated(e) if e.origin == wacp::envelope::Origin::Human)
    );
    let cases = [
        (to(sealed), Refusal::WorkspaceSealed),
        (to(failed), Refusal::TargetTerminal),
        (
            NewEnvelope {
                envelope_type: EnvelopeType::Registered(8),
                ..to(active)
            },
            Refusal::InvalidType,
        ),
        (
            NewEnvelope {
                rights: Arc::from([(wacp::right::RightKind::Send, active)]),
                ..to(active)
            },
            Refusal::InvalidStructure,
        ),
    ];
    for (new, expected) in cases {
        assert_eq!(world.refused(bob, Command::Inject(Box::new(new))), expected);
        assert_eq!(
            world.last_types(1),
            ["human_injection"],
            "the wish is on the trail"
        );
    }
    assert_eq!(
        world.refused(
            Principal::Coordinator,
            Command::Inject(Box::new(to(active)))
        ),
        Refusal::PermissionDenied
    );
}

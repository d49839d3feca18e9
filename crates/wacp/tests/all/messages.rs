//! Envelopes, rights and signals on their way.

use std::sync::Arc;

use wacp::{
    Command, Event, Principal, Refusal,
    content::Content,
    envelope::{NewEnvelope, Priority},
    event::{Damaged, Undeliverable},
    gate::{Answer, config::Highway},
    id::{EnvelopeId, WorkspaceId},
    integrity::Check,
    right::RightKind,
    role::EnvelopeType,
    signal::SignalType,
    user::Capability,
    workspace::{NewWorkspace, budget::Budget, lifecycle::State},
};

use crate::world::{ROOT, SECOND, World, text};

fn to(id: WorkspaceId) -> NewEnvelope {
    NewEnvelope::to(id, EnvelopeType::Feedback, Content::markdown("hello"))
}

fn send(world: &mut World, new: NewEnvelope) -> EnvelopeId {
    let id = EnvelopeId(world.run.next.envelopes);
    world.ok(Principal::Coordinator, Command::Send(Box::new(new)));
    id
}

fn take(world: &mut World, workspace: WorkspaceId, envelope: EnvelopeId) -> Vec<&'static str> {
    let entries = world.ok(
        Principal::Agent(workspace),
        Command::Acknowledge {
            workspace,
            envelope,
        },
    );
    World::types(&entries)
}

#[test]
fn an_envelope_is_refused_for_each_reason_and_the_refusal_is_recorded() {
    let mut world = World::open();
    let active = world.active();
    let sealed = world.in_state(State::Integrating);
    let failed = world.in_state(State::Failed);
    let cases = [
        (to(WorkspaceId(99)), Refusal::TargetNotFound),
        (to(failed), Refusal::TargetTerminal),
        (to(sealed), Refusal::WorkspaceSealed),
        (
            NewEnvelope {
                envelope_type: EnvelopeType::Registered(5),
                ..to(active)
            },
            Refusal::InvalidType,
        ),
        (
            NewEnvelope {
                in_reply_to: Some(EnvelopeId(999)),
                ..to(active)
            },
            Refusal::InvalidStructure,
        ),
        (
            NewEnvelope {
                payload: Content {
                    bytes: u64::MAX,
                    ..Content::markdown("")
                },
                ..to(active)
            },
            Refusal::InvalidStructure,
        ),
        (
            NewEnvelope {
                check: Check::Invalid,
                ..to(active)
            },
            Refusal::IntegrityViolation,
        ),
        (
            NewEnvelope {
                rights: Arc::from([(RightKind::Receive, active)]),
                ..to(active)
            },
            Refusal::ReceiveRightFixed,
        ),
        (
            NewEnvelope {
                rights: Arc::from([(RightKind::SendOnce, active)]),
                ..to(active)
            },
            Refusal::NoSendRight,
        ),
    ];
    for (new, expected) in cases {
        let refused = world.refused(Principal::Coordinator, Command::Send(Box::new(new)));
        assert_eq!(refused, expected);
        assert_eq!(world.last_types(1), ["envelope_rejected"], "{expected:?}");
    }
    assert_eq!(world.count("integrity_violation"), 1);
}

#[test]
fn what_one_sends_another_arrives_in_order_and_nothing_passes_a_blocking_one() {
    let mut world = World::open();
    let id = world.active();
    let blocking = send(
        &mut world,
        NewEnvelope {
            priority: Priority::Blocking,
            ..to(id)
        },
    );
    let second = send(&mut world, to(id));
    let third = send(&mut world, to(id));
    let refused = world.refused(
        Principal::Agent(id),
        Command::Acknowledge {
            workspace: id,
            envelope: second,
        },
    );
    assert_eq!(refused, Refusal::NotDelivered);
    assert_eq!(
        take(&mut world, id, blocking),
        ["signal_emitted", "envelope_delivered", "envelope_delivered"]
    );
    take(&mut world, id, third);
    take(&mut world, id, second);
    // Taken twice: recorded, without effect.
    assert_eq!(take(&mut world, id, second), ["signal_emitted"]);
    let unknown = Command::Acknowledge {
        workspace: id,
        envelope: EnvelopeId(999),
    };
    assert_eq!(
        world.refused(Principal::Runtime, unknown),
        Refusal::UnknownEnvelope
    );
}

#[test]
fn an_envelope_is_sent_four_times_with_growing_patience_then_given_up() {
    let mut world = World::open();
    let id = world.active();
    let envelope = send(&mut world, to(id));
    let start = world.now;
    let later = send(&mut world, to(id));
    take(&mut world, id, later);
    let mut times = Vec::new();
    let mut end = None;
    for _ in 0..60 {
        let before = world.entries.len();
        world.pass(SECOND);
        for entry in &world.entries[before..] {
            match &entry.event {
                Event::EnvelopeRedelivered(e) => {
                    assert_eq!(e.envelope, envelope);
                    times.push((entry.time.0 - start.0) / SECOND);
                }
                Event::EnvelopeUndeliverable(e) => {
                    assert_eq!(e.reason, Undeliverable::DeliveryExhausted);
                    assert_eq!(e.attempts, 4);
                    end = Some((entry.time.0 - start.0) / SECOND);
                }
                _ => {}
            }
        }
    }
    // Base 5 s: after 5, then 10, then 15 more, then 20 more and no further.
    assert_eq!(times, [5, 15, 30]);
    assert_eq!(end, Some(50));
}

/// WACP §10.3: what keeps failing is told to the sender and to the coordinator.
#[test]
fn a_delivery_that_is_given_up_is_reported_to_its_sender_and_the_coordinator() {
    use wacp::{
        Effect,
        effect::{Notice, effects},
    };
    let mut world = World::open();
    let id = world.active();
    let query = NewEnvelope::to(ROOT, EnvelopeType::Query, Content::markdown("how?"));
    let envelope = EnvelopeId(world.run.next.envelopes);
    world.ok(Principal::Agent(id), Command::Send(Box::new(query)));
    world.pass(60 * SECOND);
    let told = effects(&world.run, &world.entries);
    let wanted = [
        Effect::ReportUndeliverable { from: id, envelope },
        Effect::TellCoordinator(Notice::DeliveryExhausted { envelope }),
    ];
    for effect in wanted {
        let count = told.iter().filter(|told| **told == effect).count();
        assert_eq!(count, 1, "{effect:?}");
    }
}

#[test]
fn new_envelopes_wait_until_a_channels_redelivery_is_over() {
    let mut world = World::open();
    let id = world.active();
    let first = send(&mut world, to(id));
    world.pass(6 * SECOND);
    let second = send(&mut world, to(id));
    assert_eq!(
        world.last_types(1),
        ["envelope_created"],
        "held behind the redelivery"
    );
    assert_eq!(
        take(&mut world, id, first),
        ["signal_emitted", "envelope_delivered"]
    );
    take(&mut world, id, second);
}

#[test]
fn a_paused_inbox_queues_and_a_sealed_or_ended_one_gives_back() {
    for pause in [State::Suspended, State::Migrating] {
        let mut world = World::open();
        let id = world.in_state(pause);
        let envelope = send(&mut world, to(id));
        assert_eq!(world.last_types(1), ["envelope_created"]);
        world.pass(3600 * SECOND);
        let command = match pause {
            State::Suspended => (Principal::Coordinator, Command::Resume { workspace: id }),
            _ => (
                Principal::Runtime,
                Command::CompleteMigration { workspace: id },
            ),
        };
        let entries = world.ok(command.0, command.1);
        assert!(World::types(&entries).contains(&"envelope_delivered"));
        take(&mut world, id, envelope);
    }
    let mut world = World::open();
    let id = world.active();
    world.checkpoint(id, vec![]);
    send(&mut world, to(id));
    let entries = world.emit(id, SignalType::Complete);
    let given_back = entries.iter().find_map(|entry| match &entry.event {
        Event::EnvelopeUndeliverable(e) => Some(e.reason),
        _ => None,
    });
    assert_eq!(given_back, Some(Undeliverable::WorkspaceSealed));
}

#[test]
fn a_send_once_right_is_good_for_one_envelope() {
    let mut world = World::open();
    let (a, b) = (world.active(), world.active());
    let create = Command::CreateRight {
        holder: a,
        target: b,
        kind: RightKind::SendOnce,
    };
    world.ok(Principal::Coordinator, create);
    let query = || {
        Box::new(NewEnvelope {
            envelope_type: EnvelopeType::Query,
            ..to(b)
        })
    };
    let entries = world.ok(Principal::Agent(a), Command::Send(query()));
    assert!(World::types(&entries).contains(&"port_right_consumed"));
    assert_eq!(
        world.refused(Principal::Agent(a), Command::Send(query())),
        Refusal::NoSendRight
    );
}

#[test]
fn a_right_travels_in_an_envelope_and_is_revoked_at_once() {
    let mut world = World::open();
    let (a, b) = (world.active(), world.active());
    // The coordinator passes its right to b on to a.
    let gift = NewEnvelope {
        rights: Arc::from([(RightKind::Send, b)]),
        ..to(a)
    };
    send(&mut world, gift);
    assert_eq!(world.count("port_right_transferred"), 1);
    let query = || {
        Command::Send(Box::new(NewEnvelope {
            envelope_type: EnvelopeType::Query,
            ..to(b)
        }))
    };
    world.ok(Principal::Agent(a), query());
    let revoke = Command::RevokeRight {
        holder: a,
        target: b,
        kind: RightKind::Send,
    };
    world.ok(Principal::Coordinator, revoke.clone());
    assert_eq!(
        world.refused(Principal::Agent(a), query()),
        Refusal::NoSendRight
    );
    assert_eq!(
        world.refused(Principal::Coordinator, revoke),
        Refusal::NoSendRight
    );
    // The coordinator still has its own.
    send(&mut world, to(b));
    let receive = Command::CreateRight {
        holder: a,
        target: b,
        kind: RightKind::Receive,
    };
    assert_eq!(
        world.refused(Principal::Coordinator, receive),
        Refusal::ReceiveRightFixed
    );
}

#[test]
fn a_send_once_right_moves_when_it_is_given_away() {
    let mut world = World::open();
    let (a, b, c) = (world.active(), world.active(), world.active());
    for (holder, target, kind) in [(a, c, RightKind::SendOnce), (a, b, RightKind::Send)] {
        world.ok(
            Principal::Coordinator,
            Command::CreateRight {
                holder,
                target,
                kind,
            },
        );
    }
    let gift = NewEnvelope {
        envelope_type: EnvelopeType::Query,
        rights: Arc::from([(RightKind::SendOnce, c)]),
        ..to(b)
    };
    world.ok(Principal::Agent(a), Command::Send(Box::new(gift)));
    let query = || {
        Command::Send(Box::new(NewEnvelope {
            envelope_type: EnvelopeType::Query,
            ..to(c)
        }))
    };
    assert_eq!(
        world.refused(Principal::Agent(a), query()),
        Refusal::NoSendRight
    );
    world.ok(Principal::Agent(b), query());
    assert_eq!(
        world.refused(Principal::Agent(b), query()),
        Refusal::NoSendRight
    );
}

#[test]
fn signals_reach_the_immediate_parent_and_wait_while_it_cannot_listen() {
    let mut world = World::open();
    let top = world.create(NewWorkspace {
        delegate: true,
        ..world.worker_of(ROOT)
    });
    world.direct(top);
    let below = WorkspaceId(world.run.next.workspaces);
    world.ok(
        Principal::Agent(top),
        Command::CreateWorkspace(Box::new(NewWorkspace::worker(top, "b"))),
    );
    let directive = NewEnvelope::to(below, EnvelopeType::Directive, Content::markdown("x"));
    world.ok(Principal::Agent(top), Command::Send(Box::new(directive)));
    let entries = world.emit(below, SignalType::Started);
    let delivered: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::SignalDelivered(e) => Some((entry.workspace, e.delivered_to)),
            _ => None,
        })
        .collect();
    assert_eq!(delivered, [(Some(top), top)]);
    world.ok(
        Principal::Coordinator,
        Command::Suspend {
            workspace: top,
            reason: text("r"),
        },
    );
    let entries = world.emit(below, SignalType::Started);
    assert_eq!(World::types(&entries), ["signal_emitted"]);
    let entries = world.ok(Principal::Coordinator, Command::Resume { workspace: top });
    assert!(World::types(&entries).contains(&"signal_delivered"));
    // The root's own are recorded and delivered to nobody.
    let entries = world.emit(ROOT, SignalType::Started);
    assert_eq!(World::types(&entries), ["signal_emitted"]);
}

#[test]
fn a_reason_is_required_where_the_signal_says_nothing_without_it() {
    let mut world = World::open();
    let id = world.active();
    for signal in [
        SignalType::Blocked,
        SignalType::Failed,
        SignalType::Escalation,
    ] {
        for reason in [None, Some(text(""))] {
            let command = Command::Emit {
                signal,
                reason,
                reference: None,
            };
            assert_eq!(
                world.refused(Principal::Agent(id), command),
                Refusal::ReasonRequired
            );
        }
    }
}

#[test]
fn a_damaged_envelope_is_rejected_and_what_waited_behind_it_goes_on() {
    let mut world = World::open();
    let id = world.active();
    let bad = send(
        &mut world,
        NewEnvelope {
            priority: Priority::Blocking,
            ..to(id)
        },
    );
    send(&mut world, to(id));
    let report = Command::ReportViolation {
        workspace: id,
        subject: Damaged::Envelope(bad),
    };
    let entries = world.ok(Principal::Runtime, report);
    assert_eq!(
        World::types(&entries),
        [
            "integrity_violation",
            "envelope_rejected",
            "envelope_delivered"
        ]
    );
}

/// WACP §4.2: behind a blocking envelope nothing arrives, not even what was
/// written before it and had to wait elsewhere.
#[test]
fn an_older_envelope_waits_for_a_blocking_one_that_arrived_before_it() {
    let mut highway = Highway::open();
    highway.envelope_delivery.enabled = true;
    let mut world = World::with(highway);
    let id = world.idle();
    let user = world.ann;
    for capability in [Capability::InjectDirective, Capability::InjectDirectiveAny] {
        let grant = Command::GrantCapability { user, capability };
        world.ok(Principal::Operator, grant);
    }
    let older = send(&mut world, to(id));
    let gate = world.last_gate();
    let blocking = NewEnvelope {
        priority: Priority::Blocking,
        ..to(id)
    };
    // A person's own envelope passes no gate, and so arrives first.
    world.ok(Principal::User(user), Command::Inject(Box::new(blocking)));
    let blocking = EnvelopeId(older.0 + 1);
    let approve = Command::ResolveGate {
        gate,
        answer: Answer::Approve,
        modification: None,
    };
    let entries = world.ok(Principal::User(user), approve);
    assert_eq!(World::types(&entries), ["gate_resolved"]);
    assert_eq!(
        take(&mut world, id, blocking),
        ["signal_emitted", "envelope_delivered"]
    );
}

/// WACP §5.6: a send-once right is used once, or given away once.
#[test]
fn the_right_an_envelope_uses_up_does_not_travel_in_it() {
    let mut world = World::open();
    let (a, b) = (world.active(), world.active());
    world.ok(
        Principal::Coordinator,
        Command::CreateRight {
            holder: a,
            target: b,
            kind: RightKind::SendOnce,
        },
    );
    let query = NewEnvelope {
        envelope_type: EnvelopeType::Query,
        rights: Arc::from([(RightKind::SendOnce, b), (RightKind::SendOnce, b)]),
        ..to(b)
    };
    let entries = world.ok(Principal::Agent(a), Command::Send(Box::new(query)));
    assert_eq!(
        World::types(&entries),
        [
            "envelope_created",
            "port_right_consumed",
            "envelope_delivered"
        ]
    );
    assert!(world.run.rights_once.is_empty());
}

/// An envelope that was taken is not given up as well, even if what was
/// behind it is one too many.
#[test]
fn an_envelope_has_one_end() {
    let mut world = World::open();
    let new = NewWorkspace {
        budget: Budget {
            bandwidth_limit: Some(10),
            ..Budget::default()
        },
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    let sized = |bytes| NewEnvelope {
        payload: Content {
            bytes,
            ..Content::markdown("")
        },
        ..to(id)
    };
    let blocking = NewEnvelope {
        priority: Priority::Blocking,
        ..sized(1)
    };
    let blocking = send(&mut world, blocking);
    let behind = send(&mut world, sized(20));
    take(&mut world, id, blocking);
    assert_eq!(world.state(id), State::Failed);
    let given_up: Vec<EnvelopeId> = world
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::EnvelopeUndeliverable(e) => Some(e.envelope),
            _ => None,
        })
        .collect();
    assert_eq!(given_up, [behind]);
}

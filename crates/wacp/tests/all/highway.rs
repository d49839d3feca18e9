//! Gates and escalations: every gate with every answer, and with none.

use std::sync::Arc;

use wacp::{
    Command, Effect, Event, Principal, Refusal,
    content::Content,
    effects,
    envelope::NewEnvelope,
    event::{ResolutionReason, Resolver},
    gate::{
        Answer, GateType, Modification, TaskModification, WorkspaceModification,
        config::{Fallback, Highway},
    },
    id::{ConflictId, EnvelopeId, TaskId, WorkspaceId},
    integration::{Acceptance, Resolution, Strategy},
    role::EnvelopeType,
    state::Slot,
    task::{NewGraph, NewTask, Status},
    workspace::{Band, Seen, budget::Budget, lifecycle::State},
};

use wacp::workspace::NewWorkspace;

use crate::world::{ROOT, SECOND, World, artifact, text};

/// A highway on which one gate is on.
fn only(kind: GateType, fallback: Fallback) -> Highway {
    let mut highway = Highway::open();
    let gate = highway.gate_mut(kind);
    gate.enabled = true;
    gate.fallback = fallback;
    highway
}

/// Brings a run to the point where this gate is asked; gives what it is about.
fn trigger(world: &mut World, kind: GateType) -> WorkspaceId {
    let coordinator = Principal::Coordinator;
    let before = world.run.gates.len();
    let about = match kind {
        GateType::TaskApproval => {
            let tasks = vec![NewTask::named("t", vec![])];
            world.ok(
                coordinator,
                Command::SubmitGraph(NewGraph { root: 0, tasks }),
            );
            ROOT
        }
        GateType::WorkspaceCreate => {
            let id = WorkspaceId(world.run.next.workspaces);
            let new = world.worker_of(ROOT);
            world.ok(coordinator, Command::CreateWorkspace(Box::new(new)));
            id
        }
        GateType::EnvelopeDelivery => {
            let id = world.idle();
            let new = NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("x"));
            world.ok(coordinator, Command::Send(Box::new(new)));
            id
        }
        GateType::Integration => {
            let id = world.complete(vec![artifact("src/a", None, "1")]);
            world.ok(
                coordinator,
                Command::Accept(Box::new(Acceptance::of(id, Strategy::Direct))),
            );
            id
        }
        GateType::ConflictResolution => {
            let id = world.in_state(State::Conflicted);
            let resolution = Resolution::CoordinatorResolve(Content::markdown("ours"));
            let command = Command::ResolveConflict {
                workspace: id,
                conflict: ConflictId(0),
                resolution,
            };
            world.ok(coordinator, command);
            id
        }
        GateType::WorkspaceAbort => {
            let id = world.active();
            world.ok(
                coordinator,
                Command::Abort {
                    workspace: id,
                    reason: None,
                },
            );
            id
        }
    };
    assert_eq!(world.run.gates.len(), before + 1, "{kind:?} is asked");
    about
}

fn modification(kind: GateType) -> Option<Modification> {
    match kind {
        GateType::TaskApproval => Some(Modification::Task(TaskModification {
            name: Some(text("better name")),
            priority: Some(wacp::task::Priority::Urgent),
            ..TaskModification::default()
        })),
        GateType::WorkspaceCreate => Some(Modification::Workspace(WorkspaceModification {
            budget: Some(Budget {
                token_limit: Some(7),
                ..Budget::default()
            }),
            priority: Some(Band::Critical),
            visibility: Some(Arc::from([Seen::Workspace(ROOT)])),
        })),
        GateType::EnvelopeDelivery => Some(Modification::Payload(Content::markdown("gentler"))),
        GateType::ConflictResolution => Some(Modification::Resolution(Content::markdown("theirs"))),
        GateType::Integration | GateType::WorkspaceAbort => None,
    }
}

/// Where things stand afterwards, in one word.
fn outcome(world: &World, kind: GateType, about: WorkspaceId) -> String {
    match kind {
        GateType::TaskApproval => format!("{:?}", world.run.task(TaskId(0)).unwrap().status),
        _ => match world.run.workspace(about) {
            None => "Absent".to_owned(),
            Some(Slot::Ended(ended)) if ended.reason.is_some() => {
                format!("{:?}", ended.reason.unwrap())
            }
            Some(slot) => format!("{:?}", slot.state()),
        },
    }
}

/// Gate type, then what approve, reject and modify lead to. `-` cannot be modified.
const ANSWERS: &str = "
    TaskApproval       Pending              Cancelled           Pending
    WorkspaceCreate    Idle                 Absent              Idle
    EnvelopeDelivery   Active               Idle                Active
    Integration        Closed               GateRejectedByHuman -
    ConflictResolution Closed               Conflicted          Closed
    WorkspaceAbort     AbortedByCoordinator Active              -
";

#[test]
fn every_gate_and_every_answer_lead_where_the_table_says() {
    let rows: Vec<Vec<&str>> = ANSWERS
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|row: &Vec<&str>| !row.is_empty())
        .collect();
    for (kind, row) in GateType::ALL.into_iter().zip(rows) {
        assert_eq!(row[0], format!("{kind:?}"));
        for (answer, expected) in Answer::ALL.into_iter().zip(&row[1..]) {
            let mut world = World::with(only(kind, Fallback::Reject));
            let about = trigger(&mut world, kind);
            let (gate, bob) = (world.last_gate(), world.bob);
            let change = match answer {
                Answer::Modify => Some(
                    modification(kind).unwrap_or(Modification::Payload(Content::markdown("x"))),
                ),
                _ => None,
            };
            let command = Command::ResolveGate {
                gate,
                answer,
                modification: change,
            };
            let result = world.attempt(Principal::User(bob), command);
            if *expected == "-" {
                assert_eq!(result.unwrap_err(), Refusal::NotModifiable, "{kind:?}");
                assert!(world.run.gates.contains_key(&gate), "still asked");
                continue;
            }
            let entries = result.unwrap();
            assert_eq!(
                outcome(&world, kind, about),
                *expected,
                "{kind:?} {answer:?}"
            );
            assert_eq!(
                entries[0].actor,
                wacp::Actor::User(bob),
                "the answer is theirs"
            );
            assert!(world.run.gates.is_empty() && world.run.gate_subjects.is_empty());
        }
    }
}

/// Gate type, then what the three fallbacks lead to.
const SILENCE: &str = "
    TaskApproval       Pending              Cancelled              Draft
    WorkspaceCreate    Idle                 Absent                 Absent
    EnvelopeDelivery   Active               Idle                   Idle
    Integration        Closed               GateRejectedByFallback Integrating
    ConflictResolution Closed               Conflicted             Conflicted
    WorkspaceAbort     AbortedByCoordinator Active                 Active
";

#[test]
fn silence_leads_where_the_fallback_says_and_what_is_handed_over_can_be_taken_up() {
    let rows: Vec<Vec<&str>> = SILENCE
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|row: &Vec<&str>| !row.is_empty())
        .collect();
    let fallbacks = [
        Fallback::Approve,
        Fallback::Reject,
        Fallback::EscalateToCoordinator,
    ];
    for (kind, row) in GateType::ALL.into_iter().zip(rows) {
        for (fallback, expected) in fallbacks.into_iter().zip(&row[1..]) {
            let mut world = World::with(only(kind, fallback));
            let about = trigger(&mut world, kind);
            let gate = world.last_gate();
            world.pass(61 * SECOND);
            assert_eq!(
                outcome(&world, kind, about),
                *expected,
                "{kind:?} {fallback:?}"
            );
            let resolved: Vec<_> = world
                .entries
                .iter()
                .filter_map(|entry| match &entry.event {
                    Event::GateResolved(e) => Some((e.resolver, e.action, e.reason)),
                    _ => None,
                })
                .collect();
            let (action, reason) = match fallback {
                Fallback::Approve => (Answer::Approve, None),
                Fallback::Reject => (Answer::Reject, None),
                Fallback::EscalateToCoordinator => (
                    Answer::Reject,
                    Some(ResolutionReason::EscalatedToCoordinator),
                ),
            };
            assert_eq!(resolved, [(Resolver::Fallback, action, reason)]);
            assert_eq!(world.count("gate_timeout"), 1);
            if fallback == Fallback::EscalateToCoordinator {
                world.ok(
                    Principal::Coordinator,
                    Command::DecideGate {
                        gate,
                        proceed: true,
                    },
                );
                assert_eq!(outcome(&world, kind, about), row[1], "{kind:?} taken up");
                assert!(world.run.escalated_gates.is_empty());
                assert_eq!(world.count("gate_reentry_blocked"), 1);
            }
        }
    }
}

#[test]
fn a_question_that_was_handed_over_and_comes_back_is_a_yes() {
    let mut world = World::with(only(
        GateType::WorkspaceAbort,
        Fallback::EscalateToCoordinator,
    ));
    let id = trigger(&mut world, GateType::WorkspaceAbort);
    world.pass(61 * SECOND);
    let entries = world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    assert_eq!(World::types(&entries)[0], "gate_reentry_blocked");
    assert_eq!(world.state(id), State::Failed);
    assert!(world.run.guard.is_empty() && world.run.escalated_gates.is_empty());
}

#[test]
fn a_question_that_fell_back_to_no_stays_one() {
    let mut world = World::with(only(GateType::WorkspaceAbort, Fallback::Reject));
    let id = trigger(&mut world, GateType::WorkspaceAbort);
    world.pass(61 * SECOND);
    let again = Command::Abort {
        workspace: id,
        reason: None,
    };
    assert_eq!(
        world.refused(Principal::Coordinator, again),
        Refusal::GateFellBack
    );
    assert_eq!(world.last_types(1), ["gate_reentry_blocked"]);
    // A person is not bound by it.
    let bob = world.bob;
    world.ok(
        Principal::User(bob),
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    // For a conflict another strategy is another question.
    let mut world = World::with(only(GateType::ConflictResolution, Fallback::Reject));
    let id = trigger(&mut world, GateType::ConflictResolution);
    world.pass(61 * SECOND);
    let resolve = |resolution| Command::ResolveConflict {
        workspace: id,
        conflict: ConflictId(0),
        resolution,
    };
    let same = resolve(Resolution::CoordinatorResolve(Content::markdown("again")));
    assert_eq!(
        world.refused(Principal::Coordinator, same),
        Refusal::GateFellBack
    );
    world.ok(Principal::Coordinator, resolve(Resolution::AgentRework));
    assert_eq!(world.run.gates.len(), 1);
}

#[test]
fn gates_queue_in_order_and_the_same_question_is_asked_once() {
    let mut world = World::with(Highway::gated());
    let tasks = ["a", "b", "c"]
        .map(|name| NewTask::named(name, vec![]))
        .to_vec();
    let entries = world.ok(
        Principal::Coordinator,
        Command::SubmitGraph(NewGraph { root: 0, tasks }),
    );
    let positions: Vec<u32> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::GateTriggered(e) => Some(e.queue_position),
            _ => None,
        })
        .collect();
    assert_eq!(positions, [0, 1, 2]);
    let shown: Vec<_> = effects(&world.run, &entries)
        .into_iter()
        .filter(|effect| matches!(effect, Effect::ShowGate { .. }))
        .collect();
    assert_eq!(shown.len(), 3);
    let mut world = World::with(only(GateType::WorkspaceAbort, Fallback::Reject));
    let id = trigger(&mut world, GateType::WorkspaceAbort);
    let again = Command::Abort {
        workspace: id,
        reason: None,
    };
    assert_eq!(
        world.refused(Principal::Coordinator, again),
        Refusal::GatePending
    );
}

#[test]
fn a_gate_about_something_that_ended_is_answered_by_the_runtime() {
    for kind in [
        GateType::Integration,
        GateType::WorkspaceAbort,
        GateType::EnvelopeDelivery,
        GateType::ConflictResolution,
    ] {
        let mut world = World::with(only(kind, Fallback::Approve));
        let id = trigger(&mut world, kind);
        let (gate, bob) = (world.last_gate(), world.bob);
        world.ok(
            Principal::User(bob),
            Command::Abort {
                workspace: id,
                reason: None,
            },
        );
        assert!(world.run.gates.is_empty(), "{kind:?}");
        let resolved = world
            .entries
            .iter()
            .rev()
            .find_map(|entry| match &entry.event {
                Event::GateResolved(e) => Some((e.gate, e.resolver, e.reason)),
                _ => None,
            });
        let expected = (
            gate,
            Resolver::Protocol,
            Some(ResolutionReason::SubjectInvalidated),
        );
        assert_eq!(resolved, Some(expected), "{kind:?}");
        let late = Command::ResolveGate {
            gate,
            answer: Answer::Approve,
            modification: None,
        };
        assert_eq!(
            world.refused(Principal::User(bob), late),
            Refusal::UnknownGate
        );
    }
}

#[test]
fn what_was_modified_is_what_happens() {
    let mut world = World::with(only(GateType::WorkspaceCreate, Fallback::Reject));
    let id = trigger(&mut world, GateType::WorkspaceCreate);
    answer(
        &mut world,
        Answer::Modify,
        modification(GateType::WorkspaceCreate),
    );
    let open = world.run.open(id).unwrap();
    assert_eq!(open.priority, Band::Critical);
    assert_eq!(open.meter.as_ref().unwrap().limits.token_limit, Some(7));
    assert_eq!(*open.visibility, [Seen::Workspace(ROOT)]);

    let mut world = World::with(only(GateType::TaskApproval, Fallback::Reject));
    trigger(&mut world, GateType::TaskApproval);
    answer(
        &mut world,
        Answer::Modify,
        modification(GateType::TaskApproval),
    );
    let task = world.run.task(TaskId(0)).unwrap();
    assert_eq!(
        (&*task.name, task.priority),
        ("better name", wacp::task::Priority::Urgent)
    );
    assert_eq!(task.status, Status::Pending);

    let mut world = World::with(only(GateType::EnvelopeDelivery, Fallback::Reject));
    let id = trigger(&mut world, GateType::EnvelopeDelivery);
    answer(
        &mut world,
        Answer::Modify,
        modification(GateType::EnvelopeDelivery),
    );
    let pending = world.run.inboxes.values().next().unwrap();
    assert_eq!(pending.payload, Content::markdown("gentler"));
    assert_eq!(world.state(id), State::Active);
}

fn answer(world: &mut World, answer: Answer, modification: Option<Modification>) {
    let (gate, bob) = (world.last_gate(), world.bob);
    world.ok(
        Principal::User(bob),
        Command::ResolveGate {
            gate,
            answer,
            modification,
        },
    );
}

#[test]
fn nobody_but_a_person_answers_a_gate() {
    let mut world = World::with(only(GateType::TaskApproval, Fallback::Reject));
    trigger(&mut world, GateType::TaskApproval);
    let gate = world.last_gate();
    let command = || Command::ResolveGate {
        gate,
        answer: Answer::Approve,
        modification: None,
    };
    let others = [
        Principal::Coordinator,
        Principal::Runtime,
        Principal::Operator,
        Principal::Meter,
    ];
    for principal in others {
        assert_eq!(
            world.refused(principal, command()),
            Refusal::PermissionDenied,
            "{principal:?}"
        );
    }
    let modify = Command::ResolveGate {
        gate,
        answer: Answer::Modify,
        modification: None,
    };
    let bob = world.bob;
    assert_eq!(
        world.refused(Principal::User(bob), modify),
        Refusal::InvalidStructure
    );
    // Any active person may answer a plan; it belongs to no one yet.
    let ann = world.ann;
    world.ok(Principal::User(ann), command());
}

#[test]
fn an_envelope_waits_at_its_gate_and_its_channel_behind_it() {
    let mut world = World::with(only(GateType::EnvelopeDelivery, Fallback::Reject));
    let id = trigger(&mut world, GateType::EnvelopeDelivery);
    let first = world.last_gate();
    let new = || {
        Command::Send(Box::new(NewEnvelope::to(
            id,
            EnvelopeType::Feedback,
            Content::markdown("y"),
        )))
    };
    world.ok(Principal::Coordinator, new());
    let second = world.last_gate();
    let bob = Principal::User(world.bob);
    let approve = |gate| Command::ResolveGate {
        gate,
        answer: Answer::Approve,
        modification: None,
    };
    world.ok(bob, approve(second));
    assert_eq!(
        world.count("envelope_delivered"),
        1,
        "only the root's directive so far"
    );
    world.ok(bob, approve(first));
    assert_eq!(world.count("envelope_delivered"), 3, "both, in order");
    let order: Vec<EnvelopeId> = world
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::EnvelopeDelivered(e) if e.to == id => Some(e.envelope),
            _ => None,
        })
        .collect();
    assert!(order[0] < order[1]);
}

#[test]
fn no_detour_leads_past_the_abort_gate() {
    let highway = || only(GateType::WorkspaceAbort, Fallback::Reject);
    let mut world = World::with(highway());
    let new = NewWorkspace {
        group: Some(text("g")),
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    let entries = world.ok(
        Principal::Coordinator,
        Command::AbortGroup { group: text("g") },
    );
    assert_eq!(World::types(&entries), ["batch_abort", "gate_triggered"]);
    assert_eq!(world.state(id), State::Idle);
    answer(&mut world, Answer::Approve, None);
    assert_eq!(world.state(id), State::Failed);

    let mut world = World::with(highway());
    let tasks = vec![NewTask::named("t", vec![])];
    world.ok(
        Principal::Coordinator,
        Command::SubmitGraph(NewGraph { root: 0, tasks }),
    );
    let new = NewWorkspace {
        task: Some(TaskId(0)),
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    let cancel = || Command::CancelTask { task: TaskId(0) };
    world.ok(Principal::Coordinator, cancel());
    assert_eq!(world.state(id), State::Idle);
    answer(&mut world, Answer::Approve, None);
    assert_eq!(world.run.task(TaskId(0)).unwrap().status, Status::Failed);
    world.ok(Principal::Coordinator, cancel());
    assert_eq!(world.run.task(TaskId(0)).unwrap().status, Status::Cancelled);
}

/// A conflict that is settled in one way is no longer asked about in another,
/// neither of people nor of the coordinator.
#[test]
fn a_settled_conflict_takes_its_other_questions_with_it() {
    for by_coordinator in [true, false] {
        let kind = GateType::ConflictResolution;
        let mut world = World::with(only(kind, Fallback::EscalateToCoordinator));
        let id = trigger(&mut world, kind);
        let handed = world.last_gate();
        world.pass(61 * SECOND);
        assert!(world.run.escalated_gates.contains_key(&handed));
        let escalate = Command::ResolveConflict {
            workspace: id,
            conflict: ConflictId(0),
            resolution: Resolution::Escalate(Content::markdown("what do you think?")),
        };
        world.ok(Principal::Coordinator, escalate);
        let asked = world.last_gate();
        let entries = if by_coordinator {
            let decide = Command::DecideGate {
                gate: handed,
                proceed: true,
            };
            world.ok(Principal::Coordinator, decide)
        } else {
            let approve = Command::ResolveGate {
                gate: asked,
                answer: Answer::Approve,
                modification: None,
            };
            world.ok(Principal::User(world.bob), approve)
        };
        assert_eq!(world.state(id), State::Closed);
        assert!(world.run.gates.is_empty() && world.run.escalated_gates.is_empty());
        let resolved = World::types(&entries);
        let resolved = resolved.iter().filter(|name| **name == "gate_resolved");
        assert_eq!(
            resolved.count(),
            1,
            "the pending one, by whoever settled it"
        );
    }
}

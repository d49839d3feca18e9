//! Ways around the rules that somebody found, and that are closed.

use std::sync::Arc;

use trail::{Hash, Micros};
use wacp::{
    Command, Effect, Entry, Event, Principal, Refusal,
    checkpoint::NewCheckpoint,
    command::Compaction,
    content::Content,
    effect::Notice,
    effects, escalation,
    event::ResolutionReason,
    gate::{
        Answer, GateType, Modification,
        config::{Fallback, Highway},
    },
    id::{UserId, WorkspaceId},
    integration::{Acceptance, Resolution, Salvage, Strategy},
    recovery::rebuild,
    role::{EnvelopeType, Role},
    signal::SignalType,
    task::{Estimate, NewGraph, NewTask},
    user::{Capability, UserChange},
    workspace::{
        LARGEST, NewWorkspace, WindDown,
        budget::{Budget, Dimension, Usage},
        lifecycle::State,
    },
};

use crate::{
    orders::{
        abort, accept, answer, asks, child, create, grant, inject, meter, recover, reparent,
        salvage, send, suspend, tokens, transfer,
    },
    world::{ROOT, SECOND, World, artifact, text},
};

const COORDINATOR: Principal = Principal::Coordinator;
const RUNTIME: Principal = Principal::Runtime;

/// Until every gate has been silent for too long.
const SILENCE: i64 = 61 * SECOND;

fn delegate(world: &mut World) -> WorkspaceId {
    child(world, ROOT, |new| NewWorkspace {
        delegate: true,
        ..new
    })
}

/// A child that has done its work and waits to be merged.
fn finished(
    world: &mut World,
    parent: WorkspaceId,
    with: impl FnOnce(NewWorkspace) -> NewWorkspace,
) -> WorkspaceId {
    let id = child(world, parent, with);
    world.checkpoint(id, vec![artifact("src/a", None, "1")]);
    world.emit(id, SignalType::Complete);
    id
}

fn salvaging(salvage: Salvage) -> Command {
    Command::Salvage(Box::new(salvage))
}

fn compact(workspace: WorkspaceId, count: u64) -> Command {
    Command::Compact(Compaction {
        workspace,
        archived: count,
        preserved: count,
        from: count,
        to: count,
        hash: Hash::of("test", &[]),
    })
}

fn deactivate(user: UserId) -> Command {
    Command::ChangeUser {
        user,
        change: UserChange::Deactivate,
        reason: None,
    }
}

/// Asked about and nothing merged.
#[track_caller]
fn assert_is_asked(entries: &[Entry]) {
    let types = World::types(entries);
    assert!(types.contains(&"gate_triggered"), "{types:?}");
    assert!(!types.contains(&"integration_started"), "{types:?}");
}

// A yes is a yes to what was asked, and to nothing else.

#[test]
fn a_salvage_handed_over_for_one_place_is_asked_about_for_another() {
    let mut world = World::with(asks(GateType::Integration, Fallback::EscalateToCoordinator));
    let parent = world.active();
    let worker = child(&mut world, parent, |new| new);
    world.checkpoint(worker, vec![artifact("src/a", None, "1")]);
    world.ok(COORDINATOR, abort(worker));
    world.ok(COORDINATOR, salvaging(salvage(worker)));
    world.pass(SILENCE);
    world.ok(COORDINATOR, abort(parent));
    let entries = world.ok(COORDINATOR, salvaging(salvage(worker)));
    assert_is_asked(&entries);
}

#[test]
fn a_salvage_granted_for_one_checkpoint_is_asked_about_for_another() {
    let mut world = World::with(asks(GateType::Integration, Fallback::Approve));
    let worker = world.active();
    let first = world.checkpoint(worker, vec![artifact("src/a", None, "1")]);
    let second = world.checkpoint(worker, vec![artifact("src/b", None, "2")]);
    world.ok(COORDINATOR, abort(worker));
    let useless = Salvage {
        checkpoint: Some(first),
        usable: false,
        ..salvage(worker)
    };
    world.ok(COORDINATOR, salvaging(useless));
    world.pass(SILENCE);
    let other = Salvage {
        checkpoint: Some(second),
        synthesis: Some(Arc::from([artifact("etc/passwd", None, "x")])),
        ..salvage(worker)
    };
    let entries = world.ok(COORDINATOR, salvaging(other));
    assert_is_asked(&entries);
}

#[test]
fn a_merge_that_moved_while_it_was_asked_about_is_asked_about_anew() {
    let mut world = World::with(asks(GateType::Integration, Fallback::EscalateToCoordinator));
    let elsewhere = world.active();
    let worker = finished(&mut world, ROOT, |new| new);
    world.ok(COORDINATOR, accept(worker));
    world.ok(COORDINATOR, reparent(worker, elsewhere));
    world.pass(SILENCE);
    let entries = world.ok(COORDINATOR, accept(worker));
    assert_is_asked(&entries);
}

#[test]
fn the_question_of_a_delegate_that_is_gone_is_handed_to_nobody() {
    let mut world = World::with(asks(GateType::Integration, Fallback::EscalateToCoordinator));
    let bob = world.bob;
    let asker = delegate(&mut world);
    let between = child(&mut world, asker, |new| NewWorkspace {
        owner: Some(bob),
        ..new
    });
    let worker = finished(&mut world, between, |new| new);
    world.ok(Principal::Agent(asker), accept(worker));
    world.ok(COORDINATOR, abort(asker));
    assert_eq!(world.state(worker), State::Integrating);
    world.pass(SILENCE);
    let another = Acceptance {
        synthesis: Some(Arc::from([artifact("src/other", None, "x")])),
        ..Acceptance::of(worker, Strategy::Evaluated)
    };
    let order = Command::Accept(Box::new(another));
    let entries = world.ok(COORDINATOR, order);
    assert_is_asked(&entries);
}

#[test]
fn the_question_of_a_delegate_that_is_gone_ends_no_work() {
    let mut world = World::with(asks(GateType::Integration, Fallback::Reject));
    let bob = world.bob;
    let asker = delegate(&mut world);
    let worker = finished(&mut world, asker, |new| NewWorkspace {
        owner: Some(bob),
        ..new
    });
    world.ok(Principal::Agent(asker), accept(worker));
    world.ok(COORDINATOR, abort(asker));
    world.pass(SILENCE);
    assert_eq!(world.state(worker), State::Integrating);
}

/// A delegate on a highway where every creation is asked about.
fn delegate_let_through(world: &mut World) -> WorkspaceId {
    let id = WorkspaceId(world.run.next.workspaces);
    let new = NewWorkspace {
        delegate: true,
        ..world.worker_of(ROOT)
    };
    world.ok(COORDINATOR, create(new));
    let yes = answer(world.last_gate(), Answer::Approve);
    world.ok(Principal::User(world.bob), yes);
    world.direct(id);
    id
}

#[test]
fn a_yes_to_a_workspace_of_ones_own_makes_none_of_somebody_elses() {
    let mut world = World::with(asks(GateType::WorkspaceCreate, Fallback::Reject));
    let (ann, bob) = (world.ann, world.bob);
    let asker = delegate_let_through(&mut world);
    let new = NewWorkspace {
        owner: None,
        ..world.worker_of(asker)
    };
    world.ok(Principal::Agent(asker), create(new));
    let gate = world.last_gate();
    world.ok(COORDINATOR, transfer(asker, bob));
    grant(&mut world, ann, Capability::CreateWorkspace);
    let entries = world.ok(Principal::User(ann), answer(gate, Answer::Approve));
    assert_eq!(World::types(&entries), ["gate_resolved"]);
    let Event::GateResolved(resolved) = &entries[0].event else {
        unreachable!()
    };
    assert_eq!(resolved.action, Answer::Reject);
    assert_eq!(resolved.reason, Some(ResolutionReason::SubjectInvalidated));
}

#[test]
fn a_modified_proposal_waits_for_a_parent_that_rests() {
    let mut world = World::with(asks(GateType::ConflictResolution, Fallback::Reject));
    let parent = world.active();
    let worker = finished(&mut world, parent, |new| new);
    world.conflict(worker);
    let proposal = Command::ResolveConflict {
        workspace: worker,
        conflict: world.run.merges[&worker].open[0].id,
        resolution: Resolution::AgentRework,
    };
    world.ok(COORDINATOR, proposal);
    let gate = world.last_gate();
    world.ok(COORDINATOR, suspend(parent));
    let both = Command::ResolveGate {
        gate,
        answer: Answer::Modify,
        modification: Some(Modification::Resolution(Content::markdown("both"))),
    };
    let refusal = world.refused(Principal::User(world.bob), both.clone());
    assert_eq!(refusal, Refusal::InvalidState);
    assert!(world.run.gates.contains_key(&gate));
    world.ok(COORDINATOR, Command::Resume { workspace: parent });
    world.ok(Principal::User(world.bob), both);
    assert_eq!(world.state(worker), State::Closed);
}

#[test]
fn a_compacted_workspace_is_asked_about_no_more() {
    let mut highway = asks(GateType::Integration, Fallback::Reject);
    highway.gate_mut(GateType::Integration).timeout_us = None;
    let mut world = World::with(highway);
    let worker = world.in_state(State::Failed);
    world.ok(COORDINATOR, salvaging(salvage(worker)));
    world.ok(RUNTIME, compact(worker, 1));
    assert!(world.run.gates.is_empty());
}

#[test]
fn a_compacted_workspace_is_handed_to_nobody() {
    let mut world = World::with(asks(GateType::Integration, Fallback::EscalateToCoordinator));
    let worker = world.in_state(State::Failed);
    world.ok(COORDINATOR, salvaging(salvage(worker)));
    world.ok(RUNTIME, compact(worker, 1));
    world.pass(SILENCE);
    let kept = (world.run.guard.len(), world.run.escalated_gates.len());
    assert_eq!(kept, (0, 0));
}

/// Handed over and decided in one commit: the delegate hears one answer.
#[test]
fn what_was_handed_over_and_decided_at_once_is_told_once() {
    let mut world = World::with(asks(GateType::Integration, Fallback::EscalateToCoordinator));
    let asker = delegate(&mut world);
    let worker = finished(&mut world, asker, |new| new);
    world.ok(Principal::Agent(asker), accept(worker));
    let gate = world.last_gate();
    let before = world.entries.len();
    world.pass(SILENCE);
    let yes = Command::DecideGate {
        gate,
        proceed: true,
    };
    world.ok(COORDINATOR, yes);
    let told: Vec<Effect> = effects(&world.run, &world.entries[before..])
        .into_iter()
        .filter(|effect| matches!(effect, Effect::ReportAnswer { .. }))
        .collect();
    let heard = Effect::ReportAnswer {
        to: asker,
        gate,
        answer: Answer::Approve,
    };
    assert_eq!(told, [heard]);
}

// Who has ended, rests or only watches does nothing.

#[test]
fn an_agent_whose_workspace_ended_is_heard_by_nobody() {
    let mut world = World::open();
    let worker = world.active();
    world.ok(COORDINATOR, abort(worker));
    for signal in [
        SignalType::Complete,
        SignalType::Failed,
        SignalType::Escalation,
    ] {
        let entries = world.emit(worker, signal);
        assert_eq!(World::types(&entries), ["signal_emitted"]);
        assert_eq!(effects(&world.run, &entries), []);
    }
}

#[test]
fn an_agent_that_is_not_bound_reads_no_workspace() {
    let mut world = World::open();
    let suspended = world.in_state(State::Suspended);
    let migrating = world.in_state(State::Migrating);
    for workspace in [suspended, migrating] {
        let read = Command::Read {
            workspace,
            resource: None,
        };
        let refusal = world.refused(Principal::Agent(workspace), read);
        assert_eq!(refusal, Refusal::PermissionDenied);
    }
}

#[test]
fn nobody_works_beneath_an_observer() {
    let mut world = World::open();
    let observer = world.create(NewWorkspace {
        role: Role::Observer,
        ..world.worker_of(ROOT)
    });
    world.emit(observer, SignalType::Ready);
    assert_eq!(world.state(observer), State::Active);
    let worker = world.active();
    let new = world.worker_of(observer);
    let made = world.refused(COORDINATOR, create(new));
    let moved = world.refused(COORDINATOR, reparent(worker, observer));
    let structure = Refusal::InvalidStructure;
    assert_eq!((made, moved), (structure, structure));
}

#[test]
fn a_signal_of_a_child_whose_parent_ended_is_told_to_somebody() {
    let mut world = World::open();
    let bob = world.bob;
    let parent = world.active();
    let worker = finished(&mut world, parent, |new| NewWorkspace {
        owner: Some(bob),
        ..new
    });
    world.conflict(worker);
    let entries = world.ok(COORDINATOR, abort(parent));
    let last_words = entries.iter().find_map(|entry| match &entry.event {
        Event::SignalEmitted(e) if e.from == worker => Some(e.signal),
        _ => None,
    });
    let heard = Effect::DeliverSignal {
        to: ROOT,
        signal: last_words.expect("the merge is over"),
    };
    assert!(effects(&world.run, &entries).contains(&heard));
}

// Nobody is left waiting, and nothing is left behind.

#[test]
fn an_escalation_is_answered_once_even_if_the_answer_ends_the_workspace() {
    let mut world = World::open();
    let worker = child(&mut world, ROOT, |new| NewWorkspace {
        budget: Budget {
            bandwidth_limit: Some(50),
            ..Budget::default()
        },
        ..new
    });
    world.emit(worker, SignalType::Blocked);
    world.emit(worker, SignalType::Escalation);
    let too_long = Command::AnswerEscalation {
        signal: *world.run.escalations.keys().next().unwrap(),
        answer: escalation::Answer::Envelope {
            envelope_type: EnvelopeType::Feedback,
            payload: Content::markdown(&"x".repeat(100)),
        },
    };
    world.ok(Principal::User(world.ann), too_long);
    assert_eq!(world.state(worker), State::Failed);
    assert_eq!(world.count("escalation_resolved"), 1);
}

#[test]
fn an_escalation_whose_owner_leaves_is_told_to_the_coordinator() {
    let mut highway = Highway::open();
    highway.escalation.timeout_us = None;
    let mut world = World::with(highway);
    let worker = world.in_state(State::Blocked);
    world.emit(worker, SignalType::Escalation);
    let entries = world.ok(Principal::Operator, deactivate(world.ann));
    let gone = Effect::TellCoordinator(Notice::OwnerGone { workspace: worker });
    assert!(effects(&world.run, &entries).contains(&gone));
}

#[test]
fn an_escalation_goes_with_the_workspace_to_its_next_owner() {
    let mut world = World::open();
    let worker = world.active();
    world.emit(worker, SignalType::Escalation);
    let signal = *world.run.escalations.keys().next().unwrap();
    let bob = world.bob;
    let entries = world.ok(COORDINATOR, transfer(worker, bob));
    let told = effects(&world.run, &entries);
    let at = |effect: Effect| told.iter().position(|told| *told == effect);
    let hidden = at(Effect::HideEscalation { signal });
    let shown = at(Effect::ShowEscalation { user: bob, signal });
    assert!(hidden.is_some() && hidden < shown, "{told:?}");
}

#[test]
fn a_run_that_shut_down_holds_nothing() {
    for forced in [true, false] {
        let mut highway = Highway::gated();
        for kind in [
            GateType::WorkspaceCreate,
            GateType::EnvelopeDelivery,
            GateType::WorkspaceAbort,
        ] {
            highway.gate_mut(kind).enabled = false;
        }
        let mut world = World::with(highway);
        let ann = world.ann;
        let failed = world.in_state(State::Failed);
        world.ok(COORDINATOR, salvaging(salvage(failed)));
        grant(&mut world, ann, Capability::InjectDirective);
        world.ok(Principal::User(ann), inject(ROOT, EnvelopeType::Query));
        if forced {
            let busy = world.in_state(State::Blocked);
            world.emit(busy, SignalType::Escalation);
            world.ok(COORDINATOR, send(busy, EnvelopeType::Feedback));
        }
        world.ok(RUNTIME, Command::ShutDown { forced });
        let run = &world.run;
        let left = [
            ("deadlines", run.deadlines.len()),
            ("gates", run.gates.len()),
            ("gate subjects", run.gate_subjects.len()),
            ("guard", run.guard.len()),
            ("inboxes", run.inboxes.len()),
            ("escalations", run.escalations.len()),
            ("merges", run.merges.len()),
            ("merged", run.merged.len()),
            ("rights", run.rights.len()),
            ("agents", run.agents.len()),
            ("signals", run.queued_signals.len()),
            ("children", run.children.len()),
        ];
        for (kind, count) in left {
            assert_eq!(count, 0, "{kind}, forced: {forced}");
        }
    }
}

#[test]
fn a_person_makes_no_delegate_of_somebody_elses() {
    let mut world = World::open();
    let (ann, bob) = (world.ann, world.bob);
    grant(&mut world, ann, Capability::CreateWorkspaceAny);
    grant(&mut world, ann, Capability::GrantDelegation);
    let of = |world: &World, owner| NewWorkspace {
        delegate: true,
        owner: Some(owner),
        ..world.worker_of(ROOT)
    };
    let others = create(of(&world, bob));
    let refusal = world.refused(Principal::User(ann), others);
    assert_eq!(refusal, Refusal::DelegationNotApproved);
    let own = create(of(&world, ann));
    world.ok(Principal::User(ann), own);
}

// Budgets contain what is used, whenever it is told.

/// A parent with a hundred tokens and two children with fifty each; the first
/// has used sixty and is over.
fn family(world: &mut World) -> [WorkspaceId; 3] {
    let limited = |world: &mut World, parent, limit| {
        child(world, parent, |new| NewWorkspace {
            budget: tokens(limit),
            metered: true,
            ..new
        })
    };
    let parent = limited(world, ROOT, 100);
    let family = [
        parent,
        limited(world, parent, 50),
        limited(world, parent, 50),
    ];
    world.ok(Principal::Meter, meter(family[1], 60));
    family
}

fn states<const N: usize>(world: &World, family: [WorkspaceId; N]) -> [State; N] {
    family.map(|id| world.state(id))
}

#[test]
fn recovering_a_sound_run_ends_nothing() {
    let mut world = World::open();
    let family = family(&mut world);
    let before = states(&world, family);
    assert_eq!(before, [State::Active, State::Failed, State::Active]);
    let entries = world.ok(RUNTIME, recover());
    assert_eq!(World::types(&entries), ["recovery_completed"]);
    assert_eq!(states(&world, family), before);
}

#[test]
fn a_total_that_adds_nothing_ends_nothing() {
    let mut world = World::open();
    let family = family(&mut world);
    let before = states(&world, family);
    world.ok(Principal::Meter, meter(family[0], 0));
    assert_eq!(states(&world, family), before);
    world.ok(COORDINATOR, suspend(family[0]));
    world.ok(
        COORDINATOR,
        Command::Resume {
            workspace: family[0],
        },
    );
    assert_eq!(states(&world, family), before);
}

#[test]
fn a_total_that_comes_after_the_end_is_refused() {
    let mut world = World::open();
    let worker = child(&mut world, ROOT, |new| NewWorkspace {
        budget: tokens(50),
        metered: true,
        ..new
    });
    world.ok(COORDINATOR, abort(worker));
    let refusal = world.refused(Principal::Meter, meter(worker, 49));
    assert_eq!(refusal, Refusal::TargetTerminal);
}

#[test]
fn what_a_child_used_stays_counted_where_it_leaves() {
    let mut world = World::open();
    let bob = world.bob;
    let above = child(&mut world, ROOT, |new| NewWorkspace {
        budget: tokens(100),
        metered: true,
        ..new
    });
    let with_sixty = |new| NewWorkspace {
        budget: tokens(60),
        metered: true,
        ..new
    };
    for _ in 0..2 {
        let parent = child(&mut world, above, with_sixty);
        let worker = child(&mut world, parent, |new| NewWorkspace {
            owner: Some(bob),
            budget: tokens(50),
            metered: true,
            ..new
        });
        world.ok(Principal::Meter, meter(worker, 39));
        world.ok(COORDINATOR, abort(parent));
        assert_eq!(world.state(worker), State::Active);
    }
    let used = world.run.open(above).unwrap().meter.as_ref().unwrap().used[0];
    assert_eq!(used, 78);
    let new = with_sixty(world.worker_of(above));
    let refusal = world.refused(COORDINATOR, create(new));
    assert_eq!(refusal, Refusal::BudgetNotContained(Dimension::Tokens));
}

// Numbers and moments have an end.

#[test]
fn silence_is_not_warned_about_more_than_once_a_second() {
    let mut world = World::open();
    let parent = delegate(&mut world);
    let hears = |world: &World, us| NewWorkspace {
        owner: None,
        liveness_us: Some(us),
        ..world.worker_of(parent)
    };
    let flood = create(hears(&world, SECOND as u64 - 1));
    let refusal = world.refused(Principal::Agent(parent), flood);
    assert_eq!(refusal, Refusal::InvalidStructure);
    let calm = create(hears(&world, SECOND as u64));
    world.ok(Principal::Agent(parent), calm);
}

#[test]
fn a_clock_that_was_far_ahead_leaves_moments_that_read_back() {
    let mut world = World::open();
    world.idle();
    let right = world.now;
    world.now = Micros(i64::MAX);
    while world.run.next_deadline().is_some() {
        world.ok(RUNTIME, Command::Tick);
    }
    world.now = right;
    let worker = world.active();
    world.ok(COORDINATOR, send(worker, EnvelopeType::Feedback));
    world.emit(worker, SignalType::Escalation);
    world.pass(0);
    let rebuilt = rebuild(&world.entries).unwrap();
    assert!(rebuilt.quarantined.is_empty());
}

const HUGE: u64 = u64::MAX;

fn checkpointing(new: NewCheckpoint) -> Command {
    Command::CreateCheckpoint(Box::new(new))
}

/// What somebody may say with a number in it that no fact can hold. The world
/// asks of every entry whether its facts are canonical and read back.
#[test]
fn a_number_that_no_fact_can_hold_is_refused() {
    type Order = fn(&World, WorkspaceId) -> (Principal, Command);
    let orders: [(&str, Order); 10] = [
        ("timeout", |world, _| {
            let timeout_us = HUGE;
            let new = world.worker_of(ROOT);
            (COORDINATOR, create(NewWorkspace { timeout_us, ..new }))
        }),
        ("liveness", |world, _| {
            let liveness_us = Some(HUGE);
            let new = world.worker_of(ROOT);
            (COORDINATOR, create(NewWorkspace { liveness_us, ..new }))
        }),
        ("budget", |world, _| {
            let budget = tokens(HUGE);
            let new = world.worker_of(ROOT);
            (COORDINATOR, create(NewWorkspace { budget, ..new }))
        }),
        ("raised budget", |_, worker| {
            let order = Command::RaiseBudget {
                workspace: worker,
                dimension: Dimension::Tokens,
                limit: HUGE,
            };
            (COORDINATOR, order)
        }),
        ("metered total", |_, worker| {
            (Principal::Meter, meter(worker, HUGE))
        }),
        ("reported total", |_, worker| {
            let totals = Usage {
                tokens: HUGE,
                ..Usage::default()
            };
            (Principal::Agent(worker), Command::ReportUsage { totals })
        }),
        ("size of an artifact", |_, worker| {
            let mut huge = artifact("src/a", None, "1");
            huge.bytes = HUGE;
            let new = NewCheckpoint::last(None, vec![huge]);
            (Principal::Agent(worker), checkpointing(new))
        }),
        ("use in a checkpoint", |_, worker| {
            let usage = Usage {
                wall_time_us: HUGE,
                tokens: HUGE,
                ..Usage::default()
            };
            let new = NewCheckpoint {
                resource_usage: Some(usage),
                ..NewCheckpoint::last(None, vec![])
            };
            (Principal::Agent(worker), checkpointing(new))
        }),
        ("grace", |_, worker| {
            let enough = WindDown::of(worker, HUGE, text("enough"), Content::markdown("finish"));
            (COORDINATOR, Command::TerminateGracefully(Box::new(enough)))
        }),
        ("estimate", |_, _| {
            let mut task = NewTask::named("one", vec![]);
            task.resource_estimate = Some(Estimate {
                cost_micros: Some(HUGE),
                tokens: Some(HUGE),
                wall_time_us: Some(HUGE),
            });
            let graph = NewGraph {
                root: 0,
                tasks: vec![task],
            };
            (COORDINATOR, Command::SubmitGraph(graph))
        }),
    ];
    for (what, order) in orders {
        let mut world = World::open();
        let worker = child(&mut world, ROOT, |new| NewWorkspace {
            budget: tokens(10),
            ..new
        });
        let (principal, command) = order(&world, worker);
        let refusal = world.refused(principal, command);
        let expected = match what {
            "estimate" => Refusal::InvalidEstimate,
            _ => Refusal::InvalidStructure,
        };
        assert_eq!(refusal, expected, "{what}");
    }
}

#[test]
fn a_number_that_the_runtime_counted_too_high_is_bounded_or_refused() {
    let mut world = World::open();
    let failed = world.in_state(State::Failed);
    let counted = Command::Recover {
        downtime_us: HUGE,
        examined: HUGE,
        quarantined: HUGE,
    };
    let entries = world.ok(RUNTIME, counted);
    let Event::RecoveryCompleted(report) = &entries[0].event else {
        unreachable!()
    };
    let told = [
        report.downtime_us,
        report.trail_entries_examined,
        report.quarantined_entries,
    ];
    assert_eq!(told, [LARGEST; 3]);
    let refusal = world.refused(RUNTIME, compact(failed, HUGE));
    assert_eq!(refusal, Refusal::InvalidStructure);
    world.ok(RUNTIME, compact(failed, LARGEST));
}

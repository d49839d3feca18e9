//! What a crash or a damaged store takes away: every entry of a rich run, and
//! the losses that once hurt.

use trail::{Hash, Micros};
use wacp::{
    Command, Entry, Measured, Order, Principal, Run,
    content::Content,
    gate::{
        Answer, GateType,
        config::{Fallback, Highway},
    },
    id::{EnvelopeId, GateId, TaskId, WorkspaceId},
    integration::{Acceptance, Resolution, Salvage, Strategy},
    recovery::{Halt, rebuild},
    right::RightKind,
    role::EnvelopeType,
    signal::SignalType,
    step,
    task::{DependsOn, NewGraph, NewTask},
    user::Capability,
    workspace::{NewWorkspace, WindDown, lifecycle::State},
};

use crate::{
    orders::{
        abort, answer, asks, contradiction, create, grant, meter, migrate, plan, recover, reparent,
        salvage, send, suspend, tokens, transfer,
    },
    world::{ROOT, SECOND, World, artifact, text},
};

const COORDINATOR: Principal = Principal::Coordinator;
const RUNTIME: Principal = Principal::Runtime;

/// Long after everything that is due in these runs.
const LONG: i64 = 100_000 * SECOND;

/// Bob says yes to whatever is asked.
fn say_yes(world: &mut World) {
    let bob = Principal::User(world.bob);
    while let Some(gate) = world.run.gates.keys().next().copied() {
        world.ok(bob, answer(gate, Answer::Approve));
    }
}

/// A worker at work, whatever the highway asks on the way there.
fn at_work(
    world: &mut World,
    parent: WorkspaceId,
    with: impl FnOnce(NewWorkspace) -> NewWorkspace,
) -> WorkspaceId {
    let workspace = WorkspaceId(world.run.next.workspaces);
    let new = NewWorkspace {
        agent: text(&format!("agent-of-{workspace:?}")),
        ..with(world.worker_of(parent))
    };
    world.ok(COORDINATOR, create(new));
    say_yes(world);
    let envelope = EnvelopeId(world.run.next.envelopes);
    world.ok(COORDINATOR, send(workspace, EnvelopeType::Directive));
    say_yes(world);
    let taken = Command::Acknowledge {
        workspace,
        envelope,
    };
    world.ok(RUNTIME, taken);
    workspace
}

/// A run in which a little of everything has happened and is under way.
fn rich(highway: Highway) -> World {
    let mut world = World::with(highway);
    let ann = world.ann;
    grant(&mut world, ann, Capability::InjectDirective);
    let tasks = vec![
        NewTask::named("one", vec![]),
        NewTask::named("two", vec![DependsOn::New(0)]),
    ];
    let graph = NewGraph { root: 1, tasks };
    world.ok(COORDINATOR, Command::SubmitGraph(graph));
    say_yes(&mut world);
    let busy = at_work(&mut world, ROOT, |new| NewWorkspace {
        task: Some(TaskId(0)),
        group: Some(text("together")),
        liveness_us: Some(30 * SECOND as u64),
        ..new
    });
    merge_in_conflict(&mut world);
    full_inbox(&mut world, busy);
    salvage_in_conflict(&mut world);
    change_and_move(&mut world, busy);
    world
}

/// Metered work beneath a delegate, merged with a contradiction.
fn merge_in_conflict(world: &mut World) {
    let (ann, bob) = (world.ann, world.bob);
    let delegate = at_work(world, ROOT, |new| NewWorkspace {
        delegate: true,
        budget: tokens(100),
        metered: true,
        ..new
    });
    let between = at_work(world, delegate, |new| NewWorkspace {
        owner: Some(bob),
        budget: tokens(40),
        ..new
    });
    let worker = at_work(world, between, |new| NewWorkspace {
        owner: Some(ann),
        budget: tokens(20),
        ..new
    });
    world.ok(Principal::Meter, meter(worker, 17));
    world.checkpoint(worker, vec![artifact("src/a", None, "1")]);
    world.emit(worker, SignalType::Complete);
    let acceptance = Acceptance {
        conflicts: contradiction(),
        ..Acceptance::of(worker, Strategy::Evaluated)
    };
    let order = Command::Accept(Box::new(acceptance));
    world.ok(Principal::Agent(delegate), order);
    say_yes(world);
    assert_eq!(world.state(worker), State::Conflicted);
}

/// An envelope sent twice and one behind it, an escalation and a checkpoint.
fn full_inbox(world: &mut World, busy: WorkspaceId) {
    world.ok(COORDINATOR, send(busy, EnvelopeType::Feedback));
    say_yes(world);
    world.pass(6 * SECOND);
    world.ok(COORDINATOR, send(busy, EnvelopeType::Feedback));
    world.emit(busy, SignalType::Blocked);
    world.emit(busy, SignalType::Escalation);
    world.emit(busy, SignalType::Started);
    world.checkpoint(busy, vec![artifact("src/t", None, "1")]);
}

/// Work that failed and is taken all the same, with a contradiction.
fn salvage_in_conflict(world: &mut World) {
    let failed = at_work(world, ROOT, |new| new);
    world.checkpoint(failed, vec![artifact("src/b", None, "1")]);
    world.ok(Principal::User(world.bob), abort(failed));
    let order = Command::Salvage(Box::new(Salvage {
        conflicts: contradiction(),
        ..salvage(failed)
    }));
    world.ok(COORDINATOR, order);
    say_yes(world);
    let order = Command::ResolveConflict {
        workspace: failed,
        conflict: world.run.merges[&failed].open[0].id,
        resolution: Resolution::Escalate(Content::markdown("which one?")),
    };
    world.ok(COORDINATOR, order);
}

/// An agent is replaced, a family rests, and one that is asked to finish moves.
fn change_and_move(world: &mut World, busy: WorkspaceId) {
    let replaced = at_work(world, ROOT, |new| new);
    world.ok(COORDINATOR, migrate(replaced, "another"));
    let resting = at_work(world, ROOT, |new| new);
    let beneath = at_work(world, resting, |new| new);
    world.ok(COORDINATOR, suspend(resting));
    world.ok(COORDINATOR, send(resting, EnvelopeType::Feedback));
    world.emit(beneath, SignalType::Blocked);
    let right = Command::CreateRight {
        holder: busy,
        target: replaced,
        kind: RightKind::SendOnce,
    };
    world.ok(COORDINATOR, right);
    let ending = at_work(world, ROOT, |new| new);
    let grace = 50 * SECOND as u64;
    let wind_down = WindDown::of(ending, grace, text("enough"), Content::markdown("finish"));
    let order = Command::TerminateGracefully(Box::new(wind_down));
    world.ok(COORDINATOR, order);
    world.ok(COORDINATOR, transfer(ending, world.bob));
    world.ok(COORDINATOR, reparent(ending, beneath));
}

/// Plays a rebuilt run to its end: it recovers once, every tick does something,
/// it shuts down, nothing is left, and its own entries say it all.
#[track_caller]
fn plays_out(kept: &[Entry], now: Micros, what: &str) {
    let mut run = rebuild(kept).unwrap().run;
    let mut entries = kept.to_vec();
    let mut order = |run: &mut Run, command: Command, at: Micros| {
        let name = command.name();
        let (written, refusal) = step(
            run,
            &mut Measured::default(),
            &Order::new(RUNTIME, command),
            at,
        );
        assert_eq!(refusal, None, "{what}: {name}");
        entries.extend(written.iter().cloned());
        written
    };
    order(&mut run, recover(), now);
    let again = order(&mut run, recover(), now);
    assert_eq!(again, [], "{what}");
    let end = Micros(now.0 + LONG);
    while let Some(at) = run.next_deadline().filter(|at| *at <= end) {
        let at = at.max(run.clock);
        let written = order(&mut run, Command::Tick, at);
        assert!(!written.is_empty(), "{what}: {:?}", run.deadlines.first());
    }
    order(&mut run, Command::ShutDown { forced: true }, end);
    assert_nothing_is_left(&run, what);
    let state_hash = Hash::of("test", &[]);
    order(&mut run, Command::RecordSnapshot { state_hash }, end);
    assert!(rebuild(&entries).unwrap().run == run, "{what}: replay");
}

#[track_caller]
fn assert_nothing_is_left(run: &Run, what: &str) {
    let left = [
        ("deadlines", run.deadlines.len()),
        ("gates", run.gates.len()),
        ("inboxes", run.inboxes.len()),
        ("escalations", run.escalations.len()),
        ("merges", run.merges.len()),
        ("children", run.children.len()),
        ("agents", run.agents.len()),
    ];
    for (kind, count) in left {
        assert_eq!(count, 0, "{what}: {kind}");
    }
}

fn highways() -> [(&'static str, Highway); 3] {
    [
        ("open", Highway::open()),
        ("supervised", Highway::supervised()),
        ("gated", Highway::gated()),
    ]
}

#[test]
fn whichever_entries_are_lost_the_run_halts_or_plays_out() {
    for (name, highway) in highways() {
        let world = rich(highway);
        let mut halts = 0;
        let losses = [1, 2].map(|width| world.entries.windows(width).skip(1).enumerate());
        for (at, lost) in losses.into_iter().flatten() {
            let mut kept = world.entries.clone();
            kept.drain(at + 1..=at + lost.len());
            let what = format!("{name}, without {:?}", World::types(lost));
            match rebuild(&kept) {
                Ok(_) => plays_out(&kept, world.now, &what),
                Err(Halt::LostCreation(_)) => {
                    let is_creation = |kind: &&str| kind.ends_with("_created");
                    assert!(World::types(lost).iter().any(is_creation), "{what}");
                    halts += 1;
                }
                Err(halt) => panic!("{what}: {halt}"),
            }
        }
        assert!((1..world.entries.len()).contains(&halts), "{name}: {halts}");
    }
}

#[test]
fn wherever_the_trail_ends_the_run_plays_out() {
    for (name, highway) in highways() {
        let world = rich(highway);
        for cut in 1..=world.entries.len() {
            let kept = &world.entries[..cut];
            let last = kept[cut - 1].event.event_type();
            plays_out(kept, world.now, &format!("{name}, cut after {last}"));
        }
    }
}

/// The entries without the first of this type.
fn without_first(entries: &[Entry], event_type: &str) -> Vec<Entry> {
    let is_it = |entry: &Entry| entry.event.event_type() == event_type;
    without(entries, entries.iter().position(is_it).unwrap())
}

/// The entries without the last of this type.
fn without_last(entries: &[Entry], event_type: &str) -> Vec<Entry> {
    let is_it = |entry: &Entry| entry.event.event_type() == event_type;
    without(entries, entries.iter().rposition(is_it).unwrap())
}

fn without(entries: &[Entry], at: usize) -> Vec<Entry> {
    let mut kept = entries.to_vec();
    kept.remove(at);
    kept
}

/// The run after a crash that left these entries, and what recovery wrote.
fn recovered(kept: &[Entry], now: Micros) -> (Run, Vec<Entry>) {
    let mut run = rebuild(kept).unwrap().run;
    let (written, refusal) = step(
        &mut run,
        &mut Measured::default(),
        &Order::new(RUNTIME, recover()),
        now,
    );
    assert_eq!(refusal, None);
    (run, written)
}

#[test]
fn a_torn_no_delivers_what_waited_behind_it_once() {
    let mut world = World::with(asks(GateType::EnvelopeDelivery, Fallback::Reject));
    let bob = Principal::User(world.bob);
    let idle = world.idle();
    for _ in 0..2 {
        world.ok(COORDINATOR, send(idle, EnvelopeType::Directive));
    }
    let gates: Vec<GateId> = world.run.gates.keys().copied().collect();
    world.ok(bob, answer(gates[1], Answer::Approve));
    let before = world.entries.len();
    world.ok(bob, answer(gates[0], Answer::Reject));
    let kept = &world.entries[..=before];
    assert_eq!(kept[before].event.event_type(), "gate_resolved");
    let (_, written) = recovered(kept, world.now);
    let is_delivery = |kind: &&&str| **kind == "envelope_delivered";
    let types = World::types(&written);
    assert_eq!(types.iter().filter(is_delivery).count(), 1, "{types:?}");
    plays_out(kept, world.now, "torn no");
}

#[test]
fn a_redelivery_of_something_unknown_holds_nothing_up() {
    let mut world = World::open();
    let worker = world.active();
    world.ok(COORDINATOR, send(worker, EnvelopeType::Feedback));
    world.pass(6 * SECOND);
    assert_eq!(world.count("envelope_redelivered"), 1);
    let kept = without_last(&world.entries, "envelope_created");
    plays_out(&kept, world.now, "envelope_created lost");
}

/// Ann's, bob's and everybody's numbers: none is given to somebody else.
#[test]
fn a_lost_creation_halts_the_rebuild_before_its_number_is_given_out_again() {
    let mut world = World::open();
    world.ok(COORDINATOR, plan(&["one", "two"]));
    let new = NewWorkspace {
        task: Some(TaskId(1)),
        ..world.worker_of(ROOT)
    };
    let worker = world.create(new);
    world.direct(worker);
    world.ok(Principal::User(world.bob), suspend(worker));
    let lost = [
        ("ann", without_first(&world.entries, "user_created")),
        ("bob", without_last(&world.entries, "user_created")),
        ("plan", without_first(&world.entries, "graph_created")),
        ("task one", without_first(&world.entries, "task_created")),
        ("task two", without_last(&world.entries, "task_created")),
        ("worker", without_last(&world.entries, "workspace_created")),
    ];
    for (what, kept) in lost {
        let halt = rebuild(&kept).map(|rebuilt| rebuilt.quarantined);
        assert!(
            matches!(halt, Err(Halt::LostCreation(_))),
            "{what}: {halt:?}"
        );
    }
}

#[test]
fn a_task_whose_assignment_was_torn_is_worked_on_by_one() {
    let mut world = World::open();
    world.ok(COORDINATOR, plan(&["one"]));
    let at_task = |world: &World| NewWorkspace {
        task: Some(TaskId(0)),
        ..world.worker_of(ROOT)
    };
    let first = world.create(at_task(&world));
    let is_assignment = |entry: &Entry| entry.event.event_type() == "task_assigned";
    let cut = world.entries.iter().rposition(is_assignment).unwrap();
    let (mut run, _) = recovered(&world.entries[..=cut], world.now);
    let second = world.for_free_agent(at_task(&world));
    let order = Order::new(COORDINATOR, create(second));
    let (_, refusal) = step(&mut run, &mut Measured::default(), &order, world.now);
    let is_over = run.state_of(first) == Some(State::Failed);
    assert!(refusal.is_some() != is_over, "{refusal:?}");
    plays_out(&world.entries[..=cut], world.now, "torn assignment");
}

#[test]
fn a_task_at_work_whose_steps_were_lost_is_no_draft() {
    let mut world = World::open();
    world.ok(COORDINATOR, plan(&["one"]));
    let new = NewWorkspace {
        task: Some(TaskId(0)),
        ..world.worker_of(ROOT)
    };
    let worker = world.create(new);
    let is_kept = |entry: &&Entry| entry.event.event_type() != "task_status_changed";
    let kept: Vec<Entry> = world.entries.iter().filter(is_kept).cloned().collect();
    let (run, _) = recovered(&kept, world.now);
    assert_eq!(run.state_of(worker), Some(State::Idle));
    assert_eq!(run.task(TaskId(0)).unwrap().workspace, Some(worker));
    plays_out(&kept, world.now, "steps lost");
}

/// A worker whose agent was replaced; the entry that says so is lost later.
fn replaced(world: &mut World) -> WorkspaceId {
    let worker = world.active();
    world.ok(COORDINATOR, migrate(worker, "another"));
    let done = Command::CompleteMigration { workspace: worker };
    world.ok(RUNTIME, done);
    worker
}

#[test]
fn a_lost_replacement_does_not_stop_a_torn_completion() {
    let mut world = World::open();
    let worker = replaced(&mut world);
    world.checkpoint(worker, vec![artifact("src/a", None, "1")]);
    let done = world.emit(worker, SignalType::Complete);
    let cut = world.entries.len() - done.len() + 1;
    let kept = without_first(&world.entries[..cut], "migration_completed");
    let (run, _) = recovered(&kept, world.now);
    assert_eq!(run.state_of(worker), Some(State::Integrating));
    plays_out(&kept, world.now, "migration_completed lost");
}

#[test]
fn a_lost_replacement_binds_no_agent_for_ever() {
    let mut world = World::open();
    let worker = replaced(&mut world);
    world.ok(COORDINATOR, migrate(worker, "a third"));
    let done = Command::CompleteMigration { workspace: worker };
    world.ok(RUNTIME, done);
    let kept = without_first(&world.entries, "migration_completed");
    let (mut run, _) = recovered(&kept, world.now);
    step(
        &mut run,
        &mut Measured::default(),
        &Order::new(COORDINATOR, abort(worker)),
        world.now,
    );
    let bound: Vec<WorkspaceId> = run.agents.values().copied().collect();
    assert_eq!(bound, [ROOT]);
}

#[test]
fn a_lost_replacement_does_not_throw_a_worker_back() {
    let mut world = World::open();
    let worker = replaced(&mut world);
    world.checkpoint(worker, vec![artifact("src/a", None, "1")]);
    let kept = without_first(&world.entries, "migration_completed");
    let (run, _) = recovered(&kept, world.now);
    let open = run.open(worker).unwrap();
    assert_eq!((open.state, &*open.agent), (State::Active, "another"));
    plays_out(&kept, world.now, "migration_completed lost");
}

#[test]
fn a_merge_whose_end_was_lost_ends_with_its_workspace() {
    let mut world = World::open();
    let conflicted = world.in_state(State::Conflicted);
    world.ok(COORDINATOR, abort(conflicted));
    let kept = without_last(&world.entries, "integration_aborted");
    let run = rebuild(&kept).unwrap().run;
    assert!(run.merges.is_empty() && run.merge_targets.is_empty());
}

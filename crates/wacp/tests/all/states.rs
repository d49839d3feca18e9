//! How a run and its workspaces begin, pause and end.

use wacp::{
    Command, Principal, Refusal,
    id::EnvelopeId,
    signal::SignalType,
    workspace::{NewWorkspace, lifecycle::State},
};

use crate::world::{ROOT, World, text};

#[test]
fn resuming_and_migrating_go_back_to_the_state_before() {
    for blocked in [false, true] {
        let mut world = World::open();
        let id = world.active();
        let before = if blocked {
            world.emit(id, SignalType::Blocked);
            State::Blocked
        } else {
            State::Active
        };
        world.ok(
            Principal::Coordinator,
            Command::Suspend {
                workspace: id,
                reason: text("r"),
            },
        );
        assert_eq!(world.state(id), State::Suspended);
        world.ok(Principal::Coordinator, Command::Resume { workspace: id });
        assert_eq!(world.state(id), before);
        let migrate = Command::Migrate {
            workspace: id,
            new_agent: text("b"),
            reason: text("r"),
        };
        world.ok(Principal::Coordinator, migrate);
        assert_eq!(world.state(id), State::Migrating);
        world.ok(
            Principal::Runtime,
            Command::CompleteMigration { workspace: id },
        );
        assert_eq!(world.state(id), before);
        assert_eq!(&*world.run.open(id).unwrap().agent, "b");
    }
}

#[test]
fn an_observer_begins_with_its_creation_directive_once_it_is_ready() {
    let mut world = World::open();
    let new = NewWorkspace {
        role: wacp::role::Role::Observer,
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    assert_eq!(world.state(id), State::Idle);
    let entries = world.emit(id, SignalType::Ready);
    assert_eq!(
        World::types(&entries),
        [
            "signal_emitted",
            "signal_delivered",
            "envelope_created",
            "envelope_delivered",
            "workspace_state_changed"
        ]
    );
    assert_eq!(world.state(id), State::Active);
}

#[test]
fn the_first_entry_is_the_root_and_names_the_algorithm_and_the_taxonomy() {
    let world = World::open();
    let wacp::Event::WorkspaceCreated(first) = &world.entries[0].event else {
        panic!("the first entry is no creation");
    };
    let run = first.run.as_ref().unwrap();
    assert_eq!(
        (&*run.hash_algorithm, &*run.taxonomy.id),
        ("sha-256", "review")
    );
    assert_eq!(first.originator, wacp::id::Party::System);
    assert_eq!(first.workspace, ROOT);
}

#[test]
fn a_run_ends_normally_only_when_all_work_has_ended() {
    let mut world = World::open();
    let id = world.active();
    let end = Command::ShutDown { forced: false };
    assert_eq!(
        world.refused(Principal::Runtime, end.clone()),
        Refusal::WorkspacesOpen
    );
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    world.ok(Principal::Runtime, end);
    assert_eq!(world.state(ROOT), State::Closed);
    let last = Command::Acknowledge {
        workspace: ROOT,
        envelope: EnvelopeId(0),
    };
    assert_eq!(world.refused(Principal::Runtime, last), Refusal::RunEnded);
}

#[test]
fn a_forced_end_fails_everything_whoever_owns_it() {
    let mut world = World::open();
    let states = [
        State::Idle,
        State::Blocked,
        State::Suspended,
        State::Migrating,
        State::Integrating,
    ];
    let ids: Vec<_> = states.map(|state| world.in_state(state)).to_vec();
    world.ok(Principal::Runtime, Command::ShutDown { forced: true });
    for id in ids {
        assert_eq!(world.state(id), State::Failed);
    }
    assert_eq!(world.state(ROOT), State::Failed);
    assert_eq!(world.count("system_degraded"), 1);
}

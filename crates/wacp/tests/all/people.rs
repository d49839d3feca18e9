//! People: their states, and who may change them.

use wacp::{
    Actor, Command, Event, Principal, Refusal,
    id::Party,
    user::{Capability, UserChange, UserState},
    workspace::NewWorkspace,
};

use crate::world::{ROOT, World, text};

/// From each state, where each change leads. `-` nowhere.
const CHANGES: &str = "
                Suspend   Resume Block   Unblock Deactivate  Reactivate
    Active      Suspended -      Blocked -       Deactivated -
    Suspended   -         Active Blocked -       Deactivated -
    Blocked     Suspended -      -       Active  Deactivated -
    Deactivated -         -      -       -       -           Active
";

#[test]
fn a_persons_state_changes_only_as_the_table_says() {
    let rows = CHANGES
        .lines()
        .skip(2)
        .filter(|line| !line.trim().is_empty());
    for (state, line) in UserState::ALL.into_iter().zip(rows) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[0], format!("{state:?}"));
        for (change, expected) in UserChange::ALL.into_iter().zip(&cells[1..]) {
            let mut world = World::open();
            let user = world.ann;
            let order = |change| Command::ChangeUser {
                user,
                change,
                reason: None,
            };
            let there = match state {
                UserState::Active => None,
                UserState::Suspended => Some(UserChange::Suspend),
                UserState::Blocked => Some(UserChange::Block),
                UserState::Deactivated => Some(UserChange::Deactivate),
            };
            if let Some(change) = there {
                world.ok(Principal::Operator, order(change));
            }
            let found = match world.attempt(Principal::Operator, order(change)) {
                Ok(_) => format!("{:?}", world.run.user(user).unwrap().state),
                Err(Refusal::InvalidUserTransition) => "-".to_owned(),
                Err(other) => panic!("{change:?} from {state:?}: {other:?}"),
            };
            assert_eq!(found, **expected, "{change:?} from {state:?}");
        }
    }
}

#[test]
fn people_are_administered_by_the_operator_and_never_by_agents() {
    let mut world = World::open();
    let ann = world.ann;
    let suspend = || Command::ChangeUser {
        user: ann,
        change: UserChange::Suspend,
        reason: None,
    };
    for principal in [
        Principal::Coordinator,
        Principal::User(world.bob),
        Principal::Meter,
    ] {
        assert_eq!(
            world.refused(principal, suspend()),
            Refusal::PermissionDenied,
            "{principal:?}"
        );
    }
    let operator = Principal::Operator;
    let create = |name: &str| Command::CreateUser { name: text(name) };
    for name in ["system", "protocol", "fallback", "worker", "reviewer", ""] {
        assert_eq!(
            world.refused(operator, create(name)),
            Refusal::ReservedName,
            "{name}"
        );
    }
    assert_eq!(world.refused(operator, create("ann")), Refusal::UserExists);
    let revoke = |capability| Command::RevokeCapability {
        user: ann,
        capability,
        reason: None,
    };
    assert_eq!(
        world.refused(operator, revoke(Capability::ViewTrailOwn)),
        Refusal::Irrevocable
    );
    assert_eq!(
        world.refused(operator, revoke(Capability::AbortAny)),
        Refusal::NotHeld
    );
    let twice = Command::ChangeUser {
        user: ann,
        change: UserChange::Resume,
        reason: None,
    };
    assert_eq!(
        world.refused(operator, twice),
        Refusal::InvalidUserTransition
    );
    world.ok(operator, suspend());
    let failure = Command::RecordAuthenticationFailure {
        entity: text("mallory"),
        context: text("highway"),
        reason: text("unknown"),
        source: text("10.0.0.9"),
    };
    world.ok(Principal::Runtime, failure);
    world.ok(
        Principal::Runtime,
        Command::RecordAuthentication {
            user: ann,
            method: text("token"),
        },
    );
    assert_eq!(
        world.last_types(2),
        ["authentication_failed", "authentication_succeeded"]
    );
}

#[test]
fn every_actor_is_named_as_the_protocol_says() {
    let mut world = World::open();
    let bob = world.bob;
    let id = world.active();
    let name = |world: &World, actor: Actor| world.run.actor_name(actor).to_owned();
    assert_eq!(name(&world, Actor::System), "system");
    let entries = world.emit(id, wacp::signal::SignalType::Started);
    assert_eq!(name(&world, entries[0].actor), "worker");
    assert_eq!(name(&world, entries[1].actor), "protocol");
    let entries = world.ok(
        Principal::User(bob),
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    assert_eq!(name(&world, entries[0].actor), "bob");
    let wacp::Event::WorkspaceStateChanged(_) = &entries[0].event else {
        panic!()
    };
    // A person who creates a workspace is its originator.
    let new = NewWorkspace::worker(ROOT, "a");
    let entries = world.ok(
        Principal::User(bob),
        Command::CreateWorkspace(Box::new(new)),
    );
    assert!(
        matches!(&entries[0].event, Event::WorkspaceCreated(e) if e.originator == Party::User(bob))
    );
}

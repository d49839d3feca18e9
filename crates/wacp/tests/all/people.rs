//! People: states, capabilities, and every combination of the two.

use wacp::{
    Actor, Command, Event, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    id::{Party, UserId, WorkspaceId},
    role::EnvelopeType,
    user::{Capability, UserChange, UserState},
    workspace::{
        NewWorkspace,
        budget::{Budget, Dimension},
    },
};

use crate::world::{ROOT, World, text};

/// What a capability lets a person do, to a workspace they own or not.
fn act(capability: Capability, world: &World, id: WorkspaceId) -> Command {
    use Capability as C;
    match capability {
        C::CreateWorkspace | C::CreateWorkspaceAny => {
            let owner = world.run.open(id).and_then(|open| open.owner.user());
            Command::CreateWorkspace(Box::new(NewWorkspace {
                owner,
                ..NewWorkspace::worker(ROOT, "a")
            }))
        }
        C::SuspendOwn | C::SuspendAny => Command::Suspend {
            workspace: id,
            reason: text("r"),
        },
        C::AbortOwn | C::AbortAny => Command::Abort {
            workspace: id,
            reason: None,
        },
        C::TransferOwnership => Command::TransferOwnership {
            workspace: id,
            to: world.bob,
            reason: None,
        },
        C::InjectDirective | C::InjectDirectiveAny => Command::Inject(Box::new(NewEnvelope::to(
            id,
            EnvelopeType::Directive,
            Content::markdown("x"),
        ))),
        C::ModifyBudget | C::ModifyBudgetAny => Command::RaiseBudget {
            workspace: id,
            dimension: Dimension::Tokens,
            limit: 1000,
        },
        C::ViewTrailOwn | C::ViewTrailAny => Command::ReadTrail {
            workspace: Some(id),
        },
        C::GrantDelegation => Command::ApproveDelegation { delegate: id },
        C::ApproveIntegration | C::ApproveIntegrationAny | C::DeactivateUser => {
            Command::ChangeUser {
                user: world.bob,
                change: UserChange::Deactivate,
                reason: None,
            }
        }
    }
}

/// Capability, then: on one's own workspace, on another's. `+` may, `m`
/// missing, `w` wrong scope, `o` out of scope (the trail answers with nothing).
const REACH: &str = "
    CreateWorkspace     + w
    CreateWorkspaceAny  + +
    SuspendOwn          + w
    SuspendAny          + +
    AbortOwn            + w
    AbortAny            + +
    TransferOwnership   + +
    InjectDirective     + w
    InjectDirectiveAny  + +
    ModifyBudget        + w
    ModifyBudgetAny     + +
    ViewTrailOwn        + o
    ViewTrailAny        + +
    GrantDelegation     + w
    DeactivateUser      + +
";

/// A world in which cid (user 2) holds exactly this capability.
fn world_of(capability: Option<Capability>) -> (World, UserId, WorkspaceId, WorkspaceId) {
    let mut world = World::open();
    world.ok(
        Principal::Operator,
        Command::CreateUser { name: text("cid") },
    );
    let cid = UserId(2);
    let make = |world: &mut World, owner| {
        let budget = Budget {
            token_limit: Some(10),
            ..Budget::default()
        };
        let new = NewWorkspace {
            owner: Some(owner),
            delegate: true,
            budget,
            ..world.worker_of(ROOT)
        };
        let id = world.create(new);
        world.direct(id);
        id
    };
    let ann = world.ann;
    let (own, other) = (make(&mut world, cid), make(&mut world, ann));
    if let Some(capability) = capability {
        world.ok(
            Principal::Operator,
            Command::GrantCapability {
                user: cid,
                capability,
            },
        );
    }
    (world, cid, own, other)
}

#[test]
fn each_capability_reaches_as_far_as_the_table_says_and_only_for_active_people() {
    for line in REACH.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let capability = Capability::ALL
            .into_iter()
            .find(|capability| format!("{capability:?}") == cells[0])
            .unwrap();
        for state in UserState::ALL {
            for (own, expected) in [(true, cells[1]), (false, cells[2])] {
                let (mut world, cid, mine, theirs) = world_of(Some(capability));
                let target = if own { mine } else { theirs };
                let command = act(capability, &world, target);
                let change = match state {
                    UserState::Active => None,
                    UserState::Suspended => Some(UserChange::Suspend),
                    UserState::Blocked => Some(UserChange::Block),
                    UserState::Deactivated => Some(UserChange::Deactivate),
                };
                if let Some(change) = change {
                    world.ok(
                        Principal::Operator,
                        Command::ChangeUser {
                            user: cid,
                            change,
                            reason: None,
                        },
                    );
                }
                let found = match world.attempt(Principal::User(cid), command) {
                    Ok(_) => "+",
                    Err(Refusal::MissingCapability) => "m",
                    Err(Refusal::WrongScope) => "w",
                    Err(Refusal::OutOfScope) => "o",
                    Err(Refusal::UserNotActive) => "inactive",
                    Err(other) => panic!("{line}: {other:?}"),
                };
                let trail = matches!(
                    capability,
                    Capability::ViewTrailOwn | Capability::ViewTrailAny
                );
                let expected = match (state, trail) {
                    (UserState::Active, _) => expected,
                    (_, true) => "o",
                    (_, false) => "inactive",
                };
                assert_eq!(found, expected, "{line}, {state:?}, own: {own}");
                if found != "+" {
                    let record = if trail {
                        "trail_access_denied"
                    } else {
                        "capability_denied"
                    };
                    assert_eq!(world.last_types(1), [record]);
                }
            }
        }
    }
}

#[test]
fn without_the_capability_nothing_is_possible_but_seeing_ones_own() {
    for capability in Capability::ALL {
        let (mut world, cid, own, _) = world_of(None);
        let command = act(capability, &world, own);
        let result = world.attempt(Principal::User(cid), command).map(|_| ());
        let expected = match capability {
            Capability::ViewTrailOwn | Capability::ViewTrailAny => Ok(()),
            _ => Err(Refusal::MissingCapability),
        };
        assert_eq!(result, expected, "{capability:?}");
    }
}

#[test]
fn approving_an_integration_needs_its_capability() {
    use wacp::gate::{Answer, config::Highway};
    for (capability, may) in [
        (Capability::ApproveIntegration, false),
        (Capability::ApproveIntegrationAny, true),
        (Capability::AbortAny, false),
    ] {
        let mut world = World::with(Highway::supervised());
        world.ok(
            Principal::Operator,
            Command::CreateUser { name: text("cid") },
        );
        let cid = UserId(2);
        world.ok(
            Principal::Operator,
            Command::GrantCapability {
                user: cid,
                capability,
            },
        );
        let id = world.complete(vec![]);
        let accept = wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Direct);
        world.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
        let gate = world.last_gate();
        let command = Command::ResolveGate {
            gate,
            answer: Answer::Approve,
            modification: None,
        };
        assert_eq!(
            world.attempt(Principal::User(cid), command).is_ok(),
            may,
            "{capability:?}"
        );
    }
}

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
            let found = change
                .from(state)
                .map_or("-".to_owned(), |to| format!("{to:?}"));
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

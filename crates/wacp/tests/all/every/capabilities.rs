//! Every capability, in every state of the person who holds it.

use wacp::{
    Command, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    gate::{Answer, GateType, config::Highway},
    id::{UserId, WorkspaceId},
    role::EnvelopeType,
    signal::SignalType,
    user::{Capability, UserChange, UserState},
    workspace::{
        NewWorkspace,
        budget::{Budget, Dimension},
    },
};

use super::{rows, word};
use crate::world::{ROOT, World, known, text};

/// What each capability reaches for an active person who holds it: a workspace
/// of one's own, another's. `+` may, `w` wrong scope, `o` the trail answers
/// with nothing. Whoever is not active may do nothing, whatever they hold;
/// whoever does not hold it gets `missing_capability`, except for seeing one's
/// own trail, which everyone may.
const REACH: &str = "
    create_workspace        + w
    create_workspace_any    + +
    suspend_own             + w
    suspend_any             + +
    abort_own               + w
    abort_any               + +
    transfer_ownership      + +
    inject_directive        + w
    inject_directive_any    + +
    approve_integration     + w
    approve_integration_any + +
    modify_budget           + w
    modify_budget_any       + +
    view_trail_own          + o
    view_trail_any          + +
    grant_delegation        + w
    deactivate_user         + +
";

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
        C::ApproveIntegration | C::ApproveIntegrationAny => {
            let mut gates = world.run.gates.iter();
            let about = gates.find(|(_, gate)| gate.proposal.workspace() == Some(id));
            Command::ResolveGate {
                gate: *about.unwrap().0,
                answer: Answer::Approve,
                modification: None,
            }
        }
        C::ModifyBudget | C::ModifyBudgetAny => Command::RaiseBudget {
            workspace: id,
            dimension: Dimension::Tokens,
            limit: 1000,
        },
        C::ViewTrailOwn | C::ViewTrailAny => Command::ReadTrail {
            workspace: Some(id),
        },
        C::GrantDelegation => Command::ApproveDelegation { delegate: id },
        C::DeactivateUser => Command::ChangeUser {
            user: world.bob,
            change: UserChange::Deactivate,
            reason: None,
        },
    }
}

/// A world with cid, who holds this capability or none, and two workspaces:
/// cid's and ann's, at work, or at the gate where the capability is about that.
fn world_of(capability: Capability, held: bool) -> (World, UserId, [WorkspaceId; 2]) {
    let merges = matches!(
        capability,
        Capability::ApproveIntegration | Capability::ApproveIntegrationAny
    );
    let mut highway = Highway::open();
    highway.gate_mut(GateType::Integration).enabled = merges;
    let mut world = World::with(highway);
    let operator = Principal::Operator;
    world.ok(operator, known("cid", &[]));
    let cid = UserId(2);
    let make = |owner: UserId, world: &mut World| {
        let budget = Budget {
            token_limit: Some(10),
            ..Budget::default()
        };
        let id = world.create(NewWorkspace {
            owner: Some(owner),
            delegate: true,
            budget,
            ..world.worker_of(ROOT)
        });
        world.direct(id);
        if merges {
            world.checkpoint(id, vec![]);
            world.emit(id, SignalType::Complete);
            world.accept(id);
        }
        id
    };
    let workspaces = [make(cid, &mut world), make(world.ann, &mut world)];
    if held {
        let user = cid;
        world.ok(operator, Command::GrantCapability { user, capability });
    }
    (world, cid, workspaces)
}

fn bring(world: &mut World, user: UserId, state: UserState) {
    let change = match state {
        UserState::Active => return,
        UserState::Suspended => UserChange::Suspend,
        UserState::Blocked => UserChange::Block,
        UserState::Deactivated => UserChange::Deactivate,
    };
    let command = Command::ChangeUser {
        user,
        change,
        reason: None,
    };
    world.ok(Principal::Operator, command);
}

#[test]
fn each_capability_reaches_as_far_as_the_table_says_and_only_for_active_people() {
    let table = rows(REACH);
    assert_eq!(table.len(), Capability::ALL.len());
    for (capability, row) in Capability::ALL.into_iter().zip(table) {
        assert_eq!(row[0], word(capability));
        let trail = matches!(
            capability,
            Capability::ViewTrailOwn | Capability::ViewTrailAny
        );
        for state in UserState::ALL {
            for held in [true, false] {
                for whose in [0, 1] {
                    let (mut world, cid, workspaces) = world_of(capability, held);
                    let command = act(capability, &world, workspaces[whose]);
                    bring(&mut world, cid, state);
                    let found = match world.attempt(Principal::User(cid), command) {
                        Ok(_) => "+",
                        Err(Refusal::MissingCapability) => "m",
                        Err(Refusal::WrongScope) => "w",
                        Err(Refusal::OutOfScope) => "o",
                        Err(Refusal::UserNotActive) => "inactive",
                        Err(other) => panic!("{capability:?}: {other:?}"),
                    };
                    let expected = match (state, held, trail) {
                        (UserState::Active, true, _) => row[1 + whose],
                        (UserState::Active, false, true) => ["+", "o"][whose],
                        (UserState::Active, false, false) => "m",
                        (_, _, true) => "o",
                        (_, _, false) => "inactive",
                    };
                    let at = format!("{capability:?} of one {state:?}, {held}, {whose}");
                    assert_eq!(found, expected, "{at}");
                    if found != "+" {
                        let record = match trail {
                            true => "trail_access_denied",
                            false => "capability_denied",
                        };
                        assert_eq!(world.last_types(1), [record], "{at}");
                    }
                }
            }
        }
    }
}

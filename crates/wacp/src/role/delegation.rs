//! Who may manage which workspace: the coordinator all of them, a delegate what
//! hangs beneath it and only by WACP §5.4's list, a person by capability.

use crate::{
    command::Principal,
    event::{Actor, CapabilityDenied, Holder},
    id::WorkspaceId,
    rejection::Refusal,
    role::Text,
    stage::{Decision, Stage},
    state::{Run, Slot},
    user::{Capability, check},
    workspace::lifecycle::State,
};

/// A kind of management.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Create a child; the target is the parent.
    Create,
    /// Accept, revise, reject, resolve.
    Integrate,
    Abort,
    /// Suspend and resume.
    Suspend,
    Budget,
    Transfer,
    /// Approve that a delegate makes delegates.
    Delegate,
    /// Everything that is the coordinator's alone.
    Coordinate,
}

impl Act {
    /// WACP §5.4: what a delegate does for its subtree.
    pub fn is_delegable(self) -> bool {
        matches!(self, Act::Create | Act::Integrate)
    }

    /// The capabilities that let a person do it: for their own, for any.
    pub fn capabilities(self) -> (Option<Capability>, Option<Capability>) {
        use Capability as C;
        match self {
            Act::Create => (Some(C::CreateWorkspace), Some(C::CreateWorkspaceAny)),
            Act::Abort => (Some(C::AbortOwn), Some(C::AbortAny)),
            Act::Suspend => (Some(C::SuspendOwn), Some(C::SuspendAny)),
            Act::Budget => (Some(C::ModifyBudget), Some(C::ModifyBudgetAny)),
            Act::Transfer => (None, Some(C::TransferOwnership)),
            Act::Delegate => (Some(C::GrantDelegation), None),
            Act::Integrate | Act::Coordinate => (None, None),
        }
    }
}

/// Whether the principal may do this to the target, and as whom.
pub fn permit(
    run: &Run,
    principal: Principal,
    act: Act,
    target: WorkspaceId,
) -> Result<Actor, (Refusal, Option<Capability>)> {
    match principal {
        Principal::Coordinator => Ok(Actor::System),
        Principal::Agent(delegate) if act.is_delegable() => {
            let own =
                run.is_beneath(target, delegate) || (act == Act::Create && target == delegate);
            let is_delegate = run.open(delegate).is_some_and(|open| {
                open.delegate && matches!(open.state, State::Active | State::Blocked)
            });
            if own && is_delegate {
                Ok(run.agent_actor(delegate))
            } else {
                Err((Refusal::PermissionDenied, None))
            }
        }
        Principal::User(user) => {
            let (own, any) = act.capabilities();
            let owner = run.workspace(target).map(Slot::owner);
            check(run, user, own, any, owner)?;
            Ok(Actor::User(user))
        }
        _ => Err((Refusal::PermissionDenied, None)),
    }
}

/// Records that this is not the principal's to do; returns the refusal.
#[must_use]
pub fn forbid(stage: &mut Stage<'_>, principal: Principal, target: Option<WorkspaceId>) -> Refusal {
    deny(stage, principal, target, (Refusal::PermissionDenied, None))
}

/// Records a denial; returns the refusal. Everyone of the run is named; its
/// runtime's own parts and strangers are not.
#[must_use]
pub fn deny(
    stage: &mut Stage<'_>,
    principal: Principal,
    target: Option<WorkspaceId>,
    (reason, capability): (Refusal, Option<Capability>),
) -> Refusal {
    let run = stage.before();
    let workspace = |id: WorkspaceId| {
        let role = run.workspace(id).map(Slot::role)?;
        Some(Holder::Workspace {
            role,
            workspace: id,
        })
    };
    let (holder, place) = match principal {
        Principal::Coordinator => (workspace(WorkspaceId::ROOT), Some(WorkspaceId::ROOT)),
        Principal::Agent(id) => (workspace(id), Some(id)),
        Principal::User(user) | Principal::Administrator(user) => {
            (run.user(user).map(|_| Holder::User(user)), target)
        }
        Principal::Runtime | Principal::Meter | Principal::Operator => (None, None),
    };
    stage.actor = actor(run, principal);
    stage.push(
        place.filter(|id| run.workspace(*id).is_some()),
        CapabilityDenied {
            action: Text::from(stage.action),
            capability,
            holder,
            reason,
            target,
        },
    );
    reason
}

/// The actor of what a principal does.
pub fn actor(run: &Run, principal: Principal) -> Actor {
    match principal {
        Principal::Coordinator => Actor::System,
        Principal::Agent(id) => run.agent_actor(id),
        Principal::User(user) | Principal::Administrator(user) => match run.user(user) {
            Some(_) => Actor::User(user),
            None => Actor::Protocol,
        },
        Principal::Runtime | Principal::Meter | Principal::Operator => Actor::Protocol,
    }
}

/// The coordinator alone; anyone else is denied and recorded.
pub fn coordinator_only(
    stage: &mut Stage<'_>,
    principal: Principal,
    target: Option<WorkspaceId>,
) -> Decision {
    if principal == Principal::Coordinator {
        Ok(())
    } else {
        Err(forbid(stage, principal, target))
    }
}

/// The runtime alone.
pub fn runtime_only(stage: &mut Stage<'_>, principal: Principal) -> Decision {
    if principal == Principal::Runtime {
        Ok(())
    } else {
        Err(forbid(stage, principal, None))
    }
}

/// Whoever may manage the target in this way; the stage then acts as them.
pub fn managed(
    stage: &mut Stage<'_>,
    principal: Principal,
    act: Act,
    target: WorkspaceId,
) -> Decision {
    let actor = permit(stage.before(), principal, act, target)
        .map_err(|denial| deny(stage, principal, Some(target), denial))?;
    stage.actor = actor;
    if let Principal::Agent(delegate) = principal {
        stage.asker = Some(delegate);
    }
    Ok(())
}

//! Who may read which part of the trail (WACP §9.2): a worker its own, an
//! observer its own and what it sees, the coordinator all, a person what they
//! own or may. Outside that the answer is empty and the attempt is recorded.

use crate::{
    command::Principal,
    event::{Holder, TrailAccessDenied},
    id::{Party, UserId, WorkspaceId},
    rejection::Refusal,
    role::{Role, delegation::deny},
    stage::{Decision, Stage},
    state::{Run, Slot},
    user::{Capability, UserState},
    workspace::{
        Seen,
        visibility::{is_watched, sees},
    },
};

/// What a reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    Workspaces(Vec<WorkspaceId>),
    /// Every workspace of this owner.
    OwnedBy(UserId),
    Nothing,
}

impl Scope {
    pub fn contains(&self, run: &Run, workspace: Option<WorkspaceId>) -> bool {
        match self {
            Scope::All => true,
            Scope::Nothing => false,
            Scope::Workspaces(list) => workspace.is_some_and(|id| list.contains(&id)),
            Scope::OwnedBy(user) => workspace
                .and_then(|id| run.workspace(id))
                .is_some_and(|slot| slot.owner() == Party::User(*user)),
        }
    }
}

/// The scope of a principal.
pub fn scope(run: &Run, principal: Principal) -> Scope {
    match principal {
        Principal::Coordinator | Principal::Runtime => Scope::All,
        Principal::Agent(WorkspaceId::ROOT) => Scope::All,
        Principal::Agent(id) => {
            let mut list = vec![id];
            if let Some(open) = run.open(id)
                && run.permissions(open.role).is_some_and(|p| p.reads_assigned)
            {
                list.extend(open.visibility.iter().filter_map(|seen| match seen {
                    Seen::Workspace(target) => sees(run, id, *target).then_some(*target),
                    Seen::Resource(_) => None,
                }));
            }
            Scope::Workspaces(list)
        }
        Principal::User(id) => match run.user(id) {
            Some(user) if user.state == UserState::Active => {
                if user.holds(Capability::ViewTrailAny) && is_watched(run) {
                    Scope::All
                } else {
                    Scope::OwnedBy(id)
                }
            }
            _ => Scope::Nothing,
        },
        Principal::Meter | Principal::Operator | Principal::Administrator(_) => Scope::Nothing,
    }
}

/// Whether the principal may read an envelope's content: its sender, its
/// receiver, the coordinator, and people who see one of the two (WACP §11.6).
pub fn may_read_payload(
    run: &Run,
    principal: Principal,
    from: Option<WorkspaceId>,
    to: WorkspaceId,
) -> bool {
    match principal {
        Principal::Agent(id) if id != WorkspaceId::ROOT => id == to || Some(id) == from,
        Principal::User(_) => {
            let scope = scope(run, principal);
            scope.contains(run, Some(to)) || from.is_some_and(|id| scope.contains(run, Some(id)))
        }
        Principal::Coordinator | Principal::Runtime | Principal::Agent(_) => true,
        Principal::Meter | Principal::Operator | Principal::Administrator(_) => false,
    }
}

/// May the principal read this workspace's trail, or with `None` all of it?
pub fn read(stage: &mut Stage<'_>, principal: Principal, target: Option<WorkspaceId>) -> Decision {
    let run = stage.before();
    let scope = scope(run, principal);
    let allowed = match target {
        None => scope == Scope::All,
        Some(_) => scope.contains(run, target),
    };
    if allowed {
        return Ok(());
    }
    let (holder, place) = match principal {
        Principal::User(user) => (Holder::User(user), None),
        Principal::Agent(id) => (
            Holder::Workspace {
                role: run.workspace(id).map_or(Role::Worker, Slot::role),
                workspace: id,
            },
            run.workspace(id).map(|_| id),
        ),
        // Who is nobody of the run holds nothing; the attempt is on the trail.
        _ => {
            let denial = (Refusal::OutOfScope, None);
            return Err(deny(stage, principal, target, denial));
        }
    };
    stage.push(place, TrailAccessDenied { holder, target });
    Err(Refusal::OutOfScope)
}

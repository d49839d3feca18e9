//! What a workspace may read and change (WACP §6.5, §6.8).
//!
//! A parent sees everything beneath it; the root sees everything. Otherwise a
//! workspace sees itself and what its list names. A resource that ends in `/`
//! stands for everything under it. Names are compared as they are spelled, so
//! one that goes up and down again reaches nothing.

use crate::{
    command::Principal,
    id::WorkspaceId,
    rejection::Refusal,
    role::{Text, delegation::deny},
    stage::{Decision, Stage},
    state::Run,
    user::{Capability, check},
    workspace::{Seen, lifecycle::State},
};

fn covers(grant: &str, resource: &str) -> bool {
    let reached = grant == resource || (grant.ends_with('/') && resource.starts_with(grant));
    reached && resource.split('/').all(|part| part != "." && part != "..")
}

/// Whether one of these authorities reaches the resource.
pub fn authority_contains(authority: &[Text], resource: &str) -> bool {
    authority.iter().any(|grant| covers(grant, resource))
}

/// Whether `viewer` may read `target`'s workspace. What is on its list counts
/// while its parent sees it too: a target that moves away takes itself out of
/// the sight of everyone who saw it through their parent.
pub fn sees(run: &Run, viewer: WorkspaceId, target: WorkspaceId) -> bool {
    if viewer == target || viewer == WorkspaceId::ROOT || run.is_beneath(target, viewer) {
        return true;
    }
    let Some(open) = run.open(viewer) else {
        return false;
    };
    let is_listed = open
        .visibility
        .iter()
        .any(|seen| matches!(seen, Seen::Workspace(id) if *id == target));
    is_listed && sees(run, open.parent.unwrap_or(WorkspaceId::ROOT), target)
}

/// Whether `viewer` reads a resource wherever it is, and so can let others.
/// What it may change it reads in its own workspace, and that is no sight of
/// the same name elsewhere.
pub fn sees_resource(run: &Run, viewer: WorkspaceId, resource: &str) -> bool {
    viewer == WorkspaceId::ROOT || is_shown(run, viewer, resource)
}

/// Whether the resource is on `viewer`'s list.
fn is_shown(run: &Run, viewer: WorkspaceId, resource: &str) -> bool {
    run.open(viewer).is_some_and(|open| {
        open.visibility
            .iter()
            .any(|seen| matches!(seen, Seen::Resource(grant) if covers(grant, resource)))
    })
}

pub fn is_watched(run: &Run) -> bool {
    run.started()
        .is_some_and(|started| started.highway.visibility)
}

/// May the principal read this? Reading leaves no trace; a denial does.
pub fn read(
    stage: &mut Stage<'_>,
    principal: Principal,
    target: WorkspaceId,
    resource: Option<&Text>,
) -> Decision {
    let run = stage.before();
    let slot = run.workspace(target).ok_or(Refusal::TargetNotFound)?;
    let allowed = match principal {
        Principal::Coordinator | Principal::Runtime => Ok(()),
        Principal::Agent(viewer) => {
            let may = match resource {
                Some(resource) => sees(run, viewer, target) || is_shown(run, viewer, resource),
                None => sees(run, viewer, target),
            };
            // Whose agent is unbound reads nothing.
            let bound = run
                .open(viewer)
                .is_some_and(|open| !matches!(open.state, State::Suspended | State::Migrating));
            if may && bound {
                Ok(())
            } else {
                Err((Refusal::PermissionDenied, None))
            }
        }
        // A highway can do without being watched; the trail of one's own stays.
        Principal::User(_) if !is_watched(run) => Err((Refusal::PermissionDenied, None)),
        // Highway visibility is for authenticated people who may see the trail.
        Principal::User(user) => check(
            run,
            user,
            Some(Capability::ViewTrailOwn),
            Some(Capability::ViewTrailAny),
            Some(slot.owner()),
        ),
        Principal::Meter | Principal::Operator | Principal::Administrator(_) => {
            Err((Refusal::PermissionDenied, None))
        }
    };
    allowed.map_err(|denial| deny(stage, principal, Some(target), denial))
}

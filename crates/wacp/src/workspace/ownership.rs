//! Who answers for a workspace, and where it hangs (WACP §4.8, §6.5).
//!
//! A transfer concerns one workspace, never its children, and never touches the
//! originator. Reparenting keeps owner, originator and state.

use crate::{
    command::Principal,
    event::{WorkspaceOwnershipTransferred, WorkspaceReparented},
    gate,
    id::{UserId, WorkspaceId},
    rejection::Refusal,
    right,
    role::{
        Text,
        delegation::{Act, coordinator_only, managed},
    },
    stage::{Decision, Stage},
    user::UserState,
    workspace::{
        MAX_DEPTH, Seen, is_long,
        lifecycle::State,
        meter,
        visibility::{authority_contains, sees, sees_resource},
    },
};

pub fn transfer(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    to: UserId,
    reason: Option<&Text>,
) -> Decision {
    managed(stage, principal, Act::Transfer, id)?;
    if id == WorkspaceId::ROOT {
        return Err(Refusal::RootIsFixed);
    }
    let open = stage.before().living(id)?;
    match stage.before().user(to).map(|user| user.state) {
        None => return Err(Refusal::UnknownUser),
        Some(UserState::Active) => {}
        Some(_) => return Err(Refusal::UserNotActive),
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    stage.push(
        Some(id),
        WorkspaceOwnershipTransferred {
            from_user: open.owner,
            reason: reason.cloned(),
            to_user: to,
            workspace: id,
        },
    );
    Ok(())
}

/// The coordinator gives an orphan a new parent. Only workspaces under the root
/// move: the tree is stable otherwise.
pub fn reparent(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    parent: WorkspaceId,
    reason: &Text,
) -> Decision {
    coordinator_only(stage, principal, Some(id))?;
    check(stage, id, parent)?;
    if is_long(reason) {
        return Err(Refusal::TooLong);
    }
    hang(stage, id, WorkspaceId::ROOT, parent, reason.clone());
    let delegates: Vec<WorkspaceId> = right::superiors(stage.before(), parent)
        .into_iter()
        .filter(|superior| *superior != WorkspaceId::ROOT)
        .collect();
    if !delegates.is_empty() {
        connect_beneath(stage, &delegates, id);
    }
    Ok(())
}

/// Hangs a workspace elsewhere. A merge there is another question, and what it
/// has used counts where it was used.
pub fn hang(
    stage: &mut Stage<'_>,
    workspace: WorkspaceId,
    old_parent: WorkspaceId,
    new_parent: WorkspaceId,
    reason: Text,
) {
    gate::invalidate_merge(stage, workspace);
    stage.push(
        Some(workspace),
        WorkspaceReparented {
            consumed: meter::unwritten(stage, workspace),
            new_parent,
            old_parent,
            reason,
            workspace,
        },
    );
}

/// The delegates above the new parent reach the workspace and all beneath it.
fn connect_beneath(stage: &mut Stage<'_>, delegates: &[WorkspaceId], id: WorkspaceId) {
    let run = stage.before();
    if let Some(open) = run.open(id) {
        for delegate in delegates {
            right::connect(stage, *delegate, id, open.role);
        }
    }
    for child in run.open_children(id) {
        connect_beneath(stage, delegates, child);
    }
}

fn check(stage: &Stage<'_>, id: WorkspaceId, parent: WorkspaceId) -> Result<(), Refusal> {
    let run = stage.before();
    if id == WorkspaceId::ROOT {
        return Err(Refusal::RootIsFixed);
    }
    let open = run.living(id)?;
    let above = run.living(parent)?;
    if parent == id || run.is_beneath(parent, id) {
        return Err(Refusal::ParentCycle);
    }
    // A merge under way stays where it is.
    let merges = open.state == State::Conflicted;
    if merges || open.parent != Some(WorkspaceId::ROOT) || parent == WorkspaceId::ROOT {
        return Err(Refusal::InvalidState);
    }
    if !matches!(above.state, State::Active | State::Blocked) {
        return Err(Refusal::InvalidState);
    }
    if run.is_observer(parent) {
        return Err(Refusal::InvalidStructure);
    }
    if run.depth(parent) + 1 + height(stage, id) > MAX_DEPTH {
        return Err(Refusal::TreeTooDeep);
    }
    let visible = open.visibility.iter().all(|seen| match seen {
        Seen::Workspace(target) => sees(run, parent, *target),
        Seen::Resource(resource) => sees_resource(run, parent, resource),
    });
    let equipped = open.mounts.iter().all(|mount| above.mounts.contains(mount));
    if !visible || !equipped {
        return Err(Refusal::VisibilityNotContained);
    }
    if !open
        .authority
        .iter()
        .all(|r| authority_contains(&above.authority, r))
    {
        return Err(Refusal::AuthorityNotContained);
    }
    match &above.meter {
        Some(meter) => {
            let limits = open.meter.as_ref().map(|meter| meter.limits);
            let measured = stage.measured(parent);
            let wall_us = above.wall_time(stage.now);
            meter.admits(&limits.unwrap_or_default(), wall_us, &measured)
        }
        None => Ok(()),
    }
}

/// How many levels hang under a workspace.
fn height(stage: &Stage<'_>, id: WorkspaceId) -> usize {
    let below = stage
        .before()
        .open_children(id)
        .map(|child| height(stage, child) + 1);
    below.max().unwrap_or(0)
}

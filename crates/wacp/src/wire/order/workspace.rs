//! Workspaces, as whoever creates them describes them.

use std::sync::Arc;

use crate::{
    Principal,
    id::{UserId, WorkspaceId},
    role::{Role, Text},
    wire::{Args, Outcome, length::Length},
    workspace::{Band, NewWorkspace, Seen},
};

use super::amounts::budget;

/// How long a workspace has where nothing is said.
const TIMEOUT_US: u64 = 3_600_000_000;

fn texts(args: &Args<'_>, key: &'static str) -> Outcome<Arc<[Text]>> {
    Ok(args.or::<Vec<Text>>(key, Vec::new())?.into())
}

/// Workspaces and resources.
pub fn targets(args: &Args<'_>, key: &'static str) -> Outcome<Arc<[Seen]>> {
    Ok(args.need::<Vec<Seen>>(key)?.into())
}

/// Without `parent` it stands beneath the asker's own, a person's beneath the
/// root; null as the owner inherits the parent's.
pub fn new_workspace(args: &Args<'_>) -> Outcome<NewWorkspace> {
    let context = args.context;
    let parent: Option<WorkspaceId> = args.maybe("parent")?;
    let parent = parent.or(context.own()).unwrap_or(WorkspaceId::ROOT);
    let owner: Option<Option<UserId>> = args.given("owner")?;
    let is_the_coordinators = matches!(
        context.by,
        Principal::Coordinator | Principal::Agent(WorkspaceId::ROOT)
    );
    let unnamed = context
        .defaults
        .owner
        .filter(|_| is_the_coordinators && parent == WorkspaceId::ROOT);
    Ok(NewWorkspace {
        agent: args.need("agent")?,
        role: args.or("role", Role::Worker)?,
        parent,
        owner: owner.unwrap_or(unnamed),
        task: args.maybe("task")?,
        directive: args.need("directive")?,
        context: args.maybe("context")?,
        visibility: args.or::<Vec<Seen>>("visibility", Vec::new())?.into(),
        authority: texts(args, "authority")?,
        mounts: texts(args, "mounts")?,
        budget: args.inner("budget", budget)?.unwrap_or_default(),
        timeout_us: args.or("timeout", Length(TIMEOUT_US))?.0,
        delegate: args.or("delegate", false)?,
        priority: args.word_or("priority", Band::default())?,
        group: args.maybe("group")?,
        liveness_us: args.maybe("liveness")?.map(|Length(us)| us),
        cause: args.maybe("cause")?,
        metered: context.defaults.metered,
    })
}

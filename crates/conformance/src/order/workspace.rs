//! Workspaces, as whoever creates them describes them.

use std::sync::Arc;

use wacp::{
    Run,
    content::Content,
    id::WorkspaceId,
    role::{Role, Text},
    workspace::{Band, NewWorkspace},
};

use super::{args::Args, names::id, setting::taxonomy_of};
use crate::Outcome;

/// An agent that is bound to no workspace: the first one's is `agent-1`.
fn free_agent(run: &Run) -> String {
    format!("agent-{}", run.next.workspaces as usize + run.gates.len())
}

pub(crate) fn new_workspace(run: &Run, args: &Args<'_>) -> Outcome<NewWorkspace> {
    let role = args.string("role")?.unwrap_or("worker");
    let role = taxonomy_of(run)
        .role(role)
        .unwrap_or(Role::Derived(u16::MAX));
    let owner = match args.string("owner")? {
        Some("none") => None,
        Some(name) => Some(id(args.names, name, "u")?),
        None => Some(id(args.names, "ann", "u")?),
    };
    Ok(NewWorkspace {
        agent: args
            .text("agent")?
            .unwrap_or_else(|| free_agent(run).into()),
        authority: match args.get("authority") {
            Some(_) => args.texts("authority")?,
            None => Arc::from([Text::from("src/")]),
        },
        budget: args.budget()?,
        cause: args.id("cause", "e")?,
        context: args.string("context")?.map(Content::markdown),
        delegate: args.flag("delegate", false)?,
        directive: args.content("directive", "work")?,
        group: args.text("group")?,
        liveness_us: args.length("liveness")?,
        metered: args.flag("metered", false)?,
        mounts: args.texts("mounts")?,
        owner,
        parent: args.id("parent", "w")?.unwrap_or(WorkspaceId::ROOT),
        priority: args.word::<Band>("priority")?.unwrap_or_default(),
        role,
        task: args.id("task", "t")?,
        timeout_us: args.length("timeout")?.unwrap_or(3_600_000_000),
        visibility: args.seen("visibility")?,
    })
}

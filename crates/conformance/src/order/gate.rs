//! What a person changes at a gate.

use wacp::{
    content::Content,
    gate::{Modification, TaskModification, WorkspaceModification},
};

use super::args::Args;
use crate::{Outcome, broken};

pub(crate) fn modification(args: &Args<'_>) -> Outcome<Option<Modification>> {
    let Some(inner) = args.inner("modify")? else {
        return Ok(None);
    };
    let kind = inner.string("kind")?.unwrap_or("");
    let modification = match kind {
        "payload" => Modification::Payload(inner.content("content", "")?),
        "resolution" => Modification::Resolution(inner.content("content", "")?),
        "task" => Modification::Task(TaskModification {
            description: inner.string("description")?.map(Content::markdown),
            name: inner.text("name")?,
            priority: inner.word("priority")?,
            resource_estimate: inner.estimate()?,
        }),
        "workspace" => Modification::Workspace(WorkspaceModification {
            budget: match inner.get("budget") {
                Some(_) => Some(inner.budget()?),
                None => None,
            },
            priority: inner.word("priority")?,
            visibility: match inner.get("visibility") {
                Some(_) => Some(inner.seen("visibility")?),
                None => None,
            },
        }),
        _ => return broken(format!("nothing is modified as `{kind}`")),
    };
    inner.all_used()?;
    Ok(Some(modification))
}

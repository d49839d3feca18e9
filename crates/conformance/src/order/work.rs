//! Work: checkpoints with their artifacts, conflicts between them, and tasks.

use std::sync::Arc;

use serde_json::Value;
use wacp::{
    Principal, Run,
    checkpoint::{self, Artifact, Confidence, NewCheckpoint},
    content::Content,
    id::WorkspaceId,
    integration::Declared,
    integrity::Check,
    role::CheckpointType,
    task::{DependsOn, NewTask},
};

use super::{
    args::Args,
    names::{artifact_hash, id},
    proof,
    setting::taxonomy_of,
};
use crate::Outcome;

impl Args<'_> {
    pub(crate) fn artifacts(&self, key: &str) -> Outcome<Option<Arc<[Artifact]>>> {
        if self.get(key).is_none() {
            return Ok(None);
        }
        let artifacts = self.tables(key)?.into_iter().map(|table| {
            let args = Args::new(table, self.names);
            let content = args.string("content")?.unwrap_or("");
            let artifact = Artifact {
                base: args.string("base")?.map(artifact_hash),
                bytes: args.number("bytes")?.unwrap_or(content.len() as u64),
                hash: artifact_hash(content),
                resource: args.text_or("resource", "")?,
            };
            args.all_used()?;
            Ok(artifact)
        });
        Ok(Some(artifacts.collect::<Outcome<Vec<_>>>()?.into()))
    }

    pub(crate) fn declared(&self) -> Outcome<Vec<Declared>> {
        let declared = self.tables("conflicts")?.into_iter().map(|table| {
            let args = Args::new(table, self.names);
            let kind = args.word("type")?;
            let declared = Declared {
                conflict_type: args.need("type", kind)?,
                description: args.text_or("description", "they do not fit")?,
                resource: args.text("resource")?,
            };
            args.all_used()?;
            Ok(declared)
        });
        declared.collect()
    }
}

pub(crate) fn new_checkpoint(run: &Run, by: Principal, args: &Args<'_>) -> Outcome<NewCheckpoint> {
    let workspace = match by {
        Principal::Agent(id) => id,
        _ => WorkspaceId::ROOT,
    };
    let head = checkpoint::register(run, workspace).and_then(checkpoint::Register::head);
    let parent = match args.string("parent")? {
        None | Some("head") => head,
        Some("none") => None,
        Some(name) => Some(id(args.names, name, "c")?),
    };
    let kind = args.string("type")?.unwrap_or("artifact");
    let resource_usage = args
        .inner("resource_usage")?
        .map(|usage| {
            let read = usage.usage()?;
            usage.all_used()?;
            Ok(read)
        })
        .transpose()?;
    let mut new = NewCheckpoint {
        artifacts: args.artifacts("artifacts")?.unwrap_or_default(),
        check: Check::Valid,
        checkpoint_type: taxonomy_of(run)
            .checkpoint_type(kind)
            .unwrap_or(CheckpointType::Registered(u16::MAX)),
        confidence: args.word("confidence")?.unwrap_or(Confidence::Medium),
        content: args.string("content")?.map(Content::markdown),
        intent: args.content("intent", "what it is")?,
        parent,
        proof: None,
        resource_usage,
        status: args.word("status")?.unwrap_or(checkpoint::Status::Final),
    };
    proof::of_checkpoint(by, &mut new, args)?;
    Ok(new)
}

pub(crate) fn new_tasks(args: &Args<'_>) -> Outcome<Vec<NewTask>> {
    let tables = args.tables("tasks")?;
    let place = |name: &str| {
        tables
            .iter()
            .position(|table| table.get("name").and_then(Value::as_str) == Some(name))
    };
    let tasks = tables.iter().map(|table| {
        let task = Args::new(table, args.names);
        let name = task.text_or("name", "")?;
        let depends_on = task.texts("depends_on")?;
        let depends_on = depends_on.iter().map(|on| match place(on) {
            Some(at) => Ok(DependsOn::New(at as u32)),
            None => Ok(DependsOn::Existing(id(args.names, on, "t")?)),
        });
        let new = NewTask {
            depends_on: depends_on.collect::<Outcome<Vec<_>>>()?,
            description: task.content("description", "")?,
            name,
            priority: task.word("priority")?.unwrap_or_default(),
            resource_estimate: task.estimate()?,
        };
        task.all_used()?;
        Ok(new)
    });
    tasks.collect()
}

//! Work: plans of tasks, checkpoints with their artifacts, and how conflicts
//! between them are settled.

use std::sync::Arc;

use serde_json::Value;

use super::amounts::{estimate, usage};
use crate::{
    checkpoint::{self, Artifact, Confidence, NewCheckpoint},
    content::Content,
    id::CheckpointId,
    integration::{Declared, Resolution, ResolutionStrategy},
    integrity::Check,
    role::{CheckpointType, Text},
    task::{DependsOn, NewGraph, NewTask, Priority},
    wire::{
        Args, Fault, Outcome,
        content::{Named, find, one_of},
        fault::Why,
        kind::{Kind, Thing},
        read::{At, Read},
    },
};

pub fn artifacts(args: &Args<'_>, key: &'static str) -> Outcome<Option<Arc<[Artifact]>>> {
    let read = args.tables(key, false, |args| {
        let resource = args.need("resource")?;
        let kept = one_of(args)?;
        let base = args.maybe("base")?;
        let context = args.context;
        let place = &*format!("{}/base", args.place());
        let at = At { context, place };
        let base = base.map(|Named(base)| find(base, &at)).transpose()?;
        Ok(Artifact {
            base: base.map(|kept| kept.hash),
            bytes: kept.bytes,
            hash: kept.hash,
            resource,
        })
    })?;
    Ok(read.map(Arc::from))
}

/// Conflicts that the coordinator found by reading.
pub fn declared(args: &Args<'_>) -> Outcome<Vec<Declared>> {
    let read = args.tables("conflicts", false, |args| {
        Ok(Declared {
            conflict_type: args.word("type")?,
            description: args.need("description")?,
            resource: args.maybe("resource")?,
        })
    })?;
    Ok(read.unwrap_or_default())
}

pub fn resolution(args: &Args<'_>) -> Outcome<Resolution> {
    let strategy = args.word("resolution")?;
    let content: Option<Content> = args.maybe("content")?;
    let said = || content.ok_or_else(|| args.missing("content"));
    match strategy {
        _ if args.is_probe() => Ok(Resolution::AgentRework),
        ResolutionStrategy::CoordinatorResolve => said().map(Resolution::CoordinatorResolve),
        ResolutionStrategy::Escalate => said().map(Resolution::Escalate),
        ResolutionStrategy::AgentRework if content.is_some() => {
            Err(args.not_with("content", "agent_rework"))
        }
        ResolutionStrategy::AgentRework => Ok(Resolution::AgentRework),
    }
}

/// Without `parent` it stands on the last one; with null it begins a chain.
pub fn new_checkpoint(args: &Args<'_>) -> Outcome<NewCheckpoint> {
    let run = args.context.run;
    let register = |id| checkpoint::register(run, id);
    let own = args.context.own().and_then(register);
    let parent: Option<Option<CheckpointId>> = args.given("parent")?;
    Ok(NewCheckpoint {
        parent: parent.unwrap_or_else(|| own.and_then(checkpoint::Register::head)),
        status: args.word("status")?,
        checkpoint_type: args.or("type", CheckpointType::Artifact)?,
        intent: args.need("intent")?,
        confidence: args.word_or("confidence", Confidence::Medium)?,
        content: args.maybe("content")?,
        resource_usage: args.inner("resource_usage", usage)?,
        artifacts: artifacts(args, "artifacts")?.unwrap_or_default(),
        check: Check::Valid,
        proof: None,
    })
}

/// The goal is the task of that name, else the last that no other depends on.
pub fn new_graph(args: &Args<'_>) -> Outcome<NewGraph> {
    let tasks = new_tasks(args)?;
    let goal: Option<Text> = args.maybe("root")?;
    let is_needed = |place: usize| {
        let needed = DependsOn::New(place as u32);
        tasks.iter().any(|task| task.depends_on.contains(&needed))
    };
    let root = match goal {
        Some(goal) => {
            let place = tasks.iter().position(|task| task.name == goal);
            let unknown = || Why::UnknownName(trail::KeyName::new(&goal));
            place.ok_or_else(|| Fault::new("root", unknown()))?
        }
        None => {
            let last = (0..tasks.len()).rfind(|place| !is_needed(*place));
            last.unwrap_or(0)
        }
    };
    let root = root as u32;
    Ok(NewGraph { root, tasks })
}

/// A task depends on others of the list by their names, and on those that exist.
pub fn new_tasks(args: &Args<'_>) -> Outcome<Vec<NewTask>> {
    let name =
        |table: &serde_json::Map<String, Value>| Some(table.get("name")?.as_str()?.to_owned());
    let names: Vec<Option<String>> = args.raw_tables("tasks").map(|t| name(t?)).collect();
    let place = |name: &str| {
        names
            .iter()
            .position(|known| known.as_deref() == Some(name))
    };
    let tasks = args.tables("tasks", true, |args| {
        let depends_on: Vec<On> = args.or("depends_on", Vec::new())?;
        let depends_on = depends_on
            .into_iter()
            .enumerate()
            .map(|(number, On(name))| {
                if let Some(place) = place(&name) {
                    return Ok(DependsOn::New(place as u32));
                }
                let context = args.context;
                let place = &*format!("{}/depends_on/{number}", args.place());
                let word = Value::from(&*name);
                Read::read(&word, &At { context, place }).map(DependsOn::Existing)
            });
        // A probe's sample names nothing.
        let depends_on = match args.is_probe() {
            true => Vec::new(),
            false => depends_on.collect::<Outcome<Vec<_>>>()?,
        };
        let description: Option<Content> = args.maybe("description")?;
        Ok(NewTask {
            depends_on,
            name: args.need("name")?,
            description: match description {
                Some(description) => description,
                None => crate::wire::content::words(args.context, "")?,
            },
            priority: args.word_or("priority", Priority::default())?,
            resource_estimate: args.inner("resource_estimate", estimate)?,
        })
    })?;
    Ok(tasks.unwrap_or_default())
}

/// What a task depends on, as it is called.
struct On(Text);

impl Read for On {
    fn kind() -> Kind {
        Kind::Id(Thing::Task)
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<On> {
        let name = value.as_str().map(Text::from).map(On);
        name.ok_or_else(|| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> On {
        On(Text::from("t0"))
    }
}

//! An order as a file spells it, as a command of ours.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet, str::FromStr, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trail::Hash;
use wacp::{
    Command, Principal, Run,
    checkpoint::{self, Artifact, Confidence, NewCheckpoint},
    command::Compaction,
    content::Content,
    envelope::{self, NewEnvelope},
    escalation,
    event::{Damaged, Reference},
    gate::{Modification, TaskModification, WorkspaceModification},
    id::WorkspaceId,
    integration::{Acceptance, Declared, Resolution, Salvage, Strategy},
    integrity::Check,
    role::{CheckpointType, EnvelopeType, Role, Taxonomy, Text},
    task::{DependsOn, Estimate, NewGraph, NewTask},
    workspace::{
        Band, Limits, NewRun, NewWorkspace, Seen,
        budget::{Budget, Usage},
    },
};

use crate::{
    Outcome, Trouble, broken,
    file::{Table, duration},
};

/// What the words of a file stand for in the run: `w1` → the spelling of an id.
pub type Names = BTreeMap<String, String>;

/// Words that stand for something that does not exist.
const UNKNOWN: &str = "unknown";

/// A table whose keys must all be used.
#[derive(Debug)]
pub struct Args<'a> {
    pub table: &'a Table,
    pub names: &'a Names,
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Args<'a> {
    pub fn new(table: &'a Table, names: &'a Names) -> Args<'a> {
        Args {
            table,
            names,
            used: RefCell::default(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.table.get_key_value(key)?;
        self.used.borrow_mut().insert(key);
        Some(value)
    }

    pub fn all_used(&self) -> Outcome<()> {
        let used = self.used.borrow();
        match self.table.keys().find(|key| !used.contains(key.as_str())) {
            Some(key) => broken(format!("nobody reads the key `{key}`")),
            None => Ok(()),
        }
    }

    fn string(&self, key: &str) -> Outcome<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => broken(format!("`{key}` must be a text")),
        }
    }

    fn text(&self, key: &str) -> Outcome<Option<Text>> {
        Ok(self.string(key)?.map(Text::from))
    }

    fn text_or(&self, key: &str, default: &str) -> Outcome<Text> {
        Ok(Text::from(self.string(key)?.unwrap_or(default)))
    }

    fn content(&self, key: &str, default: &str) -> Outcome<Content> {
        Ok(Content::markdown(self.string(key)?.unwrap_or(default)))
    }

    fn flag(&self, key: &str, default: bool) -> Outcome<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => broken(format!("`{key}` must be true or false")),
        }
    }

    fn number(&self, key: &str) -> Outcome<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match (value.as_u64(), value.as_str().and_then(duration)) {
                (Some(number), _) | (_, Some(number)) => Ok(Some(number)),
                _ => broken(format!("`{key}` must be a number or a length of time")),
            },
        }
    }

    /// A word of a closed set, read by the crate's own reader.
    fn word<T: DeserializeOwned>(&self, key: &str) -> Outcome<Option<T>> {
        self.get(key).map(|value| word(key, value)).transpose()
    }

    fn need<T>(&self, key: &str, value: Option<T>) -> Outcome<T> {
        value.map_or_else(|| broken(format!("`{key}` is missing")), Ok)
    }

    pub fn id<T: FromStr>(&self, key: &str, prefix: &str) -> Outcome<Option<T>> {
        self.string(key)?
            .map(|name| id(self.names, name, prefix))
            .transpose()
    }

    fn workspace(&self, key: &str) -> Outcome<WorkspaceId> {
        let id = self.id(key, "w")?;
        self.need(key, id)
    }

    fn list(&self, key: &str) -> Outcome<&'a [Value]> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => broken(format!("`{key}` must be a list")),
        }
    }

    fn texts(&self, key: &str) -> Outcome<Arc<[Text]>> {
        let texts = self.list(key)?.iter().map(|item| match item {
            Value::String(text) => Ok(Text::from(text.as_str())),
            _ => broken(format!("`{key}` must be a list of texts")),
        });
        Ok(texts.collect::<Outcome<Vec<_>>>()?.into())
    }

    /// Workspaces by their names, anything else as a resource.
    fn seen(&self, key: &str) -> Outcome<Arc<[Seen]>> {
        let texts = self.texts(key)?;
        let seen =
            texts.iter().map(
                |text| match self.names.get(&**text).and_then(|id| id.parse().ok()) {
                    Some(workspace) => Seen::Workspace(workspace),
                    None => Seen::Resource(text.clone()),
                },
            );
        let seen: Vec<_> = seen.collect();
        Ok(seen.into())
    }

    fn tables(&self, key: &str) -> Outcome<Vec<&'a Table>> {
        let tables = self.list(key)?.iter().map(|item| match item {
            Value::Object(table) => Ok(table),
            _ => broken(format!("`{key}` must be a list of tables")),
        });
        tables.collect()
    }

    fn inner(&self, key: &str) -> Outcome<Option<Args<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(table)) => Ok(Some(Args::new(table, self.names))),
            Some(_) => broken(format!("`{key}` must be a table")),
        }
    }

    fn artifacts(&self, key: &str) -> Outcome<Option<Arc<[Artifact]>>> {
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

    fn declared(&self) -> Outcome<Vec<Declared>> {
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

    fn usage(&self) -> Outcome<Usage> {
        Ok(Usage {
            context: self.number("context")?.unwrap_or(0),
            cost_micros: self.number("cost")?.unwrap_or(0),
            tokens: self.number("tokens")?.unwrap_or(0),
            trail_bytes: self.number("trail_bytes")?.unwrap_or(0),
        })
    }

    fn budget(&self) -> Outcome<Budget> {
        let Some(args) = self.inner("budget")? else {
            return Ok(Budget::default());
        };
        let budget = Budget {
            bandwidth_limit: args.number("network_bytes")?,
            checkpoint_limit: args.number("checkpoint_bytes")?,
            compute_timeout_us: args.number("wall_time")?,
            context_limit: args.number("context")?,
            cost_limit_micros: args.number("cost")?,
            token_limit: args.number("tokens")?,
            trail_limit: args.number("trail_bytes")?,
        };
        args.all_used()?;
        Ok(budget)
    }

    fn estimate(&self) -> Outcome<Option<Estimate>> {
        let Some(args) = self.inner("resource_estimate")? else {
            return Ok(None);
        };
        let estimate = Estimate {
            cost_micros: args.number("cost")?,
            tokens: args.number("tokens")?,
            wall_time_us: args.number("wall_time")?,
        };
        args.all_used()?;
        Ok(Some(estimate))
    }

    fn check(&self) -> Outcome<Check> {
        Ok(match self.flag("proof_fits", true)? {
            true => Check::Valid,
            false => Check::Invalid,
        })
    }
}

/// The proof that comes with a message, unless it says `proof = "none"`.
fn proof(args: &Args<'_>, content: Content) -> Outcome<Option<Hash>> {
    Ok(match args.string("proof")? {
        Some("none") => None,
        _ => Some(content.hash),
    })
}

fn word<T: DeserializeOwned>(key: &str, value: &Value) -> Outcome<T> {
    serde_json::from_value(value.clone())
        .map_err(|error| Trouble::Malformed(format!("{key} = {value}: {error}")))
}

pub fn id<T: FromStr>(names: &Names, name: &str, prefix: &str) -> Outcome<T> {
    let spelled = match (name, names.get(name)) {
        (UNKNOWN, _) => format!("{prefix}999999"),
        (_, Some(spelled)) => spelled.clone(),
        (_, None) => return broken(format!("nothing is called `{name}`")),
    };
    spelled
        .parse()
        .map_err(|_| Trouble::Broken(format!("`{name}` is something else")))
}

/// The hash that stands for an artifact's content.
pub fn artifact_hash(content: &str) -> Hash {
    Hash::of("wacp/scenario/1", &[content.as_bytes()])
}

pub fn principal(names: &Names, by: &str) -> Outcome<Principal> {
    match by {
        "runtime" => return Ok(Principal::Runtime),
        "meter" => return Ok(Principal::Meter),
        "coordinator" => return Ok(Principal::Coordinator),
        "operator" => return Ok(Principal::Operator),
        "unknown_agent" => return Ok(Principal::Agent(WorkspaceId(999_999))),
        "unknown_person" => return Ok(Principal::User(wacp::id::UserId(999_999))),
        _ => {}
    }
    let spelled = names
        .get(by)
        .ok_or_else(|| Trouble::Broken(format!("nobody is called `{by}`")))?;
    match (spelled.parse(), spelled.parse()) {
        (Ok(workspace), _) => Ok(Principal::Agent(workspace)),
        (_, Ok(user)) => Ok(Principal::User(user)),
        _ => broken(format!("`{by}` cannot ask for anything")),
    }
}

fn taxonomy_of(run: &Run) -> Taxonomy {
    run.setup
        .as_deref()
        .map_or_else(Taxonomy::base, |setup| setup.started.taxonomy.clone())
}

fn envelope_type(run: &Run, args: &Args<'_>) -> Outcome<EnvelopeType> {
    let name = args.string("type")?.unwrap_or("directive");
    let unregistered = EnvelopeType::Registered(u16::MAX);
    Ok(taxonomy_of(run).envelope_type(name).unwrap_or(unregistered))
}

fn new_envelope(run: &Run, args: &Args<'_>) -> Outcome<Box<NewEnvelope>> {
    let rights = args.tables("rights")?.into_iter().map(|table| {
        let right = Args::new(table, args.names);
        let kind = right.word("kind")?;
        let pair = (right.need("kind", kind)?, right.workspace("target")?);
        right.all_used()?;
        Ok(pair)
    });
    let mut payload = args.content("payload", "words")?;
    if let Some(bytes) = args.number("bytes")? {
        payload.bytes = bytes;
    }
    Ok(Box::new(NewEnvelope {
        check: args.check()?,
        envelope_type: envelope_type(run, args)?,
        in_reply_to: args.id("in_reply_to", "e")?,
        payload,
        priority: args
            .word::<envelope::Priority>("priority")?
            .unwrap_or_default(),
        proof: proof(args, payload)?,
        rights: rights.collect::<Outcome<Vec<_>>>()?.into(),
        to: args.workspace("to")?,
    }))
}

/// An agent that is bound to no workspace: the first one's is `agent-1`.
fn free_agent(run: &Run) -> String {
    format!("agent-{}", run.next.workspaces as usize + run.gates.len())
}

fn new_workspace(run: &Run, args: &Args<'_>) -> Outcome<NewWorkspace> {
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
        liveness_us: args.number("liveness")?,
        metered: args.flag("metered", false)?,
        mounts: args.texts("mounts")?,
        owner,
        parent: args.id("parent", "w")?.unwrap_or(WorkspaceId::ROOT),
        priority: args.word::<Band>("priority")?.unwrap_or_default(),
        role,
        task: args.id("task", "t")?,
        timeout_us: args.number("timeout")?.unwrap_or(3_600_000_000),
        visibility: args.seen("visibility")?,
    })
}

fn new_checkpoint(run: &Run, by: Principal, args: &Args<'_>) -> Outcome<NewCheckpoint> {
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
    let intent = args.content("intent", "what it is")?;
    Ok(NewCheckpoint {
        artifacts: args.artifacts("artifacts")?.unwrap_or_default(),
        check: args.check()?,
        checkpoint_type: taxonomy_of(run)
            .checkpoint_type(kind)
            .unwrap_or(CheckpointType::Registered(u16::MAX)),
        confidence: args.word("confidence")?.unwrap_or(Confidence::Medium),
        content: args.string("content")?.map(Content::markdown),
        intent,
        parent,
        proof: proof(args, intent)?,
        resource_usage,
        status: args.word("status")?.unwrap_or(checkpoint::Status::Final),
    })
}

fn new_tasks(args: &Args<'_>) -> Outcome<Vec<NewTask>> {
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

fn modification(args: &Args<'_>) -> Outcome<Option<Modification>> {
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

pub fn limits(table: Option<&Table>, names: &Names) -> Outcome<Limits> {
    let mut limits = Limits::default();
    if let Some(table) = table {
        let args = Args::new(table, names);
        if let Some(percent) = args.number("budget_warning_percent")? {
            limits.budget_warning_percent = u8::try_from(percent).unwrap_or(u8::MAX);
        }
        if let Some(us) = args.number("idle_timeout")? {
            limits.idle_timeout_us = us;
        }
        if let Some(us) = args.number("redelivery_base")? {
            limits.redelivery_base_us = us;
        }
        if let Some(open) = args.number("max_open_workspaces")? {
            limits.max_open_workspaces = u32::try_from(open).unwrap_or(u32::MAX);
        }
        args.all_used()?;
    }
    Ok(limits)
}

pub fn highway(value: Option<&Value>, names: &Names) -> Outcome<wacp::gate::config::Highway> {
    use wacp::gate::{GateType, config::Highway};
    let preset = |name: &str| match name {
        "open" => Ok(Highway::open()),
        "autonomous" => Ok(Highway::autonomous()),
        "supervised" => Ok(Highway::supervised()),
        "gated" => Ok(Highway::gated()),
        _ => broken(format!("no preset is called `{name}`")),
    };
    let timeout = |args: &Args<'_>, before: Option<u64>| match args.get("timeout") {
        Some(Value::String(text)) if text == "none" => Ok(None),
        Some(_) => args.number("timeout"),
        None => Ok(before),
    };
    let table = match value {
        None => return Ok(Highway::open()),
        Some(Value::String(name)) => return preset(name),
        Some(Value::Object(table)) => table,
        Some(_) => return broken("`highway` must be a preset or a table"),
    };
    let args = Args::new(table, names);
    let mut highway = preset(args.string("preset")?.unwrap_or("open"))?;
    highway.injection = args.flag("injection", highway.injection)?;
    if let Some(escalation) = args.inner("escalation")? {
        let setting = &mut highway.escalation;
        setting.enabled = escalation.flag("enabled", setting.enabled)?;
        setting.timeout_us = timeout(&escalation, setting.timeout_us)?;
        setting.fallback = escalation.word("fallback")?.unwrap_or(setting.fallback);
        escalation.all_used()?;
    }
    for kind in GateType::ALL {
        let name = json!(kind);
        let Some(gate) = args.inner(name.as_str().unwrap_or_default())? else {
            continue;
        };
        let setting = highway.gate_mut(kind);
        setting.enabled = gate.flag("enabled", true)?;
        setting.timeout_us = timeout(&gate, setting.timeout_us)?;
        setting.fallback = gate.word("fallback")?.unwrap_or(setting.fallback);
        gate.all_used()?;
    }
    args.all_used()?;
    Ok(highway)
}

pub fn taxonomy(value: Option<&Value>) -> Outcome<Taxonomy> {
    match value {
        None => Ok(Taxonomy::with_reviewer()),
        Some(Value::String(name)) if name == "base" => Ok(Taxonomy::base()),
        Some(Value::String(name)) if name == "reviewer" => Ok(Taxonomy::with_reviewer()),
        Some(value) => {
            let mut whole = json!(Taxonomy::base());
            if let (Some(whole), Some(given)) = (whole.as_object_mut(), value.as_object()) {
                for (key, value) in given {
                    whole.insert(key.clone(), value.clone());
                }
            }
            word("taxonomy", &whole)
        }
    }
}

/// Reads one order. `by`, `do`, `after` and what is expected are the player's.
pub fn command(run: &Run, by: Principal, name: &str, args: &Args<'_>) -> Outcome<Command> {
    let workspace = || args.workspace("workspace");
    let reason = || args.text_or("reason", "because");
    macro_rules! word {
        ($key:literal) => {{
            let word = args.word($key)?;
            args.need($key, word)?
        }};
    }
    macro_rules! id {
        ($key:literal, $prefix:literal) => {{
            let id = args.id($key, $prefix)?;
            args.need($key, id)?
        }};
    }
    Ok(match name {
        "start_run" => Command::StartRun(Box::new(NewRun {
            agent: args.text_or("agent", "coordinator-1")?,
            directive: args.content("directive", "the goal")?,
            highway: highway(args.get("highway"), args.names)?,
            limits: match args.get("limits") {
                Some(Value::Object(table)) => limits(Some(table), args.names)?,
                _ => limits(None, args.names)?,
            },
            taxonomy: taxonomy(args.get("taxonomy"))?,
        })),
        "tick" => Command::Tick,
        "acknowledge" => Command::Acknowledge {
            workspace: workspace()?,
            envelope: id!("envelope", "e"),
        },
        "complete_migration" => Command::CompleteMigration {
            workspace: workspace()?,
        },
        "fail_migration" => Command::FailMigration {
            workspace: workspace()?,
            error: args.text_or("error", "it did not start")?,
        },
        "fail_creation" => Command::FailCreation {
            workspace: workspace()?,
        },
        "meter_usage" => Command::MeterUsage {
            workspace: workspace()?,
            totals: args.usage()?,
        },
        "report_violation" => Command::ReportViolation {
            workspace: workspace()?,
            subject: match (args.id("checkpoint", "c")?, args.id("envelope", "e")?) {
                (Some(checkpoint), _) => Damaged::Checkpoint(checkpoint),
                (_, Some(envelope)) => Damaged::Envelope(envelope),
                _ => return broken("`checkpoint` or `envelope` is missing"),
            },
        },
        "recover" => Command::Recover {
            downtime_us: args.number("downtime")?.unwrap_or(0),
            examined: args.number("examined")?.unwrap_or(run.entries),
            quarantined: args.number("quarantined")?.unwrap_or(0),
        },
        "report_degradation" => Command::ReportDegradation {
            reason: reason()?,
            coordinator_action: args.text("coordinator_action")?,
            affected: args
                .texts("affected")?
                .iter()
                .map(|name| self::id(args.names, name, "w"))
                .collect::<Outcome<Vec<_>>>()?
                .into(),
        },
        "shut_down" => Command::ShutDown {
            forced: args.flag("forced", false)?,
        },
        "compact" => Command::Compact(Compaction {
            workspace: workspace()?,
            archived: args.number("archived")?.unwrap_or(0),
            preserved: args.number("preserved")?.unwrap_or(0),
            from: args.number("from")?.unwrap_or(0),
            to: args.number("to")?.unwrap_or(0),
            hash: artifact_hash("archive"),
        }),
        "record_snapshot" => Command::RecordSnapshot {
            state_hash: artifact_hash("state"),
        },
        "record_authentication_failure" => Command::RecordAuthenticationFailure {
            entity: args.text_or("entity", "someone")?,
            context: args.text_or("context", "sign-in")?,
            reason: reason()?,
            source: args.text_or("source", "192.0.2.1")?,
        },
        "record_authentication" => Command::RecordAuthentication {
            user: id!("user", "u"),
            method: args.text_or("method", "password")?,
        },
        "create_workspace" => Command::CreateWorkspace(Box::new(new_workspace(run, args)?)),
        "grant_visibility" => Command::GrantVisibility {
            workspace: workspace()?,
            targets: args.seen("targets")?,
            reason: args.text("reason")?,
        },
        "grant_authority" => Command::GrantAuthority {
            workspace: workspace()?,
            resources: args.texts("resources")?,
        },
        "set_priority" => Command::SetPriority {
            workspace: workspace()?,
            priority: word!("priority"),
        },
        "set_group_priority" => Command::SetGroupPriority {
            group: args.text_or("group", "")?,
            priority: word!("priority"),
        },
        "raise_budget" => Command::RaiseBudget {
            workspace: workspace()?,
            dimension: word!("dimension"),
            limit: args.number("limit")?.unwrap_or(0),
        },
        "suspend" => Command::Suspend {
            workspace: workspace()?,
            reason: reason()?,
        },
        "resume" => Command::Resume {
            workspace: workspace()?,
        },
        "migrate" => Command::Migrate {
            workspace: workspace()?,
            new_agent: args.text_or("new_agent", "agent-next")?,
            reason: reason()?,
        },
        "abort" => Command::Abort {
            workspace: workspace()?,
            reason: args.text("reason")?,
        },
        "abort_group" => Command::AbortGroup {
            group: args.text_or("group", "")?,
        },
        "terminate_gracefully" => Command::TerminateGracefully {
            workspace: workspace()?,
            grace_us: args.number("grace")?.unwrap_or(60_000_000),
            reason: reason()?,
            payload: args.content("payload", "finish up")?,
        },
        "transfer_ownership" => Command::TransferOwnership {
            workspace: workspace()?,
            to: id!("to", "u"),
            reason: args.text("reason")?,
        },
        "reparent" => Command::Reparent {
            workspace: workspace()?,
            parent: args.workspace("parent")?,
            reason: reason()?,
        },
        "approve_delegation" => Command::ApproveDelegation {
            delegate: args.workspace("delegate")?,
        },
        "create_right" => Command::CreateRight {
            holder: args.workspace("holder")?,
            target: args.workspace("target")?,
            kind: word!("kind"),
        },
        "revoke_right" => Command::RevokeRight {
            holder: args.workspace("holder")?,
            target: args.workspace("target")?,
            kind: word!("kind"),
        },
        "submit_graph" => {
            let tasks = new_tasks(args)?;
            let goal = args.string("root")?;
            let root = tasks
                .iter()
                .position(|task| Some(&*task.name) == goal)
                .unwrap_or(0);
            Command::SubmitGraph(NewGraph {
                root: root as u32,
                tasks,
            })
        }
        "decompose" => Command::Decompose {
            task: id!("task", "t"),
            tasks: new_tasks(args)?,
        },
        "retry_task" => Command::RetryTask {
            task: id!("task", "t"),
        },
        "cancel_task" => Command::CancelTask {
            task: id!("task", "t"),
        },
        "accept" => Command::Accept(Box::new(Acceptance {
            check: args.check()?,
            conflicts: args.declared()?,
            strategy: args.word("strategy")?.unwrap_or(Strategy::Direct),
            synthesis: args.artifacts("synthesis")?,
            workspace: workspace()?,
        })),
        "revise" => Command::Revise {
            workspace: workspace()?,
        },
        "reject" => Command::Reject {
            workspace: workspace()?,
        },
        "resolve_conflict" => Command::ResolveConflict {
            workspace: workspace()?,
            conflict: id!("conflict", "k"),
            resolution: match args.string("resolution")?.unwrap_or("") {
                "coordinator_resolve" => {
                    Resolution::CoordinatorResolve(args.content("content", "settled")?)
                }
                "escalate" => Resolution::Escalate(args.content("content", "proposed")?),
                "agent_rework" => Resolution::AgentRework,
                other => return Err(Trouble::Malformed(format!("resolution = {other}"))),
            },
        },
        "salvage" => Command::Salvage(Box::new(Salvage {
            check: args.check()?,
            checkpoint: args.id("checkpoint", "c")?,
            conflicts: args.declared()?,
            strategy: args.word("strategy")?.unwrap_or(Strategy::Evaluated),
            synthesis: args.artifacts("synthesis")?,
            usable: args.flag("usable", true)?,
            workspace: workspace()?,
        })),
        "emit" => Command::Emit {
            signal: word!("signal"),
            reason: args.text("reason")?,
            reference: match (args.id("checkpoint", "c")?, args.id("envelope", "e")?) {
                (Some(checkpoint), _) => Some(Reference::Checkpoint(checkpoint)),
                (_, Some(envelope)) => Some(Reference::Envelope(envelope)),
                _ => args.id("workspace", "w")?.map(Reference::Workspace),
            },
        },
        "send" => Command::Send(new_envelope(run, args)?),
        "inject" => Command::Inject(new_envelope(run, args)?),
        "create_checkpoint" => Command::CreateCheckpoint(Box::new(new_checkpoint(run, by, args)?)),
        "report_usage" => Command::ReportUsage {
            totals: args.usage()?,
        },
        "read" => Command::Read {
            workspace: workspace()?,
            resource: args.text("resource")?,
        },
        "read_trail" => Command::ReadTrail {
            workspace: args.id("workspace", "w")?,
        },
        "resolve_gate" => Command::ResolveGate {
            gate: id!("gate", "g"),
            answer: word!("answer"),
            modification: modification(args)?,
        },
        "decide_gate" => Command::DecideGate {
            gate: id!("gate", "g"),
            proceed: args.flag("proceed", true)?,
        },
        "answer_escalation" => Command::AnswerEscalation {
            signal: id!("signal", "s"),
            answer: match args.string("answer")?.unwrap_or("") {
                "envelope" => escalation::Answer::Envelope {
                    envelope_type: envelope_type(run, args)?,
                    payload: args.content("payload", "do this")?,
                },
                "abort" => escalation::Answer::Abort,
                "delegate" => escalation::Answer::Delegate,
                other => return Err(Trouble::Malformed(format!("answer = {other}"))),
            },
        },
        "create_user" => Command::CreateUser {
            name: args.text_or("name", "")?,
        },
        "change_user" => Command::ChangeUser {
            user: id!("user", "u"),
            change: word!("change"),
            reason: args.text("reason")?,
        },
        "grant_capability" => Command::GrantCapability {
            user: id!("user", "u"),
            capability: word!("capability"),
        },
        "revoke_capability" => Command::RevokeCapability {
            user: id!("user", "u"),
            capability: word!("capability"),
            reason: args.text("reason")?,
        },
        other => return Err(Trouble::Malformed(format!("there is no order `{other}`"))),
    })
}

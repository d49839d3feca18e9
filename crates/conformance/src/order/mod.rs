//! An order as a file spells it, as a command of ours.

use serde_json::Value;
use wacp::{
    Command, Principal, Run,
    command::Compaction,
    escalation,
    event::{Damaged, Reference},
    gate::config::Highway,
    integration::{Acceptance, Resolution, Salvage, Strategy},
    task::NewGraph,
    workspace::{NewRun, WindDown},
};

use self::{
    envelope::{envelope_type, new_envelope},
    gate::modification,
    work::{new_checkpoint, new_tasks},
    workspace::new_workspace,
};
use crate::{Outcome, Trouble, broken};

mod amounts;
mod args;
mod envelope;
mod gate;
mod names;
mod proof;
mod setting;
mod work;
mod workspace;

pub use self::{
    args::Args,
    names::{Names, artifact_hash, id, principal},
    setting::{highway, limits, taxonomy},
};

/// Reads one order. `by`, `do`, `after` and what is expected are the player's.
pub fn command(run: &Run, by: Principal, name: &str, args: &Args<'_>) -> Outcome<Command> {
    let workspace = || args.workspace("workspace");
    let reason = || args.text_or("reason", "because");
    let group = || {
        let group = args.text("group")?;
        args.need("group", group)
    };
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
            // Whoever names none gets what the specification recommends.
            highway: match args.get("highway") {
                None => Highway::default(),
                given => highway(given, args.names)?,
            },
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
        "bind" => Command::Bind {
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
            downtime_us: args.length("downtime")?.unwrap_or(0),
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
            group: group()?,
            priority: word!("priority"),
        },
        "raise_budget" => Command::RaiseBudget {
            workspace: workspace()?,
            dimension: word!("dimension"),
            limit: {
                let limit = args.limit("limit")?;
                args.need("limit", limit)?
            },
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
        "abort_group" => Command::AbortGroup { group: group()? },
        "terminate_gracefully" => {
            let grace_us = args.length("grace")?.unwrap_or(60_000_000);
            let words = args.content("payload", "finish up")?;
            let mut request = WindDown::of(workspace()?, grace_us, reason()?, words);
            let mut sent = request.envelope();
            proof::of_envelope(by, &mut sent, args)?;
            (request.check, request.proof) = (sent.check, sent.proof);
            Command::TerminateGracefully(Box::new(request))
        }
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
        "send" => Command::Send(new_envelope(run, by, args)?),
        "inject" => Command::Inject(new_envelope(run, by, args)?),
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
            name: {
                let name = args.text("name")?;
                args.need("name", name)?
            },
            capabilities: args.words("capabilities")?,
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

//! An order becomes a command.
//!
//! Every way that [`access`](super::access) calls an order is read here, and
//! nothing else: what is not sent cannot be asked for. Proofs are left open;
//! the caller makes or verifies them on the command that is read.

use trail::KeyName;

use self::{
    amounts::usage,
    envelope::{new_envelope, reference, wind_down},
    work::{artifacts, declared, new_checkpoint, new_graph, new_tasks},
    workspace::{new_workspace, targets},
};
use super::{
    access::{self, Access, Way},
    args::{Args, Context, Defaults, Table},
    content::Taken,
    fault::{Fault, Outcome, Why},
    kind::Key,
    names::Anything,
    read::Amount,
    words::Word,
};
use crate::{
    Command, Principal, Run,
    integration::{Acceptance, Salvage, Strategy},
    integrity::Check,
    role::Text,
};

pub mod amounts;
pub mod envelope;
pub mod gate;
pub mod list;
pub mod work;
pub mod workspace;

pub use list::{MAX_ORDERS, Sent, list};

/// Reads an order for the run on which it is decided.
pub fn command(context: &Context<'_>, order: &Table) -> Outcome<Command> {
    let args = Args::new(order, context, "");
    let name: Text = args.need("do")?;
    let access = Access::of(&name).ok_or_else(|| unknown(&name))?;
    if access.way != Way::Order {
        return Err(Fault::new("", Why::NotAnOrderOfTheWire(access.way)));
    }
    let command = read(&name, &args)?;
    args.all_used()?;
    Ok(command)
}

/// The keys of an order beside `do` and `as`, in the order in which they are
/// read.
pub fn keys(name: &str) -> Vec<Key> {
    let (run, shelf) = (Run::default(), Taken::default());
    let context = Context {
        run: &run,
        by: Principal::Runtime,
        names: &Anything,
        shelf: &shelf,
        defaults: Defaults::default(),
    };
    let probe = Args::probe(&context);
    match read(name, &probe) {
        Ok(_) => probe.into_keys(),
        Err(_) => Vec::new(),
    }
}

/// The names of all orders.
pub fn names() -> impl Iterator<Item = &'static str> {
    access::orders().map(|access| access.name)
}

fn unknown(name: &str) -> Fault {
    Fault::new("", Why::UnknownOrder(KeyName::new(name)))
}

fn read(name: &str, args: &Args<'_>) -> Outcome<Command> {
    Ok(match name {
        "acknowledge" => Command::Acknowledge {
            workspace: args.own("workspace")?,
            envelope: args.need("envelope")?,
        },
        "meter_usage" => Command::MeterUsage {
            workspace: args.need("workspace")?,
            totals: usage(args)?,
        },
        "shut_down" => Command::ShutDown {
            forced: args.or("forced", false)?,
        },
        "create_workspace" => Command::CreateWorkspace(Box::new(new_workspace(args)?)),
        "grant_visibility" => Command::GrantVisibility {
            workspace: args.need("workspace")?,
            targets: targets(args, "targets")?,
            reason: args.maybe("reason")?,
        },
        "grant_authority" => Command::GrantAuthority {
            workspace: args.need("workspace")?,
            resources: args.need::<Vec<Text>>("resources")?.into(),
        },
        "set_priority" => Command::SetPriority {
            workspace: args.need("workspace")?,
            priority: args.word("priority")?,
        },
        "set_group_priority" => Command::SetGroupPriority {
            group: args.need("group")?,
            priority: args.word("priority")?,
        },
        "raise_budget" => Command::RaiseBudget {
            workspace: args.need("workspace")?,
            dimension: args.word("dimension")?,
            limit: args.need("limit").map(|Amount(limit)| limit)?,
        },
        "suspend" => Command::Suspend {
            workspace: args.need("workspace")?,
            reason: args.need("reason")?,
        },
        "resume" => Command::Resume {
            workspace: args.need("workspace")?,
        },
        "migrate" => Command::Migrate {
            workspace: args.need("workspace")?,
            new_agent: args.need("new_agent")?,
            reason: args.need("reason")?,
        },
        "abort" => Command::Abort {
            workspace: args.need("workspace")?,
            reason: args.maybe("reason")?,
        },
        "abort_group" => Command::AbortGroup {
            group: args.need("group")?,
        },
        "terminate_gracefully" => Command::TerminateGracefully(Box::new(wind_down(args)?)),
        "transfer_ownership" => Command::TransferOwnership {
            workspace: args.need("workspace")?,
            to: args.need("to")?,
            reason: args.maybe("reason")?,
        },
        "reparent" => Command::Reparent {
            workspace: args.need("workspace")?,
            parent: args.need("parent")?,
            reason: args.need("reason")?,
        },
        "approve_delegation" => Command::ApproveDelegation {
            delegate: args.need("delegate")?,
        },
        "create_right" => Command::CreateRight {
            holder: args.need("holder")?,
            target: args.need("target")?,
            kind: args.word("kind")?,
        },
        "revoke_right" => Command::RevokeRight {
            holder: args.need("holder")?,
            target: args.need("target")?,
            kind: args.word("kind")?,
        },
        "submit_graph" => Command::SubmitGraph(new_graph(args)?),
        "decompose" => Command::Decompose {
            task: args.need("task")?,
            tasks: new_tasks(args)?,
        },
        "retry_task" => Command::RetryTask {
            task: args.need("task")?,
        },
        "cancel_task" => Command::CancelTask {
            task: args.need("task")?,
        },
        "accept" => Command::Accept(Box::new(Acceptance {
            check: Check::Valid,
            conflicts: declared(args)?,
            strategy: args.word("strategy")?,
            synthesis: artifacts(args, "synthesis")?,
            workspace: args.need("workspace")?,
        })),
        "revise" => Command::Revise {
            workspace: args.need("workspace")?,
        },
        "reject" => Command::Reject {
            workspace: args.need("workspace")?,
        },
        "resolve_conflict" => Command::ResolveConflict {
            workspace: args.need("workspace")?,
            conflict: args.need("conflict")?,
            resolution: work::resolution(args)?,
        },
        "salvage" => Command::Salvage(Box::new(Salvage {
            check: Check::Valid,
            checkpoint: args.maybe("checkpoint")?,
            conflicts: declared(args)?,
            strategy: args.word_or("strategy", Strategy::Evaluated)?,
            synthesis: artifacts(args, "synthesis")?,
            usable: args.or("usable", true)?,
            workspace: args.need("workspace")?,
        })),
        "emit" => Command::Emit {
            signal: args.word("signal")?,
            reason: args.maybe("reason")?,
            reference: reference(args)?,
        },
        "send" => {
            let envelope_type = args.need("type")?;
            Command::Send(Box::new(new_envelope(args, envelope_type)?))
        }
        "inject" => {
            let directive = crate::role::EnvelopeType::Directive;
            let envelope_type = args.or("type", directive)?;
            Command::Inject(Box::new(new_envelope(args, envelope_type)?))
        }
        "create_checkpoint" => Command::CreateCheckpoint(Box::new(new_checkpoint(args)?)),
        "report_usage" => Command::ReportUsage {
            totals: usage(args)?,
        },
        "decide_gate" => Command::DecideGate {
            gate: args.need("gate")?,
            proceed: args.need("proceed")?,
        },
        "change_user" => Command::ChangeUser {
            user: args.need("user")?,
            change: args.word("change")?,
            reason: args.maybe("reason")?,
        },
        "grant_capability" => Command::GrantCapability {
            user: args.need("user")?,
            capability: args.word("capability")?,
        },
        "revoke_capability" => Command::RevokeCapability {
            user: args.need("user")?,
            capability: args.word("capability")?,
            reason: args.maybe("reason")?,
        },
        other => return Err(unknown(other)),
    })
}

impl Args<'_> {
    /// A word of a closed set.
    pub fn word<T: serde::de::DeserializeOwned>(&self, key: &'static str) -> Outcome<T> {
        self.need(key).map(|Word(word)| word)
    }

    pub fn word_or<T: serde::de::DeserializeOwned>(
        &self,
        key: &'static str,
        default: T,
    ) -> Outcome<T> {
        self.or(key, Word(default)).map(|Word(word)| word)
    }

    /// A workspace; left out it is the asker's own.
    fn own(&self, key: &'static str) -> Outcome<crate::id::WorkspaceId> {
        let own = self.maybe(key)?.or(self.context.own());
        match own {
            None if self.is_probe() => Ok(crate::id::WorkspaceId::ROOT),
            own => own.ok_or_else(|| self.missing(key)),
        }
    }
}

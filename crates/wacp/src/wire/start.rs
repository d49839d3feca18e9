//! The body that starts a run: what the core needs, and what only the server
//! does.

use serde_json::Value;

use super::{
    args::{Args, Context, Defaults, Table},
    content::{Contents, Taken},
    fault::{Fault, Outcome, Why},
    kind::{Key, Kind},
    names::Anything,
    setting,
};
use crate::{
    Principal, Run,
    role::Text,
    workspace::{Limits, NewRun},
};

/// The limits of a run that names none: its agents sit in model calls for
/// minutes, and an agent makes workspaces faster than anyone reads of them.
pub const LIMITS: Limits = Limits {
    budget_warning_percent: 80,
    idle_timeout_us: 600_000_000,
    max_open_workspaces: 10_000,
    redelivery_base_us: 300_000_000,
};

/// A run to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// How people call it.
    pub name: Option<Text>,
    /// Whose what the coordinator makes is, by name; without it the owner of
    /// the coordinator's agent.
    pub owner: Option<Text>,
    /// The agent that counts what is used, by its `agent_id`.
    pub meter: Option<Text>,
    pub run: NewRun,
}

/// Reads the body for the agent that asks, its contents where they are kept.
pub fn read(context: &Context<'_>, agent: &str, body: &Table) -> Outcome<Start> {
    let args = Args::new(body, context, "");
    let start = fields(&args, agent)?;
    args.all_used()?;
    Ok(start)
}

fn fields(args: &Args<'_>, agent: &str) -> Outcome<Start> {
    Ok(Start {
        name: args.maybe("name")?,
        run: NewRun {
            agent: Text::from(agent),
            directive: args.need("directive")?,
            highway: setting::highway(args, "highway")?,
            limits: setting::limits(args, "limits")?,
            taxonomy: setting::taxonomy(args, "taxonomy")?,
        },
        owner: args.maybe("owner")?,
        meter: args.maybe("meter")?,
    })
}

/// Who reads a body before there is a run.
fn nowhere<'a>(run: &'a Run, shelf: &'a Taken) -> Context<'a> {
    Context {
        run,
        by: Principal::Runtime,
        names: &Anything,
        shelf,
        defaults: Defaults {
            limits: LIMITS,
            ..Defaults::default()
        },
    }
}

/// Looks for every fault of a body, and takes its contents out of it.
pub fn prepare(body: Value) -> Outcome<(Table, Contents)> {
    let Value::Object(mut body) = body else {
        let why = Why::WrongKind(Kind::Table(Vec::new()));
        return Err(Fault::new("", why));
    };
    let (run, shelf) = (Run::default(), Taken::default());
    read(&nowhere(&run, &shelf), "", &body)?;
    let contents = shelf.strip(&mut body);
    Ok((body, contents))
}

/// The keys of the body.
pub fn keys() -> Vec<Key> {
    let (run, shelf) = (Run::default(), Taken::default());
    let context = nowhere(&run, &shelf);
    let probe = Args::probe(&context);
    match fields(&probe, "") {
        Ok(_) => probe.into_keys(),
        Err(_) => Vec::new(),
    }
}

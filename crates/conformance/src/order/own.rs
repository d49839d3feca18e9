//! Orders that no wire carries: the runtime's own, what is read before
//! something is shown, and a person's answers.

use serde::Deserialize;
use wacp::{
    Command, Principal, Run,
    command::Compaction,
    content::Content,
    escalation,
    event::Damaged,
    gate::GateType,
    id::{CheckpointId, EnvelopeId, WorkspaceId},
    role::{EnvelopeType, Text},
    wire::{
        Args, Context, Defaults, Outcome, Table, kind::Key, length::Length, names::Anything,
        order::gate, setting,
    },
    workspace::NewRun,
};

use super::{names::artifact_hash, shelf::Shelf};

/// What a person changes.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Task,
    Workspace,
    Payload,
    Resolution,
}

impl Change {
    fn gate(self) -> GateType {
        match self {
            Change::Task => GateType::TaskApproval,
            Change::Workspace => GateType::WorkspaceCreate,
            Change::Payload => GateType::EnvelopeDelivery,
            Change::Resolution => GateType::ConflictResolution,
        }
    }
}

/// How an escalation is answered.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Envelope,
    Abort,
    Delegate,
}

pub fn command(context: &Context<'_>, name: &str, order: &Table) -> Outcome<Command> {
    let args = Args::new(order, context, "");
    let command = read(name, &args)?;
    args.all_used()?;
    Ok(command)
}

pub fn keys(name: &str) -> Vec<Key> {
    let (run, shelf) = (Run::default(), Shelf::default());
    let context = Context {
        run: &run,
        by: Principal::Runtime,
        names: &Anything,
        shelf: &shelf,
        defaults: Defaults::default(),
    };
    let probe = Args::probe(&context);
    read(name, &probe).map_or_else(|_| Vec::new(), |_| probe.into_keys())
}

fn read(name: &str, args: &Args<'_>) -> Outcome<Command> {
    let run = args.context.run;
    Ok(match name {
        "start_run" => Command::StartRun(Box::new(NewRun {
            agent: args.need("agent")?,
            directive: args.need("directive")?,
            highway: setting::highway(args, "highway")?,
            limits: setting::limits(args, "limits")?,
            taxonomy: setting::taxonomy(args, "taxonomy")?,
        })),
        "tick" => Command::Tick,
        "complete_migration" => Command::CompleteMigration {
            workspace: args.need("workspace")?,
        },
        "fail_migration" => Command::FailMigration {
            workspace: args.need("workspace")?,
            error: args.need("error")?,
        },
        "fail_creation" => Command::FailCreation {
            workspace: args.need("workspace")?,
        },
        "report_violation" => {
            let checkpoint: Option<CheckpointId> = args.maybe("checkpoint")?;
            let envelope: Option<EnvelopeId> = args.maybe("envelope")?;
            Command::ReportViolation {
                workspace: args.need("workspace")?,
                subject: match (checkpoint, envelope) {
                    (Some(checkpoint), _) => Damaged::Checkpoint(checkpoint),
                    (None, Some(envelope)) => Damaged::Envelope(envelope),
                    (None, None) if args.is_probe() => Damaged::NewEnvelope,
                    (None, None) => return Err(args.missing("checkpoint")),
                },
            }
        }
        "recover" => Command::Recover {
            downtime_us: args.or("downtime", Length(0))?.0,
            examined: args.or("examined", run.entries)?,
            quarantined: args.or("quarantined", 0)?,
        },
        "report_degradation" => Command::ReportDegradation {
            reason: args.need("reason")?,
            coordinator_action: args.maybe("coordinator_action")?,
            affected: args.or::<Vec<WorkspaceId>>("affected", Vec::new())?.into(),
        },
        "compact" => Command::Compact(Compaction {
            workspace: args.need("workspace")?,
            archived: args.or("archived", 0)?,
            preserved: args.or("preserved", 0)?,
            from: args.or("from", 0)?,
            to: args.or("to", 0)?,
            hash: artifact_hash("archive"),
        }),
        "record_snapshot" => Command::RecordSnapshot {
            state_hash: artifact_hash("state"),
        },
        "record_authentication_failure" => Command::RecordAuthenticationFailure {
            entity: args.need("entity")?,
            context: args.need("context")?,
            reason: args.need("reason")?,
            source: args.need("source")?,
        },
        "record_authentication" => Command::RecordAuthentication {
            user: args.need("user")?,
            method: args.need("method")?,
        },
        "read" => Command::Read {
            workspace: args.need("workspace")?,
            resource: args.maybe::<Text>("resource")?,
        },
        "read_trail" => Command::ReadTrail {
            workspace: args.maybe("workspace")?,
        },
        "resolve_gate" => Command::ResolveGate {
            gate: args.need("gate")?,
            answer: args.word("answer")?,
            modification: args
                .inner("modify", |args| {
                    let change: Change = args.word("kind")?;
                    gate::read(args, change.gate())
                })?
                .flatten(),
        },
        "answer_escalation" => {
            let envelope_type: EnvelopeType = args.need("type")?;
            let payload: Content = args.need("payload")?;
            Command::AnswerEscalation {
                signal: args.need("signal")?,
                answer: match args.word("answer")? {
                    Answer::Envelope => escalation::Answer::Envelope {
                        envelope_type,
                        payload,
                    },
                    Answer::Abort => escalation::Answer::Abort,
                    Answer::Delegate => escalation::Answer::Delegate,
                },
            }
        }
        "create_user" => Command::CreateUser {
            name: args.need("name")?,
        },
        _ => return Err(args.missing("do")),
    })
}

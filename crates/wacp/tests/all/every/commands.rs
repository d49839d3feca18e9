//! Every command about a workspace, in every state it can be in (WACP §6.2).

use std::{collections::BTreeSet, sync::Arc};

use wacp::{
    Command, Principal, Refusal,
    checkpoint::NewCheckpoint,
    command::Compaction,
    content::Content,
    envelope::NewEnvelope,
    escalation,
    event::Damaged,
    id::{ConflictId, EnvelopeId, SignalId, TaskId, WorkspaceId},
    integration::{Acceptance, Resolution, Strategy},
    right::RightKind,
    role::EnvelopeType,
    signal::SignalType,
    task::{NewGraph, NewTask},
    workspace::{
        Band, NewWorkspace, Seen, WindDown,
        budget::{Budget, Dimension},
        lifecycle::State,
    },
};

use super::rows;
use crate::{
    orders::salvage,
    world::{ROOT, World, text},
};

/// One row per command on a workspace, one column per state in the order of
/// §6.2: `+` done, anything else the letter of the refusal.
///   s invalid state · t terminal · x sealed · p denied · f nothing to salvage
///   k no such conflict · u unknown envelope · r no such right · q the task's
///   status · e no such escalation · o not over yet
/// A workspace that came further than idle has taken one envelope and asked
/// for a person; all are members of one group and at work on a task.
const COMMANDS: &str = "
                      idle active blocked suspended migrating integrating conflicted closed failed
    grant_visibility   +    +      +       s         s         s           s          t      t
    grant_authority    +    s      s       s         s         s           s          t      t
    set_priority       s    +      +       s         s         s           s          t      t
    raise_budget       +    +      +       s         s         s           s          t      t
    suspend            s    +      +       s         s         s           s          t      t
    resume             s    s      s       +         s         s           s          t      t
    migrate            s    +      +       s         s         s           s          t      t
    bind               +    +      +       +         +         +           +          t      t
    fail_migration     s    s      s       s         +         s           s          t      t
    fail_creation      +    s      s       s         s         s           s          s      s
    abort              +    +      +       +         +         +           +          t      t
    terminate          s    +      +       s         s         s           s          t      t
    transfer           +    +      +       +         +         +           +          t      t
    send_to            +    +      +       +         +         x           x          t      t
    send_from          p    +      +       p         p         p           p          p      p
    inject             +    +      +       +         +         x           x          t      t
    checkpoint         s    +      s       s         s         s           s          t      t
    accept             s    s      s       s         s         +           s          t      t
    revise             s    s      s       s         s         +           s          t      t
    reject             s    s      s       s         s         +           s          t      t
    resolve            k    k      k       k         k         k           +          k      k
    salvage            f    f      f       f         f         f           f          f      +
    create_child       s    +      +       s         s         s           s          t      t
    report_usage       s    +      +       s         s         s           s          t      t
    acknowledge        u    +      +       s         s         +           +          t      t
    meter_usage        +    +      +       +         +         +           +          t      t
    report_violation   +    +      +       +         +         +           +          +      +
    reparent           +    +      +       +         +         +           s          t      t
    reparent_to        s    +      +       s         s         s           s          t      t
    approve_delegation +    +      +       +         +         +           +          t      t
    right_of           +    +      +       +         +         +           +          t      t
    right_to           +    +      +       +         +         +           +          t      t
    revoke_right_of    +    +      +       +         +         +           +          r      r
    revoke_right_to    +    +      +       +         +         +           +          r      r
    abort_group        +    +      +       +         +         +           +          +      +
    group_priority     +    +      +       +         +         +           +          +      +
    cancel_task        +    +      +       +         +         +           +          q      +
    retry_task         q    q      q       q         q         q           q          q      +
    decompose          +    +      +       +         +         +           +          q      +
    answer_escalation  e    +      +       +         +         e           e          e      e
    read               +    +      +       +         +         +           +          +      +
    read_trail         +    +      +       +         +         +           +          +      +
    compact            o    o      o       o         o         o           o          +      +
";

fn command(name: &str, world: &World, id: WorkspaceId) -> (Principal, Command) {
    let coordinator = Principal::Coordinator;
    let content = Content::markdown("x");
    match name {
        "grant_visibility" => (
            coordinator,
            Command::GrantVisibility {
                workspace: id,
                targets: Arc::from([Seen::Workspace(ROOT)]),
                reason: None,
            },
        ),
        "grant_authority" => (
            coordinator,
            Command::GrantAuthority {
                workspace: id,
                resources: Arc::from([text("docs/")]),
            },
        ),
        "set_priority" => (
            coordinator,
            Command::SetPriority {
                workspace: id,
                priority: Band::Critical,
            },
        ),
        "raise_budget" => (
            coordinator,
            Command::RaiseBudget {
                workspace: id,
                dimension: Dimension::Tokens,
                limit: 2_000_000,
            },
        ),
        "suspend" => (
            coordinator,
            Command::Suspend {
                workspace: id,
                reason: text("r"),
            },
        ),
        "resume" => (coordinator, Command::Resume { workspace: id }),
        "migrate" => (
            coordinator,
            Command::Migrate {
                workspace: id,
                new_agent: text("b"),
                reason: text("r"),
            },
        ),
        "bind" => (Principal::Runtime, Command::Bind { workspace: id }),
        "fail_migration" => (
            Principal::Runtime,
            Command::FailMigration {
                workspace: id,
                error: text("e"),
            },
        ),
        "fail_creation" => (Principal::Runtime, Command::FailCreation { workspace: id }),
        "abort" => (
            coordinator,
            Command::Abort {
                workspace: id,
                reason: None,
            },
        ),
        "terminate" => (
            coordinator,
            Command::TerminateGracefully(Box::new(WindDown::of(id, 1_000_000, text("r"), content))),
        ),
        "transfer" => (
            coordinator,
            Command::TransferOwnership {
                workspace: id,
                to: world.bob,
                reason: None,
            },
        ),
        "send_to" => (
            coordinator,
            Command::Send(Box::new(NewEnvelope::to(
                id,
                EnvelopeType::Feedback,
                content,
            ))),
        ),
        "send_from" => (
            Principal::Agent(id),
            Command::Send(Box::new(NewEnvelope::to(
                ROOT,
                EnvelopeType::Query,
                content,
            ))),
        ),
        "inject" => (
            Principal::User(world.bob),
            Command::Inject(Box::new(NewEnvelope::to(
                id,
                EnvelopeType::Directive,
                content,
            ))),
        ),
        "checkpoint" => {
            let parent = wacp::checkpoint::register(&world.run, id).and_then(|r| r.head());
            (
                Principal::Agent(id),
                Command::CreateCheckpoint(Box::new(NewCheckpoint::last(parent, vec![]))),
            )
        }
        "accept" => (
            coordinator,
            Command::Accept(Box::new(Acceptance::of(id, Strategy::Direct))),
        ),
        "revise" => (coordinator, Command::Revise { workspace: id }),
        "reject" => (coordinator, Command::Reject { workspace: id }),
        "resolve" => (
            coordinator,
            Command::ResolveConflict {
                workspace: id,
                conflict: ConflictId(0),
                resolution: Resolution::CoordinatorResolve(content),
            },
        ),
        "salvage" => (coordinator, Command::Salvage(Box::new(salvage(id)))),
        "create_child" => (
            coordinator,
            Command::CreateWorkspace(Box::new(NewWorkspace {
                budget: Budget {
                    token_limit: Some(1),
                    ..Budget::default()
                },
                ..NewWorkspace::worker(id, "child")
            })),
        ),
        "report_usage" => (
            Principal::Agent(id),
            Command::ReportUsage {
                totals: Default::default(),
            },
        ),
        other => more(other, world, id),
    }
}

/// The commands that §6.2 does not speak of.
fn more(name: &str, world: &World, id: WorkspaceId) -> (Principal, Command) {
    let (coordinator, runtime) = (Principal::Coordinator, Principal::Runtime);
    let (task, other) = (TaskId(0), WorkspaceId(1));
    let right = |holder, target| Command::CreateRight {
        holder,
        target,
        kind: RightKind::SendOnce,
    };
    let revoke = |holder, target| Command::RevokeRight {
        holder,
        target,
        kind: RightKind::Send,
    };
    match name {
        "acknowledge" => (
            runtime,
            Command::Acknowledge {
                workspace: id,
                envelope: EnvelopeId(world.run.next.envelopes - 1),
            },
        ),
        "meter_usage" => (
            Principal::Meter,
            Command::MeterUsage {
                workspace: id,
                totals: Default::default(),
            },
        ),
        "report_violation" => (
            runtime,
            Command::ReportViolation {
                workspace: id,
                subject: Damaged::NewEnvelope,
            },
        ),
        "reparent" => (
            coordinator,
            Command::Reparent {
                workspace: id,
                parent: other,
                reason: text("r"),
            },
        ),
        "reparent_to" => (
            coordinator,
            Command::Reparent {
                workspace: WorkspaceId(2),
                parent: id,
                reason: text("r"),
            },
        ),
        "approve_delegation" => (coordinator, Command::ApproveDelegation { delegate: id }),
        "right_of" => (coordinator, right(id, other)),
        "right_to" => (coordinator, right(other, id)),
        "revoke_right_of" => (coordinator, revoke(id, ROOT)),
        "revoke_right_to" => (coordinator, revoke(ROOT, id)),
        "abort_group" => (coordinator, Command::AbortGroup { group: text("g") }),
        "group_priority" => (
            coordinator,
            Command::SetGroupPriority {
                group: text("g"),
                priority: Band::Critical,
            },
        ),
        "cancel_task" => (coordinator, Command::CancelTask { task }),
        "retry_task" => (coordinator, Command::RetryTask { task }),
        "decompose" => (
            coordinator,
            Command::Decompose {
                task,
                tasks: vec![NewTask::named("part", vec![])],
            },
        ),
        "answer_escalation" => {
            let open = world.run.escalations.keys().next().copied();
            (
                Principal::User(world.bob),
                Command::AnswerEscalation {
                    signal: open.unwrap_or(SignalId(0)),
                    answer: escalation::Answer::Delegate,
                },
            )
        }
        "read" => (
            coordinator,
            Command::Read {
                workspace: id,
                resource: None,
            },
        ),
        "read_trail" => (
            coordinator,
            Command::ReadTrail {
                workspace: Some(id),
            },
        ),
        "compact" => (
            runtime,
            Command::Compact(Compaction {
                workspace: id,
                archived: 1,
                preserved: 1,
                from: 1,
                to: 2,
                hash: content_hash(),
            }),
        ),
        other => panic!("no command {other}"),
    }
}

fn content_hash() -> trail::Hash {
    Content::markdown("archive").hash
}

/// Which commands the table must have: all that concern one workspace. The
/// others are proven where they belong.
fn is_in_the_table(command: &Command) -> bool {
    use Command as C;
    match command {
        // The run as a whole, its plans and its people.
        C::StartRun(_)
        | C::Tick
        | C::Recover { .. }
        | C::ReportDegradation { .. }
        | C::ShutDown { .. }
        | C::RecordSnapshot { .. }
        | C::RecordAuthenticationFailure { .. }
        | C::RecordAuthentication { .. }
        | C::SubmitGraph(_)
        | C::CreateUser { .. }
        | C::ChangeUser { .. }
        | C::GrantCapability { .. }
        | C::RevokeCapability { .. } => false,
        // A table of their own: signals, gates.
        C::Emit { .. } | C::ResolveGate { .. } | C::DecideGate { .. } => false,
        C::Acknowledge { .. }
        | C::Bind { .. }
        | C::FailMigration { .. }
        | C::FailCreation { .. }
        | C::MeterUsage { .. }
        | C::ReportViolation { .. }
        | C::Compact(_)
        | C::CreateWorkspace(_)
        | C::GrantVisibility { .. }
        | C::GrantAuthority { .. }
        | C::SetPriority { .. }
        | C::SetGroupPriority { .. }
        | C::RaiseBudget { .. }
        | C::Suspend { .. }
        | C::Resume { .. }
        | C::Migrate { .. }
        | C::Abort { .. }
        | C::AbortGroup { .. }
        | C::TerminateGracefully(_)
        | C::TransferOwnership { .. }
        | C::Reparent { .. }
        | C::ApproveDelegation { .. }
        | C::CreateRight { .. }
        | C::RevokeRight { .. }
        | C::Decompose { .. }
        | C::RetryTask { .. }
        | C::CancelTask { .. }
        | C::Accept(_)
        | C::Revise { .. }
        | C::Reject { .. }
        | C::ResolveConflict { .. }
        | C::Salvage(_)
        | C::Send(_)
        | C::CreateCheckpoint(_)
        | C::ReportUsage { .. }
        | C::Read { .. }
        | C::ReadTrail { .. }
        | C::Inject(_)
        | C::AnswerEscalation { .. } => true,
    }
}
const IN_THE_TABLE: usize = 39;

#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    let mut names = BTreeSet::new();
    for row in &rows(COMMANDS)[1..] {
        assert_eq!(row.len(), 10, "{row:?}");
        for (state, cell) in State::ALL.into_iter().zip(&row[1..]) {
            let mut world = World::open();
            // Everyone has a token budget, so that it can be raised.
            let id = limited(&mut world, state);
            let (principal, command) = command(row[0], &world, id);
            assert!(is_in_the_table(&command));
            names.insert(command.name());
            let result = world.attempt(principal, command);
            let found = match result {
                Ok(_) => "+",
                Err(Refusal::InvalidState) => "s",
                Err(Refusal::TargetTerminal) => "t",
                Err(Refusal::WorkspaceSealed) => "x",
                Err(Refusal::PermissionDenied) => "p",
                Err(Refusal::NothingToSalvage) => "f",
                Err(Refusal::UnknownConflict) => "k",
                Err(Refusal::UnknownEnvelope) => "u",
                Err(Refusal::NoSendRight) => "r",
                Err(Refusal::InvalidTaskStatus) => "q",
                Err(Refusal::UnknownEscalation) => "e",
                Err(Refusal::NotTerminal) => "o",
                Err(other) => panic!("{} in {state:?}: {other:?}", row[0]),
            };
            assert_eq!(found, *cell, "{} in {state:?}", row[0]);
        }
    }
    assert_eq!(names.len(), IN_THE_TABLE, "{names:?}");
}

/// Like `World::in_state`, with everything that some command needs: another
/// workspace at work, a third that could be moved, a token budget, a group, a
/// task, an escalation.
fn limited(world: &mut World, state: State) -> WorkspaceId {
    let tokens = |limit| Budget {
        token_limit: Some(limit),
        ..Budget::default()
    };
    world.active();
    world.create(NewWorkspace {
        budget: tokens(1),
        ..world.worker_of(ROOT)
    });
    let tasks = vec![NewTask::named("t", vec![])];
    let plan = Command::SubmitGraph(NewGraph { root: 0, tasks });
    world.ok(Principal::Coordinator, plan);
    let id = WorkspaceId(world.run.next.workspaces);
    let new = NewWorkspace {
        budget: tokens(1_000_000),
        delegate: true,
        group: Some(text("g")),
        task: Some(TaskId(0)),
        ..world.worker_of(ROOT)
    };
    if state == State::Idle {
        return world.create(new);
    }
    let made = world.create(new);
    assert_eq!(made, id);
    world.direct(id);
    world.emit(id, SignalType::Escalation);
    let coordinator = Principal::Coordinator;
    match state {
        State::Idle | State::Active => {}
        State::Blocked => drop(world.emit(id, SignalType::Blocked)),
        State::Suspended => {
            world.ok(
                coordinator,
                Command::Suspend {
                    workspace: id,
                    reason: text("r"),
                },
            );
        }
        State::Migrating => {
            let command = Command::Migrate {
                workspace: id,
                new_agent: text("b"),
                reason: text("r"),
            };
            world.ok(coordinator, command);
        }
        State::Integrating | State::Conflicted | State::Closed => {
            world.checkpoint(id, vec![]);
            world.emit(id, SignalType::Complete);
            if state == State::Conflicted {
                world.conflict(id);
            }
            if state == State::Closed {
                let accept = Acceptance::of(id, Strategy::Direct);
                world.ok(coordinator, Command::Accept(Box::new(accept)));
            }
        }
        State::Failed => {
            world.checkpoint(id, vec![]);
            world.ok(
                coordinator,
                Command::Abort {
                    workspace: id,
                    reason: None,
                },
            );
        }
    }
    assert_eq!(world.state(id), state);
    id
}

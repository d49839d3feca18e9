//! Every combination of state and signal, and of state and command.

use std::sync::Arc;

use wacp::{
    Command, Principal, Refusal,
    checkpoint::NewCheckpoint,
    content::Content,
    envelope::NewEnvelope,
    id::{ConflictId, EnvelopeId, WorkspaceId},
    integration::{Acceptance, Resolution, Salvage, Strategy},
    integrity::Check,
    role::EnvelopeType,
    signal::{Outcome, SignalType, outcome},
    workspace::{
        Band, NewWorkspace, Seen,
        budget::{Budget, Dimension},
        lifecycle::State,
    },
};

use crate::world::{ROOT, World, emission, text};

#[test]
fn a_workers_signal_does_in_each_state_what_the_table_says() {
    for state in State::ALL {
        for signal in SignalType::ALL {
            let mut world = World::open();
            let id = world.in_state(state);
            let before = world.entries.len();
            let result = world.attempt(Principal::Agent(id), emission(signal));
            let may = world
                .run
                .permissions(wacp::role::Role::Worker)
                .unwrap()
                .may_emit(signal);
            let (expected, expected_state) = match (may, outcome(state, signal)) {
                (false, _) => (Err(Refusal::PermissionDenied), state),
                (true, Outcome::Denied) => (Err(Refusal::SignalNotAllowed), state),
                (true, Outcome::Recorded) => (Ok(()), state),
                (true, Outcome::Moves(to, _)) => (Ok(()), to),
            };
            assert_eq!(result.map(|_| ()), expected, "{signal:?} in {state:?}");
            assert_eq!(world.state(id), expected_state, "{signal:?} in {state:?}");
            // Whatever the answer, the trail knows of it.
            let first = &world.entries[before];
            let expected_type = if expected.is_ok() {
                "signal_emitted"
            } else {
                "capability_denied"
            };
            assert_eq!(
                first.event.event_type(),
                expected_type,
                "{signal:?} in {state:?}"
            );
        }
    }
}

/// One row per command on a workspace, one column per state in the order of
/// §6.2: `+` done, anything else the letter of the refusal.
///   s invalid state · t terminal · x sealed · p denied · f not failed/no checkpoint
///   k no such conflict · g signal denied
const COMMANDS: &str = "
                      idle active blocked suspended migrating integrating conflicted closed failed
    grant_visibility   +    +      +       s         s         s           s          t      t
    grant_authority    +    s      s       s         s         s           s          t      t
    set_priority       s    +      +       s         s         s           s          t      t
    raise_budget       +    +      +       s         s         s           s          t      t
    suspend            s    +      +       s         s         s           s          t      t
    resume             s    s      s       +         s         s           s          t      t
    migrate            s    +      +       s         s         s           s          t      t
    complete_migration s    s      s       s         +         s           s          t      t
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
    revise             s    s      s       s         s         +           +          t      t
    reject             s    s      s       s         s         +           +          t      t
    resolve            k    k      k       k         k         k           +          k      k
    salvage            f    f      f       f         f         f           f          f      +
    create_child       s    +      +       s         s         s           s          t      t
    report_usage       s    +      +       s         s         s           s          t      t
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
        "complete_migration" => (
            Principal::Runtime,
            Command::CompleteMigration { workspace: id },
        ),
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
            Command::TerminateGracefully {
                workspace: id,
                grace_us: 1_000_000,
                reason: text("r"),
                payload: content,
            },
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
        "salvage" => (
            coordinator,
            Command::Salvage(Box::new(Salvage {
                check: Check::Valid,
                checkpoint: None,
                conflicts: vec![],
                strategy: Strategy::Evaluated,
                synthesis: None,
                usable: true,
                workspace: id,
            })),
        ),
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
        other => panic!("no command {other}"),
    }
}

#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    let rows = COMMANDS
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut seen = 0;
    for row in rows.filter(|row| !row.is_empty()) {
        for (state, cell) in State::ALL.into_iter().zip(&row[1..]) {
            let mut world = World::open();
            // Everyone has a token budget, so that it can be raised.
            let id = limited(&mut world, state);
            let (principal, command) = command(row[0], &world, id);
            let result = world.attempt(principal, command);
            let found = match result {
                Ok(_) => "+",
                Err(Refusal::InvalidState) => "s",
                Err(Refusal::TargetTerminal) => "t",
                Err(Refusal::WorkspaceSealed) => "x",
                Err(Refusal::PermissionDenied) => "p",
                Err(Refusal::NothingToSalvage) => "f",
                Err(Refusal::UnknownConflict) => "k",
                Err(other) => panic!("{} in {state:?}: {other:?}", row[0]),
            };
            assert_eq!(found, *cell, "{} in {state:?}", row[0]);
            seen += 1;
        }
    }
    assert_eq!(seen, 24 * 9);
}

/// Like `World::in_state`, with a token budget.
fn limited(world: &mut World, state: State) -> WorkspaceId {
    let id = WorkspaceId(world.run.next.workspaces);
    let new = NewWorkspace {
        budget: Budget {
            token_limit: Some(1_000_000),
            ..Budget::default()
        },
        ..world.worker_of(ROOT)
    };
    if state == State::Idle {
        return world.create(new);
    }
    let made = world.create(new);
    assert_eq!(made, id);
    world.direct(id);
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

#[test]
fn resuming_and_migrating_go_back_to_the_state_before() {
    for blocked in [false, true] {
        let mut world = World::open();
        let id = world.active();
        let before = if blocked {
            world.emit(id, SignalType::Blocked);
            State::Blocked
        } else {
            State::Active
        };
        world.ok(
            Principal::Coordinator,
            Command::Suspend {
                workspace: id,
                reason: text("r"),
            },
        );
        assert_eq!(world.state(id), State::Suspended);
        world.ok(Principal::Coordinator, Command::Resume { workspace: id });
        assert_eq!(world.state(id), before);
        let migrate = Command::Migrate {
            workspace: id,
            new_agent: text("b"),
            reason: text("r"),
        };
        world.ok(Principal::Coordinator, migrate);
        assert_eq!(world.state(id), State::Migrating);
        world.ok(
            Principal::Runtime,
            Command::CompleteMigration { workspace: id },
        );
        assert_eq!(world.state(id), before);
        assert_eq!(&*world.run.open(id).unwrap().agent, "b");
    }
}

#[test]
fn an_observer_begins_with_its_creation_directive_once_it_is_ready() {
    let mut world = World::open();
    let new = NewWorkspace {
        role: wacp::role::Role::Observer,
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    assert_eq!(world.state(id), State::Idle);
    let entries = world.emit(id, SignalType::Ready);
    assert_eq!(
        World::types(&entries),
        [
            "signal_emitted",
            "signal_delivered",
            "envelope_created",
            "envelope_delivered",
            "workspace_state_changed"
        ]
    );
    assert_eq!(world.state(id), State::Active);
}

#[test]
fn the_first_entry_is_the_root_and_names_the_algorithm_and_the_taxonomy() {
    let world = World::open();
    let wacp::Event::WorkspaceCreated(first) = &world.entries[0].event else {
        panic!("the first entry is no creation");
    };
    let run = first.run.as_ref().unwrap();
    assert_eq!(
        (&*run.hash_algorithm, &*run.taxonomy.id),
        ("sha-256", "review")
    );
    assert_eq!(first.originator, wacp::id::Party::System);
    assert_eq!(first.workspace, ROOT);
}

#[test]
fn a_run_ends_normally_only_when_all_work_has_ended() {
    let mut world = World::open();
    let id = world.active();
    let end = Command::ShutDown { forced: false };
    assert_eq!(
        world.refused(Principal::Runtime, end.clone()),
        Refusal::WorkspacesOpen
    );
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    world.ok(Principal::Runtime, end);
    assert_eq!(world.state(ROOT), State::Closed);
    let last = Command::Acknowledge {
        workspace: ROOT,
        envelope: EnvelopeId(0),
    };
    assert_eq!(world.refused(Principal::Runtime, last), Refusal::RunEnded);
}

#[test]
fn a_forced_end_fails_everything_whoever_owns_it() {
    let mut world = World::open();
    let states = [
        State::Idle,
        State::Blocked,
        State::Suspended,
        State::Migrating,
        State::Integrating,
    ];
    let ids: Vec<_> = states.map(|state| world.in_state(state)).to_vec();
    world.ok(Principal::Runtime, Command::ShutDown { forced: true });
    for id in ids {
        assert_eq!(world.state(id), State::Failed);
    }
    assert_eq!(world.state(ROOT), State::Failed);
    assert_eq!(world.count("system_degraded"), 1);
}

//! Every transition happens, and no other: whatever is done to a workspace in
//! whatever state, what its trail then says is a row of the table, and every
//! row of the table is met (WACP §6.3, §6.4, §6.5).

use std::collections::BTreeSet;

use wacp::{
    Command, Event, Principal,
    content::Content,
    envelope::NewEnvelope,
    id::{ConflictId, WorkspaceId},
    integration::{Acceptance, Resolution, Strategy},
    integrity::Check,
    role::EnvelopeType,
    signal::SignalType,
    workspace::{
        NewWorkspace, WindDown,
        budget::{Budget, Usage},
        lifecycle::State,
    },
};

use super::{rows, word};
use crate::{
    orders::{abort, migrate, suspend},
    world::{ROOT, SECOND, World, emission, text},
};

/// From, to, and all that leads from the one to the other.
const TABLE: &str = "
    -           idle         created
    idle        active       first_envelope
    idle        failed       creation_error timeout aborted parent_failed
    active      blocked      blocked_signal
    active      migrating    migration_initiated
    active      suspended    suspended
    active      integrating  complete_signal
    active      failed       failed_signal aborted timeout budget_exceeded parent_failed
    blocked     active       started_signal
    blocked     migrating    migration_initiated
    blocked     suspended    suspended
    blocked     failed       aborted timeout budget_exceeded parent_failed
    migrating   active       migration_succeeded
    migrating   blocked      migration_succeeded
    migrating   failed       migration_error aborted parent_failed
    suspended   active       resumed
    suspended   blocked      resumed
    suspended   failed       aborted system_shutdown parent_failed
    integrating closed       integration_succeeded
    integrating conflicted   conflict_detected
    integrating failed       integration_error aborted parent_failed
    conflicted  closed       conflict_resolved
    conflicted  failed       conflict_unresolvable aborted parent_failed
";

/// A parent at work and a child of it in the given state; paused ones were
/// blocked before if so wished.
fn reach(world: &mut World, state: State, was_blocked: bool) -> (WorkspaceId, WorkspaceId) {
    let top = world.active();
    let id = world.create(NewWorkspace {
        budget: Budget {
            token_limit: Some(100),
            ..Budget::default()
        },
        ..world.worker_of(top)
    });
    if state == State::Idle {
        return (top, id);
    }
    world.direct(id);
    if state == State::Blocked || was_blocked {
        world.emit(id, SignalType::Blocked);
    }
    match state {
        State::Idle | State::Active | State::Blocked => {}
        State::Suspended => drop(world.attempt(Principal::Coordinator, suspend(id))),
        State::Migrating => drop(world.attempt(Principal::Coordinator, migrate(id, "next"))),
        State::Integrating | State::Conflicted | State::Closed => {
            world.checkpoint(id, vec![]);
            world.emit(id, SignalType::Complete);
            if state == State::Conflicted {
                world.conflict(id);
            }
            if state == State::Closed {
                world.accept(id);
            }
        }
        State::Failed => drop(world.attempt(Principal::Coordinator, abort(id))),
    }
    assert_eq!(world.state(id), state);
    (top, id)
}

/// Everything that can be done to a workspace, by whoever may.
fn orders(world: &World, top: WorkspaceId, id: WorkspaceId) -> Vec<(Principal, Command)> {
    let (coordinator, runtime) = (Principal::Coordinator, Principal::Runtime);
    let content = Content::markdown("x");
    let accept = |acceptance| (coordinator, Command::Accept(Box::new(acceptance)));
    let resolve = |resolution| {
        let command = Command::ResolveConflict {
            workspace: id,
            conflict: ConflictId(0),
            resolution,
        };
        (coordinator, command)
    };
    let envelope = NewEnvelope::to(id, EnvelopeType::Directive, content);
    let mut orders = vec![
        (coordinator, suspend(id)),
        (coordinator, Command::Resume { workspace: id }),
        (coordinator, migrate(id, "next")),
        (runtime, Command::Bind { workspace: id }),
        (
            runtime,
            Command::FailMigration {
                workspace: id,
                error: text("no"),
            },
        ),
        (runtime, Command::FailCreation { workspace: id }),
        (coordinator, abort(id)),
        (Principal::User(world.bob), abort(id)),
        (coordinator, abort(top)),
        (coordinator, Command::Send(Box::new(envelope))),
        accept(Acceptance::of(id, Strategy::Direct)),
        accept(Acceptance {
            check: Check::Invalid,
            ..Acceptance::of(id, Strategy::Direct)
        }),
        (coordinator, Command::Revise { workspace: id }),
        (coordinator, Command::Reject { workspace: id }),
        resolve(Resolution::CoordinatorResolve(content)),
        resolve(Resolution::AgentRework),
        (runtime, Command::ShutDown { forced: true }),
        (runtime, Command::ShutDown { forced: false }),
        (
            Principal::Meter,
            Command::MeterUsage {
                workspace: id,
                totals: Usage {
                    tokens: 1000,
                    ..Usage::default()
                },
            },
        ),
        (
            coordinator,
            Command::TerminateGracefully(Box::new(WindDown::of(
                id,
                1_000_000,
                text("enough"),
                content,
            ))),
        ),
    ];
    let signals = SignalType::ALL.into_iter();
    orders.extend(signals.map(|signal| (Principal::Agent(id), emission(signal))));
    orders
}

#[test]
fn every_row_of_the_table_happens_and_nothing_else_does() {
    let mut expected = BTreeSet::new();
    for row in rows(TABLE) {
        for trigger in &row[2..] {
            let [from, to] = [row[0], row[1]].map(str::to_owned);
            expected.insert((from, to, (*trigger).to_owned()));
        }
    }
    let mut found = BTreeSet::new();
    let mut gather = |world: &World| {
        for entry in &world.entries {
            match &entry.event {
                Event::WorkspaceCreated(_) => {
                    found.insert(("-".to_owned(), "idle".to_owned(), "created".to_owned()));
                }
                Event::WorkspaceStateChanged(e) => {
                    found.insert((word(e.from_state), word(e.to_state), word(e.trigger)));
                }
                _ => {}
            }
        }
    };
    let starts = State::ALL
        .map(|state| (state, false))
        .into_iter()
        .chain([(State::Suspended, true), (State::Migrating, true)]);
    for (state, was_blocked) in starts {
        let count = {
            let mut world = World::open();
            let (top, id) = reach(&mut world, state, was_blocked);
            orders(&world, top, id).len()
        };
        for at in 0..count {
            let mut world = World::open();
            let (top, id) = reach(&mut world, state, was_blocked);
            let (principal, command) = orders(&world, top, id).swap_remove(at);
            let _ = world.attempt(principal, command);
            // And then time runs out.
            if world.run.is_running() {
                world.pass(7200 * SECOND);
            }
            gather(&world);
        }
    }
    // A run that ends in order takes the root along the same table.
    let mut world = World::open();
    world.ok(Principal::Runtime, Command::ShutDown { forced: false });
    assert_eq!(world.state(ROOT), State::Closed);
    gather(&world);
    assert_eq!(found, expected);
    assert_eq!(expected.len(), 41);
}

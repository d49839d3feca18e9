//! Timeouts, budgets, liveness, and the request to finish.

use std::sync::Arc;

use wacp::{
    Command, Event, Principal, Refusal,
    checkpoint::NewCheckpoint,
    content::Content,
    id::WorkspaceId,
    signal::SignalType,
    state::Slot,
    workspace::{
        NewWorkspace, WindDown,
        budget::{Budget, Dimension, Usage},
        lifecycle::{Reason, State},
    },
};

use crate::world::{ROOT, SECOND, World, artifact, text};

fn reason(world: &World, id: WorkspaceId) -> Option<Reason> {
    match world.run.workspace(id) {
        Some(Slot::Ended(ended)) => ended.reason,
        _ => None,
    }
}

fn timed(world: &mut World, seconds: u64) -> WorkspaceId {
    let new = NewWorkspace {
        timeout_us: seconds * SECOND as u64,
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    world.direct(id);
    id
}

fn limited(world: &mut World, budget: Budget, metered: bool) -> WorkspaceId {
    let new = NewWorkspace {
        budget,
        metered,
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    world.direct(id);
    id
}

#[test]
fn the_timeout_counts_active_blocked_and_conflicted_and_never_starts_anew() {
    let mut world = World::open();
    let id = timed(&mut world, 100);
    world.pass(40 * SECOND);
    world.emit(id, SignalType::Blocked);
    world.pass(40 * SECOND);
    world.emit(id, SignalType::Started);
    world.ok(
        Principal::Coordinator,
        Command::Suspend {
            workspace: id,
            reason: text("r"),
        },
    );
    world.pass(10_000 * SECOND);
    world.ok(Principal::Coordinator, Command::Resume { workspace: id });
    let migrate = Command::Migrate {
        workspace: id,
        new_agent: text("b"),
        reason: text("r"),
    };
    world.ok(Principal::Coordinator, migrate);
    world.pass(10_000 * SECOND);
    world.ok(
        Principal::Runtime,
        Command::CompleteMigration { workspace: id },
    );
    world.pass(19 * SECOND);
    assert_eq!(world.state(id), State::Active);
    world.pass(2 * SECOND);
    assert_eq!(reason(&world, id), Some(Reason::Timeout));
}

#[test]
fn an_idle_workspace_that_nobody_directs_times_out_by_itself() {
    let mut world = World::open();
    let id = world.idle();
    world.pass(599 * SECOND);
    assert_eq!(world.state(id), State::Idle);
    world.pass(2 * SECOND);
    assert_eq!(reason(&world, id), Some(Reason::Timeout));
}

#[test]
fn complete_before_the_timeout_wins_and_after_it_is_only_recorded() {
    let mut world = World::open();
    let id = timed(&mut world, 100);
    world.now.0 += 99 * SECOND;
    world.emit(id, SignalType::Complete);
    world.pass(1000 * SECOND);
    assert_eq!(
        world.state(id),
        State::Integrating,
        "the timeout is cancelled"
    );

    let id = timed(&mut world, 100);
    world.now.0 += 101 * SECOND;
    let complete = crate::world::emission(SignalType::Complete);
    assert_eq!(
        world.refused(Principal::Agent(id), complete.clone()),
        Refusal::DueFirst
    );
    // An abort does not wait, not even for the timeout.
    let other = world.attempt(
        Principal::Coordinator,
        Command::Abort {
            workspace: id,
            reason: None,
        },
    );
    assert!(other.is_ok());
    assert_eq!(reason(&world, id), Some(Reason::AbortedByCoordinator));
    world.pass(0);
    world.ok(Principal::Agent(id), complete);
    assert_eq!(world.state(id), State::Failed);
}

/// Each measure: what uses it up, and in what steps.
#[test]
fn every_dimension_warns_at_eighty_percent_and_stops_at_the_limit() {
    for dimension in Dimension::ALL {
        let mut world = World::open();
        let mut budget = Budget::default();
        let limit = if dimension == Dimension::WallTime {
            100 * SECOND as u64
        } else {
            100
        };
        *budget.limit_mut(dimension) = Some(limit);
        let metered = dimension != Dimension::CheckpointBytes;
        let new = NewWorkspace {
            budget,
            metered,
            ..world.worker_of(ROOT)
        };
        let id = world.create(new);
        let first = wacp::envelope::NewEnvelope::to(
            id,
            wacp::role::EnvelopeType::Directive,
            Content {
                bytes: 1,
                ..Content::markdown("")
            },
        );
        world.ok(Principal::Coordinator, Command::Send(Box::new(first)));
        let mut levels = Vec::new();
        for step in [79u64, 80, 99, 100] {
            use_up(&mut world, id, dimension, step);
            levels.push((world.count("budget_warning"), world.state(id)));
        }
        use State::{Active, Failed};
        assert_eq!(
            levels,
            [(0, Active), (1, Active), (1, Active), (1, Failed)],
            "{dimension:?}"
        );
        assert_eq!(reason(&world, id), Some(Reason::BudgetExceeded));
        let exceeded = world.entries.iter().find_map(|entry| match &entry.event {
            Event::BudgetExceeded(e) => Some((e.dimension, e.limit)),
            _ => None,
        });
        assert_eq!(exceeded, Some((dimension, limit)));
    }
}

/// Brings consumption to `level` percent.
fn use_up(world: &mut World, id: WorkspaceId, dimension: Dimension, level: u64) {
    let used = |world: &World| {
        let open = world.run.open(id).unwrap();
        open.meter.as_deref().unwrap().used[dimension as usize]
    };
    match dimension {
        Dimension::Tokens | Dimension::Context | Dimension::Cost | Dimension::TrailBytes => {
            let mut totals = Usage::default();
            let by = match dimension {
                Dimension::TrailBytes => Principal::Runtime,
                _ => Principal::Meter,
            };
            match dimension {
                Dimension::Tokens => totals.tokens = level,
                Dimension::Context => totals.context = level,
                Dimension::Cost => totals.cost_micros = level,
                _ => totals.trail_bytes = level,
            }
            world.ok(
                by,
                Command::MeterUsage {
                    workspace: id,
                    totals,
                },
            );
        }
        Dimension::WallTime => {
            let open = world.run.open(id).unwrap();
            let until = open.since.0 - open.wall_us as i64 + level as i64 * SECOND;
            let envelope = wacp::id::EnvelopeId(world.run.next.envelopes - 1);
            let _ = world.attempt(
                Principal::Runtime,
                Command::Acknowledge {
                    workspace: id,
                    envelope,
                },
            );
            world.pass(until - world.now.0);
        }
        Dimension::CheckpointBytes => {
            let more = (level - used(world)) as usize;
            world.checkpoint(id, vec![artifact("src/a", None, &"x".repeat(more))]);
        }
        Dimension::NetworkBytes => {
            let bytes = level - used(world);
            let new = wacp::envelope::NewEnvelope::to(
                id,
                wacp::role::EnvelopeType::Feedback,
                Content {
                    bytes,
                    ..Content::markdown("")
                },
            );
            world.ok(Principal::Coordinator, Command::Send(Box::new(new)));
        }
    }
}

#[test]
fn a_childs_use_counts_for_everyone_above_it() {
    let mut world = World::open();
    let top = {
        let new = NewWorkspace {
            delegate: true,
            budget: Budget {
                token_limit: Some(100),
                ..Budget::default()
            },
            metered: true,
            ..world.worker_of(ROOT)
        };
        let id = world.create(new);
        world.direct(id);
        id
    };
    let child = WorkspaceId(world.run.next.workspaces);
    let new = NewWorkspace {
        budget: Budget {
            token_limit: Some(60),
            ..Budget::default()
        },
        metered: true,
        ..NewWorkspace::worker(top, "c")
    };
    world.ok(
        Principal::Agent(top),
        Command::CreateWorkspace(Box::new(new)),
    );
    let directive = wacp::envelope::NewEnvelope::to(
        child,
        wacp::role::EnvelopeType::Directive,
        Content::markdown("x"),
    );
    world.ok(Principal::Agent(top), Command::Send(Box::new(directive)));
    let measure = |world: &mut World, workspace, tokens| {
        let totals = Usage {
            tokens,
            ..Usage::default()
        };
        world.ok(Principal::Meter, Command::MeterUsage { workspace, totals })
    };
    measure(&mut world, child, 50);
    let meter = |world: &World, id: WorkspaceId| world.run.open(id).unwrap().meter.clone().unwrap();
    assert_eq!(
        meter(&world, top).used[0],
        50,
        "the parent has used what its child has"
    );
    assert_eq!(
        meter(&world, top).remaining(Dimension::Tokens, &world.measured.of(top)),
        Some(40)
    );
    // The child ends; what it did not use is the parent's again.
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: child,
            reason: None,
        },
    );
    assert_eq!(
        meter(&world, top).remaining(Dimension::Tokens, &world.measured.of(top)),
        Some(50)
    );
    // What the parent uses itself comes on top of what its child used.
    measure(&mut world, top, 49);
    assert_eq!(world.state(top), State::Active);
    measure(&mut world, top, 50);
    assert_eq!(reason(&world, top), Some(Reason::BudgetExceeded));
}

#[test]
fn what_was_used_below_every_threshold_is_told_at_the_end_and_never_given_back() {
    for with_checkpoint in [false, true] {
        let mut world = World::open();
        let tokens = |limit| Budget {
            token_limit: Some(limit),
            ..Budget::default()
        };
        let top = limited(&mut world, tokens(100), true);
        let new = NewWorkspace {
            budget: tokens(50),
            metered: true,
            ..world.worker_of(top)
        };
        let child = world.create(new);
        world.direct(child);
        let totals = Usage {
            tokens: 39,
            ..Usage::default()
        };
        let measured = Command::MeterUsage {
            workspace: child,
            totals,
        };
        let entries = world.ok(Principal::Meter, measured);
        assert!(entries.is_empty(), "no entry for each token");
        world.ok(Principal::Agent(child), Command::ReportUsage { totals });
        assert_eq!(world.count("resource_discrepancy"), 0, "an honest report");
        let used = |world: &World| {
            let meter = world.run.open(top).unwrap().meter.clone().unwrap();
            (
                meter.used[0],
                meter.remaining(Dimension::Tokens, &world.measured.of(top)),
            )
        };
        if with_checkpoint {
            world.checkpoint(child, vec![artifact("src/a", None, "x")]);
            assert_eq!(used(&world), (39, Some(50)));
        }
        world.ok(
            Principal::Coordinator,
            Command::Abort {
                workspace: child,
                reason: None,
            },
        );
        assert_eq!(used(&world), (39, Some(61)));
        assert_eq!(world.count("budget_warning"), 0);
    }
}

#[test]
fn what_arrives_together_is_counted_together() {
    let mut world = World::open();
    let budget = Budget {
        bandwidth_limit: Some(100),
        ..Budget::default()
    };
    let id = limited(&mut world, budget, false);
    world.ok(
        Principal::Coordinator,
        Command::Suspend {
            workspace: id,
            reason: text("r"),
        },
    );
    for _ in 0..3 {
        let new = wacp::envelope::NewEnvelope::to(
            id,
            wacp::role::EnvelopeType::Feedback,
            Content {
                bytes: 40,
                ..Content::markdown("")
            },
        );
        world.ok(Principal::Coordinator, Command::Send(Box::new(new)));
    }
    world.ok(Principal::Coordinator, Command::Resume { workspace: id });
    assert_eq!(world.count("budget_warning"), 1);
    assert_eq!(world.count("budget_exceeded"), 1);
    assert_eq!(reason(&world, id), Some(Reason::BudgetExceeded));
}

#[test]
fn limits_are_raised_and_never_lowered() {
    let mut world = World::open();
    let id = limited(
        &mut world,
        Budget {
            token_limit: Some(100),
            ..Budget::default()
        },
        true,
    );
    let raise = |limit| Command::RaiseBudget {
        workspace: id,
        dimension: Dimension::Tokens,
        limit,
    };
    let coordinator = Principal::Coordinator;
    assert_eq!(
        world.refused(coordinator, raise(100)),
        Refusal::NotAnIncrease
    );
    assert_eq!(
        world.refused(coordinator, raise(50)),
        Refusal::NotAnIncrease
    );
    let other = Command::RaiseBudget {
        workspace: id,
        dimension: Dimension::Cost,
        limit: 5,
    };
    assert_eq!(world.refused(coordinator, other), Refusal::NoLimit);
    let totals = Usage {
        tokens: 90,
        ..Usage::default()
    };
    world.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: id,
            totals,
        },
    );
    world.ok(coordinator, raise(200));
    let totals = Usage {
        tokens: 150,
        ..Usage::default()
    };
    world.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: id,
            totals,
        },
    );
    assert_eq!(world.state(id), State::Active);
}

#[test]
fn where_someone_counts_the_agents_own_numbers_are_only_compared() {
    let mut world = World::open();
    let budget = Budget {
        token_limit: Some(100),
        ..Budget::default()
    };
    let metered = limited(&mut world, budget, true);
    let totals = Usage {
        tokens: 85,
        ..Usage::default()
    };
    world.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: metered,
            totals,
        },
    );
    let claim = Usage {
        tokens: 10,
        ..Usage::default()
    };
    let entries = world.ok(
        Principal::Agent(metered),
        Command::ReportUsage { totals: claim },
    );
    assert!(
        matches!(&entries[0].event, Event::ResourceDiscrepancy(e) if e.measured == 85 && e.reported == 10)
    );
    let own = limited(&mut world, budget, false);
    let checkpoint = NewCheckpoint {
        resource_usage: Some(Usage {
            tokens: 85,
            ..Usage::default()
        }),
        ..NewCheckpoint::last(None, vec![])
    };
    let entries = world.ok(
        Principal::Agent(own),
        Command::CreateCheckpoint(Box::new(checkpoint)),
    );
    assert!(World::types(&entries).contains(&"budget_warning"));
    let totals = Usage {
        tokens: 100,
        ..Usage::default()
    };
    world.ok(Principal::Agent(own), Command::ReportUsage { totals });
    assert_eq!(reason(&world, own), Some(Reason::BudgetExceeded));
    let foreign = Command::MeterUsage {
        workspace: metered,
        totals,
    };
    assert_eq!(
        world.refused(Principal::Agent(metered), foreign),
        Refusal::PermissionDenied
    );
}

#[test]
fn silence_is_warned_about_again_and_again_and_never_fatal() {
    let mut world = World::open();
    let new = NewWorkspace {
        liveness_us: Some(300 * SECOND as u64),
        timeout_us: 1800 * SECOND as u64,
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    world.direct(id);
    world.pass(1790 * SECOND);
    assert_eq!(world.count("liveness_warning"), 5);
    assert_eq!(world.state(id), State::Active);
    world.pass(20 * SECOND);
    assert_eq!(reason(&world, id), Some(Reason::Timeout));
}

#[test]
fn a_request_to_finish_is_answered_with_complete_or_ends_the_workspace() {
    let terminate = |workspace| {
        let words = Content::markdown("please finish");
        let period = 30 * SECOND as u64;
        let request = WindDown::of(workspace, period, text("enough"), words);
        Command::TerminateGracefully(Box::new(request))
    };
    let mut world = World::open();
    let (slow, quick) = (world.active(), world.active());
    for id in [slow, quick] {
        let entries = world.ok(Principal::Coordinator, terminate(id));
        assert_eq!(
            World::types(&entries),
            [
                "graceful_termination_initiated",
                "envelope_created",
                "envelope_delivered"
            ]
        );
    }
    let saved = world.checkpoint(slow, vec![artifact("src/a", None, "1")]);
    world.checkpoint(quick, vec![]);
    world.emit(quick, SignalType::Complete);
    world.pass(31 * SECOND);
    assert_eq!(world.state(quick), State::Integrating);
    assert_eq!(
        reason(&world, slow),
        Some(Reason::GracefulTerminationExpired)
    );
    let partial = world.entries.iter().find_map(|entry| match &entry.event {
        Event::GracefulTerminationExpired(e) => e.partial_checkpoint,
        _ => None,
    });
    assert_eq!(partial, Some(saved));
}

#[test]
fn priority_and_visibility_change_and_authority_is_frozen() {
    let mut world = World::open();
    let id = world.active();
    let more = Command::GrantAuthority {
        workspace: id,
        resources: Arc::from([text("etc/")]),
    };
    assert_eq!(
        world.refused(Principal::Coordinator, more),
        Refusal::InvalidState
    );
    let priority = wacp::workspace::Band::Interactive;
    world.ok(
        Principal::Coordinator,
        Command::SetPriority {
            workspace: id,
            priority,
        },
    );
    assert_eq!(world.run.open(id).unwrap().priority, priority);
}

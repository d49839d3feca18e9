//! Merging: strategies, overlaps, conflicts, and what is saved from a wreck.

use std::sync::Arc;

use wacp::{
    Command, Event, Principal, Refusal,
    checkpoint::{Confidence, NewCheckpoint, Status},
    content::Content,
    event::{Aborted, Damaged},
    gate::config::{Fallback, Highway, SHORT_US},
    id::{CheckpointId, ConflictId, WorkspaceId},
    integration::{Acceptance, ConflictType, Declared, Mode, Resolution, Salvage, Strategy},
    integrity::Check,
    right::RightKind,
    role::CheckpointType,
    signal::SignalType,
    state::Slot,
    workspace::lifecycle::{Reason, State},
};

use crate::{
    orders::salvage,
    world::{ROOT, SECOND, World, artifact, text},
};

fn accept(world: &mut World, id: WorkspaceId, strategy: Strategy) -> Vec<&'static str> {
    let entries = world.ok(
        Principal::Coordinator,
        Command::Accept(Box::new(Acceptance::of(id, strategy))),
    );
    World::types(&entries)
}

fn conflicts(world: &World, id: WorkspaceId) -> Vec<(ConflictId, ConflictType)> {
    let merge = world.run.merges.get(&id);
    merge.map_or(vec![], |m| {
        m.open.iter().map(|c| (c.id, c.conflict_type)).collect()
    })
}

fn resolve(world: &mut World, id: WorkspaceId, conflict: ConflictId, resolution: Resolution) {
    let command = Command::ResolveConflict {
        workspace: id,
        conflict,
        resolution,
    };
    world.ok(Principal::Coordinator, command);
}

fn reason(world: &World, id: WorkspaceId) -> Option<Reason> {
    match world.run.workspace(id) {
        Some(Slot::Ended(ended)) => ended.reason,
        _ => None,
    }
}

#[test]
fn a_clean_merge_closes_the_workspace_and_the_parent_holds_the_work() {
    for strategy in [Strategy::Direct, Strategy::Layered, Strategy::Evaluated] {
        let mut world = World::open();
        let id = world.complete(vec![artifact("src/a", None, "1")]);
        assert_eq!(
            accept(&mut world, id, strategy),
            [
                "signal_emitted",
                "integration_started",
                "integration_completed",
                "workspace_state_changed"
            ]
        );
        assert_eq!(world.state(id), State::Closed);
        let held = world.run.merged[&(ROOT, text("src/a"))];
        assert_eq!((held.hash, held.source), (artifact("", None, "1").hash, id));
    }
}

/// One resource was merged as "1". What the next workspace did to it, and
/// whether that overlaps: the same start, the same end, or neither.
#[test]
fn an_overlap_is_a_change_from_something_else_than_what_is_there() {
    let cases = [
        ("made on top of it", Some("1"), "2", false),
        ("led to the same", None, "1", false),
        ("started from nothing", None, "2", true),
        ("started from something older", Some("0"), "2", true),
    ];
    for strategy in [Strategy::Direct, Strategy::Layered, Strategy::Evaluated] {
        for (what, base, content, overlaps) in cases {
            let mut world = World::open();
            let first = world.complete(vec![artifact("src/a", None, "1")]);
            accept(&mut world, first, Strategy::Direct);
            let second = world.complete(vec![
                artifact("src/a", base, content),
                artifact("src/b", None, "9"),
            ]);
            accept(&mut world, second, strategy);
            let found = overlaps && strategy != Strategy::Direct;
            let expected = if found {
                State::Conflicted
            } else {
                State::Closed
            };
            assert_eq!(world.state(second), expected, "{strategy:?}, {what}");
            if found {
                assert_eq!(
                    conflicts(&world, second),
                    [(ConflictId(0), ConflictType::ContentOverlap)]
                );
            }
        }
    }
}

/// Strategy × conflict type (§7.5, §7.7): may the coordinator declare it?
#[test]
fn a_strategy_finds_only_what_it_can() {
    use ConflictType as C;
    let others = [
        C::SemanticContradiction,
        C::DependencyViolation,
        C::ConstraintBreach,
    ];
    for strategy in [Strategy::Direct, Strategy::Layered, Strategy::Evaluated] {
        for conflict_type in others.into_iter().chain([C::ContentOverlap]) {
            let mut world = World::open();
            let id = world.complete(vec![]);
            let declared = Declared {
                conflict_type,
                description: text("d"),
                resource: None,
            };
            let acceptance = Acceptance {
                conflicts: vec![declared],
                ..Acceptance::of(id, strategy)
            };
            let result = world.attempt(
                Principal::Coordinator,
                Command::Accept(Box::new(acceptance)),
            );
            // Overlaps are computed and never declared.
            let may = strategy == Strategy::Evaluated && conflict_type != C::ContentOverlap;
            let expected = if may {
                Ok(())
            } else {
                Err(Refusal::StrategyCannotDetect)
            };
            assert_eq!(
                result.map(|_| ()),
                expected,
                "{strategy:?} {conflict_type:?}"
            );
        }
    }
}

#[test]
fn all_conflicts_must_be_settled_before_the_workspace_closes() {
    let mut world = World::open();
    let id = world.complete(vec![]);
    let declared = |conflict_type| Declared {
        conflict_type,
        description: text("d"),
        resource: None,
    };
    let acceptance = Acceptance {
        conflicts: vec![
            declared(ConflictType::SemanticContradiction),
            declared(ConflictType::ConstraintBreach),
        ],
        ..Acceptance::of(id, Strategy::Evaluated)
    };
    world.ok(
        Principal::Coordinator,
        Command::Accept(Box::new(acceptance)),
    );
    let content = Content::markdown("ours");
    resolve(
        &mut world,
        id,
        ConflictId(0),
        Resolution::CoordinatorResolve(content),
    );
    assert_eq!(world.state(id), State::Conflicted);
    resolve(
        &mut world,
        id,
        ConflictId(1),
        Resolution::CoordinatorResolve(content),
    );
    assert_eq!(world.state(id), State::Closed);
    assert_eq!(world.count("conflict_resolved"), 2);
}

#[test]
fn one_rework_fails_the_whole_workspace() {
    let mut world = World::open();
    let id = world.in_state(State::Conflicted);
    resolve(&mut world, id, ConflictId(0), Resolution::AgentRework);
    assert_eq!(reason(&world, id), Some(Reason::AgentRework));
    assert_eq!(world.count("integration_aborted"), 1);
}

#[test]
fn merges_into_one_parent_happen_one_at_a_time() {
    let mut world = World::open();
    let first = world.in_state(State::Conflicted);
    let second = world.complete(vec![]);
    let command = Command::Accept(Box::new(Acceptance::of(second, Strategy::Direct)));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::IntegrationUnderWay
    );
    resolve(
        &mut world,
        first,
        ConflictId(0),
        Resolution::CoordinatorResolve(Content::markdown("x")),
    );
    accept(&mut world, second, Strategy::Direct);
}

#[test]
fn revise_and_reject_fail_with_their_reason_and_nothing_is_merged() {
    for (command, expected) in [
        (
            (|workspace| Command::Revise { workspace }) as fn(_) -> _,
            Reason::RevisionRequired,
        ),
        (|workspace| Command::Reject { workspace }, Reason::Rejected),
    ] {
        let mut world = World::open();
        let id = world.complete(vec![artifact("src/a", None, "1")]);
        world.ok(Principal::Coordinator, command(id));
        assert_eq!(reason(&world, id), Some(expected));
        assert!(world.run.merged.is_empty());
    }
}

#[test]
fn only_the_most_recent_final_checkpoint_is_integrated() {
    let mut world = World::open();
    let id = world.active();
    let none = Command::Accept(Box::new(Acceptance::of(id, Strategy::Direct)));
    let first = world.checkpoint(id, vec![artifact("src/a", None, "1")]);
    let draft = NewCheckpoint {
        status: Status::Provisional,
        ..NewCheckpoint::last(Some(first), vec![artifact("src/a", None, "2")])
    };
    world.ok(
        Principal::Agent(id),
        Command::CreateCheckpoint(Box::new(draft)),
    );
    world.emit(id, SignalType::Complete);
    world.ok(Principal::Coordinator, none);
    assert_eq!(
        world.run.merged[&(ROOT, text("src/a"))].hash,
        artifact("", None, "1").hash
    );

    let id = world.active();
    world.emit(id, SignalType::Complete);
    let command = Command::Accept(Box::new(Acceptance::of(id, Strategy::Direct)));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::NoFinalCheckpoint
    );
}

#[test]
fn a_checkpoint_is_refused_for_each_reason_and_the_refusal_is_recorded() {
    let mut world = World::open();
    let id = world.active();
    let head = world.checkpoint(id, vec![]);
    let good = NewCheckpoint::last(Some(head), vec![]);
    let cases = [
        (
            NewCheckpoint {
                parent: None,
                ..good.clone()
            },
            Refusal::NotChainHead,
        ),
        (
            NewCheckpoint {
                parent: Some(CheckpointId(99)),
                ..good.clone()
            },
            Refusal::NotChainHead,
        ),
        (
            NewCheckpoint {
                checkpoint_type: CheckpointType::Observation,
                ..good.clone()
            },
            Refusal::PermissionDenied,
        ),
        (
            NewCheckpoint {
                checkpoint_type: CheckpointType::Registered(0),
                ..good.clone()
            },
            Refusal::PermissionDenied,
        ),
        (
            NewCheckpoint {
                checkpoint_type: CheckpointType::Registered(9),
                ..good.clone()
            },
            Refusal::InvalidType,
        ),
        (
            NewCheckpoint {
                artifacts: Arc::from([artifact("etc/passwd", None, "x")]),
                ..good.clone()
            },
            Refusal::OutsideAuthority,
        ),
        (
            NewCheckpoint {
                check: Check::Invalid,
                ..good.clone()
            },
            Refusal::IntegrityViolation,
        ),
        (
            NewCheckpoint {
                artifacts: vec![artifact("src/a", None, "x"); 5000].into(),
                ..good.clone()
            },
            Refusal::TooManyArtifacts,
        ),
    ];
    for (new, expected) in cases {
        let refused = world.refused(
            Principal::Agent(id),
            Command::CreateCheckpoint(Box::new(new)),
        );
        assert_eq!(refused, expected);
        assert_eq!(world.last_types(1), ["checkpoint_rejected"]);
    }
    // The coordinator makes none; confidence is never a reason.
    let own = NewCheckpoint::last(None, vec![]);
    let refused = world.refused(
        Principal::Coordinator,
        Command::CreateCheckpoint(Box::new(own)),
    );
    assert_eq!(refused, Refusal::PermissionDenied);
    let low = NewCheckpoint {
        confidence: Confidence::Low,
        ..good
    };
    let entries = world.ok(
        Principal::Agent(id),
        Command::CreateCheckpoint(Box::new(low)),
    );
    assert_eq!(
        World::types(&entries),
        ["checkpoint_created", "signal_emitted", "signal_delivered"]
    );
}

#[test]
fn a_checkpoint_that_no_longer_verifies_is_not_integrated() {
    let mut world = World::open();
    let id = world.complete(vec![artifact("src/a", None, "1")]);
    let acceptance = Acceptance {
        check: Check::Invalid,
        ..Acceptance::of(id, Strategy::Direct)
    };
    world.ok(
        Principal::Coordinator,
        Command::Accept(Box::new(acceptance)),
    );
    assert_eq!(reason(&world, id), Some(Reason::IntegrityViolation));
    assert!(world.run.merged.is_empty());
    assert_eq!(
        (
            world.count("integrity_violation"),
            world.count("integration_aborted")
        ),
        (1, 1)
    );
    let failed = world.in_state(State::Failed);
    let subject = Damaged::Checkpoint(CheckpointId(99));
    let unknown = Command::ReportViolation {
        workspace: failed,
        subject,
    };
    assert_eq!(
        world.refused(Principal::Runtime, unknown),
        Refusal::UnknownCheckpoint
    );
}

#[test]
fn a_conflict_left_alone_ends_with_the_workspaces_time() {
    let mut world = World::open();
    let id = world.in_state(State::Conflicted);
    world.pass(3601 * SECOND);
    assert_eq!(reason(&world, id), Some(Reason::ConflictTimeout));
    assert!(world.run.merges.is_empty() && world.run.merge_targets.is_empty());
}

#[test]
fn salvage_has_its_three_guardrails_and_wakes_nobody() {
    let mut world = World::open();
    let id = world.active();
    let confident = NewCheckpoint {
        confidence: Confidence::High,
        status: Status::Provisional,
        ..NewCheckpoint::last(None, vec![artifact("src/a", None, "1")])
    };
    world.ok(
        Principal::Agent(id),
        Command::CreateCheckpoint(Box::new(confident)),
    );
    world.emit(id, SignalType::Failed);
    for strategy in [Strategy::Direct, Strategy::Layered] {
        let command = Command::Salvage(Box::new(Salvage {
            strategy,
            ..salvage(id)
        }));
        assert_eq!(
            world.refused(Principal::Coordinator, command),
            Refusal::SalvageNeedsEvaluated
        );
    }
    let entries = world.ok(
        Principal::Coordinator,
        Command::Salvage(Box::new(salvage(id))),
    );
    for entry in &entries {
        match &entry.event {
            Event::IntegrationStarted(e) => {
                assert_eq!((e.mode, e.confidence), (Mode::Salvage, Confidence::Low));
            }
            Event::IntegrationCompleted(e) => assert_eq!(e.mode, Mode::Salvage),
            _ => {}
        }
    }
    assert_eq!(world.state(id), State::Failed, "the workspace stays failed");
    assert!(world.run.merged.contains_key(&(ROOT, text("src/a"))));
    let nothing = world.active();
    world.emit(nothing, SignalType::Failed);
    let command = Command::Salvage(Box::new(salvage(nothing)));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::NothingToSalvage
    );
}

#[test]
fn a_salvage_can_be_given_up_and_can_conflict() {
    let mut world = World::open();
    let id = world.in_state(State::Failed);
    let useless = Salvage {
        usable: false,
        ..salvage(id)
    };
    let entries = world.ok(Principal::Coordinator, Command::Salvage(Box::new(useless)));
    let aborted = entries.iter().find_map(|entry| match &entry.event {
        Event::IntegrationAborted(e) => Some((e.mode, e.reason)),
        _ => None,
    });
    assert_eq!(aborted, Some((Mode::Salvage, Aborted::Unusable)));
    let merged = world.complete(vec![artifact("src/a", None, "other")]);
    accept(&mut world, merged, Strategy::Direct);
    world.ok(
        Principal::Coordinator,
        Command::Salvage(Box::new(salvage(id))),
    );
    let found = conflicts(&world, id);
    assert_eq!(found.len(), 1);
    let content = Content::markdown("both");
    resolve(
        &mut world,
        id,
        found[0].0,
        Resolution::CoordinatorResolve(content),
    );
    assert_eq!(world.state(id), State::Failed);
    assert!(world.run.merges.is_empty());
}

#[test]
fn a_synthesis_takes_the_place_of_the_artifacts() {
    let mut world = World::open();
    let id = world.complete(vec![artifact("src/a", None, "1")]);
    let synthesis: Arc<[_]> = Arc::from([
        artifact("src/a", None, "woven"),
        artifact("src/b", None, "new"),
    ]);
    let with = |strategy| Acceptance {
        synthesis: Some(synthesis.clone()),
        ..Acceptance::of(id, strategy)
    };
    let wrong = Command::Accept(Box::new(with(Strategy::Layered)));
    assert_eq!(
        world.refused(Principal::Coordinator, wrong),
        Refusal::InvalidStructure
    );
    world.ok(
        Principal::Coordinator,
        Command::Accept(Box::new(with(Strategy::Evaluated))),
    );
    assert_eq!(
        world.run.merged[&(ROOT, text("src/a"))].hash,
        artifact("", None, "woven").hash
    );
    assert!(world.run.merged.contains_key(&(ROOT, text("src/b"))));
}

/// A failed workspace whose salvage into `target` waits for its conflict.
fn salvaging(world: &mut World, target: WorkspaceId) -> WorkspaceId {
    let new = world.worker_of(target);
    let id = world.create(new);
    let right = Command::CreateRight {
        holder: ROOT,
        target: id,
        kind: RightKind::Send,
    };
    world.ok(Principal::Coordinator, right);
    world.direct(id);
    world.checkpoint(id, vec![artifact("src/a", None, "1")]);
    world.emit(id, SignalType::Failed);
    let declared = Declared {
        conflict_type: ConflictType::ConstraintBreach,
        description: text("too large"),
        resource: None,
    };
    let command = Command::Salvage(Box::new(Salvage {
        conflicts: vec![declared],
        ..salvage(id)
    }));
    world.ok(Principal::Coordinator, command);
    assert!(world.run.merges.contains_key(&id));
    id
}

#[test]
fn a_salvage_ends_with_the_work_it_would_have_gone_into() {
    let mut world = World::open();
    let target = world.active();
    world.checkpoint(target, vec![artifact("src/b", None, "1")]);
    salvaging(&mut world, target);
    world.emit(target, SignalType::Complete);
    assert!(world.run.merges.is_empty() && world.run.merge_targets.is_empty());
    assert_eq!(world.count("integration_aborted"), 1);
    assert_eq!(world.count("conflict_resolved"), 1);
}

#[test]
fn a_salvage_ends_with_the_run() {
    let mut world = World::open();
    salvaging(&mut world, ROOT);
    world.ok(Principal::Runtime, Command::ShutDown { forced: false });
    assert!(world.run.merges.is_empty() && world.run.merge_targets.is_empty());
    assert_eq!(world.count("integration_aborted"), 1);
}

/// WACP §8.4: a question that has become idle is answered by the runtime.
#[test]
fn a_conflict_that_is_settled_one_way_is_not_asked_about_another_way() {
    let mut highway = Highway::open();
    highway.conflict_resolution.enabled = true;
    highway.conflict_resolution.fallback = Fallback::EscalateToCoordinator;
    let mut world = World::with(highway);
    let id = world.in_state(State::Conflicted);
    let conflict = conflicts(&world, id)[0].0;
    let content = Content::markdown("both");
    resolve(&mut world, id, conflict, Resolution::Escalate(content));
    let first = world.last_gate();
    world.pass(SHORT_US as i64 + SECOND);
    assert!(world.run.escalated_gates.contains_key(&first));
    let other = Resolution::CoordinatorResolve(content);
    resolve(&mut world, id, conflict, other);
    assert_ne!(world.last_gate(), first);
    let decide = Command::DecideGate {
        gate: first,
        proceed: true,
    };
    world.ok(Principal::Coordinator, decide);
    assert_eq!(world.state(id), State::Closed);
    assert!(world.run.gates.is_empty());
}

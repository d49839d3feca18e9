//! After a crash; the archive; and questions to the trail.

use trail::{Hash, Micros};
use wacp::{
    Actor, Command, Entry, Event, Principal, Refusal, Run, apply,
    command::Compaction,
    compaction::{Tier, is_essential, tier},
    content::Content,
    envelope::NewEnvelope,
    event::{RecoveryCompleted, Resolver},
    gate::{Answer, config::Highway},
    id::{Party, WorkspaceId},
    integration::{Acceptance, Strategy},
    query::{
        Filter, Fold, Reader,
        access::{self, Scope},
        figures::{GroupBy, Groups, Sum, Timeline},
        views::{self, HighwayActivity, KnownFields, Messages, Moment, Overview},
    },
    recovery::{Halt, rebuild},
    role::EnvelopeType,
    signal::SignalType,
    workspace::{
        NewWorkspace,
        budget::{Budget, Usage},
        lifecycle::State,
    },
};

use crate::world::{ROOT, SECOND, World, artifact, text};

fn busy() -> World {
    let mut world = World::open();
    world.complete(vec![artifact("src/a", None, "1")]);
    let id = world.active();
    world.emit(id, SignalType::Blocked);
    world.in_state(State::Closed);
    world.in_state(State::Failed);
    world
}

fn recover(world: &mut World, downtime_us: u64) -> Vec<Entry> {
    let command = Command::Recover {
        downtime_us,
        examined: 9,
        quarantined: 0,
    };
    world.ok(Principal::Runtime, command)
}

#[test]
fn a_sound_trail_rebuilds_the_run() {
    let world = busy();
    let rebuilt = rebuild(&world.entries).unwrap();
    assert!(rebuilt.run == world.run);
    assert_eq!(
        (rebuilt.examined, rebuilt.quarantined.len()),
        (world.entries.len() as u64, 0)
    );
}

#[test]
fn unsound_entries_are_set_aside_and_a_broken_trail_stops_everything() {
    let world = busy();
    let good = world.entries.clone();
    type Damage = (&'static str, fn(&mut Vec<Entry>));
    let damage: [Damage; 3] = [
        ("time goes backwards", |entries| {
            let at = entries.len() - 1;
            entries[at].time = Micros(1);
        }),
        ("a transition that is not in the table", |entries| {
            for entry in entries.iter_mut().rev() {
                if let Event::WorkspaceStateChanged(e) = &mut entry.event {
                    e.to_state = State::Idle;
                    return;
                }
            }
        }),
        ("something about a workspace that never was", |entries| {
            let at = entries.len() - 1;
            entries[at].event = wacp::event::PortRightRevoked {
                holder: WorkspaceId(99),
                kind: wacp::right::RightKind::Send,
                right: wacp::id::RightId(0),
                target: ROOT,
            }
            .into();
            entries[at].workspace = Some(WorkspaceId(99));
        }),
    ];
    for (what, change) in damage {
        let mut entries = good.clone();
        change(&mut entries);
        let rebuilt = rebuild(&entries).unwrap_or_else(|halt| panic!("{what}: {halt}"));
        assert!(!rebuilt.quarantined.is_empty(), "{what}");
    }
    assert_eq!(rebuild(&good[1..]).unwrap_err(), Halt::NoBeginning);
    assert_eq!(rebuild(&[]).unwrap_err(), Halt::NoBeginning);
    let without: Vec<Entry> = good
        .iter()
        .filter(|entry| !matches!(&entry.event, Event::WorkspaceCreated(e) if e.workspace == WorkspaceId(1)))
        .cloned()
        .collect();
    assert!(matches!(rebuild(&without), Err(Halt::LostCreation(_))));
    let mut broken = good.clone();
    let last = good[good.len() - 1].clone();
    broken.extend(std::iter::repeat_n(last, 60));
    assert!(matches!(rebuild(&broken), Err(Halt::TooMuchDamage(..))));
}

/// A crash between any two entries: what was announced is made good.
#[test]
fn a_crash_at_any_point_is_recovered_and_recovering_twice_changes_nothing_more() {
    let full = busy();
    for cut in 1..full.entries.len() {
        let mut world = World::open();
        world.entries = full.entries[..cut].to_vec();
        world.run = rebuild(&world.entries).unwrap().run;
        world.now = Micros(full.now.0 + SECOND);
        if world.run.setup.is_none() {
            continue;
        }
        recover(&mut world, 5);
        assert!(world.run.owed.is_empty(), "cut at {cut}");
        assert!(world.run.queued_signals.is_empty(), "cut at {cut}");
        let before = world.run.clone();
        assert_eq!(recover(&mut world, 0), [], "cut at {cut}");
        assert!(before == world.run, "cut at {cut}");
    }
}

#[test]
fn where_only_time_was_lost_recovery_names_the_downtime_and_nothing_else() {
    let mut world = busy();
    assert_eq!(recover(&mut world, 0), []);
    let entries = recover(&mut world, 5);
    let told = RecoveryCompleted {
        downtime_us: 5,
        ..RecoveryCompleted::default()
    };
    assert_eq!(World::types(&entries), ["recovery_completed"]);
    assert_eq!(entries[0].event, told.into());
}

#[test]
fn only_finished_workspaces_are_compacted_and_what_matters_stays() {
    let mut world = busy();
    let (open, closed) = (WorkspaceId(2), WorkspaceId(3));
    let done = |workspace| {
        Command::Compact(Compaction {
            workspace,
            archived: 3,
            preserved: 5,
            from: 2,
            to: 9,
            hash: Hash::ZERO,
        })
    };
    assert_eq!(
        world.refused(Principal::Runtime, done(open)),
        Refusal::NotTerminal
    );
    assert_eq!(
        world.refused(Principal::Coordinator, done(closed)),
        Refusal::PermissionDenied
    );
    world.ok(Principal::Runtime, done(closed));
    assert_eq!(tier(&world.run, Some(open)), Tier::Hot);
    assert_eq!(tier(&world.run, Some(closed)), Tier::Warm);
    assert_eq!(tier(&world.run, None), Tier::Hot);
    let kept = [
        "workspace_created",
        "checkpoint_created",
        "integration_completed",
        "integration_aborted",
    ];
    let moved = [
        "envelope_delivered",
        "signal_delivered",
        "priority_changed",
        "visibility_granted",
        "budget_warning",
    ];
    for entry in &world.entries {
        let name = entry.event.event_type();
        match &entry.event {
            Event::WorkspaceStateChanged(e) => {
                assert_eq!(is_essential(&entry.event), e.to_state.is_terminal())
            }
            event if kept.contains(&name) => assert!(is_essential(event), "{name}"),
            event if moved.contains(&name) => assert!(!is_essential(event), "{name}"),
            _ => {}
        }
    }
    let hash = Hash::of("state", &[&serde_json::to_vec(&world.run).unwrap()]);
    world.ok(
        Principal::Runtime,
        Command::RecordSnapshot { state_hash: hash },
    );
    world.ok(
        Principal::Runtime,
        Command::ReportDegradation {
            reason: text("disk"),
            coordinator_action: None,
            affected: [open].into(),
        },
    );
    assert_eq!(
        world.last_types(2),
        ["trail_snapshot_created", "system_degraded"]
    );
}

#[test]
fn the_trail_answers_by_every_dimension_and_all_conditions_hold_together() {
    let world = busy();
    let all = Scope::All;
    let reader = Reader::new(&world.run, &all);
    let count = |filter: Filter| reader.select(&filter, &world.entries).count();
    let total = world.entries.len();
    assert_eq!(count(Filter::default()), total);
    let id = WorkspaceId(1);
    let local = Filter {
        workspace: Some(id),
        ..Filter::default()
    };
    let own = world
        .entries
        .iter()
        .filter(|entry| entry.workspace == Some(id))
        .count();
    assert_eq!(count(local.clone()), own);
    let both = Filter {
        event_type: Some("workspace_state_changed"),
        ..local.clone()
    };
    assert_eq!(count(both), 2);
    let since = world.entries[total / 2].time;
    let split = count(Filter {
        from: Some(since),
        ..Filter::default()
    }) + count(Filter {
        until: Some(since),
        ..Filter::default()
    });
    assert_eq!(split, total);
    let owned = Filter {
        owner: Some(Party::User(world.ann)),
        ..Filter::default()
    };
    let system = Filter {
        owner: Some(Party::System),
        ..Filter::default()
    };
    let none = world
        .entries
        .iter()
        .filter(|entry| entry.workspace.is_none())
        .count();
    assert_eq!(count(owned) + count(system) + none, total);
    let caused = Filter {
        originator: Some(Party::System),
        ..Filter::default()
    };
    assert_eq!(count(caused) + none, total);
    let worked = Filter {
        role: Some(wacp::role::Role::Worker),
        ..Filter::default()
    };
    assert!(count(worked) > 0);
    let acted = Filter {
        actor: Some(Actor::System),
        ..Filter::default()
    };
    assert!(count(acted) > 0);
    let field = |path: &str, value: serde_json::Value| Filter {
        fields: vec![(path.to_owned(), value)],
        ..Filter::default()
    };
    assert_eq!(count(field("to_state", "integrating".into())), 2);
    assert_eq!(
        count(field("payload.format", "markdown".into())),
        world.count("envelope_created")
    );
    assert_eq!(count(field("no.such", 1.into())), 0);
    let read = || reader.read(&world.entries);
    let group = |by| Groups::new(&reader, by).over(read()).counts;
    let groups = group(GroupBy::EventType);
    assert_eq!(groups.values().sum::<u64>(), total as u64);
    assert_eq!(groups["workspace_created"], 5);
    assert!(group(GroupBy::Actor)["system"] > 0);
    assert!(group(GroupBy::Workspace).contains_key("w1"));
    assert!(Sum::of("payload.bytes").over(read()).total > 0);
    let spans = Timeline::every(60_000_000).over(read()).counts;
    assert_eq!(spans.values().sum::<u64>(), total as u64);
}

#[test]
fn a_reader_outside_its_scope_gets_nothing_and_that_is_recorded() {
    let mut world = busy();
    let (mine, other) = (WorkspaceId(1), WorkspaceId(2));
    let agent = Principal::Agent(mine);
    let scope = access::scope(&world.run, agent);
    let filter = Filter {
        workspace: Some(other),
        ..Filter::default()
    };
    let reader = Reader::new(&world.run, &scope);
    assert_eq!(reader.select(&filter, &world.entries).count(), 0);
    world.ok(
        agent,
        Command::ReadTrail {
            workspace: Some(mine),
        },
    );
    let refused = world.refused(
        agent,
        Command::ReadTrail {
            workspace: Some(other),
        },
    );
    assert_eq!(refused, Refusal::OutOfScope);
    assert_eq!(world.last_types(1), ["trail_access_denied"]);
    assert_eq!(
        world.refused(agent, Command::ReadTrail { workspace: None }),
        Refusal::OutOfScope
    );
    world.ok(
        Principal::Coordinator,
        Command::ReadTrail { workspace: None },
    );
    let observer = world.create(wacp::workspace::NewWorkspace {
        role: wacp::role::Role::Observer,
        visibility: [wacp::workspace::Seen::Workspace(other)].into(),
        ..world.worker_of(ROOT)
    });
    let watches = Principal::Agent(observer);
    world.ok(
        watches,
        Command::ReadTrail {
            workspace: Some(other),
        },
    );
    world.ok(
        watches,
        Command::ReadTrail {
            workspace: Some(observer),
        },
    );
    assert_eq!(
        world.refused(
            watches,
            Command::ReadTrail {
                workspace: Some(mine)
            }
        ),
        Refusal::OutOfScope
    );
}

#[test]
fn a_payload_is_read_by_sender_receiver_coordinator_and_people_who_see_them() {
    let world = busy();
    let (a, b) = (WorkspaceId(1), WorkspaceId(2));
    let may = |principal| access::may_read_payload(&world.run, principal, Some(a), b);
    for principal in [
        Principal::Agent(a),
        Principal::Agent(b),
        Principal::Coordinator,
        Principal::User(world.ann),
        Principal::User(world.bob),
    ] {
        assert!(may(principal), "{principal:?}");
    }
    for principal in [
        Principal::Agent(WorkspaceId(3)),
        Principal::Operator,
        Principal::Meter,
        Principal::User(wacp::id::UserId(9)),
    ] {
        assert!(!may(principal), "{principal:?}");
    }
}

#[test]
fn the_five_views_show_a_run() {
    let world = busy();
    let all = Scope::All;
    let reader = Reader::new(&world.run, &all);
    let read = || reader.read(&world.entries);
    let overview = Overview::of(&reader).over(read());
    assert_eq!(overview.workspaces[&State::Closed], 1);
    assert_eq!(overview.workspaces[&State::Failed], 1);
    assert_eq!(overview.entries, world.entries.len() as u64);
    let local = read().filter(|entry| entry.workspace == Some(WorkspaceId(1)));
    let changes: Vec<State> = local
        .filter_map(|entry| Moment::of(&entry).change.map(|(_, to, _)| to))
        .collect();
    assert_eq!(changes, [State::Active, State::Integrating]);
    let flow = Messages::at_most(99).over(read()).messages;
    assert_eq!(flow.len(), world.count("envelope_created"));
    assert!(
        flow.iter()
            .all(|message| message.delivered.is_some() && message.acknowledged.is_some())
    );
    let page = Messages::at_most(2).over(read());
    assert!(page.is_over() && page.messages == flow[..2]);
    let activity = HighwayActivity::default().over(read());
    assert_eq!((activity.injections, activity.gates.len()), (0, 0));
    let mut other = busy();
    let compared = |other: &World| {
        let second = Reader::new(&other.run, &all);
        views::compare((reader, read()), (second, second.read(&other.entries)))
    };
    assert_eq!(compared(&other).parted_at, None);
    let bob = other.bob;
    let wish = NewEnvelope::to(ROOT, EnvelopeType::Directive, Content::markdown("x"));
    other.ok(Principal::User(bob), Command::Inject(Box::new(wish)));
    let apart = compared(&other);
    assert_eq!(apart.parted_at, Some(world.entries.len() as u64));
    assert_eq!(apart.event_types["human_injection"], (0, 1));
    let second = Reader::new(&other.run, &all);
    let activity = HighwayActivity::default().over(second.read(&other.entries));
    assert_eq!(activity.acts[&bob], 1);
    let fields = KnownFields::default().over(read()).0;
    assert!(fields.contains("to_state"));
    let artifact = |number| read().find_map(|e| views::artifact(e, wacp::id::ArtifactId(number)));
    let (workspace, _, found) = artifact(0).unwrap();
    assert_eq!((workspace, &*found.resource), (WorkspaceId(1), "src/a"));
    assert!(artifact(99).is_none());
}

#[test]
fn a_local_trail_is_the_global_one_seen_from_a_workspace() {
    let world = busy();
    let mut last = std::collections::BTreeMap::new();
    for entry in &world.entries {
        if let Some(before) = last.insert(entry.workspace, entry.time) {
            assert!(before < entry.time);
        }
    }
    let mut run = Run::default();
    for entry in &world.entries {
        apply(&mut run, entry);
    }
    assert!(run == world.run);
}

/// What stands on a trail is numbered onwards: a number that was given out
/// already, or lies far beyond what a few lost entries explain, is not believed.
#[test]
fn a_number_that_goes_back_or_leaps_is_set_aside_and_a_small_gap_is_not() {
    let mut world = World::open();
    let id = world.active();
    world.emit(id, SignalType::Started);
    let first = world.entries.iter().find_map(|entry| match &entry.event {
        Event::SignalEmitted(e) => Some(e.signal),
        _ => None,
    });
    let last = world.run.next.signals;
    assert!(first.unwrap().0 < last);
    let leap = 1 << 16;
    for (number, stands) in [
        (first.unwrap().0, false),
        (last - 1, false),
        (last, true),
        (last + leap - 1, true),
        (last + leap, false),
        (u64::MAX, false),
    ] {
        let mut entries = world.entries.clone();
        let mut again = entries
            .iter()
            .rfind(|entry| matches!(entry.event, Event::SignalEmitted(_)))
            .unwrap()
            .clone();
        again.time = Micros(world.run.clock.0 + 1);
        if let Event::SignalEmitted(e) = &mut again.event {
            e.signal.0 = number;
        }
        entries.push(again);
        let rebuilt = rebuild(&entries).unwrap();
        let aside: &[u64] = match stands {
            true => &[],
            false => &[entries.len() as u64 - 1],
        };
        assert_eq!(rebuilt.quarantined, aside, "{number} after {last}");
    }
}

/// A merge of a workspace that, by what is left of the trail, never completed
/// is set aside with everything that stood on it.
#[test]
fn a_merge_without_its_completion_is_set_aside() {
    let mut world = World::open();
    let id = world.in_state(State::Conflicted);
    let mut entries = world.entries.clone();
    entries.retain(|entry| match &entry.event {
        Event::WorkspaceStateChanged(e) => e.to_state != State::Integrating,
        _ => true,
    });
    let rebuilt = rebuild(&entries).unwrap();
    assert!(!rebuilt.quarantined.is_empty());
    assert!(rebuilt.run.merges.is_empty());
    assert_eq!(rebuilt.run.state_of(id), Some(State::Active));
}

/// A merge that nobody answered for, begun so long after the run.
fn handed_over(later: i64) -> World {
    let mut world = World::with(Highway::supervised());
    world.now.0 += later;
    let id = world.complete(vec![artifact("src/a", None, "1")]);
    let accept = Acceptance::of(id, Strategy::Direct);
    world.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
    world.pass(3_600 * SECOND);
    assert_eq!(world.run.escalated_gates.len(), 1);
    world
}

#[test]
fn the_same_orders_at_another_hour_are_the_same_run() {
    let (early, late) = (handed_over(0), handed_over(3_600 * SECOND));
    let all = Scope::All;
    let (first, second) = (Reader::new(&early.run, &all), Reader::new(&late.run, &all));
    let compared = views::compare(
        (first, first.read(&early.entries)),
        (second, second.read(&late.entries)),
    );
    assert_eq!(compared.parted_at, None);
}

#[test]
fn a_question_that_was_handed_over_shows_what_the_coordinator_decided() {
    let mut world = handed_over(0);
    let gate = *world.run.escalated_gates.keys().next().unwrap();
    let line = |world: &World| {
        let all = Scope::All;
        let read = Reader::new(&world.run, &all).read(&world.entries);
        let activity = HighwayActivity::default().over(read);
        let (_, answer, by) = activity.gates[&gate].answered.unwrap();
        (answer, by)
    };
    let nobody = views::AnsweredBy::Resolver(Resolver::Fallback);
    assert_eq!(line(&world), (Answer::Reject, nobody));
    let proceed = true;
    world.ok(
        Principal::Coordinator,
        Command::DecideGate { gate, proceed },
    );
    let coordinator = views::AnsweredBy::Coordinator;
    assert_eq!(line(&world), (Answer::Approve, coordinator));
}

#[test]
fn a_view_shows_its_reader_their_part_and_no_more() {
    let mut world = busy();
    let other = world.create(NewWorkspace {
        owner: Some(world.bob),
        ..world.worker_of(ROOT)
    });
    let seen = |principal| {
        let scope = access::scope(&world.run, principal);
        let reader = Reader::new(&world.run, &scope);
        let view = Overview::of(&reader);
        let local = Filter {
            workspace: Some(other),
            ..Filter::default()
        };
        let moments = reader.select(&local, &world.entries).count();
        (view.workspaces.values().sum::<u32>(), moments)
    };
    let slots = world.run.workspaces.len() as u32;
    assert_eq!(seen(Principal::Coordinator).0, slots);
    // All but the root and bob's.
    assert_eq!(seen(Principal::User(world.ann)), (slots - 2, 0));
    assert_eq!(seen(Principal::User(wacp::id::UserId(9))), (0, 0));
    assert_eq!(seen(Principal::Agent(WorkspaceId(1))), (1, 0));
}

#[test]
fn what_was_turned_away_is_on_the_flow_and_what_was_measured_is_compared() {
    let mut world = World::open();
    let id = world.create(NewWorkspace {
        budget: Budget {
            token_limit: Some(1_000),
            ..Budget::default()
        },
        metered: true,
        ..world.worker_of(ROOT)
    });
    world.direct(id);
    let wish = NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("x"));
    world.refused(Principal::Agent(id), Command::Send(Box::new(wish)));
    let totals = Usage {
        tokens: 500,
        ..Usage::default()
    };
    let workspace = id;
    world.ok(Principal::Meter, Command::MeterUsage { workspace, totals });
    world.emit(id, SignalType::Failed);
    let all = Scope::All;
    let reader = Reader::new(&world.run, &all);
    let read = || reader.read(&world.entries);
    let flow = Messages::at_most(99).over(read()).messages;
    let refused: Vec<_> = flow.iter().filter(|message| message.refused).collect();
    assert_eq!((refused.len(), refused[0].envelope), (1, None));
    let compared = views::compare((reader, read()), (reader, read()));
    assert_eq!(compared.tokens, (500, 500));
}

#[test]
fn a_clock_that_was_at_the_end_of_time_leaves_room_for_what_follows() {
    let mut world = World::open();
    world.now = Micros(i64::MAX);
    while world.attempt(Principal::Runtime, Command::Tick).is_ok() {}
    let known = |name| Command::CreateUser { name: text(name) };
    world.ok(Principal::Operator, known("dan"));
    world.now = Micros(2_000 * SECOND);
    world.ok(Principal::Operator, known("eve"));
    let times = world.entries.windows(2);
    assert!(times.into_iter().all(|pair| pair[0].time < pair[1].time));
    let rebuilt = rebuild(&world.entries).unwrap();
    assert!(rebuilt.quarantined.is_empty() && rebuilt.run == world.run);
}

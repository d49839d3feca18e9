//! Random orders from everyone: whatever happens, replay gives the same run, a
//! snapshot and the rest gives the same run, and the invariants hold.

mod orders;
mod player;

use trail::Micros;
use wacp::{
    Command, Entry, Event, Order, Principal, Refusal, Run, apply,
    content::Content,
    decide,
    gate::{
        GateType,
        config::{Fallback, Highway},
    },
    id::{EnvelopeId, UserId, WorkspaceId},
    role::Taxonomy,
    signal::SignalType,
    user::Capability,
    workspace::{
        Deadline, Limits, NewRun,
        budget::Dimension,
        lifecycle::{State, is_allowed},
    },
};

use crate::world::text;
use player::{Dice, Player};

fn highway(dice: &mut Dice) -> Highway {
    let mut highway = dice.pick(&[
        Highway::open(),
        Highway::autonomous(),
        Highway::supervised(),
        Highway::gated(),
    ]);
    for kind in GateType::ALL {
        if dice.chance(20) {
            let gate = highway.gate_mut(kind);
            gate.enabled = !gate.enabled;
            gate.fallback = dice.pick(&[
                Fallback::Approve,
                Fallback::Reject,
                Fallback::EscalateToCoordinator,
            ]);
        }
    }
    highway
}

struct Played {
    run: Run,
    entries: Vec<Entry>,
    /// A copy taken on the way, and how many entries it had.
    snapshot: (String, usize),
}

fn play(seed: u64, steps: usize) -> Played {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut run = Run::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut now = Micros(1_000_000_000);
    let mut snapshot = (String::new(), 0);
    let mut begin = vec![
        Order::new(
            Principal::Runtime,
            Command::StartRun(Box::new(NewRun {
                agent: text("c"),
                directive: Content::markdown("goal"),
                highway: highway(&mut dice),
                limits: Limits {
                    max_open_workspaces: 60,
                    ..Limits::default()
                },
                taxonomy: Taxonomy::with_reviewer(),
            })),
        ),
        Order::new(
            Principal::Coordinator,
            Command::Emit {
                signal: SignalType::Ready,
                reason: None,
                reference: None,
            },
        ),
    ];
    for name in ["ann", "bob", "cid"] {
        begin.push(Order::new(
            Principal::Operator,
            Command::CreateUser { name: text(name) },
        ));
    }
    for capability in Capability::ALL {
        let user = UserId(1);
        begin.push(Order::new(
            Principal::Operator,
            Command::GrantCapability { user, capability },
        ));
    }
    begin.reverse();
    for step in 0..steps {
        if step == steps / 2 {
            snapshot = (serde_json::to_string(&run).unwrap(), entries.len());
        }
        let is_due = run.next_deadline().is_some_and(|at| at <= now);
        let order = if is_due {
            Order::new(Principal::Runtime, Command::Tick)
        } else if let Some(order) = begin.pop() {
            order
        } else {
            Player {
                run: &run,
                dice: &mut dice,
            }
            .order()
        };
        let (made, refusal) = match decide(&run, &order, now) {
            Ok(made) => (made, None),
            Err(rejection) => (rejection.record, Some(rejection.refusal)),
        };
        if matches!(order.command, Command::Tick) && order.principal == Principal::Runtime {
            assert_eq!(refusal, None, "what is due happens");
            assert!(
                !made.is_empty(),
                "a tick leaves a trace: {:?}",
                run.deadlines.first()
            );
        }
        assert_ne!(refusal, Some(Refusal::DueFirst), "seed {seed} step {step}");
        for entry in &made {
            assert!(entry.time > run.clock, "time only goes on");
            if let Event::WorkspaceStateChanged(e) = &entry.event {
                assert_eq!(run.state_of(e.workspace), Some(e.from_state));
                assert!(is_allowed(Some(e.from_state), e.to_state, e.trigger));
            }
            assert!(
                wacp::recovery::is_sound(&run, entry),
                "seed {seed} step {step}: {entry:?}"
            );
            apply(&mut run, entry);
        }
        let _ = wacp::effects(&run, &made);
        entries.extend(made);
        check(&run, seed, step);
        let jump = if dice.chance(5) {
            200_000_000
        } else {
            2_000_000
        };
        now = Micros(now.0.max(run.clock.0) + dice.roll(jump) as i64);
        if !run.is_running() {
            break;
        }
    }
    Played {
        run,
        entries,
        snapshot,
    }
}

/// What must hold in every state.
fn check(run: &Run, seed: u64, step: usize) {
    let at = format!("seed {seed} step {step}");
    let open: Vec<WorkspaceId> = (0..run.next.workspaces)
        .map(WorkspaceId)
        .filter(|id| run.open(*id).is_some())
        .collect();
    assert_eq!(open.len(), run.open_count as usize, "{at}");
    for id in &open {
        let workspace = run.open(*id).unwrap();
        if let Some(parent) = workspace.parent {
            assert!(run.children.contains(&(parent, *id)), "{at}");
            // No orphans: a parent that has ended has no children at work.
            assert!(run.open(parent).is_some(), "{at}: {id} outlives {parent}");
            let above = run.open(parent).unwrap();
            if let Some(meter) = &above.meter {
                for dimension in Dimension::ALL {
                    if let Some(limit) = meter.limits.limit(dimension) {
                        let own = workspace
                            .meter
                            .as_ref()
                            .and_then(|m| m.limits.limit(dimension));
                        assert!(
                            own.is_some_and(|own| own <= limit),
                            "{at}: budget contained"
                        );
                    }
                }
            }
        }
        let range = (*id, EnvelopeId(0))..=(*id, EnvelopeId(u64::MAX));
        let hindrances = run
            .inboxes
            .range(range)
            .filter(|(_, pending)| pending.is_hindrance())
            .count();
        assert_eq!(
            hindrances, workspace.hindrances as usize,
            "{at}: hindrances of {id}"
        );
        assert!(
            workspace.state != State::Conflicted || run.merges.contains_key(id),
            "{at}"
        );
    }
    for (to, _) in run.inboxes.keys() {
        assert!(
            run.open(*to)
                .is_some_and(|open| !matches!(open.state, State::Integrating | State::Conflicted)),
            "{at}"
        );
    }
    for (holder, target) in run.rights.keys().chain(run.rights_once.keys()) {
        assert!(
            run.open(*holder).is_some() && run.open(*target).is_some(),
            "{at}"
        );
        assert!(run.right_holders.contains(&(*target, *holder)), "{at}");
    }
    for gate in run.gates.values() {
        if let Some(workspace) = gate.proposal.workspace() {
            let salvage = run.merges.contains_key(&workspace);
            assert!(
                run.open(workspace).is_some() || salvage,
                "{at}: a gate about nothing"
            );
        }
    }
    for escalation in run.escalations.values() {
        assert!(run.open(escalation.workspace).is_some(), "{at}");
    }
    assert!(run.owed.is_empty(), "{at}: every announced change was made");
    check_budgets(run, &open, &at);
    check_deadlines(run, &at);
}

/// What is promised to children is what they may still use.
fn check_budgets(run: &Run, open: &[WorkspaceId], at: &str) {
    for id in open {
        let Some(meter) = run.open(*id).unwrap().meter.as_deref() else {
            continue;
        };
        for dimension in Dimension::ALL {
            if meter.limits.limit(dimension).is_none() || !dimension.is_shared() {
                continue;
            }
            let unspent = |child: WorkspaceId| {
                let meter = run.open(child).unwrap().meter.as_deref().unwrap();
                let limit = meter.limits.limit(dimension).unwrap();
                limit.saturating_sub(meter.used[dimension as usize])
            };
            let promised: u64 = run.open_children(*id).map(unspent).sum();
            let reserved = meter.reserved[dimension as usize];
            assert_eq!(reserved, promised, "{at}: {id} {dimension:?}");
        }
    }
}

/// Every deadline is about something that waits, and whatever waits has one.
fn check_deadlines(run: &Run, at: &str) {
    for (moment, deadline) in &run.deadlines {
        let stands = match deadline {
            Deadline::Gate(id) => run.gates[id].timeout_at == Some(*moment),
            Deadline::Escalation(id) => run.escalations[id].timeout_at == Some(*moment),
            Deadline::Redelivery(to, id) => {
                let open = run.open(*to).unwrap();
                let paused = matches!(open.state, State::Suspended | State::Migrating);
                run.inboxes[&(*to, *id)].attempts() > 0 && !paused
            }
            Deadline::Timeout(id)
            | Deadline::WallTime(id)
            | Deadline::WallTimeWarning(id)
            | Deadline::Grace(id)
            | Deadline::Liveness(id) => run.open(*id).is_some(),
        };
        assert!(stands, "{at}: {deadline:?}");
    }
    for (id, gate) in &run.gates {
        if let Some(moment) = gate.timeout_at {
            assert!(
                run.deadlines.contains(&(moment, Deadline::Gate(*id))),
                "{at}"
            );
        }
    }
}

/// However a run went, its end leaves nothing open.
#[test]
fn a_forced_end_settles_everything() {
    for seed in 200..=230 {
        let mut run = play(seed, 600).run;
        if !run.is_running() {
            continue;
        }
        let order = Order::new(Principal::Runtime, Command::ShutDown { forced: true });
        let entries = decide(&run, &order, run.clock).unwrap();
        for entry in &entries {
            apply(&mut run, entry);
        }
        assert_eq!(run.open_count, 0);
        assert!(run.gates.is_empty() && run.gate_subjects.is_empty());
        assert!(run.escalations.is_empty() && run.inboxes.is_empty());
        assert!(run.deadlines.is_empty(), "{:?}", run.deadlines);
        assert!(run.rights.is_empty() && run.rights_once.is_empty());
        assert!(run.right_holders.is_empty());
        assert!(run.children.is_empty() && run.groups.is_empty() && run.queued_signals.is_empty());
        assert!(run.merges.is_empty() && run.merge_targets.is_empty() && run.merged.is_empty());
        assert!(run.guard.is_empty() && run.owed.is_empty() && run.escalated_gates.is_empty());
    }
}

/// Forty seeds, or from `WACP_SEEDS=FROM-TO` for a longer search.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let asked = std::env::var("WACP_SEEDS").ok();
    let range = asked.as_deref().and_then(|text| text.split_once('-'));
    match range {
        Some((from, to)) => from.parse().unwrap()..=to.parse().unwrap(),
        None => 1..=40,
    }
}

#[test]
fn replay_and_snapshot_give_the_live_run_whatever_happens() {
    for seed in seeds() {
        let played = play(seed, 1500);
        let mut replayed = Run::default();
        for entry in &played.entries {
            apply(&mut replayed, entry);
        }
        assert!(replayed == played.run, "replay, seed {seed}");
        let (text, length) = &played.snapshot;
        if text.is_empty() {
            continue;
        }
        let mut resumed: Run = serde_json::from_str(text).unwrap();
        for entry in &played.entries[*length..] {
            apply(&mut resumed, entry);
        }
        assert!(resumed == played.run, "snapshot and the rest, seed {seed}");
    }
}

#[test]
fn the_same_orders_give_the_same_trail() {
    assert_eq!(play(7, 800).entries, play(7, 800).entries);
}

#[test]
fn facts_are_canonical_and_read_back_and_all_common_events_occur() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 100..=120 {
        for entry in play(seed, 800).entries {
            let facts = entry.event.facts();
            let name = entry.event.event_type();
            assert_eq!(Event::read(name, &facts).unwrap(), entry.event);
            assert!(trail::canonical::is_canonical(&facts), "{name}");
            seen.insert(name);
        }
    }
    let missing: Vec<_> = Event::TYPES
        .iter()
        .filter(|name| !seen.contains(**name))
        .collect();
    assert!(missing.len() <= 12, "{missing:?}");
}

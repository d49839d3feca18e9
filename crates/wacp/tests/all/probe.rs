#![allow(unused_imports, dead_code)]
use crate::world::{ROOT, SECOND, World, artifact, emission, text};
use std::sync::Arc;
use trail::{Hash, Micros};
use wacp::{
    Command, Effect, Entry, Event, Principal, Refusal, Run, apply,
    checkpoint::NewCheckpoint,
    command::Compaction,
    content::Content,
    effects,
    envelope::NewEnvelope,
    escalation,
    gate::{
        Answer, GateType, Modification,
        config::{Fallback, Highway},
    },
    id::*,
    integration::{Acceptance, ConflictType, Declared, Resolution, Salvage, Strategy},
    integrity::Check,
    recovery::rebuild,
    role::EnvelopeType,
    signal::SignalType,
    user::{Capability, UserChange},
    workspace::{
        NewWorkspace, Seen, WindDown,
        budget::{Budget, Dimension, Usage},
        lifecycle::State,
    },
};

const C: Principal = Principal::Coordinator;
const R: Principal = Principal::Runtime;

fn salvage(workspace: WorkspaceId) -> Salvage {
    Salvage {
        check: Check::Valid,
        checkpoint: None,
        conflicts: vec![],
        strategy: Strategy::Evaluated,
        synthesis: None,
        usable: true,
        workspace,
    }
}
fn tokens(limit: u64) -> Budget {
    Budget {
        token_limit: Some(limit),
        ..Budget::default()
    }
}
fn used(tokens: u64) -> Usage {
    Usage {
        tokens,
        ..Usage::default()
    }
}
fn abort(workspace: WorkspaceId) -> Command {
    Command::Abort {
        workspace,
        reason: None,
    }
}
fn recover() -> Command {
    Command::Recover {
        downtime_us: 5,
        examined: 9,
        quarantined: 0,
    }
}
fn gate(kind: GateType, fallback: Fallback) -> Highway {
    let mut h = Highway::open();
    h.gate_mut(kind).enabled = true;
    h.gate_mut(kind).fallback = fallback;
    h.gate_mut(kind).timeout_us = Some(60_000_000);
    h
}
fn child(
    w: &mut World,
    parent: WorkspaceId,
    f: impl FnOnce(NewWorkspace) -> NewWorkspace,
) -> WorkspaceId {
    let new = f(w.worker_of(parent));
    let id = w.create(new);
    w.direct(id);
    id
}

// T1: salvage into P handed to the coordinator; P fails; the same key lets it go into the root
#[test]
fn t1_salvage_other_place() {
    let mut w = World::with(gate(GateType::Integration, Fallback::EscalateToCoordinator));
    let p = w.active();
    let x = child(&mut w, p, |n| n);
    w.checkpoint(x, vec![artifact("src/a", None, "1")]);
    w.ok(C, abort(x));
    w.ok(C, Command::Salvage(Box::new(salvage(x))));
    w.pass(61 * SECOND);
    w.ok(C, abort(p));
    let e = w.ok(C, Command::Salvage(Box::new(salvage(x))));
    assert!(
        !World::types(&e).contains(&"integration_completed"),
        "{:?}",
        World::types(&e)
    );
}
// T2: other checkpoint
#[test]
fn t2_salvage_other_checkpoint() {
    let mut w = World::with(gate(GateType::Integration, Fallback::Approve));
    let x = w.active();
    let c1 = w.checkpoint(x, vec![artifact("src/a", None, "1")]);
    let c2 = w.checkpoint(x, vec![artifact("src/b", None, "2")]);
    w.ok(C, abort(x));
    w.ok(
        C,
        Command::Salvage(Box::new(Salvage {
            checkpoint: Some(c1),
            usable: false,
            ..salvage(x)
        })),
    );
    w.pass(61 * SECOND);
    let e = w.ok(
        C,
        Command::Salvage(Box::new(Salvage {
            checkpoint: Some(c2),
            synthesis: Some(Arc::from([artifact("etc/passwd", None, "x")])),
            ..salvage(x)
        })),
    );
    assert!(
        !World::types(&e).contains(&"integration_completed"),
        "{:?}",
        World::types(&e)
    );
}
// T3: deactivate+reactivate lifts a block / suspension
#[test]
fn t3_lift_block() {
    let mut w = World::open();
    let (ann, bob) = (w.ann, w.bob);
    for c in Capability::ALL {
        if c != Capability::DeactivateUser && c != Capability::ViewTrailOwn {
            w.ok(
                Principal::Operator,
                Command::RevokeCapability {
                    user: bob,
                    capability: c,
                    reason: None,
                },
            );
        }
    }
    w.ok(
        Principal::Operator,
        Command::ChangeUser {
            user: ann,
            change: UserChange::Block,
            reason: None,
        },
    );
    w.refused(
        Principal::User(bob),
        Command::ChangeUser {
            user: ann,
            change: UserChange::Unblock,
            reason: None,
        },
    );
    let a = w.attempt(
        Principal::User(bob),
        Command::ChangeUser {
            user: ann,
            change: UserChange::Deactivate,
            reason: None,
        },
    );
    let b = w.attempt(
        Principal::User(bob),
        Command::ChangeUser {
            user: ann,
            change: UserChange::Reactivate,
            reason: None,
        },
    );
    assert!(
        w.run.user(ann).unwrap().state != wacp::user::UserState::Active,
        "{:?} {:?}",
        a.is_ok(),
        b.is_ok()
    );
}
// T4: lost envelope_created, then redelivered: a deadline that never goes
#[test]
fn t4_stuck_deadline() {
    let mut w = World::open();
    let x = w.active();
    let new = NewEnvelope::to(x, EnvelopeType::Feedback, Content::markdown("hi"));
    w.ok(C, Command::Send(Box::new(new)));
    w.pass(6 * SECOND);
    assert_eq!(w.count("envelope_redelivered"), 1);
    let mut kept = w.entries.clone();
    let at = kept
        .iter()
        .rposition(|e| e.event.event_type() == "envelope_created")
        .unwrap();
    kept.remove(at);
    let mut run = rebuild(&kept).unwrap().run;
    let now = w.now;
    let (_, r) = wacp::step(&mut run, &wacp::Order::new(R, recover()), now);
    assert_eq!(r, None);
    let now = Micros(now.0 + 100 * SECOND);
    for _ in 0..100 {
        if run.next_deadline().is_none_or(|at| at > now) {
            return;
        }
        let (e, r) = wacp::step(&mut run, &wacp::Order::new(R, Command::Tick), now);
        println!("{:?} {:?}", World::types(&e), r);
    }
    panic!("still due after 100 ticks: {:?}", run.deadlines.first());
}
// T5: lost user_created: number reused
#[test]
fn t5_user_number_reused() {
    let mut w = World::open();
    let x = w.active(); // ann's
    let ann = w.ann;
    let mut kept = w.entries.clone();
    let at = kept
        .iter()
        .position(|e| e.event.event_type() == "user_created")
        .unwrap();
    kept.remove(at);
    let rebuilt = rebuild(&kept).unwrap();
    println!(
        "quarantined {:?} users {:?}",
        rebuilt.quarantined, rebuilt.run.users
    );
    let mut run = rebuilt.run;
    wacp::step(&mut run, &wacp::Order::new(R, recover()), w.now);
    let (_, r) = wacp::step(
        &mut run,
        &wacp::Order::new(
            Principal::Operator,
            Command::CreateUser { name: text("eve") },
        ),
        w.now,
    );
    println!("{r:?}");
    let eve = run.user_named("eve").unwrap();
    let (_, r) = wacp::step(
        &mut run,
        &wacp::Order::new(
            Principal::User(eve),
            Command::ReadTrail { workspace: Some(x) },
        ),
        w.now,
    );
    assert!(
        eve != ann && r.is_some(),
        "eve is {eve:?}, owner of ann's workspace: {:?}",
        run.workspace(x).unwrap().owner()
    );
}
// T5b: lost task_created
#[test]
fn t5b_task_number_reused() {
    use wacp::task::{NewGraph, NewTask};
    let mut w = World::open();
    w.ok(
        C,
        Command::SubmitGraph(NewGraph {
            root: 0,
            tasks: vec![NewTask::named("one", vec![]), NewTask::named("two", vec![])],
        }),
    );
    let new = NewWorkspace {
        task: Some(TaskId(1)),
        ..w.worker_of(ROOT)
    };
    let x = w.create(new);
    let mut kept = w.entries.clone();
    let at = kept
        .iter()
        .position(|e| e.event.event_type() == "task_created")
        .unwrap();
    kept.remove(at);
    let rebuilt = rebuild(&kept).unwrap();
    println!(
        "quarantined {:?} tasks {}",
        rebuilt.quarantined,
        rebuilt.run.tasks.len()
    );
    let mut run = rebuilt.run;
    wacp::step(&mut run, &wacp::Order::new(R, recover()), w.now);
    println!("x {:?}", run.state_of(x));
    let (e, r) = wacp::step(
        &mut run,
        &wacp::Order::new(
            C,
            Command::SubmitGraph(NewGraph {
                root: 0,
                tasks: vec![NewTask::named("new", vec![])],
            }),
        ),
        w.now,
    );
    println!(
        "{:?} {r:?}",
        e.iter()
            .map(|e| format!("{:?}", e.event))
            .collect::<Vec<_>>()
    );
    let reused = e
        .iter()
        .any(|e| matches!(&e.event, Event::TaskCreated(t) if t.task.0 <= 1));
    assert!(!reused);
}
// T6: a dead agent still speaks to its parent
#[test]
fn t6_dead_agent_speaks() {
    let mut w = World::open();
    let x = w.active();
    w.ok(C, abort(x));
    let e = w.ok(
        Principal::Agent(x),
        Command::Emit {
            signal: SignalType::Complete,
            reason: Some(text("all done, please merge")),
            reference: None,
        },
    );
    let f = effects(&w.run, &e);
    assert!(f.is_empty(), "{:?} {f:?}", World::types(&e));
}
// H: recovery of a sound run
#[test]
fn h_recovery_kills() {
    let mut w = World::open();
    let p = child(&mut w, ROOT, |n| NewWorkspace {
        budget: tokens(100),
        metered: true,
        ..n
    });
    let a = child(&mut w, p, |n| NewWorkspace {
        budget: tokens(50),
        metered: true,
        ..n
    });
    let b = child(&mut w, p, |n| NewWorkspace {
        budget: tokens(50),
        metered: true,
        ..n
    });
    w.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: a,
            totals: used(60),
        },
    );
    assert_eq!(
        (w.state(p), w.state(a), w.state(b)),
        (State::Active, State::Failed, State::Active)
    );
    let e = w.ok(R, recover());
    assert_eq!(
        (w.state(p), w.state(b)),
        (State::Active, State::Active),
        "{:?}",
        World::types(&e)
    );
}
#[test]
fn h2_resume_kills() {
    let mut w = World::open();
    let p = child(&mut w, ROOT, |n| NewWorkspace {
        budget: tokens(100),
        metered: true,
        ..n
    });
    let a = child(&mut w, p, |n| NewWorkspace {
        budget: tokens(50),
        metered: true,
        ..n
    });
    let b = child(&mut w, p, |n| NewWorkspace {
        budget: tokens(50),
        metered: true,
        ..n
    });
    w.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: a,
            totals: used(60),
        },
    );
    w.ok(
        Principal::Meter,
        Command::MeterUsage {
            workspace: p,
            totals: used(0),
        },
    );
    assert_eq!((w.state(p), w.state(b)), (State::Active, State::Active));
}
// small: AgentRework proposed, target paused, person modifies -> waits?
#[test]
fn s_modify_rework_paused() {
    let mut w = World::with(gate(GateType::ConflictResolution, Fallback::Reject));
    let p = w.active();
    let x = child(&mut w, p, |n| n);
    w.checkpoint(x, vec![artifact("src/a", None, "1")]);
    w.emit(x, SignalType::Complete);
    w.conflict(x);
    let conflict = w.run.merges[&x].open[0].id;
    w.ok(
        C,
        Command::ResolveConflict {
            workspace: x,
            conflict,
            resolution: Resolution::AgentRework,
        },
    );
    let g = w.last_gate();
    w.ok(
        C,
        Command::Suspend {
            workspace: p,
            reason: text("r"),
        },
    );
    let bob = w.bob;
    let r = w.attempt(
        Principal::User(bob),
        Command::ResolveGate {
            gate: g,
            answer: Answer::Modify,
            modification: Some(Modification::Resolution(Content::markdown("both"))),
        },
    );
    assert!(w.run.gates.contains_key(&g), "{r:?}");
}
// numbers
#[test]
fn n_numbers() {
    let big = u64::MAX;
    let cases: Vec<(&str, Box<dyn Fn(&mut World)>)> = vec![
        (
            "timeout_us",
            Box::new(move |w| {
                let n = NewWorkspace {
                    timeout_us: big,
                    ..w.worker_of(ROOT)
                };
                w.create(n);
            }),
        ),
        (
            "budget",
            Box::new(move |w| {
                let n = NewWorkspace {
                    budget: tokens(big),
                    ..w.worker_of(ROOT)
                };
                w.create(n);
            }),
        ),
        (
            "liveness",
            Box::new(move |w| {
                let n = NewWorkspace {
                    liveness_us: Some(big),
                    ..w.worker_of(ROOT)
                };
                w.create(n);
            }),
        ),
        (
            "meter",
            Box::new(move |w| {
                let x = child(w, ROOT, |n| NewWorkspace {
                    budget: tokens(10),
                    ..n
                });
                let _ = w.attempt(
                    Principal::Meter,
                    Command::MeterUsage {
                        workspace: x,
                        totals: used(big),
                    },
                );
            }),
        ),
        (
            "artifact bytes",
            Box::new(move |w| {
                let x = w.active();
                let mut a = artifact("src/a", None, "1");
                a.bytes = big;
                let _ = w.attempt(
                    Principal::Agent(x),
                    Command::CreateCheckpoint(Box::new(NewCheckpoint::last(None, vec![a]))),
                );
            }),
        ),
        (
            "usage in checkpoint",
            Box::new(move |w| {
                let x = w.active();
                let n = NewCheckpoint {
                    resource_usage: Some(Usage {
                        wall_time_us: big,
                        tokens: big,
                        ..Usage::default()
                    }),
                    ..NewCheckpoint::last(None, vec![])
                };
                let _ = w.attempt(Principal::Agent(x), Command::CreateCheckpoint(Box::new(n)));
            }),
        ),
        (
            "raise",
            Box::new(move |w| {
                let x = child(w, ROOT, |n| NewWorkspace {
                    budget: tokens(10),
                    ..n
                });
                let _ = w.attempt(
                    C,
                    Command::RaiseBudget {
                        workspace: x,
                        dimension: Dimension::Tokens,
                        limit: big,
                    },
                );
            }),
        ),
        (
            "grace",
            Box::new(move |w| {
                let x = w.active();
                let _ = w.attempt(
                    C,
                    Command::TerminateGracefully(Box::new(WindDown::of(
                        x,
                        i64::MAX as u64 / 4,
                        text("r"),
                        Content::markdown("x"),
                    ))),
                );
            }),
        ),
        (
            "recover",
            Box::new(move |w| {
                let _ = w.attempt(
                    R,
                    Command::Recover {
                        downtime_us: big,
                        examined: big,
                        quarantined: big,
                    },
                );
            }),
        ),
        (
            "compact",
            Box::new(move |w| {
                let x = w.in_state(State::Failed);
                let _ = w.attempt(
                    R,
                    Command::Compact(Compaction {
                        workspace: x,
                        archived: big,
                        preserved: big,
                        from: big,
                        to: big,
                        hash: Hash::of("x", &[]),
                    }),
                );
            }),
        ),
        (
            "tick far",
            Box::new(move |w| {
                let x = w.active();
                w.now = Micros(i64::MAX);
                while w
                    .run
                    .next_deadline()
                    .is_some_and(|at| at <= Micros(i64::MAX / 2))
                {
                    w.ok(R, Command::Tick);
                }
                let _ = x;
            }),
        ),
        (
            "estimate",
            Box::new(move |w| {
                use wacp::task::*;
                let mut t = NewTask::named("t", vec![]);
                t.resource_estimate = Some(Estimate {
                    cost_micros: Some(big),
                    tokens: Some(big),
                    wall_time_us: Some(big),
                });
                let _ = w.attempt(
                    C,
                    Command::SubmitGraph(NewGraph {
                        root: 0,
                        tasks: vec![t],
                    }),
                );
            }),
        ),
    ];
    let mut bad = vec![];
    for (name, f) in cases {
        let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut w = World::open();
            f(&mut w);
        }));
        if r.is_err() {
            bad.push(name);
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}
// escalation of an owner who is deactivated afterwards, no timeout
#[test]
fn e_deactivated_later() {
    let mut h = Highway::open();
    h.escalation.timeout_us = None;
    let mut w = World::with(h);
    let x = w.active();
    w.emit(x, SignalType::Blocked);
    w.emit(x, SignalType::Escalation);
    let ann = w.ann;
    let e = w.ok(
        Principal::Operator,
        Command::ChangeUser {
            user: ann,
            change: UserChange::Deactivate,
            reason: None,
        },
    );
    let f = effects(&w.run, &e);
    println!(
        "{f:?} {:?} next {:?}",
        w.run.escalations,
        w.run.next_deadline()
    );
    assert!(
        f.iter()
            .any(|f| format!("{f:?}").contains("OwnerGone")
                || format!("{f:?}").contains("Escalation")),
        "{f:?}"
    );
}
#[test]
fn e_transfer_old_owner() {
    let mut w = World::open();
    let x = w.active();
    w.emit(x, SignalType::Escalation);
    let bob = w.bob;
    let e = w.ok(
        C,
        Command::TransferOwnership {
            workspace: x,
            to: bob,
            reason: None,
        },
    );
    let f = effects(&w.run, &e);
    assert!(
        f.iter().any(|f| matches!(f, Effect::HideEscalation { .. })),
        "{f:?}"
    );
}
// effects over a batch of two decisions
#[test]
fn f_batch_effects() {
    let mut w = World::with(gate(GateType::Integration, Fallback::EscalateToCoordinator));
    let d = child(&mut w, ROOT, |n| NewWorkspace {
        delegate: true,
        ..n
    });
    let x = child(&mut w, d, |n| n);
    w.checkpoint(x, vec![artifact("src/a", None, "1")]);
    w.emit(x, SignalType::Complete);
    w.ok(
        Principal::Agent(d),
        Command::Accept(Box::new(Acceptance::of(x, Strategy::Direct))),
    );
    let g = w.last_gate();
    w.now = Micros(w.now.0 + 61 * SECOND);
    let mut all = vec![];
    while w.run.next_deadline().is_some_and(|at| at <= w.now) {
        all.extend(w.ok(R, Command::Tick));
    }
    all.extend(w.ok(
        C,
        Command::DecideGate {
            gate: g,
            proceed: true,
        },
    ));
    let f = effects(&w.run, &all);
    let told: Vec<_> = f
        .iter()
        .filter(|f| matches!(f, Effect::ReportAnswer { .. }))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
}
// person with create_any + grant_delegation (own only) makes a delegate of bob's
#[test]
fn p_delegate_of_other() {
    let mut w = World::open();
    let (ann, bob) = (w.ann, w.bob);
    for capability in [Capability::CreateWorkspaceAny, Capability::GrantDelegation] {
        w.ok(
            Principal::Operator,
            Command::GrantCapability {
                user: ann,
                capability,
            },
        );
    }
    let new = NewWorkspace {
        delegate: true,
        owner: Some(bob),
        ..w.worker_of(ROOT)
    };
    let r = w.attempt(
        Principal::User(ann),
        Command::CreateWorkspace(Box::new(new)),
    );
    assert!(r.is_err());
}
// compaction leaves the question about the salvage open
#[test]
fn k_compact_open_gate() {
    let mut h = gate(GateType::Integration, Fallback::Reject);
    h.gate_mut(GateType::Integration).timeout_us = None;
    let mut w = World::with(h);
    let x = w.in_state(State::Failed);
    w.ok(C, Command::Salvage(Box::new(salvage(x))));
    w.ok(
        R,
        Command::Compact(Compaction {
            workspace: x,
            archived: 1,
            preserved: 1,
            from: 1,
            to: 2,
            hash: Hash::of("x", &[]),
        }),
    );
    assert!(w.run.gates.is_empty());
}

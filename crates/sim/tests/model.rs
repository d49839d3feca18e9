//! The rules that are most easily got wrong, implemented twice: the real
//! machine and an obviously correct model take the same orders and must stand
//! alike after every one of them.

use std::{collections::BTreeSet, thread};

use sim::model::play::{Agreed, play};

/// Two threads, as many seeds each, so many steps with each seed.
const SEEDS: [[u64; 2]; 2] = [[1, 2], [3, 4]];
const STEPS: usize = 100_000;

/// What must have happened for this to say anything.
const EVENTS: &[&str] = &[
    "workspace_created",
    "workspace_state_changed",
    "workspace_reparented",
    "workspace_ownership_transferred",
    "batch_abort",
    "graceful_termination_expired",
    "conflict_detected",
    "conflict_resolved",
    "envelope_delivered",
    "envelope_redelivered",
    "envelope_undeliverable",
    "port_right_created",
    "port_right_transferred",
    "port_right_revoked",
    "port_right_consumed",
    "gate_triggered",
    "gate_resolved",
    "gate_timeout",
    "gate_reentry_blocked",
    "budget_exceeded",
    "human_injection",
];
const REFUSALS: &[&str] = &[
    "permission_denied",
    "missing_capability",
    "wrong_scope",
    "user_not_active",
    "invalid_state",
    "target_terminal",
    "workspace_sealed",
    "root_is_fixed",
    "children_open",
    "signal_not_allowed",
    "no_send_right",
    "receive_right_fixed",
    "gate_pending",
    "gate_fell_back",
    "not_modifiable",
    "unknown_gate",
    "unknown_conflict",
    "delegation_not_approved",
    "due_first",
];

fn agree(seed: u64) -> Agreed {
    match play(seed, STEPS) {
        Ok(agreed) => agreed,
        Err(parted) => panic!("{parted}"),
    }
}

#[test]
fn the_model_and_the_real_one_never_part() {
    let threads = SEEDS.map(|seeds| thread::spawn(move || seeds.map(agree)));
    let mut agreed = Vec::new();
    for played in threads {
        agreed.extend(played.join().expect("the two agree"));
    }
    // Orders are neither all nonsense nor all apt.
    for one in &agreed {
        assert!(one.accepted > STEPS / 4 && one.accepted < STEPS * 3 / 4);
    }
    let events: BTreeSet<_> = agreed.iter().flat_map(|one| one.events.keys()).collect();
    let missing: Vec<_> = EVENTS
        .iter()
        .filter(|name| !events.contains(name))
        .collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    let refusals: BTreeSet<_> = agreed.iter().flat_map(|one| one.refusals.keys()).collect();
    let missing: Vec<_> = REFUSALS
        .iter()
        .filter(|code| !refusals.contains(code))
        .collect();
    assert!(missing.is_empty(), "never refused: {missing:?}");
}

//! What the runtime and the meter order.

use std::sync::Arc;

use trail::Hash;
use wacp::{
    Command, Principal,
    command::Compaction,
    event::Damaged,
    id::{CheckpointId, EnvelopeId},
    workspace::{
        budget::{Dimension, Usage},
        lifecycle::State,
        meter,
    },
};

use super::{Kind, kind};
use crate::{
    player::{AT_WORK, Player, text},
    setup,
};

pub const KINDS: &[Kind] = &[
    kind("start_run", 1, start_run),
    kind("tick", 3, tick),
    kind("bind", 24, bind),
    kind("fail_migration", 4, fail_migration),
    kind("fail_creation", 4, fail_creation),
    kind("meter_usage", 20, meter_usage),
    kind("report_violation", 6, report_violation),
    kind("recover", 2, recover),
    kind("report_degradation", 2, report_degradation),
    kind("shut_down", 1, shut_down),
    kind("compact", 4, compact),
    kind("record_snapshot", 2, record_snapshot),
    kind("record_authentication", 3, record_authentication),
    kind("record_authentication_failure", 2, record_failure),
];

pub fn start_run(player: &mut Player<'_>) -> (Principal, Command) {
    let mut new = setup::new_run(player.dice);
    match player.dice.roll(8) {
        0 => new.limits.budget_warning_percent = 0,
        3 => {
            let roles = &new.taxonomy.roles;
            let twice = roles.iter().chain(roles.iter()).cloned();
            new.taxonomy.roles = twice.collect();
        }
        1 => new.agent = text(""),
        2 => new.highway.integration.timeout_us = Some(0),
        _ => {}
    }
    (Principal::Runtime, Command::StartRun(Box::new(new)))
}

fn tick(_: &mut Player<'_>) -> (Principal, Command) {
    (Principal::Runtime, Command::Tick)
}

fn bind(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = match player.dice.roll(4) {
        0 => player.workspace(),
        1 => player.in_state(&[State::Idle, State::Active, State::Suspended]),
        _ => player.in_state(&[State::Migrating]),
    };
    (Principal::Runtime, Command::Bind { workspace })
}

fn fail_migration(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::FailMigration {
        workspace: player.in_state(&[State::Migrating]),
        error: text("no answer"),
    };
    (Principal::Runtime, command)
}

fn fail_creation(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&[State::Idle, State::Active]);
    (Principal::Runtime, Command::FailCreation { workspace })
}

/// The runtime counts what it writes of a workspace.
fn meter_trail(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&AT_WORK);
    let written = meter::own(player.run, workspace, Dimension::TrailBytes);
    let totals = Usage {
        trail_bytes: written + player.dice.roll(2_000),
        ..Usage::default()
    };
    let command = Command::MeterUsage { workspace, totals };
    (Principal::Runtime, command)
}

fn meter_usage(player: &mut Player<'_>) -> (Principal, Command) {
    if player.dice.chance(30) {
        return meter_trail(player);
    }
    let command = Command::MeterUsage {
        workspace: player.in_state(&AT_WORK),
        totals: player.usage(120),
    };
    (Principal::Meter, command)
}

fn report_violation(player: &mut Player<'_>) -> (Principal, Command) {
    let nowhere = (
        player.workspace(),
        EnvelopeId(player.dice.roll(player.run.next.envelopes + 1)),
    );
    let run = player.run;
    let (to, envelope) = player.one_of(run.inboxes.keys().copied(), nowhere);
    let (workspace, subject) = match player.dice.roll(4) {
        0 => (player.workspace(), Damaged::NewEnvelope),
        1 => {
            let id = player.in_state(&[State::Active, State::Integrating]);
            let head = run.open(id).and_then(|open| open.register.head());
            let head = head.unwrap_or(CheckpointId(player.dice.roll(99)));
            (id, Damaged::Checkpoint(head))
        }
        _ => (to, Damaged::Envelope(envelope)),
    };
    let command = Command::ReportViolation { workspace, subject };
    (Principal::Runtime, command)
}

fn recover(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::Recover {
        downtime_us: player.dice.roll(1_000_000),
        examined: player.run.entries,
        quarantined: 0,
    };
    (Principal::Runtime, command)
}

fn report_degradation(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::ReportDegradation {
        reason: player.words("the disk was full"),
        coordinator_action: None,
        affected: if player.dice.chance(50) {
            Arc::from([])
        } else {
            Arc::from([player.workspace()])
        },
    };
    (Principal::Runtime, command)
}

/// Mostly refused: others are at work. By force, only once in a while.
fn shut_down(player: &mut Player<'_>) -> (Principal, Command) {
    let forced = player.dice.chance(4);
    let by = player.either(Principal::Runtime, Principal::Coordinator);
    (by, Command::ShutDown { forced })
}

fn compact(player: &mut Player<'_>) -> (Principal, Command) {
    let done = Compaction {
        workspace: player.in_state(&[State::Closed, State::Failed]),
        archived: u64::from(!player.dice.chance(5)),
        preserved: 1,
        from: 0,
        to: 1,
        hash: Hash::ZERO,
    };
    (Principal::Runtime, Command::Compact(done))
}

fn record_snapshot(_: &mut Player<'_>) -> (Principal, Command) {
    let state_hash = Hash::ZERO;
    (Principal::Runtime, Command::RecordSnapshot { state_hash })
}

fn record_authentication(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::RecordAuthentication {
        user: player.user(),
        method: text("token"),
    };
    (Principal::Runtime, command)
}

fn record_failure(_: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::RecordAuthenticationFailure {
        entity: text("eve"),
        context: text("api"),
        reason: text("unknown token"),
        source: text("192.0.2.1"),
    };
    (Principal::Runtime, command)
}

//! Things that happen by themselves, and when.
//!
//! Every deadline stands in one ordered index. They are derived from the state
//! of their workspace by `schedule`, so that a change of state drops the old
//! ones and sets the new ones in one place.

use serde::{Deserialize, Serialize};
use trail::Micros;

use super::{Workspace, budget::Dimension, lifecycle::State};
use crate::{
    id::{EnvelopeId, GateId, SignalId, WorkspaceId},
    state::Run,
};

/// What is due. At the same moment failures come before warnings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// Idle too long, or timed out at work or in conflict.
    Timeout(WorkspaceId),
    /// The agent has not come, though there is work for it or it takes another's
    /// place.
    Binding(WorkspaceId),
    WallTime(WorkspaceId),
    Grace(WorkspaceId),
    Gate(GateId),
    Escalation(SignalId),
    Redelivery(WorkspaceId, EnvelopeId),
    WallTimeWarning(WorkspaceId),
    Liveness(WorkspaceId),
}

fn later(moment: Micros, us: u64) -> Micros {
    let us = i64::try_from(us).unwrap_or(i64::MAX);
    Micros(moment.0.saturating_add(us))
}

/// The moments at which something is due for this workspace, in its state.
fn moments(
    id: WorkspaceId,
    open: &Workspace,
    idle_us: u64,
    percent: u8,
) -> [Option<(Micros, Deadline)>; 6] {
    let after = |us: u64| later(open.since, us);
    let timeout = match open.state {
        // The root waits as long as it must (§6.5: it lives as long as the run).
        _ if id == WorkspaceId::ROOT => None,
        State::Idle => Some(after(idle_us)),
        state if state.is_timed() => Some(after(open.timeout_us.saturating_sub(open.timed_us))),
        _ => None,
    };
    // An idle workspace runs out of the same time.
    let needs = matches!(
        open.state,
        State::Active | State::Blocked | State::Migrating
    );
    let binding = open
        .unbound_since
        .filter(|_| needs && id != WorkspaceId::ROOT);
    let wall = |share: u64, limit: u64| {
        let moment = limit.saturating_mul(share) / 100;
        after(moment.saturating_sub(open.wall_us))
    };
    let limit = open
        .meter
        .as_ref()
        .filter(|_| open.state.is_metered())
        .and_then(|meter| {
            meter
                .limits
                .limit(Dimension::WallTime)
                .map(|limit| (limit, meter))
        });
    let warn = limit.filter(|(_, meter)| !meter.is_warned(Dimension::WallTime));
    let is_watched = matches!(open.state, State::Idle | State::Active | State::Blocked);
    [
        timeout.map(|at| (at, Deadline::Timeout(id))),
        binding.map(|since| (later(since, idle_us), Deadline::Binding(id))),
        limit.map(|(limit, _)| (wall(100, limit), Deadline::WallTime(id))),
        warn.map(|(limit, _)| {
            (
                wall(u64::from(percent), limit),
                Deadline::WallTimeWarning(id),
            )
        }),
        open.grace.map(|grace| (grace.ends, Deadline::Grace(id))),
        open.liveness_us
            .filter(|_| is_watched)
            .map(|us| (later(open.heard, us), Deadline::Liveness(id))),
    ]
}

/// Changes an open workspace and moves its deadlines along.
pub(crate) fn reschedule(run: &mut Run, id: WorkspaceId, change: impl FnOnce(&mut Workspace)) {
    let Run {
        setup,
        workspaces,
        deadlines,
        ..
    } = run;
    let Some(limits) = setup.as_deref().map(|setup| setup.started.limits) else {
        return;
    };
    let Some(crate::state::Slot::Open(open)) = workspaces.get_mut(id.0 as usize) else {
        return;
    };
    let (idle, percent) = (limits.idle_timeout_us, limits.budget_warning_percent);
    let old = moments(id, open, idle, percent);
    change(open);
    let new = moments(id, open, idle, percent);
    for (old, new) in old.into_iter().zip(new) {
        if old != new {
            if let Some(old) = old {
                deadlines.remove(&old);
            }
            if let Some(new) = new {
                deadlines.insert(new);
            }
        }
    }
}

/// Sets the deadlines of a new workspace.
pub(crate) fn schedule(run: &mut Run, id: WorkspaceId) {
    let Some(limits) = run.setup.as_deref().map(|setup| setup.started.limits) else {
        return;
    };
    let Some(open) = run.open(id) else {
        return;
    };
    let new = moments(
        id,
        open,
        limits.idle_timeout_us,
        limits.budget_warning_percent,
    );
    run.deadlines.extend(new.into_iter().flatten());
}

/// Drops all deadlines of a workspace that ends.
pub(crate) fn unschedule(run: &mut Run, id: WorkspaceId) {
    let Some(limits) = run.setup.as_deref().map(|setup| setup.started.limits) else {
        return;
    };
    let Some(open) = run.open(id) else {
        return;
    };
    let old = moments(
        id,
        open,
        limits.idle_timeout_us,
        limits.budget_warning_percent,
    );
    for deadline in old.into_iter().flatten() {
        run.deadlines.remove(&deadline);
    }
}

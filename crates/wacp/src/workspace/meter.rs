//! Consumption is counted, warned about and stopped (WACP §6.6).
//!
//! The runtime counts wall time and bytes: those of checkpoints and envelopes
//! here, those of the trail where it is written. Tokens, context and cost come
//! from a meter other than the agent where there is one, else from the agent.
//! Totals are cumulative, so a lost report loses nothing. A
//! total is written when a threshold is crossed, with each checkpoint and with
//! the end of the workspace; until then it is only noted.

use crate::{
    command::Principal,
    event::{BudgetExceeded, BudgetWarning, LivenessWarning, ResourceDiscrepancy},
    id::WorkspaceId,
    rejection::Refusal,
    role::delegation::forbid,
    stage::{Decision, Stage},
    state::{Run, Slot},
    workspace::{
        budget::{Dimension, Usage},
        end,
        lifecycle::{Reason, State},
        plus,
    },
};

/// The dimensions that are told and not counted here.
pub const REPORTED: [Dimension; 4] = [
    Dimension::Tokens,
    Dimension::Context,
    Dimension::Cost,
    Dimension::TrailBytes,
];

/// Totals from whoever counts for the runtime.
pub fn measure(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    totals: &Usage,
) -> Decision {
    if !matches!(principal, Principal::Meter | Principal::Runtime) {
        return Err(forbid(stage, principal, Some(id)));
    }
    stage.actor = crate::event::Actor::Protocol;
    stage.before().living(id)?;
    if !totals.is_known_to(principal) {
        return Err(Refusal::InvalidStructure);
    }
    account(stage, id, totals);
    Ok(())
}

/// Totals from the agent itself. They count where nobody else counts;
/// elsewhere a difference is recorded and the meter's number stands.
pub fn report(stage: &mut Stage<'_>, id: WorkspaceId, totals: &Usage) -> Decision {
    let open = stage.before().open(id).ok_or(Refusal::TargetTerminal)?;
    if !matches!(open.state, State::Active | State::Blocked) {
        return Err(Refusal::InvalidState);
    }
    if !totals.is_known_to(Principal::Agent(id)) {
        return Err(Refusal::InvalidStructure);
    }
    if !open.metered {
        account(stage, id, totals);
        return Ok(());
    }
    compare(stage, id, totals);
    Ok(())
}

/// Records where an agent's own total differs from what was measured.
pub fn compare(stage: &mut Stage<'_>, id: WorkspaceId, reported: &Usage) {
    let Some(meter) = stage
        .before()
        .open(id)
        .and_then(|open| open.meter.as_deref())
    else {
        return;
    };
    let live = stage.measured(id);
    for dimension in REPORTED {
        let written = meter.own[dimension as usize];
        let measured = written.max(live.amount(dimension));
        let reported = reported.amount(dimension);
        if meter.limits.limit(dimension).is_some() && reported != 0 && measured != reported {
            stage.push_protocol(
                Some(id),
                ResourceDiscrepancy {
                    dimension,
                    measured,
                    reported,
                    workspace: id,
                },
            );
        }
    }
}

/// What was measured of a workspace and is not written yet, as totals.
pub fn unwritten(stage: &Stage<'_>, id: WorkspaceId) -> Option<Usage> {
    let meter = stage.before().open(id)?.meter.as_deref()?;
    let measured = stage.measured(id);
    let is_more = |dimension: Dimension| meter.unwritten(dimension, &measured) > 0;
    REPORTED.into_iter().any(is_more).then_some(measured)
}

/// Compares totals with the limits of the workspace and of everyone above it.
pub fn account(stage: &mut Stage<'_>, id: WorkspaceId, totals: &Usage) {
    for dimension in REPORTED {
        let own = own(stage.before(), id, dimension);
        let more = totals.amount(dimension).saturating_sub(own);
        if more > 0 || is_full(stage.before(), id, dimension) {
            charge(stage, id, dimension, more);
        }
    }
}

/// Stops a workspace that goes on at a limit it reached while it was paused.
pub fn enforce(stage: &mut Stage<'_>, id: WorkspaceId) {
    if !can_stop(stage, id) {
        return;
    }
    for dimension in Dimension::ALL {
        if dimension != Dimension::WallTime && is_full(stage.before(), id, dimension) {
            charge(stage, id, dimension, 0);
        }
    }
}

fn is_full(run: &Run, id: WorkspaceId, dimension: Dimension) -> bool {
    let meter = run.open(id).and_then(|open| open.meter.as_deref());
    meter.is_some_and(|meter| meter.is_used_up(dimension))
}

/// What a workspace itself has used so far.
pub fn own(run: &Run, id: WorkspaceId, dimension: Dimension) -> u64 {
    let meter = run.open(id).and_then(|open| open.meter.as_deref());
    meter.map_or(0, |meter| meter.own[dimension as usize])
}

/// What stands against one limit, and whose use it was.
struct Account {
    workspace: WorkspaceId,
    dimension: Dimension,
    limit: u64,
    consumed: u64,
    source: WorkspaceId,
    source_consumed: u64,
}

impl Account {
    fn warn(&self, stage: &mut Stage<'_>) {
        let threshold_percent = stage.before().limits().budget_warning_percent;
        stage.push_protocol(
            Some(self.workspace),
            BudgetWarning {
                consumed: self.consumed,
                dimension: self.dimension,
                limit: self.limit,
                source: self.source,
                source_consumed: self.source_consumed,
                threshold_percent,
                workspace: self.workspace,
            },
        );
    }

    fn exceed(&self, stage: &mut Stage<'_>) {
        stage.push_protocol(
            Some(self.workspace),
            BudgetExceeded {
                consumed: self.consumed,
                dimension: self.dimension,
                limit: self.limit,
                source: self.source,
                source_consumed: self.source_consumed,
                workspace: self.workspace,
            },
        );
    }
}

/// `more` was used: warns and stops, from the workspace upwards. The event that
/// caused it, or the warning, moves the meter when it is applied.
pub fn charge(stage: &mut Stage<'_>, id: WorkspaceId, dimension: Dimension, more: u64) {
    let run = stage.before();
    let percent = run.limits().budget_warning_percent;
    let mut own_more = more;
    let mut exceeded = Vec::new();
    // What those above have used and no entry tells yet.
    let mut unwritten = 0u64;
    let mut at = Some(id);
    while let Some(workspace) = at {
        let Some(open) = run.open(workspace) else {
            break;
        };
        let Some(meter) = open.meter.as_deref() else {
            break;
        };
        if workspace != id {
            let measured = stage.measured(workspace);
            unwritten = plus(unwritten, meter.unwritten(dimension, &measured));
        }
        let Some(limit) = meter.limits.limit(dimension) else {
            break;
        };
        // One decision may charge several times, and none of it is applied yet.
        let charged = stage.charged(workspace, dimension);
        charged.total = plus(charged.total, more);
        if workspace == id {
            charged.own = plus(charged.own, more);
            own_more = charged.own;
        }
        let (total, was_warned) = (plus(charged.total, unwritten), charged.is_warned);
        let account = Account {
            workspace,
            dimension,
            limit,
            consumed: plus(meter.used[dimension as usize], total),
            source: id,
            source_consumed: plus(own(run, id, dimension), own_more),
        };
        // What a child uses was promised to it, and what one used too much is
        // taken from no other: only own use must leave what is promised.
        let spends = workspace == id && own_more > 0;
        let is_over =
            account.consumed >= limit || (spends && meter.is_exceeded(dimension, own_more));
        let stops = is_over && can_stop(stage, workspace);
        let is_near = meter.is_near(dimension, total, percent);
        // A warning precedes every stop.
        if !was_warned && (is_near || (stops && !meter.is_warned(dimension))) {
            stage.charged(workspace, dimension).is_warned = true;
            account.warn(stage);
        }
        if stops {
            account.exceed(stage);
            exceeded.push(workspace);
        }
        at = open.parent.filter(|_| dimension.is_shared());
    }
    for workspace in exceeded {
        stage.as_protocol(|stage| end::fail(stage, workspace, Reason::BudgetExceeded));
    }
}

/// A limit stops whoever is at work; what is paused or read-only uses nothing.
fn can_stop(stage: &Stage<'_>, id: WorkspaceId) -> bool {
    matches!(stage.state_of(id), Some(State::Active | State::Blocked))
}

/// Wall time reached its warning.
pub fn warn_wall_time(stage: &mut Stage<'_>, id: WorkspaceId) {
    wall_time(stage, id, false);
}

/// Wall time reached its limit.
pub fn stop_wall_time(stage: &mut Stage<'_>, id: WorkspaceId) {
    wall_time(stage, id, true);
}

fn wall_time(stage: &mut Stage<'_>, id: WorkspaceId, stop: bool) {
    let Some(open) = stage.before().open(id) else {
        return;
    };
    let Some(meter) = open.meter.as_deref() else {
        return;
    };
    let dimension = Dimension::WallTime;
    let consumed = open.wall_time(stage.now);
    let account = Account {
        workspace: id,
        dimension,
        limit: meter.limits.limit(dimension).unwrap_or(0),
        consumed,
        source: id,
        source_consumed: consumed,
    };
    if !meter.is_warned(dimension) {
        account.warn(stage);
    }
    if stop {
        account.exceed(stage);
        end::fail(stage, id, Reason::BudgetExceeded);
    }
}

/// Nothing was heard for the whole interval: a warning, no more.
pub fn warn_silence(stage: &mut Stage<'_>, id: WorkspaceId) {
    let Some(open) = stage.before().open(id) else {
        return;
    };
    let silent = u64::try_from(stage.now.0 - open.heard.0).unwrap_or(0);
    stage.push(
        Some(id),
        LivenessWarning {
            interval_us: open.liveness_us.unwrap_or(0),
            silent_us: silent,
            workspace: id,
        },
    );
}

/// Moves the meters when an event is applied: `used` upwards, reservations
/// down by what was used of them.
pub(crate) fn consume(run: &mut Run, id: WorkspaceId, dimension: Dimension, more: u64) {
    let index = dimension as usize;
    if let Some(meter) = run.open_mut(id).and_then(|open| open.meter.as_deref_mut()) {
        meter.own[index] = plus(meter.own[index], more);
    }
    let mut at = Some(id);
    let mut freed = 0;
    while let Some(slot) = at.and_then(|id| run.workspaces.get_mut(id.0 as usize)) {
        let open = match slot {
            Slot::Open(open) => open,
            // It was used beneath those above all the same.
            Slot::Ended(ended) => {
                at = ended.parent.filter(|_| dimension.is_shared());
                continue;
            }
        };
        let Some(meter) = open.meter.as_deref_mut() else {
            break;
        };
        let limit = meter.limits.limit(dimension).unwrap_or(0);
        let unspent = limit.saturating_sub(meter.used[index]);
        meter.used[index] = plus(meter.used[index], more);
        meter.reserved[index] = meter.reserved[index].saturating_sub(freed);
        freed = unspent - limit.saturating_sub(meter.used[index]);
        at = open.parent.filter(|_| dimension.is_shared());
    }
}

/// Sets the total an event names.
pub(crate) fn raise_to(run: &mut Run, id: WorkspaceId, dimension: Dimension, total: u64) {
    let more = total.saturating_sub(own(run, id, dimension));
    if more > 0 {
        consume(run, id, dimension, more);
    }
}

/// Sets the totals an event tells beside what it is about.
pub(crate) fn raise_all(run: &mut Run, id: WorkspaceId, totals: &Usage) {
    for dimension in REPORTED {
        raise_to(run, id, dimension, totals.amount(dimension));
    }
}

/// Takes a child's limits out of its parent's, or gives back what is unspent.
pub(crate) fn reserve(run: &mut Run, parent: WorkspaceId, child: WorkspaceId, give_back: bool) {
    let Some(meter) = run.open(child).and_then(|open| open.meter.as_deref()) else {
        return;
    };
    let unspent = Dimension::ALL.map(|dimension| {
        let limit = meter.limits.limit(dimension).unwrap_or(0);
        limit.saturating_sub(meter.used[dimension as usize])
    });
    let Some(meter) = run
        .open_mut(parent)
        .and_then(|open| open.meter.as_deref_mut())
    else {
        return;
    };
    for dimension in Dimension::ALL {
        if dimension.is_shared() && meter.limits.limit(dimension).is_some() {
            let reserved = &mut meter.reserved[dimension as usize];
            let amount = unspent[dimension as usize];
            *reserved = if give_back {
                reserved.saturating_sub(amount)
            } else {
                reserved.saturating_add(amount)
            };
        }
    }
}

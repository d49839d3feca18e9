//! Time while the server was down does not count: nobody could answer.
//!
//! `recovery_completed` names the down-times since the run's last recovery, and
//! applying it puts every wait off by their sum. So no fallback approves because
//! a server was off, and no meter of wall time counts the hours it was off.
//! What recovery itself makes good in a trail that lost entries is put off too:
//! that errs on the side of patience.

use std::mem;

use trail::Micros;

use crate::{
    envelope::Progress,
    state::{Run, Slot},
};

/// A moment of the state, put off by a down-time. Readers never cause recovery:
/// they show a deadline of a run that has not recovered yet with this.
pub fn later(at: Micros, downtime_us: u64) -> Micros {
    let by = i64::try_from(downtime_us).unwrap_or(i64::MAX);
    Micros(at.0.saturating_add(by))
}

/// Puts everything off that the run waits for.
pub(crate) fn put_off(run: &mut Run, downtime_us: u64) {
    if downtime_us == 0 {
        return;
    }
    let put_off = |at: &mut Micros| *at = later(*at, downtime_us);
    for slot in &mut run.workspaces {
        if let Slot::Open(open) = slot {
            put_off(&mut open.since);
            put_off(&mut open.heard);
            open.grace
                .iter_mut()
                .for_each(|grace| put_off(&mut grace.ends));
        }
    }
    for gate in run.gates.values_mut() {
        gate.timeout_at.iter_mut().for_each(put_off);
    }
    for escalation in run.escalations.values_mut() {
        escalation.timeout_at.iter_mut().for_each(put_off);
    }
    for pending in run.inboxes.values_mut() {
        if let Progress::Delivered { next_at, .. } = &mut pending.progress {
            put_off(next_at);
        }
    }
    let due = mem::take(&mut run.deadlines).into_iter();
    run.deadlines = due
        .map(|(at, deadline)| (later(at, downtime_us), deadline))
        .collect();
}

//! How envelope events change the inboxes.

use trail::Micros;

use super::{MAX_CAUSES, MAX_TAKEN, Pending, Progress, patience_us};
use crate::{
    event::{Entry, Event},
    gate::{self, GateType},
    id::{EnvelopeId, GateId, WorkspaceId},
    state::Run,
    workspace::{
        Deadline,
        budget::Dimension,
        lifecycle::{Inbox, State},
        meter,
    },
};

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::EnvelopeCreated(e) => {
            run.next.envelopes = run.next.envelopes.max(e.envelope.0.saturating_add(1));
            let pending = Pending {
                from: e.from,
                envelope_type: e.envelope_type,
                priority: e.priority,
                originator: e.originator,
                payload: e.payload,
                rights: e.rights.clone(),
                progress: Progress::Queued,
                unasked: e.from.is_some() && gate::is_on(run, GateType::EnvelopeDelivery),
            };
            run.inboxes.insert((e.to, e.envelope), pending);
            hinder(run, e.to, 1);
        }
        Event::EnvelopeDelivered(e) => {
            if !run.inboxes.contains_key(&(e.to, e.envelope)) {
                return;
            }
            let next_at = after(run, entry.time, 0);
            change(run, e.to, e.envelope, |pending| {
                pending.progress = Progress::Delivered {
                    attempt: 0,
                    next_at,
                };
                if let Some(payload) = e.payload {
                    pending.payload = payload;
                }
            });
            meter::consume(run, e.to, Dimension::NetworkBytes, e.bytes);
        }
        Event::EnvelopeRedelivered(e) => {
            change(run, e.to, e.envelope, |pending| {
                pending.progress = Progress::Delivered {
                    attempt: e.attempt,
                    next_at: e.next_at,
                };
            });
        }
        Event::EnvelopeRejected(e) => {
            if let Some(envelope) = e.envelope {
                taken(run, e.to, envelope);
            }
        }
        Event::EnvelopeUndeliverable(e) => taken(run, e.to, e.envelope),
        // What a person asks of the coordinator may become a workspace.
        Event::HumanInjection(e) if e.to == WorkspaceId::ROOT => {
            if let Some(envelope) = e.envelope {
                run.injected.insert(envelope, e.user);
                if run.injected.len() > MAX_CAUSES {
                    run.injected.pop_first();
                }
            }
        }
        _ => {}
    }
}

fn after(run: &Run, time: Micros, attempt: u8) -> Micros {
    let base = run.limits().redelivery_base_us;
    Micros(time.0.saturating_add(patience_us(base, attempt) as i64))
}

fn hinder(run: &mut Run, to: WorkspaceId, by: i64) {
    if let Some(open) = run.open_mut(to) {
        open.hindrances = (i64::from(open.hindrances) + by).max(0) as u32;
    }
}

/// Changes an envelope that waits, and when it is due with it.
fn change(run: &mut Run, to: WorkspaceId, envelope: EnvelopeId, change: impl FnOnce(&mut Pending)) {
    unschedule(run, to, envelope);
    let Some(pending) = run.inboxes.get_mut(&(to, envelope)) else {
        return;
    };
    let before = i64::from(pending.is_hindrance());
    change(pending);
    if let Progress::Delivered { next_at, .. } = pending.progress {
        let due = Deadline::Redelivery(to, envelope);
        run.deadlines.insert((next_at, due));
    }
    let after = i64::from(pending.is_hindrance());
    if before != after {
        hinder(run, to, after - before);
    }
}

fn unschedule(run: &mut Run, to: WorkspaceId, envelope: EnvelopeId) {
    if let Some(Pending {
        progress: Progress::Delivered { next_at, .. },
        ..
    }) = run.inboxes.get(&(to, envelope))
    {
        run.deadlines
            .remove(&(*next_at, Deadline::Redelivery(to, envelope)));
    }
}

/// Marks an envelope as waiting at a gate.
pub(crate) fn hold(run: &mut Run, to: WorkspaceId, envelope: EnvelopeId, gate: GateId) {
    change(run, to, envelope, |pending| {
        pending.progress = Progress::Gated(gate);
        pending.unasked = false;
    });
}

/// A gate let an envelope through; it waits for its turn.
pub(crate) fn release(
    run: &mut Run,
    to: WorkspaceId,
    envelope: EnvelopeId,
    payload: Option<crate::content::Content>,
) {
    change(run, to, envelope, |pending| {
        pending.progress = Progress::Queued;
        pending.payload = payload.unwrap_or(pending.payload);
    });
}

/// The receiver took an envelope; the inbox remembers that for a while.
pub fn acknowledged(run: &mut Run, to: WorkspaceId, envelope: EnvelopeId) {
    if !run.inboxes.contains_key(&(to, envelope)) {
        return;
    }
    taken(run, to, envelope);
    if let Some(open) = run.open_mut(to) {
        if open.taken.len() == MAX_TAKEN {
            open.taken.pop_front();
        }
        open.taken.push_back(envelope);
    }
}

/// An envelope leaves its inbox for good.
fn taken(run: &mut Run, to: WorkspaceId, envelope: EnvelopeId) {
    unschedule(run, to, envelope);
    let Some(pending) = run.inboxes.remove(&(to, envelope)) else {
        return;
    };
    if pending.is_hindrance() {
        hinder(run, to, -1);
    }
    // A question handed to the coordinator is closed with the envelope.
    if let Some(gate) = pending.gate() {
        run.escalated_gates.remove(&gate);
    }
}

/// Redelivery rests while the receiver cannot take anything, and starts its
/// wait anew when it can.
pub fn pause_or_resume(run: &mut Run, id: WorkspaceId, from: State, to: State, time: Micros) {
    let (before, after_) = (from.inbox(), to.inbox());
    if before == after_
        || !matches!(
            (before, after_),
            (Inbox::Open, Inbox::Queueing) | (Inbox::Queueing, Inbox::Open)
        )
    {
        return;
    }
    let range = (id, EnvelopeId(0))..=(id, EnvelopeId(u64::MAX));
    let delivered: Vec<(EnvelopeId, u8)> = run
        .inboxes
        .range(range)
        .filter_map(|((_, envelope), pending)| match pending.progress {
            Progress::Delivered { attempt, .. } => Some((*envelope, attempt)),
            _ => None,
        })
        .collect();
    for (envelope, attempt) in delivered {
        unschedule(run, id, envelope);
        if after_ == Inbox::Open {
            let next_at = after(run, time, attempt);
            change(run, id, envelope, |pending| {
                pending.progress = Progress::Delivered { attempt, next_at };
            });
        }
    }
}

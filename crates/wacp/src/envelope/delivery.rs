//! The way from accepted to taken.
//!
//! A channel is a pair of workspaces, and what one sends the other arrives in
//! the order it was written. Nothing overtakes an envelope that is held at a
//! gate or is being sent again; behind a `blocking` one, nothing arrives at all
//! until it is taken.

use std::sync::Arc;

use trail::Micros;

use super::{MAX_REDELIVERIES, Origin, Pending, Post, Priority, Progress, patience_us, send};
use crate::{
    command::Principal,
    content::Content,
    event::{
        EnvelopeDelivered, EnvelopeRedelivered, EnvelopeRejected, EnvelopeUndeliverable, Reference,
        Undeliverable,
    },
    id::{EnvelopeId, Party, WorkspaceId},
    rejection::Refusal,
    right::{self, RightKind},
    role::{EnvelopeType, delegation::forbid},
    signal::{self, SignalType},
    stage::{Decision, Stage},
    task::{self, Status},
    workspace::{
        budget::Dimension,
        lifecycle::{Inbox, State, Trigger},
        meter,
    },
};

/// Whether a new envelope from `from` can be delivered at once.
pub fn is_free(stage: &Stage<'_>, to: WorkspaceId, from: Option<WorkspaceId>) -> bool {
    let Some(open) = stage.before().open(to) else {
        return false;
    };
    if stage.state_of(to).map(State::inbox) != Some(Inbox::Open) {
        return false;
    }
    open.hindrances == 0
        || !stage.inbox(to).any(|(_, pending)| {
            pending.blocks_inbox() || (pending.from == from && pending.is_hindrance())
        })
}

/// Puts an envelope into its inbox; the first one begins the work.
pub fn deliver(
    stage: &mut Stage<'_>,
    to: WorkspaceId,
    envelope: EnvelopeId,
    from: Option<WorkspaceId>,
    bytes: u64,
    rights: &[(RightKind, WorkspaceId)],
    payload: Option<Content>,
) {
    stage.push_protocol(
        Some(to),
        EnvelopeDelivered {
            bytes,
            envelope,
            payload,
            to,
        },
    );
    if let Some(from) = from {
        for (kind, target) in rights {
            right::transfer(stage, from, to, *kind, *target);
        }
    }
    if stage.state_of(to) == Some(State::Idle) {
        stage.as_protocol(|stage| {
            stage.transition(to, State::Active, Trigger::FirstEnvelope, None);
        });
        if let Some(task) = stage.before().open(to).and_then(|open| open.task) {
            task::set_status(stage, task, Status::InProgress, Some(to));
        }
        meter::enforce(stage, to);
    }
    meter::charge(stage, to, Dimension::NetworkBytes, bytes);
    // It may have been one too many. What waited before is settled with the
    // workspace; this one is new to the run.
    let is_over = stage.state_of(to).is_some_and(State::is_terminal);
    if is_over && !stage.before().inboxes.contains_key(&(to, envelope)) {
        stage.push_protocol(
            Some(to),
            EnvelopeUndeliverable {
                attempts: 1,
                envelope,
                from,
                reason: Undeliverable::WorkspaceTerminal,
                to,
            },
        );
    }
}

/// Delivers whatever can be delivered now, oldest first.
pub fn drain(stage: &mut Stage<'_>, to: WorkspaceId) {
    drain_with(stage, to, None);
}

/// The same, when a gate has just let one through, perhaps with another payload.
pub fn drain_with(
    stage: &mut Stage<'_>,
    to: WorkspaceId,
    released: Option<(EnvelopeId, Option<Content>)>,
) {
    if stage.state_of(to).map(State::inbox) != Some(Inbox::Open) {
        return;
    }
    if stage
        .before()
        .open(to)
        .is_none_or(|open| open.hindrances == 0)
    {
        return;
    }
    let mut busy: Vec<Option<WorkspaceId>> = Vec::new();
    let waiting: Vec<(EnvelopeId, &Pending)> = stage.inbox(to).collect();
    // Whatever arrives after a blocking one waits for it, older or not.
    let blocks = |(id, pending): &(EnvelopeId, &Pending)| {
        let arrived = pending.priority == Priority::Blocking && stage.has_arrived(*id);
        arrived || pending.blocks_inbox()
    };
    if waiting.iter().any(blocks) {
        return;
    }
    for (id, pending) in waiting {
        if stage.has_arrived(id) {
            continue;
        }
        let (progress, payload) = match released {
            Some((free, payload)) if free == id => (Progress::Queued, payload),
            _ => (pending.progress, None),
        };
        match progress {
            Progress::Gated(_) => busy.push(pending.from),
            Progress::Delivered { attempt, .. } => {
                if attempt > 0 {
                    busy.push(pending.from);
                }
            }
            Progress::Queued if busy.contains(&pending.from) => {}
            Progress::Queued => {
                let bytes = payload.unwrap_or(pending.payload).bytes;
                deliver(stage, to, id, pending.from, bytes, &pending.rights, payload);
                if stage.state_of(to).map(State::inbox) != Some(Inbox::Open)
                    || pending.priority == Priority::Blocking
                {
                    return;
                }
            }
        }
    }
}

/// The receiver took an envelope: acknowledged, by itself and once.
pub fn acknowledge(
    stage: &mut Stage<'_>,
    principal: Principal,
    workspace: WorkspaceId,
    envelope: EnvelopeId,
) -> Decision {
    let own = match principal {
        Principal::Runtime => true,
        Principal::Coordinator => workspace == WorkspaceId::ROOT,
        Principal::Agent(id) => id == workspace,
        _ => false,
    };
    if !own {
        return Err(forbid(stage, principal, Some(workspace)));
    }
    let run = stage.before();
    let open = run.living(workspace)?;
    if matches!(open.state, State::Suspended | State::Migrating) {
        return Err(Refusal::InvalidState);
    }
    let pending = run.inboxes.get(&(workspace, envelope));
    match pending.map(|pending| pending.progress) {
        Some(Progress::Delivered { .. }) => {}
        Some(Progress::Queued | Progress::Gated(_)) => return Err(Refusal::NotDelivered),
        // A second acknowledgement is recorded and changes nothing (§4.2).
        None if open.taken.contains(&envelope) => {}
        None => return Err(Refusal::UnknownEnvelope),
    }
    let reference = Some(Reference::Envelope(envelope));
    stage.as_protocol(|stage| {
        signal::say(stage, workspace, SignalType::Acknowledged, None, reference);
    });
    if pending.is_some_and(Pending::is_hindrance) {
        drain(stage, workspace);
    }
    Ok(())
}

/// Nobody acknowledged in time: again, or never more.
pub fn redeliver(stage: &mut Stage<'_>, to: WorkspaceId, envelope: EnvelopeId) {
    let Some(pending) = stage.before().inboxes.get(&(to, envelope)) else {
        return;
    };
    let Progress::Delivered { attempt, .. } = pending.progress else {
        return;
    };
    if attempt >= MAX_REDELIVERIES {
        stage.push(
            Some(to),
            EnvelopeUndeliverable {
                attempts: attempt + 1,
                envelope,
                from: pending.from,
                reason: Undeliverable::DeliveryExhausted,
                to,
            },
        );
        drain(stage, to);
        return;
    }
    let wait = patience_us(stage.before().limits().redelivery_base_us, attempt + 1);
    let next_at = Micros(stage.next_time().0.saturating_add(wait as i64));
    stage.push(
        Some(to),
        EnvelopeRedelivered {
            attempt: attempt + 1,
            envelope,
            next_at,
            to,
        },
    );
}

/// Rejects an envelope that was accepted before.
pub fn reject_pending(
    stage: &mut Stage<'_>,
    to: WorkspaceId,
    envelope: EnvelopeId,
    pending: &Pending,
    reason: Refusal,
) {
    stage.push_protocol(
        Some(to),
        EnvelopeRejected {
            envelope: Some(envelope),
            envelope_type: pending.envelope_type,
            from: pending.from,
            reason,
            to,
        },
    );
}

/// The creation directive, as the first envelope of those who have no sender.
pub fn post_directive(stage: &mut Stage<'_>, to: WorkspaceId, directive: Content) {
    send::post(
        stage,
        Post {
            from: None,
            to,
            envelope_type: EnvelopeType::Directive,
            payload: directive,
            priority: Priority::Normal,
            in_reply_to: None,
            origin: Origin::Agent,
            originator: stage
                .before()
                .open(to)
                .map_or(Party::System, |open| open.originator),
            rights: Arc::from([]),
            proof: None,
            grace_us: None,
        },
    );
}

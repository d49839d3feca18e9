//! What a decision whose last entries are missing still owes to envelopes.
//!
//! A commit is whole or not at all, so there is nothing to do here as long as
//! the store keeps that promise. Without it no envelope may be dropped all the
//! same (WACP §10.4): what waits for a workspace that has ended or only reads is
//! settled, with the questions, the task and the children that the same missing
//! entries were about. Doing it twice changes nothing more.

use crate::{
    envelope::{self, Progress},
    escalation,
    event::Undeliverable,
    gate,
    id::WorkspaceId,
    rejection::Refusal,
    stage::Stage,
    state::Slot,
    task::{self, Status},
    workspace::{
        end,
        lifecycle::{Inbox, Reason, State},
    },
};

pub fn finish(stage: &mut Stage<'_>) {
    children(stage);
    inboxes(stage);
    questions(stage);
    tasks(stage);
}

/// Children of a parent that only waits to be merged.
fn children(stage: &mut Stage<'_>) {
    let run = stage.before();
    for (parent, child) in &run.children {
        if run.state_of(*parent).map(State::inbox) == Some(Inbox::Sealed) {
            end::adopt(stage, *child, *parent, "parent_completed");
        }
    }
}

/// Envelopes for whoever reads nothing more.
fn inboxes(stage: &mut Stage<'_>) {
    let run = stage.before();
    let mut receivers: Vec<WorkspaceId> = run.inboxes.keys().map(|(to, _)| *to).collect();
    receivers.dedup();
    for to in receivers {
        match run.state_of(to).map(State::inbox) {
            Some(Inbox::Open | Inbox::Queueing) => {}
            Some(Inbox::Sealed) => end::settle(stage, to, Undeliverable::WorkspaceSealed),
            Some(Inbox::Gone) | None => end::settle(stage, to, Undeliverable::WorkspaceTerminal),
        }
    }
    // Held at a gate that has answered: only a no leaves it there. One that was
    // to be held and never was gets no further either.
    for ((to, id), pending) in &run.inboxes {
        let asks = |gate| run.gates.contains_key(&gate) || run.escalated_gates.contains_key(&gate);
        let unasked = pending.unasked && pending.progress == Progress::Queued;
        let refused = unasked || pending.gate().is_some_and(|gate| !asks(gate));
        if refused && stage.still_waits(*id) {
            let reason = Refusal::GateRejectedByFallback;
            envelope::reject_pending(stage, *to, *id, pending, reason);
            envelope::drain(stage, *to);
        }
    }
}

/// Questions about workspaces that have ended, but for those of a salvage.
fn questions(stage: &mut Stage<'_>) {
    let run = stage.before();
    for (id, gate) in &run.gates {
        let about = gate.proposal.workspace();
        let over = about.is_some_and(|id| run.open(id).is_none());
        // What it left is still merged, and its conflicts are still settled.
        let stands = match gate.proposal {
            gate::Proposal::Salvage { .. } => true,
            gate::Proposal::ConflictResolution { workspace, .. } => {
                run.merges.contains_key(&workspace)
            }
            _ => false,
        };
        if over && !stands {
            gate::invalidate(stage, Some(*id));
        }
    }
    for (signal, escalation) in &run.escalations {
        if run.open(escalation.workspace).is_none() {
            escalation::invalidate(stage, *signal);
        }
    }
}

/// Tasks that do not know that their workspace is done or has failed.
fn tasks(stage: &mut Stage<'_>) {
    let run = stage.before();
    for workspace in run.tasks.iter().filter_map(|task| task.workspace) {
        let Some(slot) = run.workspace(workspace) else {
            continue;
        };
        match slot {
            Slot::Open(open) if open.state.inbox() == Inbox::Sealed => {
                let status = slot.task().and_then(|task| stage.task_status(task));
                if status.is_some_and(|status| status.may_become(Status::Completed)) {
                    task::complete(stage, workspace);
                }
            }
            Slot::Ended(ended) if ended.state == State::Failed => {
                end::fail_task(stage, workspace, ended.reason.unwrap_or(Reason::Rejected));
            }
            _ => {}
        }
    }
}

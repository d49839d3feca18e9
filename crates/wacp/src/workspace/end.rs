//! A workspace ends: what else ends with it, and what survives.
//!
//! Children of the same owner fail with their parent, at every depth; children
//! of others are handed to the root. If the root fails, everything fails
//! (WACP §6.5.1). Whatever waited for the workspace is settled, so that no
//! gate, escalation, envelope or conflict is left open.

use std::sync::Arc;

use crate::{
    command::Principal,
    escalation,
    event::{
        Aborted, BatchAbort, EnvelopeUndeliverable, GracefulTerminationExpired, Reference,
        TaskFailed, Undeliverable,
    },
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::WorkspaceId,
    integration,
    rejection::Refusal,
    role::{
        Text,
        delegation::{Act, coordinator_only, managed},
    },
    signal,
    stage::{Decision, Stage},
    state::Slot,
    task::{self, Status},
    workspace::{
        is_long,
        lifecycle::{Reason, State},
        ownership,
    },
};

/// Fails a workspace and everything that goes with it. Does nothing if it has
/// ended already, now or before.
pub fn fail(stage: &mut Stage<'_>, id: WorkspaceId, reason: Reason) {
    let Some(state) = stage.state_of(id).filter(|state| !state.is_terminal()) else {
        return;
    };
    integration::abandon(stage, id, reason);
    let trigger = reason.trigger(state);
    stage.transition(id, State::Failed, trigger, Some(reason));
    // Nobody should have to guess (§3.3): what the agent did not say itself,
    // the runtime says for it, to the parent.
    if reason != Reason::AgentFailed && id != WorkspaceId::ROOT {
        let why = Some(Text::from(reason.word()));
        signal::say(stage, id, signal::SignalType::Failed, why, None);
    }
    fail_task(stage, id, reason);
    settle(stage, id, Undeliverable::WorkspaceTerminal);
    if id == WorkspaceId::ROOT {
        gate::invalidate_all(stage);
    }
    let children: Vec<WorkspaceId> = stage.before().open_children(id).collect();
    for child in children {
        part(stage, id, child);
    }
    signal::pass_on(stage, id);
}

/// A child whose parent has failed fails too, or is handed to the root.
pub fn part(stage: &mut Stage<'_>, parent: WorkspaceId, child: WorkspaceId) {
    stage.as_protocol(|stage| {
        // When the root has failed nobody is left to adopt a child.
        let alone = stage
            .state_of(WorkspaceId::ROOT)
            .is_none_or(State::is_terminal);
        if alone || same_owner(stage, parent, child) {
            fail(stage, child, Reason::ParentFailed);
        } else {
            adopt(stage, child, parent, "parent_failed");
        }
    });
}

/// The attempt of a workspace at its task has failed with it.
pub fn fail_task(stage: &mut Stage<'_>, id: WorkspaceId, reason: Reason) {
    if let Some(task) = stage.before().workspace(id).and_then(Slot::task)
        && let Some(known) = stage.before().task(task)
        && known.workspace == Some(id)
        && matches!(
            stage.task_status(task),
            Some(Status::Assigned | Status::InProgress | Status::Completed)
        )
    {
        let attempt_number = known.history.len() as u32;
        stage.push_protocol(
            Some(id),
            TaskFailed {
                attempt_number,
                reason,
                task,
                workspace: id,
            },
        );
        task::set_status(stage, task, Status::Failed, Some(id));
    }
}

fn same_owner(stage: &Stage<'_>, a: WorkspaceId, b: WorkspaceId) -> bool {
    let owner = |id| stage.before().workspace(id).map(Slot::owner);
    owner(a) == owner(b)
}

/// Hangs a surviving child under the root. One in the middle of its merge does
/// not survive: what it left can be salvaged.
pub fn adopt(stage: &mut Stage<'_>, child: WorkspaceId, old_parent: WorkspaceId, reason: &str) {
    match stage.state_of(child) {
        None => return,
        Some(state) if state.is_terminal() => return,
        // Its conflict is about a merge into a parent that takes no more.
        Some(State::Conflicted) => {
            // The root hears of it where the parent cannot.
            if stage.state_of(old_parent).is_none_or(State::is_terminal) {
                stage.speaks_to_root(child);
            }
            stage.as_protocol(|stage| fail(stage, child, Reason::ParentFailed));
            return;
        }
        Some(_) => {}
    }
    stage.as_protocol(|stage| {
        ownership::hang(stage, child, old_parent, WorkspaceId::ROOT, reason.into());
    });
    signal::hand_over(stage, child, old_parent, WorkspaceId::ROOT);
}

/// Closes what waits for a workspace that will read and answer nothing more.
pub fn settle(stage: &mut Stage<'_>, id: WorkspaceId, reason: Undeliverable) {
    let run = stage.before();
    let waiting: Vec<_> = stage.inbox(id).collect();
    for (envelope, pending) in waiting {
        gate::invalidate(stage, pending.gate());
        stage.push_protocol(
            Some(id),
            EnvelopeUndeliverable {
                attempts: pending.attempts(),
                envelope,
                from: pending.sender.workspace(),
                reason,
                to: id,
            },
        );
    }
    if let Some(open) = run.open(id) {
        for gate in &open.gates {
            // What is only read can still be aborted (§6.4).
            let stays = reason == Undeliverable::WorkspaceSealed
                && run
                    .gates
                    .get(gate)
                    .is_some_and(|gate| gate.gate_type == GateType::WorkspaceAbort);
            if !stays {
                gate::invalidate(stage, Some(*gate));
            }
        }
        for escalation in &open.escalations {
            escalation::invalidate(stage, *escalation);
        }
    }
}

/// The coordinator, or a person who may, ends a workspace at once.
pub fn abort(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    reason: Option<&Text>,
) -> Decision {
    managed(stage, principal, Act::Abort, id)?;
    if id == WorkspaceId::ROOT {
        return Err(Refusal::RootIsFixed);
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    match stage.before().state_of(id) {
        None => return Err(Refusal::TargetNotFound),
        Some(state) if state.is_terminal() => return Err(Refusal::TargetTerminal),
        Some(_) => {}
    }
    // The gate is for the coordinator's aborts; a person's own is the answer.
    if principal == Principal::Coordinator {
        let proposal = Proposal::WorkspaceAbort {
            workspace: id,
            reason: reason.cloned(),
        };
        let subject = Subject::Workspace(id);
        if gate::guard(stage, GateType::WorkspaceAbort, subject, proposal)? == Verdict::Paused {
            return Ok(());
        }
    }
    perform_abort(stage, id, matches!(principal, Principal::User(_)));
    Ok(())
}

pub fn perform_abort(stage: &mut Stage<'_>, id: WorkspaceId, by_human: bool) {
    let reason = if by_human {
        Reason::AbortedByHuman
    } else {
        Reason::AbortedByCoordinator
    };
    fail(stage, id, reason);
}

/// Aborts every member of a group that has not ended. Where aborts are gated,
/// each member is a question of its own.
pub fn abort_group(stage: &mut Stage<'_>, principal: Principal, group: &Text) -> Decision {
    coordinator_only(stage, principal, None)?;
    let size = stage
        .before()
        .group_sizes
        .get(group)
        .ok_or(Refusal::UnknownGroup)?;
    let gates: Vec<(WorkspaceId, gate::Standing)> = members(stage, group)
        .iter()
        .map(|id| {
            let subject = Subject::Workspace(*id);
            (
                *id,
                gate::standing(stage.before(), GateType::WorkspaceAbort, subject),
            )
        })
        .collect();
    let ends = |standing| matches!(standing, gate::Standing::Free | gate::Standing::Granted);
    let free = gates.iter().filter(|(_, standing)| ends(*standing));
    let affected: Arc<[WorkspaceId]> = free.map(|(id, _)| *id).collect();
    stage.push(
        None,
        BatchAbort {
            skipped: size - affected.len() as u32,
            affected: affected.clone(),
            group: group.clone(),
        },
    );
    for (id, standing) in gates {
        let settled = matches!(standing, gate::Standing::Waits | gate::Standing::Refused);
        // One may have ended with another of the group.
        if settled || stage.state_of(id).is_none_or(State::is_terminal) {
            continue;
        }
        let proposal = Proposal::WorkspaceAbort {
            workspace: id,
            reason: None,
        };
        let subject = Subject::Workspace(id);
        match gate::guard(stage, GateType::WorkspaceAbort, subject, proposal)? {
            Verdict::Paused => {}
            Verdict::Proceed => fail(stage, id, Reason::BatchAbort),
        }
    }
    Ok(())
}

/// Members of a group that have not ended.
pub fn members(stage: &Stage<'_>, group: &Text) -> Arc<[WorkspaceId]> {
    let from = (group.clone(), WorkspaceId(0));
    let to = (group.clone(), WorkspaceId(u32::MAX));
    stage
        .before()
        .groups
        .range(from..=to)
        .map(|(_, id)| *id)
        .collect()
}

/// The time to finish is over.
pub fn expire(stage: &mut Stage<'_>, id: WorkspaceId) {
    let Some(open) = stage.before().open(id) else {
        return;
    };
    stage.push(
        Some(id),
        GracefulTerminationExpired {
            grace_us: open.grace.map_or(0, |grace| grace.grace_us),
            partial_checkpoint: open.register.head(),
            workspace: id,
        },
    );
    fail(stage, id, Reason::GracefulTerminationExpired);
}

/// The agent says it is done: the workspace becomes read-only, its task is
/// completed, children of other owners move to the root.
pub fn complete(
    stage: &mut Stage<'_>,
    id: WorkspaceId,
    words: Option<Text>,
    reference: Option<Reference>,
) -> Decision {
    let run = stage.before();
    let (same, other): (Vec<_>, Vec<_>) = run
        .open_children(id)
        .partition(|child| same_owner(stage, id, *child));
    // Nor while something is in the middle of being merged into it.
    let merges = |child: &WorkspaceId| run.state_of(*child) == Some(State::Conflicted);
    if !same.is_empty() || other.iter().any(merges) {
        return Err(Refusal::ChildrenOpen);
    }
    signal::say_and(
        stage,
        id,
        signal::SignalType::Complete,
        words,
        reference,
        |stage| {
            stage.transition(
                id,
                State::Integrating,
                super::lifecycle::Trigger::CompleteSignal,
                None,
            );
            task::complete(stage, id);
        },
    );
    integration::abandon_salvage(stage, id, Aborted::Unusable);
    settle(stage, id, Undeliverable::WorkspaceSealed);
    for child in other {
        adopt(stage, child, id, "parent_completed");
    }
    Ok(())
}

//! Each conflict is settled by itself; when the last one is, the merge ends.

use super::{
    Merge, Mode, Resolution,
    abandon::give_up,
    merge::{close, takes},
};
use crate::{
    checkpoint::register,
    command::Principal,
    content::Content,
    event::{Aborted, ConflictResolved, Damaged, IntegrationCompleted, ResolvedBy},
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::{CheckpointId, ConflictId, WorkspaceId},
    integrity,
    rejection::Refusal,
    role::delegation::{Act, managed},
    stage::{Decision, Stage},
    state::Run,
    workspace::{
        end,
        lifecycle::{Reason, State, Trigger},
    },
};

/// The merge a conflict belongs to, and where it stands in it.
pub fn find(run: &Run, id: WorkspaceId, conflict: ConflictId) -> Option<(&Merge, usize)> {
    let merge = run.merges.get(&id)?;
    let at = merge.open.iter().position(|open| open.id == conflict)?;
    Some((merge, at))
}

/// Whether a conflict can be settled so. Work that is done again changes nobody
/// but its workspace; everything else changes the target.
pub fn is_possible(
    run: &Run,
    id: WorkspaceId,
    conflict: ConflictId,
    resolution: &Resolution,
) -> bool {
    let again = *resolution == Resolution::AgentRework;
    find(run, id, conflict).is_some_and(|(merge, _)| again || takes(run, merge.target))
}

pub fn resolve(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    conflict: ConflictId,
    resolution: &Resolution,
) -> Decision {
    managed(stage, principal, Act::Integrate, id)?;
    let Some((merge, at)) = find(stage.before(), id, conflict) else {
        return Err(Refusal::UnknownConflict);
    };
    let asked = &merge.open[at].gates;
    if asked
        .iter()
        .any(|gate| stage.before().gates.contains_key(gate))
    {
        return Err(Refusal::GatePending);
    }
    if !is_possible(stage.before(), id, conflict, resolution) {
        return Err(Refusal::InvalidState);
    }
    let acceptable = match resolution {
        Resolution::CoordinatorResolve(content) | Resolution::Escalate(content) => {
            content.is_acceptable()
        }
        Resolution::AgentRework => true,
    };
    if !acceptable {
        return Err(Refusal::InvalidStructure);
    }
    let open = &merge.open[at];
    let proposal = Proposal::ConflictResolution {
        conflict,
        conflict_type: open.conflict_type,
        description: open.description.clone(),
        resolution: resolution.clone(),
        resource: open.resource.clone(),
        workspace: id,
    };
    let subject = Subject::Conflict(conflict, resolution.strategy());
    // What is escalated goes to a person whether or not the gate is on (§7.8).
    let verdict = if matches!(resolution, Resolution::Escalate(_)) {
        gate::ask(stage, GateType::ConflictResolution, subject, proposal)?
    } else {
        gate::guard(stage, GateType::ConflictResolution, subject, proposal)?
    };
    match verdict {
        Verdict::Paused => {}
        Verdict::Proceed => perform_resolution(stage, id, conflict, resolution),
    }
    Ok(())
}

fn is_damaged(run: &Run, id: WorkspaceId, checkpoint: CheckpointId) -> bool {
    let found = register(run, id).and_then(|register| register.find(checkpoint));
    found.is_some_and(|checkpoint| checkpoint.is_damaged)
}

/// Settles one conflict; the last one closes the workspace, or the salvage.
pub fn perform_resolution(
    stage: &mut Stage<'_>,
    id: WorkspaceId,
    conflict: ConflictId,
    resolution: &Resolution,
) {
    let run = stage.before();
    let Some((merge, at)) = find(run, id, conflict) else {
        return;
    };
    let (how, content): (ResolvedBy, Option<Content>) = match resolution {
        // If one conflict needs the work done again, all of it is (§7.8).
        Resolution::AgentRework => {
            if merge.mode == Mode::Salvage {
                let reason = Aborted::Failed(Reason::AgentRework);
                give_up(stage, id, merge, ResolvedBy::AgentRework, reason);
            } else {
                end::fail(stage, id, Reason::AgentRework);
            }
            return;
        }
        // Verified again before it becomes a part of anything (§11.4).
        _ if is_damaged(run, id, merge.checkpoint) => {
            integrity::violation(stage, id, Damaged::Checkpoint(merge.checkpoint));
            if merge.mode == Mode::Salvage {
                let (how, reason) = (ResolvedBy::Abandoned, Aborted::IntegrityViolation);
                give_up(stage, id, merge, how, reason);
            } else {
                end::fail(stage, id, Reason::IntegrityViolation);
            }
            return;
        }
        Resolution::CoordinatorResolve(content) => (ResolvedBy::CoordinatorResolve, Some(*content)),
        Resolution::Escalate(content) => (ResolvedBy::Escalate, Some(*content)),
    };
    // Another way to settle it may be waiting for its answer.
    for gate in &merge.open[at].gates {
        gate::invalidate(stage, Some(*gate));
    }
    stage.push(
        Some(id),
        ConflictResolved {
            conflict,
            mode: merge.mode,
            resolution: content,
            strategy: how,
            workspace: id,
        },
    );
    if merge.open.len() > 1 {
        return;
    }
    stage.push(
        Some(id),
        IntegrationCompleted {
            checkpoint: merge.checkpoint,
            conflict_resolved: true,
            mode: merge.mode,
            source: id,
            strategy: merge.strategy,
            synthesis: merge.synthesis.clone(),
            target: merge.target,
        },
    );
    if merge.mode == Mode::Normal {
        stage.transition(id, State::Closed, Trigger::ConflictResolved, None);
        close(stage, id);
    } else {
        super::salvage::finish_task(stage, id);
    }
}

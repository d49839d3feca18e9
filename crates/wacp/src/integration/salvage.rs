//! What a failed workspace left can still be of use, with three guardrails:
//! the evaluated strategy only, confidence taken as low, and `salvage` in every
//! entry. The workspace stays failed (WACP §7.9).

use super::{
    Merge, Mode, Salvage, Strategy,
    merge::{Merging, check_merge, integrator},
};
use crate::{
    checkpoint::{Confidence, register},
    command::Principal,
    event::{Aborted, ConflictResolved, Damaged, IntegrationAborted, ResolvedBy},
    id::WorkspaceId,
    integrity::{self, Check},
    rejection::Refusal,
    role::delegation::{Act, managed},
    stage::{Decision, Stage},
    state::Slot,
    task::{self, Status},
    workspace::lifecycle::{Reason, State},
};

pub fn salvage(stage: &mut Stage<'_>, principal: Principal, salvage: &Salvage) -> Decision {
    let id = salvage.workspace;
    managed(stage, principal, "salvage", Act::Integrate, id)?;
    let run = stage.run;
    match run.state_of(id) {
        None => return stage.refuse(Refusal::TargetNotFound),
        Some(State::Failed) => {}
        Some(_) => return stage.refuse(Refusal::NothingToSalvage),
    }
    if salvage.strategy != Strategy::Evaluated {
        return stage.refuse(Refusal::SalvageNeedsEvaluated);
    }
    let Some(register) = register(run, id) else {
        return stage.refuse(Refusal::NothingToSalvage);
    };
    let chosen = salvage
        .checkpoint
        .or(register.last_final())
        .or(register.head());
    let Some(checkpoint) = chosen.and_then(|id| register.find(id)) else {
        return stage.refuse(Refusal::UnknownCheckpoint);
    };
    // A parent that has ended takes nothing; the root does.
    let parent = integrator(run, id);
    let target = run.open(parent).map_or(WorkspaceId::ROOT, |_| parent);
    if run.merges.contains_key(&id) {
        return stage.refuse(Refusal::IntegrationUnderWay);
    }
    let synthesis = salvage.synthesis.as_deref();
    if let Err(refusal) = check_merge(run, target, salvage.strategy, &salvage.conflicts, synthesis)
    {
        return stage.refuse(refusal);
    }
    let merge = Merging {
        source: id,
        target,
        mode: Mode::Salvage,
        strategy: salvage.strategy,
        checkpoint,
        declared: &salvage.conflicts,
        synthesis: salvage.synthesis.clone(),
    };
    merge.start(stage, Confidence::Low);
    if salvage.check == Check::Invalid {
        integrity::violation(stage, id, Damaged::Checkpoint(checkpoint.id));
        merge.give_up(stage, Aborted::IntegrityViolation);
        return Ok(());
    }
    if !salvage.usable {
        merge.give_up(stage, Aborted::Unusable);
        return Ok(());
    }
    if merge.detect(stage) == 0 {
        merge.complete(stage, false);
        finish_task(stage, id);
    }
    Ok(())
}

/// The task of a salvaged workspace is integrated, if nobody tries it again.
pub fn finish_task(stage: &mut Stage<'_>, id: WorkspaceId) {
    if let Some(task) = stage.run.workspace(id).and_then(Slot::task)
        && stage
            .run
            .task(task)
            .is_some_and(|known| known.status == Status::Failed)
    {
        task::set_status(stage, task, Status::Integrated, Some(id));
    }
}

/// A salvage whose conflicts need new work is given up.
pub fn rework(stage: &mut Stage<'_>, id: WorkspaceId, merge: &Merge) {
    give_up(
        stage,
        id,
        merge,
        ResolvedBy::AgentRework,
        Aborted::Failed(Reason::AgentRework),
    );
}

/// Ends a salvage without a result.
pub fn give_up(
    stage: &mut Stage<'_>,
    id: WorkspaceId,
    merge: &Merge,
    how: ResolvedBy,
    reason: Aborted,
) {
    for open in &merge.open {
        for gate in &open.gates {
            crate::gate::invalidate(stage, Some(*gate));
        }
        stage.push(
            Some(id),
            ConflictResolved {
                conflict: open.id,
                mode: merge.mode,
                resolution: None,
                strategy: how,
                workspace: id,
            },
        );
    }
    stage.push(
        Some(id),
        IntegrationAborted {
            mode: merge.mode,
            reason,
            source: id,
            target: merge.target,
        },
    );
}

//! What a failed workspace left can still be of use, with three guardrails:
//! the evaluated strategy only, confidence taken as low, and `salvage` in every
//! entry. The workspace stays failed (WACP §7.9). It is a merge like any other,
//! and whoever is asked before a merge is asked before this one.

use super::{
    Mode, Salvage, Strategy,
    merge::{Merging, check_merge, target_of},
};
use crate::{
    checkpoint::{Checkpoint, Confidence, register},
    command::Principal,
    event::{Aborted, Damaged},
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::WorkspaceId,
    integrity::{self, Check},
    rejection::Refusal,
    role::delegation::{Act, forbid, managed},
    stage::{Decision, Stage},
    state::{Run, Slot},
    task::{self, Status},
    workspace::lifecycle::State,
};

pub fn salvage(stage: &mut Stage<'_>, principal: Principal, salvage: &Salvage) -> Decision {
    let id = salvage.workspace;
    managed(stage, principal, Act::Integrate, id)?;
    let (by, checkpoint) = check(stage.before(), salvage)?;
    let checkpoint = checkpoint.id;
    // Where the parent has ended the root takes it: not a delegate's to give.
    if let Principal::Agent(delegate) = principal
        && by != delegate
        && !stage.before().is_beneath(by, delegate)
    {
        return Err(forbid(stage, principal, Some(id)));
    }
    let proposal = Proposal::Salvage {
        by,
        checkpoint,
        salvage: Box::new(salvage.clone()),
    };
    let subject = Subject::Salvage(id, by, checkpoint);
    match gate::guard(stage, GateType::Integration, subject, proposal)? {
        Verdict::Paused => {}
        Verdict::Proceed => perform(stage, salvage),
    }
    Ok(())
}

/// Everything a salvage must satisfy, at the gate and after it; gives where it
/// goes and what is salvaged.
pub fn check<'a>(
    run: &'a Run,
    salvage: &Salvage,
) -> Result<(WorkspaceId, &'a Checkpoint), Refusal> {
    let id = salvage.workspace;
    match run.state_of(id) {
        None => return Err(Refusal::TargetNotFound),
        Some(State::Failed) => {}
        Some(_) => return Err(Refusal::NothingToSalvage),
    }
    if salvage.strategy != Strategy::Evaluated {
        return Err(Refusal::SalvageNeedsEvaluated);
    }
    let register = register(run, id).ok_or(Refusal::NothingToSalvage)?;
    let chosen = salvage
        .checkpoint
        .or(register.last_final())
        .or(register.head());
    let checkpoint = chosen
        .and_then(|id| register.find(id))
        .ok_or(Refusal::UnknownCheckpoint)?;
    // In place of a parent that has ended, the root takes it.
    let parent = target_of(run, id);
    let target = run.open(parent).map_or(WorkspaceId::ROOT, |_| parent);
    let synthesis = salvage.synthesis.as_deref();
    check_merge(run, target, salvage.strategy, &salvage.conflicts, synthesis)?;
    Ok((target, checkpoint))
}

/// Begins the merge and, without conflicts, ends it.
pub fn perform(stage: &mut Stage<'_>, salvage: &Salvage) {
    let id = salvage.workspace;
    let Ok((target, checkpoint)) = check(stage.before(), salvage) else {
        return;
    };
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
    if salvage.check == Check::Invalid || checkpoint.is_damaged {
        integrity::violation(stage, id, Damaged::Checkpoint(checkpoint.id));
        merge.stop(stage, Aborted::IntegrityViolation);
        return;
    }
    if !salvage.usable {
        merge.stop(stage, Aborted::Unusable);
        return;
    }
    let found = merge.find(stage.before());
    if found.is_empty() {
        merge.complete(stage, false);
        finish_task(stage, id);
    } else {
        merge.record(stage, found);
    }
}

/// The task of a salvaged workspace is integrated, if nobody tries it again.
pub fn finish_task(stage: &mut Stage<'_>, id: WorkspaceId) {
    if let Some(task) = stage.before().workspace(id).and_then(Slot::task)
        && stage
            .before()
            .task(task)
            .is_some_and(|known| known.status == Status::Failed)
    {
        task::set_status(stage, task, Status::Integrated, Some(id));
    }
}

//! Accepting, and what "layered" finds.
//!
//! Two workspaces overlap on a resource if the parent already holds it, its own or
//! from an earlier merge, and the agent started from something else than what
//! the parent holds now. A change that was made on top of what is there, or that
//! leads to the very same content, is no conflict.

use std::sync::Arc;

use super::{Acceptance, ConflictType, Declared, Mode, Strategy, abandon::aborted};
use crate::{
    checkpoint::{Artifact, Checkpoint, Confidence, MAX_ARTIFACTS, register},
    command::Principal,
    event::{
        Aborted, ConflictDetected, Damaged, IntegrationCompleted, IntegrationStarted, Reference,
    },
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::{ArtifactId, ConflictId, WorkspaceId},
    integrity::{self, Check},
    rejection::Refusal,
    role::delegation::{Act, managed},
    signal::{self, SignalType},
    stage::{Decision, Stage},
    state::{Run, Slot},
    task::{self, Status},
    workspace::{
        LARGEST, end, is_long,
        lifecycle::{Reason, State, Trigger},
        visibility::authority_contains,
    },
};

/// Conflicts one acceptance may declare.
pub const MAX_CONFLICTS: usize = 256;

pub fn accept(stage: &mut Stage<'_>, principal: Principal, acceptance: &Acceptance) -> Decision {
    let id = acceptance.workspace;
    managed(stage, principal, Act::Integrate, id)?;
    check(stage.before(), acceptance)?;
    let proposal = Proposal::Integration {
        acceptance: Box::new(acceptance.clone()),
        by: target_of(stage.before(), id),
        checkpoint: register(stage.before(), id).and_then(|register| register.last_final()),
    };
    match gate::guard(
        stage,
        GateType::Integration,
        Subject::Workspace(id),
        proposal,
    )? {
        Verdict::Paused => {}
        Verdict::Proceed => perform(stage, acceptance),
    }
    Ok(())
}

/// Where a workspace is merged into: its parent.
pub fn target_of(run: &Run, id: WorkspaceId) -> WorkspaceId {
    run.workspace(id)
        .and_then(Slot::parent)
        .unwrap_or(WorkspaceId::ROOT)
}

/// Everything an acceptance must satisfy, at the gate and after it.
pub fn check(run: &Run, acceptance: &Acceptance) -> Result<(), Refusal> {
    let id = acceptance.workspace;
    let open = match (run.workspace(id), run.open(id)) {
        (None, _) => return Err(Refusal::TargetNotFound),
        (_, None) => return Err(Refusal::TargetTerminal),
        (_, Some(open)) => open,
    };
    if open.state != State::Integrating || id == WorkspaceId::ROOT {
        return Err(Refusal::InvalidState);
    }
    if open.register.last_final().is_none() {
        return Err(Refusal::NoFinalCheckpoint);
    }
    check_merge(
        run,
        target_of(run, id),
        acceptance.strategy,
        &acceptance.conflicts,
        acceptance.synthesis.as_deref(),
    )
}

/// What holds for every merge: one at a time, and nothing is declared that the
/// strategy cannot find.
pub fn check_merge(
    run: &Run,
    target: WorkspaceId,
    strategy: Strategy,
    declared: &[Declared],
    synthesis: Option<&[Artifact]>,
) -> Result<(), Refusal> {
    let range = (target, WorkspaceId(0))..=(target, WorkspaceId(u32::MAX));
    if run.merge_targets.range(range).next().is_some() {
        return Err(Refusal::IntegrationUnderWay);
    }
    if !takes(run, target) {
        return Err(Refusal::InvalidState);
    }
    if declared.len() > MAX_CONFLICTS || synthesis.is_some_and(|s| s.len() > MAX_ARTIFACTS) {
        return Err(Refusal::InvalidStructure);
    }
    if synthesis.is_some() && strategy != Strategy::Evaluated {
        return Err(Refusal::InvalidStructure);
    }
    check_synthesis(run, target, synthesis.unwrap_or_default())?;
    for conflict in declared {
        let resource = conflict.resource.as_deref();
        if is_long(&conflict.description) || resource.is_some_and(is_long) {
            return Err(Refusal::TooLong);
        }
        // Overlaps are computed, never declared.
        let computed = conflict.conflict_type == ConflictType::ContentOverlap;
        if computed || !strategy.detects(conflict.conflict_type) {
            return Err(Refusal::StrategyCannotDetect);
        }
    }
    Ok(())
}

/// What is paused, replaced or read-only takes nothing; the root always does.
pub fn takes(run: &Run, target: WorkspaceId) -> bool {
    let works = |state| matches!(state, State::Active | State::Blocked);
    target == WorkspaceId::ROOT || run.state_of(target).is_some_and(works)
}

/// A synthesis changes what its target may change, and nothing else.
fn check_synthesis(run: &Run, target: WorkspaceId, synthesis: &[Artifact]) -> Result<(), Refusal> {
    let authority = run.open(target).map(|open| &*open.authority);
    let may = |artifact: &Artifact| {
        target == WorkspaceId::ROOT
            || authority.is_some_and(|held| authority_contains(held, &artifact.resource))
    };
    if synthesis.iter().any(|artifact| is_long(&artifact.resource)) {
        Err(Refusal::TooLong)
    } else if synthesis.iter().any(|artifact| artifact.bytes > LARGEST) {
        Err(Refusal::InvalidStructure)
    } else if !synthesis.iter().all(may) {
        Err(Refusal::OutsideAuthority)
    } else {
        Ok(())
    }
}

/// Begins the merge and, without conflicts, ends it.
pub fn perform(stage: &mut Stage<'_>, acceptance: &Acceptance) {
    let id = acceptance.workspace;
    let run = stage.before();
    let Some(checkpoint) = register(run, id).and_then(|r| r.find(r.last_final()?)) else {
        return;
    };
    let target = target_of(run, id);
    let merge = Merging {
        source: id,
        target,
        mode: Mode::Normal,
        strategy: acceptance.strategy,
        checkpoint,
        declared: &acceptance.conflicts,
        synthesis: acceptance.synthesis.clone(),
    };
    if acceptance.check == Check::Invalid || checkpoint.is_damaged {
        merge.start(stage, checkpoint.confidence);
        integrity::violation(stage, id, Damaged::Checkpoint(checkpoint.id));
        merge.stop(stage, Aborted::IntegrityViolation);
        end::fail(stage, id, Reason::IntegrityViolation);
        return;
    }
    let found = merge.find(run);
    merge.start(stage, checkpoint.confidence);
    if !found.is_empty() {
        merge.record(stage, found);
        stage.transition(id, State::Conflicted, Trigger::ConflictDetected, None);
        return;
    }
    merge.complete(stage, false);
    stage.transition(id, State::Closed, Trigger::IntegrationSucceeded, None);
    close(stage, id);
}

/// The task and everything that waited for a workspace that closed.
pub fn close(stage: &mut Stage<'_>, id: WorkspaceId) {
    if let Some(task) = stage.before().workspace(id).and_then(Slot::task) {
        task::set_status(stage, task, Status::Integrated, Some(id));
    }
    end::settle(stage, id, crate::event::Undeliverable::WorkspaceTerminal);
}

/// A merge being put together.
#[derive(Debug)]
pub struct Merging<'a> {
    pub source: WorkspaceId,
    pub target: WorkspaceId,
    pub mode: Mode,
    pub strategy: Strategy,
    pub checkpoint: &'a Checkpoint,
    pub declared: &'a [Declared],
    pub synthesis: Option<Arc<[Artifact]>>,
}

impl Merging<'_> {
    pub fn start(&self, stage: &mut Stage<'_>, confidence: Confidence) {
        let about = Some(Reference::Workspace(self.source));
        // The coordinator's word, or that of the delegate in its place.
        let announcer = stage.asker.unwrap_or(WorkspaceId::ROOT);
        signal::say(stage, announcer, SignalType::Integrate, None, about);
        stage.push(
            Some(self.source),
            IntegrationStarted {
                checkpoint: self.checkpoint.id,
                confidence,
                mode: self.mode,
                source: self.source,
                strategy: self.strategy,
                synthesis: self.synthesis.clone(),
                target: self.target,
            },
        );
    }

    /// What does not fit, to be numbered when it is recorded.
    pub fn find(&self, run: &Run) -> Vec<ConflictDetected> {
        let conflict = |conflict_type| ConflictDetected {
            artifact: None,
            conflict: ConflictId(0),
            conflict_type,
            description: None,
            mode: self.mode,
            resource: None,
            theirs: None,
            workspace: self.source,
        };
        let overlap = |(at, artifact): (usize, &Artifact)| {
            let key = (self.target, artifact.resource.clone());
            let there = run.merged.get(&key)?;
            let fits = artifact.base == Some(there.hash) || artifact.hash == there.hash;
            (!fits).then(|| ConflictDetected {
                artifact: Some(ArtifactId(self.checkpoint.first_artifact.0 + at as u64)),
                resource: Some(artifact.resource.clone()),
                theirs: Some(there.hash),
                ..conflict(ConflictType::ContentOverlap)
            })
        };
        let declared = |declared: &Declared| ConflictDetected {
            description: Some(declared.description.clone()),
            resource: declared.resource.clone(),
            ..conflict(declared.conflict_type)
        };
        let looks = self.strategy.detects(ConflictType::ContentOverlap);
        let artifacts = self.checkpoint.artifacts.iter().enumerate();
        let overlaps = artifacts.filter(|_| looks).filter_map(overlap);
        overlaps.chain(self.declared.iter().map(declared)).collect()
    }

    pub fn record(&self, stage: &mut Stage<'_>, found: Vec<ConflictDetected>) {
        for mut detected in found {
            detected.conflict = stage.new_conflict();
            stage.push(Some(self.source), Box::new(detected));
        }
    }

    pub fn complete(&self, stage: &mut Stage<'_>, conflict_resolved: bool) {
        stage.push(
            Some(self.source),
            IntegrationCompleted {
                checkpoint: self.checkpoint.id,
                conflict_resolved,
                mode: self.mode,
                source: self.source,
                strategy: self.strategy,
                synthesis: self.synthesis.clone(),
                target: self.target,
            },
        );
    }

    /// Ends what was begun and goes no further, before any conflict is recorded.
    pub fn stop(&self, stage: &mut Stage<'_>, reason: Aborted) {
        aborted(stage, self.source, self.target, self.mode, reason);
    }
}

/// Revise or reject: the workspace fails, the work can be done again elsewhere.
/// Once the merge has conflicts, each is settled, and at its own gate.
pub fn refuse_work(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    reason: Reason,
) -> Decision {
    managed(stage, principal, Act::Integrate, id)?;
    match stage.before().state_of(id) {
        None => Err(Refusal::TargetNotFound),
        Some(state) if state.is_terminal() => Err(Refusal::TargetTerminal),
        Some(State::Integrating) if id != WorkspaceId::ROOT => {
            end::fail(stage, id, reason);
            Ok(())
        }
        Some(_) => Err(Refusal::InvalidState),
    }
}

//! How integration events change what parents hold.

use std::sync::Arc;

use super::{Merge, Merged, Mode, OpenConflict, ResolutionStrategy};
use crate::{
    checkpoint::{Artifact, register},
    event::{Entry, Event, IntegrationCompleted},
    gate::{self, GateType, Subject},
    id::{ArtifactId, WorkspaceId},
    role::Text,
    signal::Owed,
    state::Run,
};

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::IntegrationStarted(e) => {
            let found = register(run, e.source).and_then(|r| r.find(e.checkpoint));
            let (first_artifact, artifacts) = found.map_or((ArtifactId(0), Arc::from([])), |c| {
                (c.first_artifact, c.artifacts.clone())
            });
            // Silence about a salvage was a word about this one: it is used.
            if e.mode == Mode::Salvage {
                let subject = Subject::Salvage(e.source, e.target, e.checkpoint);
                run.guard.remove(&(GateType::Integration, subject));
            }
            run.merge_targets.insert((e.target, e.source));
            run.merges.insert(
                e.source,
                Merge {
                    target: e.target,
                    mode: e.mode,
                    strategy: e.strategy,
                    checkpoint: e.checkpoint,
                    first_artifact,
                    artifacts,
                    synthesis: e.synthesis.clone(),
                    open: Vec::new(),
                },
            );
        }
        Event::ConflictDetected(e) => {
            run.next.conflicts = run.next.conflicts.max(e.conflict.0.saturating_add(1));
            if let Some(merge) = run.merges.get_mut(&e.workspace) {
                merge.open.push(OpenConflict {
                    id: e.conflict,
                    conflict_type: e.conflict_type,
                    description: e.description.clone(),
                    resource: e.resource.clone(),
                    gates: Vec::new(),
                });
            }
        }
        Event::ConflictResolved(e) => {
            let mut asked = Vec::new();
            if let Some(merge) = run.merges.get_mut(&e.workspace) {
                let over = |open: &mut OpenConflict| open.id == e.conflict;
                asked.extend(merge.open.extract_if(.., over).flat_map(|open| open.gates));
            }
            // Nothing more is to be decided about it.
            for gate in asked {
                gate::apply::withdraw(run, gate);
            }
            for strategy in [
                ResolutionStrategy::CoordinatorResolve,
                ResolutionStrategy::Escalate,
                ResolutionStrategy::AgentRework,
            ] {
                let subject = Subject::Conflict(e.conflict, strategy);
                run.guard.remove(&(GateType::ConflictResolution, subject));
            }
        }
        Event::IntegrationCompleted(e) => {
            let Some(merge) = remove(run, e.source) else {
                return;
            };
            if e.mode == Mode::Normal {
                run.owed.insert(e.source, Owed::Close);
            }
            if run.open(e.target).is_none() {
                return;
            }
            run.merged_into.insert((e.target, e.source));
            take_over(run, e, merge.first_artifact, &merge.artifacts);
        }
        Event::IntegrationAborted(e) => {
            remove(run, e.source);
        }
        _ => {}
    }
}

fn remove(run: &mut Run, source: WorkspaceId) -> Option<Merge> {
    let merge = run.merges.remove(&source)?;
    run.merge_targets.remove(&(merge.target, source));
    Some(merge)
}

/// The target holds what was merged, which the source made in one checkpoint.
pub(crate) fn take_over(
    run: &mut Run,
    e: &IntegrationCompleted,
    first: ArtifactId,
    artifacts: &[Artifact],
) {
    match &e.synthesis {
        // A synthesis is addressed by the first artifact it was made from.
        Some(synthesis) => {
            for artifact in synthesis.iter() {
                hold(run, e.target, e.source, first, artifact);
            }
        }
        None => put(run, e.target, e.source, first, artifacts),
    }
}

/// A workspace holds what it made and what was merged into it, the latest of
/// each resource.
pub(crate) fn put(
    run: &mut Run,
    holder: WorkspaceId,
    source: WorkspaceId,
    first: ArtifactId,
    artifacts: &[Artifact],
) {
    for (at, artifact) in artifacts.iter().enumerate() {
        let number = ArtifactId(first.0 + at as u64);
        hold(run, holder, source, number, artifact);
    }
}

fn hold(
    run: &mut Run,
    holder: WorkspaceId,
    source: WorkspaceId,
    number: ArtifactId,
    artifact: &Artifact,
) {
    run.merged.insert(
        (holder, artifact.resource.clone()),
        Merged {
            artifact: number,
            hash: artifact.hash,
            source,
        },
    );
}

/// Notes where a conflict's resolution waits.
pub(crate) fn note_gate(
    run: &mut Run,
    workspace: WorkspaceId,
    conflict: crate::id::ConflictId,
    gate: crate::id::GateId,
) {
    if let Some(merge) = run.merges.get_mut(&workspace)
        && let Some(open) = merge.open.iter_mut().find(|open| open.id == conflict)
    {
        open.gates.push(gate);
    }
}

/// Drops what an ended workspace held, but for the root: that is the result.
pub fn forget(run: &mut Run, id: WorkspaceId) {
    remove(run, id);
    if id == WorkspaceId::ROOT {
        return;
    }
    let from = (id, Text::from(""));
    let keys: Vec<Text> = run
        .merged
        .range(from..)
        .take_while(|((target, _), _)| *target == id)
        .map(|((_, resource), _)| resource.clone())
        .collect();
    for resource in keys {
        run.merged.remove(&(id, resource));
    }
}

//! How a merge ends without a result: what was asked about its conflicts is asked
//! no more, each conflict is settled as such, then the merge is over.

use super::{Merge, Mode, merge::target_of};
use crate::{
    event::{Aborted, ConflictResolved, IntegrationAborted, ResolvedBy},
    gate,
    id::WorkspaceId,
    stage::Stage,
    workspace::lifecycle::{Reason, State},
};

/// A workspace fails, and with it its own merge and every salvage into it.
pub fn abandon(stage: &mut Stage<'_>, id: WorkspaceId, reason: Reason) {
    let run = stage.before();
    abandon_salvage(stage, id, Aborted::Failed(reason));
    let state = run.state_of(id);
    if !matches!(state, Some(State::Integrating | State::Conflicted)) {
        return;
    }
    match run.merges.get(&id) {
        Some(merge) => {
            let how = match reason {
                Reason::ConflictTimeout => ResolvedBy::Timeout,
                Reason::AgentRework => ResolvedBy::AgentRework,
                _ => ResolvedBy::Abandoned,
            };
            give_up(stage, id, merge, how, Aborted::Failed(reason));
        }
        // A violation has already ended the merge.
        None if reason == Reason::IntegrityViolation => {}
        None => {
            let target = target_of(run, id);
            aborted(stage, id, target, Mode::Normal, Aborted::Failed(reason));
        }
    }
}

/// Salvages into a workspace that takes no more have nowhere to go.
pub fn abandon_salvage(stage: &mut Stage<'_>, target: WorkspaceId, reason: Aborted) {
    let run = stage.before();
    let range = (target, WorkspaceId(0))..=(target, WorkspaceId(u32::MAX));
    for (_, source) in run.merge_targets.range(range) {
        if let Some(merge) = run.merges.get(source)
            && merge.mode == Mode::Salvage
        {
            give_up(stage, *source, merge, ResolvedBy::Abandoned, reason);
        }
    }
}

/// Ends a merge that is under way.
pub fn give_up(
    stage: &mut Stage<'_>,
    source: WorkspaceId,
    merge: &Merge,
    how: ResolvedBy,
    reason: Aborted,
) {
    for open in &merge.open {
        for gate in &open.gates {
            gate::invalidate(stage, Some(*gate));
        }
        stage.push(
            Some(source),
            ConflictResolved {
                conflict: open.id,
                mode: merge.mode,
                resolution: None,
                strategy: how,
                workspace: source,
            },
        );
    }
    aborted(stage, source, merge.target, merge.mode, reason);
}

pub fn aborted(
    stage: &mut Stage<'_>,
    source: WorkspaceId,
    target: WorkspaceId,
    mode: Mode,
    reason: Aborted,
) {
    stage.push(
        Some(source),
        IntegrationAborted {
            mode,
            reason,
            source,
            target,
        },
    );
}

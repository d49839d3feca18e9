//! What of a finished workspace's trail stays at hand, and what may move to the
//! archive (WACP §9.6). Nothing is deleted; entries move one way only.

use serde::{Deserialize, Serialize};

use crate::{
    command::{Compaction, Principal},
    event::{Event, TrailCompacted, TrailSnapshotCreated},
    gate,
    rejection::Refusal,
    role::delegation::runtime_only,
    stage::{Decision, Stage},
    state::{Run, Slot},
    workspace::LARGEST,
};

/// Where an entry is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Its workspace is at work, or it is the system's.
    Hot,
    /// Its workspace has ended.
    Warm,
    /// Archived, compressed, still queryable.
    Cold,
}

impl Tier {
    /// Hot to warm to cold, never back.
    pub fn may_become(self, to: Tier) -> bool {
        matches!(
            (self, to),
            (Tier::Hot, Tier::Warm) | (Tier::Warm, Tier::Cold)
        )
    }
}

/// Where the entries of a workspace are before any compaction.
pub fn tier(run: &Run, workspace: Option<crate::id::WorkspaceId>) -> Tier {
    match workspace.and_then(|id| run.workspace(id)) {
        Some(Slot::Ended(_)) => Tier::Warm,
        _ => Tier::Hot,
    }
}

/// Whether an entry must stay where it can be read at once. What is not named
/// as movable stays.
pub fn is_essential(event: &Event) -> bool {
    match event {
        Event::WorkspaceStateChanged(e) => e.to_state.is_terminal(),
        Event::EnvelopeDelivered(_)
        | Event::SignalDelivered(_)
        | Event::BudgetWarning(_)
        | Event::LivenessWarning(_)
        | Event::PriorityChanged(_)
        | Event::VisibilityGranted(_) => false,
        _ => true,
    }
}

/// The runtime has moved entries of a finished workspace.
pub fn compact(stage: &mut Stage<'_>, principal: Principal, done: &Compaction) -> Decision {
    runtime_only(stage, principal)?;
    match stage.before().workspace(done.workspace) {
        None => return Err(Refusal::TargetNotFound),
        Some(Slot::Open(_)) => return Err(Refusal::NotTerminal),
        Some(Slot::Ended(_)) => {}
    }
    // What is being salvaged is verified once more before it is merged.
    if stage.before().merges.contains_key(&done.workspace) {
        return Err(Refusal::IntegrationUnderWay);
    }
    let beyond = done.to > LARGEST || done.archived > LARGEST || done.preserved > LARGEST;
    if done.archived == 0 || done.from > done.to || beyond {
        return Err(Refusal::InvalidStructure);
    }
    // What is put away is not salvaged any more, and nobody is asked.
    for (_, gate) in stage
        .before()
        .gate_subjects
        .range(gate::salvages(done.workspace))
    {
        gate::invalidate(stage, Some(*gate));
    }
    stage.push(
        Some(done.workspace),
        TrailCompacted {
            archive_from: done.from,
            archive_hash: done.hash,
            archive_to: done.to,
            entries_archived: done.archived,
            entries_preserved: done.preserved,
            workspace: done.workspace,
        },
    );
    Ok(())
}

/// The state was written down.
pub fn record_snapshot(
    stage: &mut Stage<'_>,
    principal: Principal,
    state_hash: trail::Hash,
) -> Decision {
    runtime_only(stage, principal)?;
    let entries = stage.before().entries;
    stage.push(
        None,
        TrailSnapshotCreated {
            entries,
            state_hash,
        },
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_move_from_hot_to_warm_to_cold_and_no_other_way() {
        let tiers = [Tier::Hot, Tier::Warm, Tier::Cold];
        for from in tiers {
            for to in tiers {
                let expected = matches!(
                    (from, to),
                    (Tier::Hot, Tier::Warm) | (Tier::Warm, Tier::Cold)
                );
                assert_eq!(from.may_become(to), expected);
            }
        }
    }
}

//! Progress becomes the parent's: accepted, revised or rejected, one merge at a
//! time, conflicts found and settled (WACP §7.4–§7.9).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Hash;

use crate::{
    checkpoint::Artifact,
    content::Content,
    id::{ArtifactId, CheckpointId, ConflictId, GateId, WorkspaceId},
    integrity::Check,
    role::Text,
};

pub mod abandon;
pub mod apply;
pub mod conflict;
pub mod merge;
pub mod salvage;

pub use abandon::{abandon, abandon_salvage};
pub use apply::forget;
pub use conflict::{perform_resolution, resolve};
pub use merge::{accept, perform as perform_merge, refuse_work};
pub use salvage::{perform as perform_salvage, salvage};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Copied as it is; nothing is looked for.
    Direct,
    /// Put on top of what is there; overlaps are found.
    Layered,
    /// The coordinator has read both and puts in a synthesis.
    Evaluated,
}

impl Strategy {
    /// WACP §7.5.
    pub fn detects(self, conflict: ConflictType) -> bool {
        match self {
            Strategy::Direct => false,
            Strategy::Layered => conflict == ConflictType::ContentOverlap,
            Strategy::Evaluated => true,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Normal,
    Salvage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    ContentOverlap,
    SemanticContradiction,
    DependencyViolation,
    ConstraintBreach,
}

/// A conflict that the coordinator found by reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    pub conflict_type: ConflictType,
    pub description: Text,
    pub resource: Option<Text>,
}

/// The work is good: merge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// What verifying the checkpoint's proof again gave (§11.4). Held at a gate
    /// it grows old: whoever passes the answer on verifies once more, and
    /// reports a violation before the answer; nothing damaged is merged.
    pub check: Check,
    /// Only with a strategy that can find them.
    pub conflicts: Vec<Declared>,
    pub strategy: Strategy,
    /// With `evaluated`: what goes in place of the artifacts.
    pub synthesis: Option<Arc<[Artifact]>>,
    pub workspace: WorkspaceId,
}

impl Acceptance {
    pub fn of(workspace: WorkspaceId, strategy: Strategy) -> Acceptance {
        Acceptance {
            check: Check::Valid,
            conflicts: Vec::new(),
            strategy,
            synthesis: None,
            workspace,
        }
    }
}

/// What a failed workspace left is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salvage {
    pub check: Check,
    /// `None`: the last final one, else the last.
    pub checkpoint: Option<CheckpointId>,
    pub conflicts: Vec<Declared>,
    pub strategy: Strategy,
    pub synthesis: Option<Arc<[Artifact]>>,
    /// The coordinator's judgement; if not, the salvage is given up.
    pub usable: bool,
    pub workspace: WorkspaceId,
}

/// How a conflict is to be settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The coordinator's own judgement.
    CoordinatorResolve(Content),
    /// A person decides about this proposal.
    Escalate(Content),
    /// The workspace fails and the work is done again.
    AgentRework,
}

impl Resolution {
    pub fn strategy(&self) -> ResolutionStrategy {
        match self {
            Resolution::CoordinatorResolve(_) => ResolutionStrategy::CoordinatorResolve,
            Resolution::Escalate(_) => ResolutionStrategy::Escalate,
            Resolution::AgentRework => ResolutionStrategy::AgentRework,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionStrategy {
    CoordinatorResolve,
    Escalate,
    AgentRework,
}

/// A merge under way: what waits for its conflicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    pub target: WorkspaceId,
    pub mode: Mode,
    pub strategy: Strategy,
    pub checkpoint: CheckpointId,
    pub first_artifact: ArtifactId,
    pub artifacts: Arc<[Artifact]>,
    pub synthesis: Option<Arc<[Artifact]>>,
    pub open: Vec<OpenConflict>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenConflict {
    pub id: ConflictId,
    pub conflict_type: ConflictType,
    pub description: Option<Text>,
    pub resource: Option<Text>,
    /// Where a resolution of it was asked for, latest last.
    pub gates: Vec<GateId>,
}

/// What a workspace holds of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub artifact: ArtifactId,
    pub hash: Hash,
    pub source: WorkspaceId,
}

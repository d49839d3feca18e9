//! Facts of the runtime itself: recovery, security and the trail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Hash;

use crate::{
    event::Holder,
    id::{CheckpointId, EnvelopeId, WorkspaceId},
    role::Text,
};

/// The runtime could not do its work for a while, or is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemDegraded {
    pub affected: Arc<[WorkspaceId]>,
    pub coordinator_action: Option<Text>,
    pub reason: Text,
    pub scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Run,
    Workspaces,
}

/// The run goes on after a stop: what was lost is made good, and the time is
/// put off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryCompleted {
    pub downtime_us: u64,
    pub envelopes_redelivered: u32,
    pub quarantined_entries: u64,
    pub signals_requeued: u32,
    pub timers_reconstructed: u32,
    pub trail_entries_examined: u64,
    pub workspaces_failed: u32,
    pub workspaces_recovered: u32,
}

/// What a violation was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damaged {
    /// It was refused before it had an identifier.
    NewCheckpoint,
    NewEnvelope,
    Checkpoint(CheckpointId),
    Envelope(EnvelopeId),
}

/// A proof does not fit what it should prove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityViolation {
    pub subject: Damaged,
    pub workspace: WorkspaceId,
}

/// Entries of a finished workspace moved to the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailCompacted {
    pub archive_from: u64,
    pub archive_hash: Hash,
    pub archive_to: u64,
    pub entries_archived: u64,
    pub entries_preserved: u64,
    pub workspace: WorkspaceId,
}

/// Someone asked for entries outside their scope and got nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailAccessDenied {
    pub holder: Holder,
    /// The workspace asked for; `None` for the whole run.
    pub target: Option<WorkspaceId>,
}

/// The state up to here was written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailSnapshotCreated {
    pub entries: u64,
    pub state_hash: Hash,
}

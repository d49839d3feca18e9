//! The unit of progress: immutable, in one chain per workspace (WACP §7.1–7.3).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trail::Hash;

use crate::{
    command::Principal,
    content::Content,
    event::{CheckpointCreated, CheckpointRejected, Damaged, Entry, Event, Reference},
    gate,
    id::{ArtifactId, CheckpointId, WorkspaceId},
    integration,
    integrity::{self, Check, Proof},
    rejection::Refusal,
    role::{BaseRole, CheckpointType, Text, delegation::forbid},
    signal::{self, SignalType},
    stage::{Decision, Stage},
    state::{Run, Slot},
    workspace::{
        LARGEST, Workspace,
        budget::{Dimension, Usage},
        is_long,
        lifecycle::State,
        meter, plus,
        visibility::authority_contains,
    },
};

/// Artifacts of one checkpoint.
pub const MAX_ARTIFACTS: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Provisional,
    Final,
}

/// Information, never a gate (§7.2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    High,
    Medium,
    Low,
}

/// One resource as a checkpoint leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// What the agent started from; `None` if the resource was new to it.
    pub base: Option<Hash>,
    pub bytes: u64,
    pub hash: Hash,
    pub resource: Text,
}

/// What an agent may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    pub artifacts: Arc<[Artifact]>,
    pub check: Check,
    pub checkpoint_type: CheckpointType,
    pub confidence: Confidence,
    pub content: Option<Content>,
    pub intent: Content,
    pub parent: Option<CheckpointId>,
    pub proof: Option<Proof>,
    /// Since the checkpoint before.
    pub resource_usage: Option<Usage>,
    pub status: Status,
}

impl NewCheckpoint {
    /// A final artifact checkpoint after `parent`, its proof verified as for
    /// a plain envelope.
    pub fn last(parent: Option<CheckpointId>, artifacts: Vec<Artifact>) -> NewCheckpoint {
        let intent = Content::markdown("done");
        NewCheckpoint {
            artifacts: artifacts.into(),
            check: Check::Valid,
            checkpoint_type: CheckpointType::Artifact,
            confidence: Confidence::Medium,
            content: None,
            intent,
            parent,
            proof: Some(Proof::unverified(intent.hash)),
            resource_usage: None,
            status: Status::Final,
        }
    }
}

/// A checkpoint as the register keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: CheckpointId,
    pub status: Status,
    pub confidence: Confidence,
    pub first_artifact: ArtifactId,
    pub artifacts: Arc<[Artifact]>,
    /// What is stored of it was found changed: it is never merged.
    pub is_damaged: bool,
}

/// The chain of a workspace, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    pub chain: Vec<Checkpoint>,
    /// What the agent says it has used, in total.
    pub reported: Usage,
}

impl Register {
    pub fn head(&self) -> Option<CheckpointId> {
        self.chain.last().map(|checkpoint| checkpoint.id)
    }

    /// The most recent final checkpoint: the one that is integrated (§7.2.2).
    pub fn last_final(&self) -> Option<CheckpointId> {
        let last = self.chain.iter().rev().find(|c| c.status == Status::Final);
        last.map(|checkpoint| checkpoint.id)
    }

    pub fn find(&self, id: CheckpointId) -> Option<&Checkpoint> {
        self.chain.get(self.place(id)?)
    }

    fn place(&self, id: CheckpointId) -> Option<usize> {
        let found = self.chain.binary_search_by_key(&id, |known| known.id);
        found.ok()
    }
}

/// The register of a workspace, ended ones that failed included.
pub fn register(run: &Run, id: WorkspaceId) -> Option<&Register> {
    match run.workspace(id)? {
        Slot::Open(open) => Some(&open.register),
        Slot::Ended(ended) => ended.register.as_deref(),
    }
}

pub fn create(stage: &mut Stage<'_>, principal: Principal, new: &NewCheckpoint) -> Decision {
    let workspace = match principal {
        Principal::Agent(id) => id,
        Principal::Coordinator => WorkspaceId::ROOT,
        _ => {
            return Err(forbid(stage, principal, None));
        }
    };
    let run = stage.before();
    if let Err(reason) = check(run, workspace, new) {
        if reason == Refusal::IntegrityViolation {
            integrity::violation(stage, workspace, Damaged::NewCheckpoint);
        }
        let place = run.workspace(workspace).map(|_| workspace);
        stage.push_protocol(
            place,
            CheckpointRejected {
                checkpoint_type: new.checkpoint_type,
                reason,
                workspace,
            },
        );
        return Err(reason);
    }
    let checkpoint = stage.new_checkpoint();
    let first_artifact = stage.new_artifacts(new.artifacts.len());
    stage.push(
        Some(workspace),
        Box::new(CheckpointCreated {
            artifacts: new.artifacts.clone(),
            checkpoint,
            checkpoint_type: new.checkpoint_type,
            confidence: new.confidence,
            consumed: meter::unwritten(stage, workspace),
            content: new.content,
            first_artifact,
            intent: new.intent,
            parent: new.parent,
            proof: new.proof,
            resource_usage: new.resource_usage,
            status: new.status,
            workspace,
        }),
    );
    // §7.2.5: the signal is the runtime's, not the agent's.
    let reference = Some(Reference::Checkpoint(checkpoint));
    stage.as_protocol(|stage| {
        signal::say(stage, workspace, SignalType::Checkpoint, None, reference);
    });
    account(stage, workspace, new);
    Ok(())
}

/// Bytes are counted; what the agent reports counts only where nobody else does.
fn account(stage: &mut Stage<'_>, workspace: WorkspaceId, new: &NewCheckpoint) {
    let mut measured = meter::unwritten(stage, workspace).unwrap_or_default();
    if let (Some(open), Some(usage)) = (stage.before().open(workspace), new.resource_usage) {
        let total = total(&open.register.reported, &usage);
        if open.metered {
            meter::compare(stage, workspace, &total);
        } else {
            measured = measured.max(total);
        }
    }
    meter::account(stage, workspace, &measured);
    if stage.state_of(workspace) == Some(State::Active) {
        meter::charge(
            stage,
            workspace,
            Dimension::CheckpointBytes,
            bytes(new.content, &new.artifacts),
        );
    }
}

fn total(before: &Usage, more: &Usage) -> Usage {
    Usage {
        // A window is as large as it was at its largest.
        context: before.context.max(more.context),
        cost_micros: plus(before.cost_micros, more.cost_micros),
        tokens: plus(before.tokens, more.tokens),
        trail_bytes: 0,
        wall_time_us: plus(before.wall_time_us, more.wall_time_us),
    }
}

fn bytes(content: Option<Content>, artifacts: &[Artifact]) -> u64 {
    let content = content.map_or(0, |content| content.bytes);
    artifacts
        .iter()
        .fold(content, |sum, artifact| plus(sum, artifact.bytes))
}

fn check(run: &Run, id: WorkspaceId, new: &NewCheckpoint) -> Result<(), Refusal> {
    let started = run.started().ok_or(Refusal::NotStarted)?;
    let open: &Workspace = run.living(id)?;
    if open.state != State::Active {
        return Err(Refusal::InvalidState);
    }
    if new.check == Check::Invalid || new.proof.is_none() {
        return Err(Refusal::IntegrityViolation);
    }
    if !started.taxonomy.has_checkpoint_type(new.checkpoint_type) {
        return Err(Refusal::InvalidType);
    }
    let permissions = run
        .permissions(open.role)
        .filter(|permissions| permissions.may_create(new.checkpoint_type))
        .ok_or(Refusal::PermissionDenied)?;
    let content = new.intent.is_acceptable() && new.content.is_none_or(|c| c.is_acceptable());
    // The trail is the runtime's to count.
    let usage = new
        .resource_usage
        .is_none_or(|usage| usage.is_valid() && usage.trail_bytes == 0);
    let sized = |artifact: &Artifact| artifact.bytes <= LARGEST;
    if !content || !usage || !new.artifacts.iter().all(sized) {
        return Err(Refusal::InvalidStructure);
    }
    if new.artifacts.len() > MAX_ARTIFACTS {
        return Err(Refusal::TooManyArtifacts);
    }
    if new
        .artifacts
        .iter()
        .any(|artifact| is_long(&artifact.resource))
    {
        return Err(Refusal::TooLong);
    }
    if new.parent != open.register.head() {
        return Err(Refusal::NotChainHead);
    }
    // §5.2: an observer modifies nothing, whatever authority it was given.
    let modifies = permissions.base != BaseRole::Observer;
    let inside =
        |artifact: &Artifact| modifies && authority_contains(&open.authority, &artifact.resource);
    if !new.artifacts.iter().all(inside) {
        return Err(Refusal::OutsideAuthority);
    }
    Ok(())
}

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::CheckpointCreated(e) => created(run, e),
        Event::IntegrityViolation(e) => {
            if let Damaged::Checkpoint(id) = e.subject {
                damaged(run, e.workspace, id);
            }
        }
        // What was put away is not salvaged any more, and nobody is asked.
        Event::TrailCompacted(e) => {
            gate::apply::forget_salvages(run, e.workspace);
            if let Some(Slot::Ended(ended)) = run.workspaces.get_mut(e.workspace.0 as usize) {
                ended.register = None;
            }
        }
        _ => {}
    }
}

fn damaged(run: &mut Run, workspace: WorkspaceId, id: CheckpointId) {
    let register = match run.workspaces.get_mut(workspace.0 as usize) {
        Some(Slot::Open(open)) => Some(&mut open.register),
        Some(Slot::Ended(ended)) => ended.register.as_deref_mut(),
        None => None,
    };
    if let Some(register) = register
        && let Some(at) = register.place(id)
    {
        register.chain[at].is_damaged = true;
    }
}

fn created(run: &mut Run, e: &CheckpointCreated) {
    run.next.checkpoints = run.next.checkpoints.max(e.checkpoint.0.saturating_add(1));
    run.next.artifacts = run
        .next
        .artifacts
        .max(e.first_artifact.0 + e.artifacts.len() as u64);
    if run.open(e.workspace).is_none() {
        return;
    }
    integration::apply::put(
        run,
        e.workspace,
        e.workspace,
        e.first_artifact,
        &e.artifacts,
    );
    let Some(open) = run.open_mut(e.workspace) else {
        return;
    };
    open.register.chain.push(Checkpoint {
        id: e.checkpoint,
        status: e.status,
        confidence: e.confidence,
        first_artifact: e.first_artifact,
        artifacts: e.artifacts.clone(),
        is_damaged: false,
    });
    let metered = open.metered;
    if let Some(usage) = &e.resource_usage {
        let total = total(&open.register.reported, usage);
        open.register.reported = total;
        if !metered {
            meter::raise_all(run, e.workspace, &total);
        }
    }
    if let Some(totals) = &e.consumed {
        meter::raise_all(run, e.workspace, totals);
    }
    meter::consume(
        run,
        e.workspace,
        Dimension::CheckpointBytes,
        bytes(e.content, &e.artifacts),
    );
}

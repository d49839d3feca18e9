//! Synchronisation points: a transition waits for a person's answer (WACP §8).
//!
//! Every gate ends: by an answer, by its fallback, or because what it asks
//! about is no longer possible. A question that fell back is not asked twice.

use std::{ops::RangeInclusive, sync::Arc};

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    command::Principal,
    content::Content,
    envelope,
    event::{
        About, Actor, GateReentryBlocked, GateResolved, GateTriggered, ResolutionReason, Resolver,
    },
    id::{CheckpointId, ConflictId, EnvelopeId, GateId, GraphId, Party, TaskId, WorkspaceId},
    integration::{Acceptance, ConflictType, Resolution, ResolutionStrategy, Salvage},
    rejection::Refusal,
    right::RightKind,
    role::{EnvelopeType, Text},
    stage::Stage,
    state::{Run, Slot},
    task::{Estimate, Priority},
    user::Capability,
    workspace::{Band, NewWorkspace, Seen, WindDown, budget::Budget},
};

pub mod answer;
pub mod apply;
pub mod config;

pub use answer::{decide, resolve, time_out};
pub use apply::forget_workspace;
use config::Fallback;

trail::closed! {
    GateType {
        TaskApproval,
        WorkspaceCreate,
        EnvelopeDelivery,
        Integration,
        ConflictResolution,
        WorkspaceAbort,
    }
}

impl GateType {
    /// What a person needs to answer: for their own workspaces, for any. A plan
    /// belongs to no workspace yet; every active person may answer it.
    pub fn capabilities(self) -> Option<(Capability, Capability)> {
        use Capability as C;
        match self {
            GateType::TaskApproval => None,
            GateType::WorkspaceCreate => Some((C::CreateWorkspace, C::CreateWorkspaceAny)),
            GateType::EnvelopeDelivery => Some((C::InjectDirective, C::InjectDirectiveAny)),
            GateType::Integration | GateType::ConflictResolution => {
                Some((C::ApproveIntegration, C::ApproveIntegrationAny))
            }
            GateType::WorkspaceAbort => Some((C::AbortOwn, C::AbortAny)),
        }
    }
}

trail::closed! {
    Answer {
        Approve,
        Reject,
        Modify,
    }
}

/// What a question is about; with the type it identifies the question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A conflict and how it is to be settled: another way is another question.
    Conflict(ConflictId, ResolutionStrategy),
    Envelope(EnvelopeId),
    /// Something that does not exist yet; each proposal is its own question.
    Proposal,
    /// What a failed workspace left: this checkpoint, into that place.
    Salvage(WorkspaceId, WorkspaceId, CheckpointId),
    Task(TaskId),
    /// The request to finish within so many microseconds: a yes to it is none to
    /// an abort at once, nor to a shorter time.
    WindDown(WorkspaceId, u64),
    Workspace(WorkspaceId),
}

/// What happens if the answer is yes: the whole subject, so that nobody has to
/// look elsewhere to answer (WACP §8.2, §8.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposal {
    ConflictResolution {
        conflict: ConflictId,
        conflict_type: ConflictType,
        description: Option<Text>,
        resolution: Resolution,
        resource: Option<Text>,
        workspace: WorkspaceId,
    },
    EnvelopeDelivery {
        envelope: EnvelopeId,
        envelope_type: EnvelopeType,
        from: Option<WorkspaceId>,
        in_reply_to: Option<EnvelopeId>,
        payload: Content,
        priority: envelope::Priority,
        rights: Arc<[(RightKind, WorkspaceId)]>,
        to: WorkspaceId,
    },
    Integration {
        acceptance: Box<Acceptance>,
        by: WorkspaceId,
        /// What would be merged.
        checkpoint: Option<CheckpointId>,
    },
    Salvage {
        by: WorkspaceId,
        /// What would be merged.
        checkpoint: CheckpointId,
        salvage: Box<Salvage>,
    },
    TaskApproval {
        depends_on: Arc<[TaskId]>,
        description: Content,
        graph: GraphId,
        name: Text,
        parent_task: Option<TaskId>,
        priority: Priority,
        resource_estimate: Option<Estimate>,
        task: TaskId,
    },
    WindDown(Box<WindDown>),
    WorkspaceAbort {
        reason: Option<Text>,
        workspace: WorkspaceId,
    },
    WorkspaceCreate {
        by: Principal,
        new: Box<NewWorkspace>,
        originator: Party,
        owner: Party,
    },
}

impl Proposal {
    /// The workspace it concerns: the parent of one that does not exist yet.
    pub fn workspace(&self) -> Option<WorkspaceId> {
        match self {
            Proposal::ConflictResolution { workspace, .. } => Some(*workspace),
            Proposal::EnvelopeDelivery { to, .. } => Some(*to),
            Proposal::Integration { acceptance, .. } => Some(acceptance.workspace),
            Proposal::Salvage { salvage, .. } => Some(salvage.workspace),
            Proposal::TaskApproval { .. } => None,
            Proposal::WindDown(request) => Some(request.workspace),
            Proposal::WorkspaceAbort { workspace, .. } => Some(*workspace),
            Proposal::WorkspaceCreate { new, .. } => Some(new.parent),
        }
    }

    /// The task it is about.
    pub fn task(&self, run: &Run) -> Option<TaskId> {
        match self {
            Proposal::TaskApproval { task, .. } => Some(*task),
            Proposal::WorkspaceCreate { new, .. } => new.task,
            other => run.workspace(other.workspace()?).and_then(Slot::task),
        }
    }

    /// The envelope it is about.
    pub fn envelope(&self) -> Option<EnvelopeId> {
        match self {
            Proposal::EnvelopeDelivery { envelope, .. } => Some(*envelope),
            _ => None,
        }
    }
}

/// What a person changes before agreeing; only what is named is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modification {
    Payload(Content),
    Resolution(Content),
    Task(TaskModification),
    Workspace(WorkspaceModification),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskModification {
    pub description: Option<Content>,
    pub name: Option<Text>,
    pub priority: Option<Priority>,
    pub resource_estimate: Option<Estimate>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceModification {
    pub budget: Option<Budget>,
    pub priority: Option<Band>,
    pub visibility: Option<Arc<[Seen]>>,
}

/// A pending question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub gate_type: GateType,
    pub subject: Subject,
    pub proposal: Proposal,
    pub fallback: Fallback,
    pub triggered: Micros,
    pub timeout_at: Option<Micros>,
    /// Who wanted the transition.
    pub actor: Actor,
    /// The workspace whose agent asked, and is told of the answer.
    pub asked_by: WorkspaceId,
}

impl Gate {
    /// The delegate without whom nothing comes of it. An envelope was sent when
    /// it was asked about, and is its sender's matter no more.
    pub fn delegate(&self) -> Option<WorkspaceId> {
        match self.proposal {
            Proposal::EnvelopeDelivery { .. } => None,
            _ => Some(self.asked_by).filter(|id| *id != WorkspaceId::ROOT),
        }
    }
}

/// What a gate says at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Proceed,
    Paused,
}

/// How a question stands before anyone asks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The gate is off: nothing to ask.
    Free,
    /// It would be asked.
    Asks,
    /// It waits already.
    Waits,
    /// It fell back to a no.
    Refused,
    /// It fell back to a yes, or was handed to the coordinator, who may go on.
    Granted,
}

/// Whether this gate is on in this run.
pub fn is_on(run: &Run, gate_type: GateType) -> bool {
    run.started()
        .is_some_and(|started| started.highway.gate(gate_type).enabled)
}

pub fn standing(run: &Run, gate_type: GateType, subject: Subject) -> Standing {
    let key = (gate_type, subject);
    if !is_on(run, gate_type) {
        Standing::Free
    } else if run.gate_subjects.contains_key(&key) {
        Standing::Waits
    } else {
        match run.guard.get(&key) {
            None => Standing::Asks,
            Some(Fallback::Reject) => Standing::Refused,
            Some(Fallback::Approve | Fallback::EscalateToCoordinator) => Standing::Granted,
        }
    }
}

/// Asks, if this gate is on in this run.
pub fn guard(
    stage: &mut Stage<'_>,
    gate_type: GateType,
    subject: Subject,
    proposal: Proposal,
) -> Result<Verdict, Refusal> {
    if is_on(stage.before(), gate_type) {
        ask(stage, gate_type, subject, proposal)
    } else {
        Ok(Verdict::Proceed)
    }
}

/// Asks, unless the same question waits or has fallen back already.
pub fn ask(
    stage: &mut Stage<'_>,
    gate_type: GateType,
    subject: Subject,
    proposal: Proposal,
) -> Result<Verdict, Refusal> {
    let run = stage.before();
    let started = run.started().ok_or(Refusal::NotStarted)?;
    let key = (gate_type, subject);
    if run.gate_subjects.contains_key(&key) {
        return Err(Refusal::GatePending);
    }
    if let Some(fallback) = run.guard.get(&key) {
        // What was handed to the coordinator is its to take up, nobody else's.
        if *fallback == Fallback::EscalateToCoordinator && stage.actor != Actor::System {
            return Err(Refusal::GatePending);
        }
        return reenter(stage, gate_type, subject, *fallback);
    }
    let setting = started.highway.gate(gate_type);
    let queue_position = stage.gates_before();
    let gate = stage.new_gate();
    let workspace = proposal.workspace();
    let task = proposal.task(run);
    let graph = match proposal {
        Proposal::TaskApproval { graph, .. } => Some(graph),
        _ => task.and_then(|task| run.task(task)).map(|task| task.graph),
    };
    let asked_by = match proposal {
        Proposal::EnvelopeDelivery { from, .. } => from,
        _ => stage.asker,
    };
    let timeout_at = setting
        .timeout_us
        .map(|us| Micros(stage.next_time().0.saturating_add(us as i64)));
    stage.push(
        workspace,
        Box::new(GateTriggered {
            asked_by: asked_by.unwrap_or(WorkspaceId::ROOT),
            fallback: setting.fallback,
            gate,
            gate_type,
            graph,
            proposal,
            queue_position,
            subject,
            task,
            timeout_at,
            workspace,
        }),
    );
    Ok(Verdict::Paused)
}

/// The re-entry guard: what was handed to the coordinator and comes back is a
/// yes; what fell back to a no stays one.
fn reenter(
    stage: &mut Stage<'_>,
    gate_type: GateType,
    subject: Subject,
    fallback: Fallback,
) -> Result<Verdict, Refusal> {
    let handed = stage
        .before()
        .escalated_gates
        .iter()
        .find(|(_, gate)| gate.gate_type == gate_type && gate.subject == subject);
    let converted_to = match fallback {
        Fallback::Reject => Answer::Reject,
        Fallback::Approve | Fallback::EscalateToCoordinator => Answer::Approve,
    };
    let about = handed.map(|(_, gate)| about(stage, gate, false));
    stage.push_protocol(
        None,
        GateReentryBlocked {
            about,
            converted_to,
            gate: handed.map(|(id, _)| *id),
            gate_type,
            subject,
        },
    );
    if converted_to == Answer::Reject {
        return Err(Refusal::GateFellBack);
    }
    Ok(Verdict::Proceed)
}

/// Whom an answer is for, and what it is about. A yes to a new workspace takes
/// its number now: the answer names what comes of it.
fn about(stage: &mut Stage<'_>, gate: &Gate, is_yes: bool) -> About {
    let workspace = match &gate.proposal {
        Proposal::WorkspaceCreate { .. } => is_yes.then(|| stage.new_workspace()),
        other => other.workspace(),
    };
    About {
        asked_by: gate.asked_by,
        envelope: gate.proposal.envelope(),
        task: gate.proposal.task(stage.before()),
        workspace,
    }
}

/// What a gate asks about is no longer possible: the runtime says no.
pub fn invalidate(stage: &mut Stage<'_>, gate: Option<GateId>) {
    let Some(id) = gate else {
        return;
    };
    let Some(gate) = stage.gate(id) else {
        return;
    };
    let about = about(stage, gate, false);
    stage.push_protocol(
        gate.proposal.workspace(),
        Box::new(GateResolved {
            about,
            action: Answer::Reject,
            gate: id,
            gate_type: gate.gate_type,
            modification: None,
            reason: Some(ResolutionReason::SubjectInvalidated),
            resolver: Resolver::Protocol,
        }),
    );
}

/// Elsewhere a merge is another question.
pub fn invalidate_merge(stage: &mut Stage<'_>, id: WorkspaceId) {
    let key = (GateType::Integration, Subject::Workspace(id));
    let gate = stage.before().gate_subjects.get(&key).copied();
    invalidate(stage, gate);
}

/// The questions about salvaging what a workspace left.
pub fn salvages(id: WorkspaceId) -> RangeInclusive<(GateType, Subject)> {
    let (first, last) = (WorkspaceId(0), WorkspaceId(u32::MAX));
    let about = |target, checkpoint| Subject::Salvage(id, target, CheckpointId(checkpoint));
    (GateType::Integration, about(first, 0))..=(GateType::Integration, about(last, u64::MAX))
}

/// The run ends, and with it every question.
pub fn invalidate_all(stage: &mut Stage<'_>) {
    let run = stage.before();
    for gate in run.gates.keys() {
        invalidate(stage, Some(*gate));
    }
}

//! What an accepted order made, read off its entries.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kind::Thing;
use crate::{
    Command, Entry, Event, Order, Principal, Run,
    id::{
        ArtifactId, CheckpointId, ConflictId, EnvelopeId, GateId, GraphId, SignalId, TaskId,
        WorkspaceId,
    },
    role::Text,
    task,
    workspace::lifecycle::State,
};

trail::closed! {
    /// Whether it is done, or waits for a person.
    Result {
        Done = "done",
        Asked = "asked",
    }
}

/// The answer to an accepted order; what it did not make is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub result: Result,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<EnvelopeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// In the order in which they were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<Text, TaskId>,
    /// Where it waits, or where people were asked about what it made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictId>,
    /// What the order is about, as it stands now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// The status of a workspace or of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Status {
    Workspace(State),
    Task(task::Status),
}

impl Answer {
    /// `run` is the state after the entries.
    pub fn new(run: &Run, order: &Order, entries: &[Entry]) -> Answer {
        let mut answer = Answer {
            result: Result::Done,
            workspace: None,
            envelope: None,
            signal: None,
            checkpoint: None,
            artifacts: Vec::new(),
            graph: None,
            tasks: BTreeMap::new(),
            gates: Vec::new(),
            conflicts: Vec::new(),
            status: None,
        };
        let asker = asker(order.principal);
        for entry in entries {
            answer.add(&entry.event, asker);
        }
        if !answer.gates.is_empty() {
            answer.result = Result::Asked;
        }
        answer.status = answer.status(run, order);
        answer
    }

    fn add(&mut self, event: &Event, asker: Option<WorkspaceId>) {
        match event {
            Event::WorkspaceCreated(e) => _ = self.workspace.get_or_insert(e.workspace),
            // What came on its way besides is somebody else's.
            Event::EnvelopeCreated(e) if e.from == asker => {
                self.envelope.get_or_insert(e.envelope);
            }
            Event::SignalEmitted(e) if Some(e.from) == asker => {
                self.signal.get_or_insert(e.signal);
            }
            Event::CheckpointCreated(e) => {
                self.checkpoint = Some(e.checkpoint);
                let first = e.first_artifact.0;
                let all = first..first + e.artifacts.len() as u64;
                self.artifacts.extend(all.map(ArtifactId));
            }
            Event::GraphCreated(e) => self.graph = Some(e.graph),
            Event::TaskCreated(e) => _ = self.tasks.insert(e.name.clone(), e.task),
            Event::GateTriggered(e) if e.asked_by.is_none() || e.asked_by == asker => {
                self.gates.push(e.gate);
            }
            Event::ConflictDetected(e) => self.conflicts.push(e.conflict),
            _ => {}
        }
    }

    fn status(&self, run: &Run, order: &Order) -> Option<Status> {
        if let Command::RetryTask { task } | Command::CancelTask { task } = &order.command {
            return run.task(*task).map(|task| Status::Task(task.status));
        }
        let about = self.workspace.or(about(order))?;
        run.state_of(about).map(Status::Workspace)
    }

    /// What a later order of the list means by `@` and this one's name: the
    /// thing it made, or one of its tasks by name.
    pub fn made(&self, thing: Thing, task: Option<&str>) -> Option<String> {
        match (thing, task) {
            (Thing::Task, Some(name)) => self.tasks.get(name).map(TaskId::to_string),
            (_, Some(_)) => None,
            (Thing::Task, None) if self.tasks.len() == 1 => {
                self.tasks.values().next().map(TaskId::to_string)
            }
            (Thing::Workspace, None) => self.workspace.as_ref().map(WorkspaceId::to_string),
            (Thing::Envelope, None) => self.envelope.as_ref().map(EnvelopeId::to_string),
            (Thing::Signal, None) => self.signal.as_ref().map(SignalId::to_string),
            (Thing::Checkpoint, None) => self.checkpoint.as_ref().map(CheckpointId::to_string),
            (Thing::Gate, None) => self.gates.first().map(GateId::to_string),
            (Thing::Conflict, None) => self.conflicts.first().map(ConflictId::to_string),
            (Thing::Task | Thing::Person, None) => None,
        }
    }
}

/// The workspace that an agent speaks from.
fn asker(principal: Principal) -> Option<WorkspaceId> {
    match principal {
        Principal::Agent(id) => Some(id),
        Principal::Coordinator => Some(WorkspaceId::ROOT),
        _ => None,
    }
}

/// The workspace that an order is about.
fn about(order: &Order) -> Option<WorkspaceId> {
    use Command as C;
    match &order.command {
        C::Emit { .. } | C::CreateCheckpoint(_) | C::ReportUsage { .. } => asker(order.principal),
        C::ShutDown { .. } => Some(WorkspaceId::ROOT),
        C::Acknowledge { workspace, .. }
        | C::MeterUsage { workspace, .. }
        | C::GrantVisibility { workspace, .. }
        | C::GrantAuthority { workspace, .. }
        | C::SetPriority { workspace, .. }
        | C::RaiseBudget { workspace, .. }
        | C::Suspend { workspace, .. }
        | C::Resume { workspace }
        | C::Migrate { workspace, .. }
        | C::Abort { workspace, .. }
        | C::TransferOwnership { workspace, .. }
        | C::Reparent { workspace, .. }
        | C::Revise { workspace }
        | C::Reject { workspace }
        | C::ResolveConflict { workspace, .. } => Some(*workspace),
        C::TerminateGracefully(request) => Some(request.workspace),
        C::Accept(acceptance) => Some(acceptance.workspace),
        C::Salvage(salvage) => Some(salvage.workspace),
        _ => None,
    }
}

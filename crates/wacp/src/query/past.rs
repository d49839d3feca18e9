//! What a workspace was and held, read off the trail: its nine components
//! (WACP §6.1), also when it has ended and the state keeps a few words of it.
//!
//! The same `apply` that makes the state makes this, on the one workspace. So
//! what is told of an open one is what the state says.

use std::{collections::BTreeMap, sync::Arc};

use trail::Micros;

use crate::{
    apply,
    checkpoint::Artifact,
    event::{Entry, Event, Reference, WorkspaceStateChanged},
    id::{ArtifactId, CheckpointId, EnvelopeId, WorkspaceId},
    integration::{self, Merged},
    role::{Role, Text},
    signal::SignalType,
    state::{Run, Slot},
    workspace::{
        self, Ended, Workspace,
        budget::Dimension,
        lifecycle::{Reason, State},
        meter,
    },
};

/// The trails to read for a workspace: the system's own, its own, and those of
/// the workspaces that were merged into it, which say what was merged.
pub fn trails(run: &Run, id: WorkspaceId) -> Vec<Option<WorkspaceId>> {
    let (first, last) = (WorkspaceId(0), WorkspaceId(u32::MAX));
    let merged = run.merged_into.range((id, first)..=(id, last));
    let merged = merged.map(|(_, source)| Some(*source));
    [None, Some(id)].into_iter().chain(merged).collect()
}

/// What became of an envelope that a workspace received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Waits,
    Taken,
    /// It was given up, or turned out to be damaged.
    Lost,
}

/// A workspace as its trail tells of it, up to the last entry that was pushed.
#[derive(Clone, Debug)]
pub struct Past {
    id: WorkspaceId,
    /// A run with this workspace in it and nobody else.
    run: Run,
    inbox: BTreeMap<EnvelopeId, Received>,
    /// Made elsewhere, perhaps to be merged into this one.
    elsewhere: BTreeMap<CheckpointId, (ArtifactId, Arc<[Artifact]>)>,
    entries: u64,
    reason: Option<Reason>,
}

impl Past {
    /// Nothing yet. `run` tells what holds for the whole run.
    pub fn new(run: &Run, id: WorkspaceId) -> Past {
        let nobody = Slot::Ended(Ended {
            state: State::Closed,
            reason: None,
            role: Role::Worker,
            parent: None,
            owner: crate::id::Party::System,
            originator: crate::id::Party::System,
            task: None,
            register: None,
        });
        Past {
            id,
            run: Run {
                setup: run.setup.clone(),
                workspaces: vec![nobody; id.0 as usize],
                ..Run::default()
            },
            inbox: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            entries: 0,
            reason: None,
        }
    }

    /// The next entry of one of its `trails`, in the order of the run. Others
    /// make no difference.
    pub fn push(&mut self, entry: &Entry) {
        use Event as E;
        let is_own = entry.workspace == Some(self.id);
        self.entries += u64::from(is_own);
        match &entry.event {
            E::RecoveryCompleted(_) | E::BatchPriorityChanged(_) if !self.is_over() => {
                apply(&mut self.run, entry);
            }
            E::IntegrationCompleted(e) if e.target == self.id => {
                if let Some((first, artifacts)) = self.elsewhere.get(&e.checkpoint) {
                    integration::apply::take_over(&mut self.run, e, *first, artifacts);
                }
            }
            E::CheckpointCreated(e) if !is_own => {
                let made = (e.first_artifact, e.artifacts.clone());
                self.elsewhere.insert(e.checkpoint, made);
            }
            _ if !is_own => {}
            E::WorkspaceStateChanged(e) if e.to_state.is_terminal() => self.end(e, entry.time),
            E::WorkspaceCreated(_)
            | E::WorkspaceStateChanged(_)
            | E::WorkspaceOwnershipTransferred(_)
            | E::WorkspaceReparented(_)
            | E::VisibilityGranted(_)
            | E::PriorityChanged(_)
            | E::BudgetModified(_)
            | E::BudgetWarning(_)
            | E::BudgetExceeded(_)
            | E::CapabilityGranted(_)
            | E::CheckpointCreated(_)
            | E::GracefulTerminationInitiated(_)
            | E::IntegrityViolation(_)
            | E::MigrationStarted(_)
            | E::MigrationCompleted(_) => apply(&mut self.run, entry),
            E::EnvelopeDelivered(e) => {
                self.inbox.insert(e.envelope, Received::Waits);
                meter::consume(&mut self.run, self.id, Dimension::NetworkBytes, e.bytes);
            }
            E::EnvelopeUndeliverable(e) if e.to == self.id => {
                self.becomes(e.envelope, Received::Lost);
            }
            E::EnvelopeRejected(e) if e.to == self.id => {
                if let Some(envelope) = e.envelope {
                    self.becomes(envelope, Received::Lost);
                }
            }
            E::SignalEmitted(e) if e.signal_type == SignalType::Acknowledged => {
                if let Some(Reference::Envelope(envelope)) = e.reference {
                    self.becomes(envelope, Received::Taken);
                }
            }
            _ => {}
        }
        workspace::binding::apply(&mut self.run, &entry.event);
        if is_own {
            workspace::apply::heard(&mut self.run, self.id, entry.time);
        }
    }

    /// An acknowledgement that comes twice changes nothing.
    fn becomes(&mut self, envelope: EnvelopeId, received: Received) {
        if let Some(known) = self.inbox.get_mut(&envelope)
            && *known == Received::Waits
        {
            *known = received;
        }
    }

    /// It stays as it was when it ended.
    fn end(&mut self, e: &WorkspaceStateChanged, time: Micros) {
        if let Some(totals) = &e.consumed {
            meter::raise_all(&mut self.run, self.id, totals);
        }
        self.reason = e.reason;
        if let Some(open) = self.run.open_mut(self.id) {
            open.enter(e.to_state, time);
        }
    }

    /// The workspace, as it is or as it ended; nothing if its creation was not
    /// among the entries. What it does not tell: questions about it, and what
    /// others used of its budget or told of it (its own use is at least this).
    pub fn workspace(&self) -> Option<&Workspace> {
        self.run.open(self.id)
    }

    /// Whether it has ended; time passes it by.
    fn is_over(&self) -> bool {
        self.workspace()
            .is_some_and(|open| open.state.is_terminal())
    }

    /// Why it failed.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The envelopes that reached it.
    pub fn inbox(&self) -> &BTreeMap<EnvelopeId, Received> {
        &self.inbox
    }

    /// What it holds, or held when it ended: the latest of each resource.
    pub fn files(&self) -> impl Iterator<Item = (&Text, &Merged)> {
        let held = self.run.merged.iter();
        held.map(|((_, resource), merged)| (resource, merged))
    }

    /// How long its own trail is.
    pub fn entries(&self) -> u64 {
        self.entries
    }
}

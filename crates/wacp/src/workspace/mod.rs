//! The unit of isolation: what a workspace holds, and how it lives and ends.

use std::{collections::VecDeque, sync::Arc};

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    checkpoint::Register,
    content::Content,
    gate::config::Highway,
    id::{EnvelopeId, GateId, Party, SignalId, TaskId, UserId, WorkspaceId},
    role::{Role, Taxonomy, Text},
};

pub mod adjust;
pub mod apply;
pub mod binding;
pub mod budget;
pub mod creation;
pub mod deadline;
pub mod end;
pub mod lifecycle;
pub mod measured;
pub mod meter;
pub mod ownership;
pub mod pause;
pub mod run;
pub mod visibility;
pub mod wind_down;

use budget::{Budget, Meter};
pub use deadline::Deadline;
use lifecycle::{Reason, State};
pub use wind_down::WindDown;

/// How urgent a workspace is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    Critical,
    Interactive,
    #[default]
    Normal,
    Background,
}

/// Something a workspace may read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// A resource; one that ends in `/` stands for everything beneath it.
    Resource(Text),
    Workspace(WorkspaceId),
}

/// Constants of a run, in microseconds unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub budget_warning_percent: u8,
    pub idle_timeout_us: u64,
    /// More workspaces than this at once are refused.
    pub max_open_workspaces: u32,
    pub redelivery_base_us: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            budget_warning_percent: 80,
            idle_timeout_us: 600_000_000,
            max_open_workspaces: 2_000_000,
            redelivery_base_us: 5_000_000,
        }
    }
}

impl Limits {
    pub fn are_valid(&self) -> bool {
        (1..=99).contains(&self.budget_warning_percent)
            && (1..=LONGEST_US).contains(&self.idle_timeout_us)
            && self.max_open_workspaces > 0
            && (1..=LONGEST_US).contains(&self.redelivery_base_us)
    }
}

/// Ten years. No wait is longer, so that every moment in which one ends can be
/// written.
pub const LONGEST_US: u64 = 3653 * 86_400 * 1_000_000;
/// No number on the trail is larger (RFC 8785), so none is taken.
pub const LARGEST: u64 = trail::canonical::MAX_INTEGER as u64;

/// A sum that can still be written.
pub fn plus(sum: u64, more: u64) -> u64 {
    sum.saturating_add(more).min(LARGEST)
}

/// A tree deeper than this has lost its way.
pub const MAX_DEPTH: usize = 64;
/// Names, reasons and other short texts, in characters.
pub const MAX_TEXT: usize = 1024;

/// Whether a text is longer than any may be.
pub fn is_long(text: &str) -> bool {
    text.len() > MAX_TEXT && text.chars().count() > MAX_TEXT
}
/// Questions about one workspace that may wait at once.
pub const MAX_QUESTIONS: usize = 10_000;
/// Entries of a visibility, authority or mount list.
pub const MAX_LIST: usize = 4096;

/// What a run starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    pub agent: Text,
    pub directive: Content,
    pub highway: Highway,
    pub limits: Limits,
    pub taxonomy: Taxonomy,
}

/// What whoever creates a workspace may choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWorkspace {
    pub agent: Text,
    pub authority: Arc<[Text]>,
    pub budget: Budget,
    /// The injected envelope that asked for it; its author is the originator.
    pub cause: Option<EnvelopeId>,
    pub context: Option<Content>,
    pub delegate: bool,
    pub directive: Content,
    pub group: Option<Text>,
    pub liveness_us: Option<u64>,
    pub metered: bool,
    pub mounts: Arc<[Text]>,
    /// `None` inherits the parent's.
    pub owner: Option<UserId>,
    pub parent: WorkspaceId,
    pub priority: Band,
    pub role: Role,
    pub task: Option<TaskId>,
    pub timeout_us: u64,
    pub visibility: Arc<[Seen]>,
}

impl NewWorkspace {
    /// A worker under `parent` with an hour to work and nothing special.
    pub fn worker(parent: WorkspaceId, agent: &str) -> NewWorkspace {
        NewWorkspace {
            agent: Text::from(agent),
            authority: Arc::from([]),
            budget: Budget::default(),
            cause: None,
            context: None,
            delegate: false,
            directive: Content::markdown(""),
            group: None,
            liveness_us: None,
            metered: false,
            mounts: Arc::from([]),
            owner: None,
            parent,
            priority: Band::Normal,
            role: Role::Worker,
            task: None,
            timeout_us: 3_600_000_000,
            visibility: Arc::from([]),
        }
    }
}

/// A workspace that has not ended: the components of WACP §6.1, except working
/// memory, which is the agent's, and the local trail, which is the trail's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub state: State,
    /// Where it goes back to from suspended or migrating.
    pub before: Option<State>,
    pub role: Role,
    pub delegate: bool,
    /// The root coordinator lets it make delegates.
    pub may_grant_delegation: bool,
    pub metered: bool,
    pub priority: Band,
    pub parent: Option<WorkspaceId>,
    pub owner: Party,
    pub originator: Party,
    pub task: Option<TaskId>,
    pub agent: Text,
    /// Since when no agent has come to it; `None` once one is bound.
    pub unbound_since: Option<Micros>,
    pub group: Option<Text>,
    pub directive: Content,
    pub context: Option<Content>,
    pub visibility: Arc<[Seen]>,
    pub authority: Arc<[Text]>,
    pub mounts: Arc<[Text]>,
    /// When it entered its state.
    pub since: Micros,
    /// Time spent in timed states, up to `since`.
    pub timed_us: u64,
    /// Wall time consumed, up to `since`.
    pub wall_us: u64,
    pub timeout_us: u64,
    pub liveness_us: Option<u64>,
    /// The last entry in its local trail, kept for liveness.
    pub heard: Micros,
    pub grace: Option<Grace>,
    pub migration: Option<Migration>,
    pub meter: Option<Box<Meter>>,
    pub register: Register,
    /// Open questions about it.
    pub gates: Vec<GateId>,
    pub escalations: Vec<SignalId>,
    /// Envelopes in the inbox that hold others back or are held back.
    pub hindrances: u32,
    /// Envelopes acknowledged lately, oldest first.
    pub taken: VecDeque<EnvelopeId>,
}

impl Workspace {
    /// How long it has been in its state.
    pub fn spent(&self, now: Micros) -> u64 {
        u64::try_from(now.0 - self.since.0).unwrap_or(0)
    }

    /// Wall time consumed by now.
    pub fn wall_time(&self, now: Micros) -> u64 {
        match self.state.is_metered() {
            true => self.wall_us + self.spent(now),
            false => self.wall_us,
        }
    }
}

/// A request to finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    pub ends: Micros,
    pub grace_us: u64,
}

/// An agent being replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    pub new_agent: Text,
    pub started: Micros,
}

/// What is kept of a workspace that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub state: State,
    pub reason: Option<Reason>,
    pub role: Role,
    pub parent: Option<WorkspaceId>,
    pub owner: Party,
    pub originator: Party,
    pub task: Option<TaskId>,
    /// Checkpoints of a failed workspace, for salvage; none otherwise.
    pub register: Option<Box<Register>>,
}

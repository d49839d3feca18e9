//! The state of a run: everything deciding needs, and of its history only what
//! leads readers to the entries they need.
//!
//! Numbers are dense, so workspaces and tasks are vectors; whatever is open is
//! in ordered maps, so walking them gives the same order everywhere. What has
//! ended keeps a few dozen bytes. Only `apply` changes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trail::Micros;

use crate::{
    envelope::Pending,
    escalation::Escalation,
    event::{Actor, RunStarted},
    gate::{Gate, GateType, Subject, config::Fallback},
    id::{EnvelopeId, GateId, Party, RightId, SignalId, TaskId, UserId, WorkspaceId},
    integration::{Merge, Merged},
    rejection::Refusal,
    role::{BaseRole, Permissions, Role, Text},
    signal::Owed,
    task::{Graph, Task},
    user::User,
    workspace::{Deadline, Ended, Limits, Workspace, lifecycle::State},
};

/// In the year 2112. No clock is believed beyond this moment, so that there is
/// always a later one, and room for the longest wait.
const LATEST: Micros = Micros(1 << 52);

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The time of the last entry.
    pub clock: Micros,
    /// How many entries made this state.
    pub entries: u64,
    pub next: Counters,
    pub setup: Option<Box<Setup>>,
    pub users: Vec<User>,
    pub user_names: BTreeMap<Text, UserId>,
    pub workspaces: Vec<Slot>,
    /// Where each agent is at work: in one workspace at a time.
    pub agents: BTreeMap<Text, WorkspaceId>,
    /// How many workspaces have not ended.
    pub open_count: u32,
    /// (parent, child), for children that have not ended.
    pub children: BTreeSet<(WorkspaceId, WorkspaceId)>,
    /// (group, member), for members that have not ended.
    pub groups: BTreeSet<(Text, WorkspaceId)>,
    /// How many members a group ever had. It stays when the last of them has
    /// ended: an abort of the group then tells that nobody was left, where
    /// without it a group that has finished could not be told from one that
    /// never was. It grows with the names that are given, as `workspaces` does
    /// with what is created.
    pub group_sizes: BTreeMap<Text, u32>,
    /// The send right of each (holder, target) that has one. Looked up for
    /// every envelope, so it is kept apart from the rare send-once rights.
    #[serde(with = "pairs")]
    pub rights: BTreeMap<(WorkspaceId, WorkspaceId), RightId>,
    /// Send-once rights, oldest first.
    #[serde(with = "pairs")]
    pub rights_once: BTreeMap<(WorkspaceId, WorkspaceId), Vec<RightId>>,
    /// (target, holder), to find the rights to a workspace.
    pub right_holders: BTreeSet<(WorkspaceId, WorkspaceId)>,
    /// Envelopes that were accepted and not yet taken, by receiver.
    #[serde(with = "pairs")]
    pub inboxes: BTreeMap<(WorkspaceId, EnvelopeId), Pending>,
    /// Who injected which envelope: the cause of the workspaces it leads to.
    pub injected: BTreeMap<EnvelopeId, UserId>,
    /// (parent, signal) → sender, while the parent cannot listen.
    #[serde(with = "pairs")]
    pub queued_signals: BTreeMap<(WorkspaceId, SignalId), WorkspaceId>,
    /// State changes announced by a signal and not yet seen.
    pub owed: BTreeMap<WorkspaceId, Owed>,
    pub deadlines: BTreeSet<(Micros, Deadline)>,
    pub tasks: Vec<Task>,
    pub graphs: Vec<Graph>,
    /// Waiting for an answer, oldest first.
    pub gates: BTreeMap<GateId, Gate>,
    /// Which gate asks which question.
    #[serde(with = "pairs")]
    pub gate_subjects: BTreeMap<(GateType, Subject), GateId>,
    /// Handed to the coordinator by their fallback.
    pub escalated_gates: BTreeMap<GateId, Gate>,
    /// Questions that fell back and are not asked again.
    #[serde(with = "pairs")]
    pub guard: BTreeMap<(GateType, Subject), Fallback>,
    pub escalations: BTreeMap<SignalId, Escalation>,
    /// Merges under way, by the workspace they come from.
    pub merges: BTreeMap<WorkspaceId, Merge>,
    /// (target, source) of the same.
    pub merge_targets: BTreeSet<(WorkspaceId, WorkspaceId)>,
    /// What each workspace that has not ended holds of a resource: what it made
    /// itself or what was merged into it, whichever came last. What the root
    /// holds is the run's result and stays.
    #[serde(with = "pairs")]
    pub merged: BTreeMap<(WorkspaceId, Text), Merged>,
    /// (target, source) of every merge that was completed: what the target held
    /// is read off the trails of both. It grows with `workspaces`.
    pub merged_into: BTreeSet<(WorkspaceId, WorkspaceId)>,
    /// Who owned a workspace up to each of its transfers, oldest first.
    pub former_owners: BTreeMap<WorkspaceId, Vec<(Micros, Party)>>,
}

/// What holds for the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RunStarted", into = "RunStarted")]
pub struct Setup {
    pub started: RunStarted,
    base: [Permissions; 3],
    derived: Vec<Permissions>,
}

impl From<RunStarted> for Setup {
    fn from(started: RunStarted) -> Setup {
        Setup {
            derived: started.taxonomy.resolve().unwrap_or_default(),
            base: [BaseRole::Coordinator, BaseRole::Worker, BaseRole::Observer]
                .map(Permissions::of),
            started,
        }
    }
}

impl From<Setup> for RunStarted {
    fn from(setup: Setup) -> RunStarted {
        setup.started
    }
}

/// The next number of each kind; none is ever handed out twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub workspaces: u32,
    pub users: u32,
    pub tasks: u32,
    pub graphs: u32,
    pub gates: u32,
    pub conflicts: u32,
    pub envelopes: u64,
    pub signals: u64,
    pub checkpoints: u64,
    pub artifacts: u64,
    pub rights: u64,
}

/// A workspace, at work or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    Open(Box<Workspace>),
    Ended(Ended),
}

impl Slot {
    pub fn state(&self) -> State {
        match self {
            Slot::Open(open) => open.state,
            Slot::Ended(ended) => ended.state,
        }
    }

    pub fn role(&self) -> Role {
        match self {
            Slot::Open(open) => open.role,
            Slot::Ended(ended) => ended.role,
        }
    }

    pub fn parent(&self) -> Option<WorkspaceId> {
        match self {
            Slot::Open(open) => open.parent,
            Slot::Ended(ended) => ended.parent,
        }
    }

    pub fn owner(&self) -> Party {
        match self {
            Slot::Open(open) => open.owner,
            Slot::Ended(ended) => ended.owner,
        }
    }

    pub fn originator(&self) -> Party {
        match self {
            Slot::Open(open) => open.originator,
            Slot::Ended(ended) => ended.originator,
        }
    }

    pub fn task(&self) -> Option<TaskId> {
        match self {
            Slot::Open(open) => open.task,
            Slot::Ended(ended) => ended.task,
        }
    }
}

impl Run {
    pub fn workspace(&self, id: WorkspaceId) -> Option<&Slot> {
        self.workspaces.get(id.0 as usize)
    }

    /// The workspace, unless it has ended.
    pub fn open(&self, id: WorkspaceId) -> Option<&Workspace> {
        match self.workspace(id) {
            Some(Slot::Open(open)) => Some(open),
            _ => None,
        }
    }

    /// The workspace, or why there is nothing to act on.
    pub fn living(&self, id: WorkspaceId) -> Result<&Workspace, Refusal> {
        match self.workspace(id) {
            Some(Slot::Open(open)) => Ok(open),
            Some(Slot::Ended(_)) => Err(Refusal::TargetTerminal),
            None => Err(Refusal::TargetNotFound),
        }
    }

    pub(crate) fn open_mut(&mut self, id: WorkspaceId) -> Option<&mut Workspace> {
        match self.workspaces.get_mut(id.0 as usize) {
            Some(Slot::Open(open)) => Some(open),
            _ => None,
        }
    }

    pub fn state_of(&self, id: WorkspaceId) -> Option<State> {
        self.workspace(id).map(Slot::state)
    }

    /// Who answered for a workspace at that moment.
    pub fn owner_at(&self, id: WorkspaceId, time: Micros) -> Option<Party> {
        let mut transfers = self.former_owners.get(&id).into_iter().flatten();
        let later = transfers.find(|(at, _)| *at > time);
        let now = || self.workspace(id).map(Slot::owner);
        later.map(|(_, before)| *before).or_else(now)
    }

    pub fn user(&self, id: UserId) -> Option<&User> {
        self.users.get(id.0 as usize)
    }

    pub fn user_named(&self, name: &str) -> Option<UserId> {
        self.user_names.get(name).copied()
    }

    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.0 as usize)
    }

    pub(crate) fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id.0 as usize)
    }

    /// Whether the root exists and has not ended.
    pub fn is_running(&self) -> bool {
        self.open(WorkspaceId::ROOT).is_some()
    }

    /// What the run was started with.
    pub fn started(&self) -> Option<&RunStarted> {
        self.setup.as_deref().map(|setup| &setup.started)
    }

    pub fn limits(&self) -> Limits {
        let started = self.started();
        started.map_or_else(Limits::default, |started| started.limits)
    }

    /// Whether a workspace only watches.
    pub fn is_observer(&self, id: WorkspaceId) -> bool {
        let role = self.workspace(id).map(Slot::role);
        let permissions = role.and_then(|role| self.permissions(role));
        permissions.is_some_and(|permissions| permissions.base == BaseRole::Observer)
    }

    /// What a role may do in this run.
    pub fn permissions(&self, role: Role) -> Option<&Permissions> {
        let setup = self.setup.as_deref()?;
        match role {
            Role::Coordinator => Some(&setup.base[0]),
            Role::Worker => Some(&setup.base[1]),
            Role::Observer => Some(&setup.base[2]),
            Role::Derived(at) => setup.derived.get(at as usize),
        }
    }

    /// Children that have not ended, in the order of their creation.
    pub fn open_children(&self, parent: WorkspaceId) -> impl Iterator<Item = WorkspaceId> + '_ {
        let range = (parent, WorkspaceId(0))..=(parent, WorkspaceId(u32::MAX));
        self.children.range(range).map(|(_, child)| *child)
    }

    /// Whether `below` hangs somewhere under `above`.
    pub fn is_beneath(&self, below: WorkspaceId, above: WorkspaceId) -> bool {
        let mut at = below;
        while let Some(parent) = self.workspace(at).and_then(Slot::parent) {
            if parent == above {
                return true;
            }
            at = parent;
        }
        false
    }

    /// How many workspaces stand above this one.
    pub fn depth(&self, id: WorkspaceId) -> usize {
        let mut depth = 0;
        let mut at = id;
        while let Some(parent) = self.workspace(at).and_then(Slot::parent) {
            depth += 1;
            at = parent;
        }
        depth
    }

    /// The name an entry's header gives its actor.
    pub fn actor_name(&self, actor: Actor) -> &str {
        match actor {
            Actor::System => "system",
            Actor::Protocol => "protocol",
            Actor::Role(role) => self
                .setup
                .as_deref()
                .map_or("?", |setup| setup.started.taxonomy.role_name(role)),
            Actor::User(user) => self.user(user).map_or("?", |user| &user.name),
        }
    }

    /// The actor for what a workspace's own agent does.
    pub fn agent_actor(&self, id: WorkspaceId) -> Actor {
        match self.workspace(id).map(Slot::role) {
            Some(Role::Coordinator) => Actor::System,
            None => Actor::Protocol,
            Some(role) => Actor::Role(role),
        }
    }

    /// The time of a decision made when the clock shows `clock`: at least a
    /// microsecond after the last entry, whatever the clock does.
    pub fn time(&self, clock: Micros) -> Micros {
        let after = Micros(self.clock.0.saturating_add(1));
        clock.min(LATEST).max(after)
    }

    /// When something must happen by itself; then `Tick`.
    pub fn next_deadline(&self) -> Option<Micros> {
        self.deadlines.first().map(|(at, _)| *at)
    }
}

/// Maps whose keys are not text, as lists of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<K, V, S>(map: &BTreeMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Serialize,
        V: Serialize,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs: Vec<(K, V)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_takes_a_few_dozen_bytes() {
        assert!(size_of::<Slot>() <= 56, "{}", size_of::<Slot>());
    }
}

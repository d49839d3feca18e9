//! A second, slow implementation of the rules that are most easily got wrong:
//! the lifecycle and its cascade, the port rights, the gates.
//!
//! It is written from the specification and shares nothing with the real one
//! but its vocabulary: identifiers, commands, the names of states and reasons.
//! It keeps plain lists and scans them. For each order it says whether it must
//! be accepted, and where its own rules decide, why not; then it says how
//! things stand. What it does not model (budgets, merges, when an envelope is
//! sent again) it reads off the trail as facts; never what it predicts itself.

mod answers;
mod checks;
mod compare;
mod effects;
mod expect;
mod facts;
mod gates;
mod letters;
mod lifecycle;
mod orders;
mod outside;
mod people;
mod perform;
pub mod play;
mod rights;
mod rules;

use std::collections::BTreeSet;

use trail::Micros;
use wacp::{
    Order, Principal, Refusal,
    content::Content,
    gate::{GateType, Subject, config::Fallback, config::Highway},
    id::{
        CheckpointId, ConflictId, EnvelopeId, GateId, Party, SignalId, TaskId, UserId, WorkspaceId,
    },
    right::RightKind,
    role::{Role, Text},
    user::{Capability, UserState},
    workspace::{NewWorkspace, WindDown, lifecycle::State},
};

pub use compare::compare;
use expect::Expect;
use facts::Facts;

pub(crate) const ROOT: WorkspaceId = WorkspaceId::ROOT;

/// How things stand, as far as the model goes.
#[derive(Debug)]
pub struct Model {
    highway: Highway,
    idle_us: u64,
    spaces: Vec<Space>,
    people: Vec<Person>,
    rights: Vec<Right>,
    letters: Vec<Letter>,
    /// Every envelope there ever was.
    written: BTreeSet<EnvelopeId>,
    /// Envelopes that people wrote to the coordinator, and who.
    injected: Vec<(EnvelopeId, UserId)>,
    escalations: Vec<(SignalId, WorkspaceId)>,
    /// How far the plan of each task came.
    tasks: Vec<Plan>,
    /// Waiting, oldest first.
    gates: Vec<Question>,
    /// Fell back to the coordinator.
    handed: Vec<Question>,
    /// Fell back and is not asked again.
    settled: Vec<(GateType, Subject, Fallback)>,
}

/// A workspace.
#[derive(Debug)]
struct Space {
    state: State,
    /// Where it was before it was paused.
    before: Option<State>,
    role: Role,
    delegate: bool,
    may_make_delegates: bool,
    parent: Option<WorkspaceId>,
    owner: Party,
    originator: Party,
    task: Option<TaskId>,
    group: Option<Text>,
    /// Since when nobody has come to it, if nobody has.
    unbound_since: Option<Micros>,
    timeout_us: u64,
    /// Time counted against the timeout, up to `since`.
    timed_us: u64,
    since: Micros,
    grace_ends: Option<Micros>,
    /// Conflicts of its merge, or of its salvage.
    conflicts: Vec<ConflictId>,
    /// What it acknowledged lately, oldest first.
    taken: Vec<EnvelopeId>,
    /// And whether each is final.
    checkpoints: Vec<(CheckpointId, bool)>,
    /// Where what it left is being salvaged to.
    salvaged_into: Option<WorkspaceId>,
}

#[derive(Debug)]
struct Person {
    state: UserState,
    holds: Vec<Capability>,
}

/// A right to send; everyone's receive right goes without saying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Right {
    holder: WorkspaceId,
    target: WorkspaceId,
    kind: RightKind,
}

/// An envelope that was accepted and not taken yet, oldest first.
#[derive(Debug)]
struct Letter {
    id: EnvelopeId,
    writer: Writer,
    to: WorkspaceId,
    is_blocking: bool,
    /// What it says, if the model knows.
    payload: Option<Content>,
    rights: Vec<(RightKind, WorkspaceId)>,
    /// How often it was delivered.
    deliveries: u8,
}

/// Whose words a letter has: what one writer says to somebody keeps its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Agent(WorkspaceId),
    Person(UserId),
    /// The directive of a creation.
    Runtime,
}

/// How far a plan came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Draft,
    Approved,
    Cancelled,
}

/// What is asked at a gate.
#[derive(Clone, Debug)]
struct Question {
    id: GateId,
    gate_type: GateType,
    subject: Subject,
    what: What,
    fallback: Fallback,
    due: Option<Micros>,
}

/// What happens if the answer is yes.
#[derive(Clone, Debug)]
enum What {
    Approve(TaskId),
    /// For whom, by whom, what.
    Create(Party, Principal, Box<NewWorkspace>),
    Deliver(EnvelopeId),
    Merge(WorkspaceId),
    Salvage(WorkspaceId),
    Settle {
        workspace: WorkspaceId,
        conflict: ConflictId,
        rework: bool,
    },
    Abort(WorkspaceId),
    WindDown(Box<WindDown>),
}

impl Model {
    /// The run begins: its root waits.
    pub fn begin(highway: Highway, idle_us: u64, at: Micros) -> Model {
        let root = Space {
            state: State::Idle,
            before: None,
            role: Role::Coordinator,
            delegate: false,
            may_make_delegates: false,
            parent: None,
            owner: Party::System,
            originator: Party::System,
            task: None,
            group: None,
            unbound_since: Some(at),
            timeout_us: 0,
            timed_us: 0,
            since: at,
            grace_ends: None,
            conflicts: Vec::new(),
            taken: Vec::new(),
            checkpoints: Vec::new(),
            salvaged_into: None,
        };
        Model {
            highway,
            idle_us,
            spaces: vec![root],
            people: Vec::new(),
            rights: Vec::new(),
            letters: Vec::new(),
            written: BTreeSet::new(),
            injected: Vec::new(),
            escalations: Vec::new(),
            tasks: Vec::new(),
            gates: Vec::new(),
            handed: Vec::new(),
            settled: Vec::new(),
        }
    }

    /// Takes the order that the real one took, and says if it would have
    /// answered otherwise.
    pub fn step(
        &mut self,
        order: &Order,
        now: Micros,
        refusal: Option<Refusal>,
        entries: &[wacp::Entry],
    ) -> Result<(), String> {
        let order = &as_coordinator(order);
        let is_first = orders::goes_first(&order.command);
        // Something outside the model may be due as well.
        if refusal == Some(Refusal::DueFirst) && !is_first {
            return Ok(());
        }
        let expected = self.expect(order, now);
        if !expected.agrees(refusal) {
            return Err(format!("the model expects {expected}, and not {refusal:?}"));
        }
        if refusal.is_none() {
            let mut facts = Facts::of(entries);
            self.perform(order, now, &mut facts);
            self.follow(&mut facts)?;
        }
        Ok(())
    }

    fn space(&self, id: WorkspaceId) -> Option<&Space> {
        self.spaces.get(id.0 as usize)
    }

    fn state(&self, id: WorkspaceId) -> Option<State> {
        self.space(id).map(|space| space.state)
    }

    /// A workspace that exists and has not ended.
    fn open(&self, id: WorkspaceId) -> Option<&Space> {
        self.space(id).filter(|space| !has_ended(space.state))
    }

    fn ids(&self) -> impl Iterator<Item = WorkspaceId> + use<> {
        (0..self.spaces.len() as u32).map(WorkspaceId)
    }

    /// Whether `below` hangs somewhere beneath `above`.
    fn is_beneath(&self, below: WorkspaceId, above: WorkspaceId) -> bool {
        let mut parent = self.space(below).and_then(|space| space.parent);
        while let Some(id) = parent {
            if id == above {
                return true;
            }
            parent = self.space(id).and_then(|space| space.parent);
        }
        false
    }
}

/// The agent of the root is the coordinator.
fn as_coordinator(order: &Order) -> Order {
    let principal = match order.principal {
        Principal::Agent(ROOT) => Principal::Coordinator,
        other => other,
    };
    Order::new(principal, order.command.clone())
}

/// WACP §6.2: two states are terminal.
fn has_ended(state: State) -> bool {
    state == State::Closed || state == State::Failed
}

/// WACP §6.2: an agent works in two.
fn is_at_work(state: State) -> bool {
    state == State::Active || state == State::Blocked
}

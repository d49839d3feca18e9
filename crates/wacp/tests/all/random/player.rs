//! Dice, and someone who throws them and gives orders.

use std::sync::Arc;

use wacp::{
    Principal, Run,
    content::Content,
    envelope::{NewEnvelope, Priority},
    id::{EnvelopeId, TaskId, UserId, WorkspaceId},
    integrity::Check,
    right::RightKind,
    role::{EnvelopeType, Role},
    workspace::{NewWorkspace, Seen, budget::Budget, lifecycle::State},
};

use crate::world::text;

/// A small generator of numbers that is the same everywhere (xorshift).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len() as u64) as usize]
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
}

pub struct Player<'a> {
    pub run: &'a Run,
    pub dice: &'a mut Dice,
}

impl Player<'_> {
    /// Mostly something that exists and lives; sometimes nonsense.
    pub fn workspace(&mut self) -> WorkspaceId {
        let count = u64::from(self.run.next.workspaces);
        for _ in 0..4 {
            let id = WorkspaceId(self.dice.roll(count + 1) as u32);
            if self.run.open(id).is_some() {
                return id;
            }
        }
        WorkspaceId(self.dice.roll(count + 2) as u32)
    }

    pub fn in_state(&mut self, states: &[State]) -> WorkspaceId {
        let wanted = |id: &WorkspaceId| self.run.state_of(*id).is_some_and(|s| states.contains(&s));
        let all: Vec<_> = (0..self.run.next.workspaces)
            .map(WorkspaceId)
            .filter(wanted)
            .collect();
        if all.is_empty() || self.dice.chance(5) {
            return self.workspace();
        }
        self.dice.pick(&all)
    }

    pub fn user(&mut self) -> UserId {
        UserId(self.dice.roll(4) as u32)
    }

    pub fn principal(&mut self, usual: Principal) -> Principal {
        if !self.dice.chance(8) {
            return usual;
        }
        match self.dice.roll(6) {
            0 => Principal::Runtime,
            1 => Principal::Coordinator,
            2 => Principal::Agent(self.workspace()),
            3 => Principal::User(self.user()),
            4 => Principal::Operator,
            _ => Principal::Meter,
        }
    }

    fn budget(&mut self) -> Budget {
        if self.dice.chance(60) {
            return Budget::default();
        }
        Budget {
            token_limit: self.dice.chance(60).then(|| 10 + self.dice.roll(200)),
            compute_timeout_us: self
                .dice
                .chance(30)
                .then(|| 1_000_000 + self.dice.roll(500_000_000)),
            bandwidth_limit: self.dice.chance(30).then(|| 5 + self.dice.roll(50)),
            checkpoint_limit: self.dice.chance(30).then(|| 3 + self.dice.roll(20)),
            ..Budget::default()
        }
    }

    /// Mostly an agent that is free; sometimes one that may be at work.
    fn agent(&mut self) -> String {
        let count = u64::from(self.run.next.workspaces) + self.run.gates.len() as u64;
        let number = if self.dice.chance(3) {
            self.dice.roll(count + 1)
        } else {
            count
        };
        format!("agent-{number}")
    }

    pub fn new_workspace(&mut self) -> NewWorkspace {
        let parent = if self.dice.chance(60) {
            WorkspaceId::ROOT
        } else {
            self.in_state(&[State::Active, State::Blocked])
        };
        let seen = Seen::Workspace(self.workspace());
        let ready: Vec<TaskId> = (0..self.run.tasks.len() as u32)
            .map(TaskId)
            .filter(|id| wacp::task::is_dispatchable(self.run, *id).is_ok())
            .collect();
        NewWorkspace {
            authority: Arc::from([text("src/")]),
            budget: self.budget(),
            cause: (self.dice.chance(10))
                .then(|| EnvelopeId(self.dice.roll(self.run.next.envelopes + 1))),
            delegate: self.dice.chance(30),
            group: self.dice.chance(20).then(|| text("g")),
            liveness_us: self.dice.chance(20).then_some(20_000_000),
            metered: self.dice.chance(50),
            owner: self.dice.chance(80).then(|| self.user()),
            role: self.dice.pick(&[
                Role::Worker,
                Role::Worker,
                Role::Worker,
                Role::Observer,
                Role::Derived(0),
            ]),
            task: (!ready.is_empty() && self.dice.chance(50)).then(|| self.dice.pick(&ready)),
            timeout_us: 100_000_000 + self.dice.roll(1_000_000_000),
            visibility: if self.dice.chance(20) {
                Arc::from([seen])
            } else {
                Arc::from([])
            },
            ..NewWorkspace::worker(parent, &self.agent())
        }
    }

    pub fn envelope(&mut self, to: WorkspaceId) -> NewEnvelope {
        let right = (
            self.dice
                .pick(&[RightKind::Send, RightKind::SendOnce, RightKind::Receive]),
            self.workspace(),
        );
        NewEnvelope {
            check: if self.dice.chance(2) {
                Check::Invalid
            } else {
                Check::Valid
            },
            in_reply_to: self
                .dice
                .chance(20)
                .then(|| EnvelopeId(self.dice.roll(self.run.next.envelopes + 2))),
            priority: self.dice.pick(&[
                Priority::Normal,
                Priority::Normal,
                Priority::Urgent,
                Priority::Blocking,
            ]),
            rights: if self.dice.chance(10) {
                Arc::from([right])
            } else {
                Arc::from([])
            },
            ..NewEnvelope::to(to, EnvelopeType::Feedback, Content::markdown("hello"))
        }
    }
}

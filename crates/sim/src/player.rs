//! Someone who knows a run and picks things in it: mostly what exists and is
//! apt, sometimes what is not, so that every rule is met from both sides.

use std::sync::Arc;

use trail::Hash;
use wacp::{
    Principal, Run,
    checkpoint::Artifact,
    content::Content,
    envelope::{NewEnvelope, Priority},
    id::{EnvelopeId, TaskId, UserId, WorkspaceId},
    integrity::Check,
    right::RightKind,
    role::{EnvelopeType, Role, Text},
    workspace::{Band, NewWorkspace, Seen, budget::Budget, lifecycle::State},
};

use crate::dice::Dice;

/// The states in which an agent works.
pub const AT_WORK: [State; 2] = [State::Active, State::Blocked];

pub fn text(text: &str) -> Text {
    Text::from(text)
}

/// A resource with some content, changed from some other.
pub fn artifact(resource: &str, base: Option<&str>, content: &str) -> Artifact {
    let hash = |text: &str| Hash::of("sim", &[text.as_bytes()]);
    Artifact {
        base: base.map(hash),
        bytes: content.len() as u64,
        hash: hash(content),
        resource: text(resource),
    }
}

#[derive(Debug)]
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

    /// One in these states if there is one, and now and then another.
    pub fn in_state(&mut self, states: &[State]) -> WorkspaceId {
        let wanted = |id: &WorkspaceId| self.run.state_of(*id).is_some_and(|s| states.contains(&s));
        let count = self.run.next.workspaces;
        let all: Vec<_> = (0..count).map(WorkspaceId).filter(wanted).collect();
        if all.is_empty() || self.dice.chance(4) {
            return self.workspace();
        }
        self.dice.pick(&all)
    }

    pub fn parent_of(&self, id: WorkspaceId) -> WorkspaceId {
        let parent = self.run.workspace(id).and_then(|slot| slot.parent());
        parent.unwrap_or(id)
    }

    /// One of those that exist, or the first number that may not.
    pub fn one_of<T: Copy>(&mut self, all: impl Iterator<Item = T>, other: T) -> T {
        let all: Vec<T> = all.collect();
        if all.is_empty() || self.dice.chance(3) {
            other
        } else {
            self.dice.pick(&all)
        }
    }

    pub fn user(&mut self) -> UserId {
        let count = self.run.users.len() as u64;
        let nobody = u64::from(self.dice.chance(3));
        UserId(self.dice.roll(count.max(1) + nobody) as u32)
    }

    pub fn human(&mut self) -> Principal {
        Principal::User(self.user())
    }

    /// The first, mostly.
    pub fn either(&mut self, usual: Principal, other: Principal) -> Principal {
        if self.dice.chance(70) { usual } else { other }
    }

    pub fn anyone(&mut self) -> Principal {
        match self.dice.roll(7) {
            0 => Principal::Runtime,
            1 => Principal::Coordinator,
            2 => Principal::Agent(self.workspace()),
            3 => self.human(),
            4 => Principal::Operator,
            5 => Principal::Administrator(self.user()),
            _ => Principal::Meter,
        }
    }

    /// A proof mostly fits.
    pub fn check(&mut self) -> Check {
        if self.dice.chance(3) {
            Check::Invalid
        } else {
            Check::Valid
        }
    }

    /// A task, or the next one that does not exist yet.
    pub fn task(&mut self) -> TaskId {
        TaskId(self.dice.roll(self.run.tasks.len() as u64 + 1) as u32)
    }

    pub fn resource(&mut self) -> &'static str {
        self.dice
            .pick(&["src/a", "src/b", "src/deep/c", "docs/d", "etc/x"])
    }

    /// A short text, and now and then one that is too long.
    pub fn words(&mut self, usual: &str) -> Text {
        if self.dice.rarely(8) {
            Text::from("long ".repeat(wacp::workspace::MAX_TEXT))
        } else {
            text(usual)
        }
    }

    /// Content, and now and then more of it than is taken.
    pub fn content(&mut self) -> Content {
        let mut content = Content::markdown(self.dice.pick(&["", "yes", "some more words"]));
        if self.dice.rarely(8) {
            content.bytes = wacp::content::MAX_BYTES + 1;
        }
        content
    }

    pub fn budget(&mut self) -> Budget {
        if self.dice.chance(60) {
            return Budget::default();
        }
        let mut limit = |percent, from, range| {
            let set = self.dice.chance(percent);
            set.then(|| from + self.dice.roll(range))
        };
        Budget {
            token_limit: limit(60, 10, 200),
            compute_timeout_us: limit(30, 1_000_000, 500_000_000),
            bandwidth_limit: limit(30, 5, 300),
            checkpoint_limit: limit(30, 3, 40),
            context_limit: limit(10, 10, 100),
            cost_limit_micros: limit(10, 10, 100),
            trail_limit: limit(10, 2_000, 20_000),
        }
    }

    pub(crate) fn visibility(&mut self) -> Arc<[Seen]> {
        match self.dice.roll(10) {
            0 | 1 => Arc::from([Seen::Workspace(self.workspace())]),
            2 => Arc::from([Seen::Resource(text(self.resource()))]),
            _ => Arc::from([]),
        }
    }

    /// Mostly an agent that is free; now and then one at work, or nobody.
    pub fn agent(&mut self) -> Text {
        match self.dice.roll(200) {
            0 => text(""),
            1..=4 => {
                let bound: Vec<&Text> = self.run.agents.keys().collect();
                match bound.is_empty() {
                    true => text("nobody"),
                    false => self.dice.pick(&bound).clone(),
                }
            }
            _ => text(&format!("agent-{}", self.dice.throw())),
        }
    }

    pub fn new_workspace(&mut self) -> NewWorkspace {
        let parent = if self.dice.chance(55) {
            WorkspaceId::ROOT
        } else {
            self.in_state(&AT_WORK)
        };
        let ready: Vec<TaskId> = (0..self.run.tasks.len() as u32)
            .map(TaskId)
            .filter(|id| wacp::task::is_dispatchable(self.run, *id).is_ok())
            .collect();
        let task = match self.dice.roll(20) {
            0 => Some(self.task()),
            1..=9 if !ready.is_empty() => Some(self.dice.pick(&ready)),
            _ => None,
        };
        let injected = self.run.injected.keys().next_back().copied();
        let cause = match self.dice.roll(20) {
            0 => Some(EnvelopeId(self.dice.roll(self.run.next.envelopes + 1))),
            1 | 2 => injected,
            _ => None,
        };
        NewWorkspace {
            agent: self.agent(),
            authority: match self.dice.roll(8) {
                0 => Arc::from([text("docs/")]),
                1 => Arc::from([text("src/deep/")]),
                _ => Arc::from([text("src/")]),
            },
            budget: self.budget(),
            cause,
            delegate: self.dice.chance(30),
            group: self.dice.chance(20).then(|| text("g")),
            liveness_us: self.dice.chance(20).then_some(20_000_000),
            metered: self.dice.chance(50),
            owner: self.dice.chance(90).then(|| self.user()),
            priority: self.dice.pick(&[Band::Normal, Band::Interactive]),
            role: self.dice.pick(&[
                Role::Worker,
                Role::Worker,
                Role::Worker,
                Role::Worker,
                Role::Worker,
                Role::Observer,
                Role::Observer,
                Role::Derived(0),
                Role::Derived(0),
                Role::Derived(7),
            ]),
            task,
            timeout_us: if self.dice.rarely(5) {
                0
            } else {
                100_000_000 + self.dice.roll(1_000_000_000)
            },
            visibility: self.visibility(),
            ..NewWorkspace::worker(parent, "agent")
        }
    }

    pub fn envelope(&mut self, to: WorkspaceId, envelope_type: EnvelopeType) -> NewEnvelope {
        let kinds = [RightKind::Send, RightKind::SendOnce, RightKind::Receive];
        let right = (self.dice.pick(&kinds), self.workspace());
        let reply = self.dice.chance(20);
        NewEnvelope {
            check: self.check(),
            in_reply_to: reply.then(|| EnvelopeId(self.dice.roll(self.run.next.envelopes + 1))),
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
            ..NewEnvelope::to(to, envelope_type, self.content())
        }
    }
}

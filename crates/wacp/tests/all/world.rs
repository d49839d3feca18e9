//! A small world around a run: a clock, its entries, and short names for what
//! tests do all the time.

use std::sync::Arc;

use trail::{Hash, Micros};
use wacp::{
    Command, Effect, Entry, Event, Measured, Order, Principal, Refusal, Run, apply,
    checkpoint::{Artifact, NewCheckpoint},
    content::Content,
    effects,
    envelope::NewEnvelope,
    gate::config::Highway,
    id::{CheckpointId, EnvelopeId, GateId, UserId, WorkspaceId},
    role::{EnvelopeType, Taxonomy, Text},
    signal::SignalType,
    step,
    user::Capability,
    workspace::{Limits, NewRun, NewWorkspace, lifecycle::State},
};

pub const ROOT: WorkspaceId = WorkspaceId::ROOT;
pub const SECOND: i64 = 1_000_000;

pub struct World {
    pub run: Run,
    pub measured: Measured,
    pub entries: Vec<Entry>,
    pub now: Micros,
    /// Owns what tests create, and may do nothing special.
    pub ann: UserId,
    /// May do everything.
    pub bob: UserId,
}

pub fn text(text: &str) -> Text {
    Text::from(text)
}

pub fn artifact(resource: &str, base: Option<&str>, content: &str) -> Artifact {
    let hash = |text: &str| Hash::of("test", &[text.as_bytes()]);
    Artifact {
        base: base.map(hash),
        bytes: content.len() as u64,
        hash: hash(content),
        resource: text(resource),
    }
}

/// A person, who may do this much.
pub fn known(name: &str, capabilities: &[Capability]) -> Command {
    Command::CreateUser {
        name: text(name),
        capabilities: capabilities.into(),
    }
}

impl World {
    /// A run whose coordinator is at work, with no gates.
    pub fn open() -> World {
        World::with(Highway::open())
    }

    pub fn with(highway: Highway) -> World {
        World::started(highway, Limits::default(), Taxonomy::with_reviewer())
    }

    pub fn started(highway: Highway, limits: Limits, taxonomy: Taxonomy) -> World {
        let mut world = World::idling(highway, limits, taxonomy);
        world.emit(ROOT, SignalType::Ready);
        assert_eq!(world.state(ROOT), State::Active);
        let directive = EnvelopeId(0);
        world.ok(
            Principal::Runtime,
            Command::Acknowledge {
                workspace: ROOT,
                envelope: directive,
            },
        );
        world
    }

    /// A run whose coordinator has not said yet that it is ready.
    pub fn idling(highway: Highway, limits: Limits, taxonomy: Taxonomy) -> World {
        let mut world = World {
            run: Run::default(),
            measured: Measured::default(),
            entries: Vec::new(),
            now: Micros(1_000 * SECOND),
            ann: UserId(0),
            bob: UserId(1),
        };
        let new = NewRun {
            agent: text("coordinator-1"),
            directive: Content::markdown("the goal"),
            highway,
            limits,
            taxonomy,
        };
        world.ok(Principal::Runtime, Command::StartRun(Box::new(new)));
        world.ok(Principal::Operator, known("ann", &[]));
        world.ok(Principal::Operator, known("bob", &Capability::ALL));
        world
    }

    pub fn attempt(
        &mut self,
        principal: Principal,
        command: Command,
    ) -> Result<Vec<Entry>, Refusal> {
        let order = Order::new(principal, command);
        let (entries, refusal) = step(&mut self.run, &mut self.measured, &order, self.now);
        for entry in &entries {
            // Every fact has one canonical spelling and reads back.
            let facts = entry.event.facts();
            assert!(
                trail::canonical::is_canonical(&facts),
                "{}",
                String::from_utf8_lossy(&facts)
            );
            let read = Event::read(entry.event.event_type(), &facts).expect("facts read back");
            assert_eq!(read, entry.event);
        }
        let _: Vec<Effect> = effects(&self.run, &entries);
        self.entries.extend(entries.iter().cloned());
        match refusal {
            None => Ok(entries),
            Some(refusal) => Err(refusal),
        }
    }

    #[track_caller]
    pub fn ok(&mut self, principal: Principal, command: Command) -> Vec<Entry> {
        let name = command.name();
        match self.attempt(principal, command) {
            Ok(entries) => entries,
            Err(refusal) => panic!("{name}: {refusal:?}"),
        }
    }

    #[track_caller]
    pub fn refused(&mut self, principal: Principal, command: Command) -> Refusal {
        let name = command.name();
        match self.attempt(principal, command) {
            Ok(_) => panic!("{name} was not refused"),
            Err(refusal) => refusal,
        }
    }

    /// The event types of the last entries, in order.
    pub fn types(entries: &[Entry]) -> Vec<&'static str> {
        entries
            .iter()
            .map(|entry| entry.event.event_type())
            .collect()
    }

    pub fn last_types(&self, count: usize) -> Vec<&'static str> {
        World::types(&self.entries[self.entries.len() - count..])
    }

    pub fn count(&self, event_type: &str) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.event.event_type() == event_type)
            .count()
    }

    pub fn state(&self, id: WorkspaceId) -> State {
        self.run.state_of(id).expect("a known workspace")
    }

    /// Time passes, and what is due happens.
    pub fn pass(&mut self, micros: i64) {
        let until = Micros(self.now.0 + micros);
        while let Some(at) = self.run.next_deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.ok(Principal::Runtime, Command::Tick);
        }
        self.now = until;
    }

    /// The same form, for an agent that is not at work elsewhere.
    pub fn for_free_agent(&self, new: NewWorkspace) -> NewWorkspace {
        let agent = text(&self.free_agent());
        NewWorkspace { agent, ..new }
    }

    pub fn create(&mut self, new: NewWorkspace) -> WorkspaceId {
        let id = WorkspaceId(self.run.next.workspaces);
        let new = self.for_free_agent(new);
        self.ok(
            Principal::Coordinator,
            Command::CreateWorkspace(Box::new(new)),
        );
        id
    }

    /// A new worker's form, owned by ann.
    pub fn worker_of(&self, parent: WorkspaceId) -> NewWorkspace {
        NewWorkspace {
            owner: Some(self.ann),
            authority: Arc::from([text("src/")]),
            ..NewWorkspace::worker(parent, &self.free_agent())
        }
    }

    /// An agent that is bound to no workspace: the first one's is `agent-1`.
    pub fn free_agent(&self) -> String {
        format!(
            "agent-{}",
            self.run.next.workspaces as usize + self.run.gates.len()
        )
    }

    pub fn idle(&mut self) -> WorkspaceId {
        let new = self.worker_of(ROOT);
        self.create(new)
    }

    pub fn active(&mut self) -> WorkspaceId {
        let id = self.idle();
        self.direct(id);
        id
    }

    /// The coordinator sends a directive and it is taken.
    pub fn direct(&mut self, to: WorkspaceId) -> EnvelopeId {
        let envelope = EnvelopeId(self.run.next.envelopes);
        let new = NewEnvelope::to(to, EnvelopeType::Directive, Content::markdown("work"));
        self.ok(Principal::Coordinator, Command::Send(Box::new(new)));
        if self.run.inboxes.contains_key(&(to, envelope)) && self.state(to) == State::Active {
            let _ = self.attempt(
                Principal::Runtime,
                Command::Acknowledge {
                    workspace: to,
                    envelope,
                },
            );
        }
        envelope
    }

    pub fn emit(&mut self, from: WorkspaceId, signal: SignalType) -> Vec<Entry> {
        self.ok(Principal::Agent(from), emission(signal))
    }

    pub fn checkpoint(&mut self, id: WorkspaceId, artifacts: Vec<Artifact>) -> CheckpointId {
        let checkpoint = CheckpointId(self.run.next.checkpoints);
        let parent = self.run.open(id).and_then(|open| open.register.head());
        let new = NewCheckpoint::last(parent, artifacts);
        self.ok(
            Principal::Agent(id),
            Command::CreateCheckpoint(Box::new(new)),
        );
        checkpoint
    }

    /// A worker that has done its work and waits to be merged.
    pub fn complete(&mut self, artifacts: Vec<Artifact>) -> WorkspaceId {
        let id = self.active();
        self.checkpoint(id, artifacts);
        self.emit(id, SignalType::Complete);
        id
    }

    pub fn last_gate(&self) -> GateId {
        *self.run.gates.keys().next_back().expect("a pending gate")
    }

    /// A workspace in the given state.
    pub fn in_state(&mut self, state: State) -> WorkspaceId {
        let coordinator = Principal::Coordinator;
        match state {
            State::Idle => self.idle(),
            State::Active => self.active(),
            State::Blocked => {
                let id = self.active();
                self.emit(id, SignalType::Blocked);
                id
            }
            State::Suspended => {
                let id = self.active();
                self.ok(
                    coordinator,
                    Command::Suspend {
                        workspace: id,
                        reason: text("wait"),
                    },
                );
                id
            }
            State::Migrating => {
                let id = self.active();
                let command = Command::Migrate {
                    workspace: id,
                    new_agent: text(&format!("{}-next", self.free_agent())),
                    reason: text("better"),
                };
                self.ok(coordinator, command);
                id
            }
            State::Integrating => self.complete(vec![artifact("src/a", None, "1")]),
            State::Conflicted => {
                let id = self.complete(vec![artifact("src/a", None, "1")]);
                self.conflict(id);
                id
            }
            State::Closed => {
                let id = self.complete(vec![artifact("src/a", None, "1")]);
                self.accept(id);
                id
            }
            State::Failed => {
                let id = self.active();
                self.checkpoint(id, vec![artifact("src/a", None, "1")]);
                self.ok(
                    coordinator,
                    Command::Abort {
                        workspace: id,
                        reason: None,
                    },
                );
                id
            }
        }
    }

    /// Accepts as it is.
    pub fn accept(&mut self, id: WorkspaceId) {
        let accept = wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Direct);
        self.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
    }

    /// Accepts with a declared contradiction.
    pub fn conflict(&mut self, id: WorkspaceId) {
        let accept = wacp::integration::Acceptance {
            conflicts: vec![wacp::integration::Declared {
                conflict_type: wacp::integration::ConflictType::SemanticContradiction,
                description: text("they disagree"),
                resource: None,
            }],
            ..wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Evaluated)
        };
        self.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
        assert_eq!(self.state(id), State::Conflicted);
    }

    /// Whether replaying the entries, or a snapshot and the rest, gives this run.
    pub fn check_replay(&self) {
        let mut replayed = Run::default();
        for entry in &self.entries {
            apply(&mut replayed, entry);
        }
        assert!(replayed == self.run, "replay differs from live");
    }
}

impl Drop for World {
    /// Every test ends with the same question: does the trail say it all?
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_replay();
        }
    }
}

pub fn emission(signal: SignalType) -> Command {
    Command::Emit {
        signal,
        reason: signal.needs_reason().then(|| text("because")),
        reference: None,
    }
}

//! The work that is measured: workspaces that are created, written to, write,
//! wait and go on, and some that are carried through to their end.
//!
//! An exchange is what a run does most, in a flat tree and with no gate on. A
//! governed life is everything else: a plan that a person approves, a workspace
//! three delegates deep with a budget, usage, a checkpoint with artifacts, an
//! escalation and its answer, an order that is refused, and a merge that looks
//! for overlaps and that a person approves.

use std::sync::Arc;

use trail::Micros;
use wacp::{
    Command, Entry, Measured, Order, Principal, Refusal, Run,
    checkpoint::{Artifact, NewCheckpoint},
    content::Content,
    envelope::NewEnvelope,
    escalation,
    gate::{Answer, config::Highway},
    id::{EnvelopeId, GateId, SignalId, TaskId, UserId, WorkspaceId},
    integration::{Acceptance, Strategy},
    role::{EnvelopeType, Taxonomy, Text},
    signal::SignalType,
    step,
    task::{NewGraph, NewTask},
    user::Capability,
    workspace::{
        Limits, NewRun, NewWorkspace,
        budget::{Budget, Usage},
    },
};

const ANN: UserId = UserId(0);

/// Orders of one exchange.
pub const EXCHANGE: u64 = 7;
/// Orders of one governed life.
pub const LIFE: u64 = 15;
/// How many delegates stand above a governed life.
const DEPTH: u32 = 3;
/// So late that nothing is due while it is measured.
const NEVER_US: u64 = wacp::workspace::LONGEST_US;

#[derive(Debug)]
pub struct Work {
    pub run: Run,
    measured: Measured,
    now: Micros,
    content: Content,
    /// Kept only where they are needed afterwards.
    pub entries: Option<Vec<Entry>>,
    /// The lowest delegate, beneath which lives are governed.
    place: WorkspaceId,
}

impl Work {
    pub fn begin(highway: Highway) -> Work {
        let mut work = Work {
            run: Run::default(),
            measured: Measured::default(),
            now: Micros(1_000_000),
            content: Content::markdown("some words"),
            entries: None,
            place: WorkspaceId::ROOT,
        };
        let new = NewRun {
            agent: Text::from("coordinator"),
            directive: Content::markdown("goal"),
            highway,
            limits: Limits {
                redelivery_base_us: NEVER_US,
                idle_timeout_us: NEVER_US,
                ..Limits::default()
            },
            taxonomy: Taxonomy::base(),
        };
        work.give(Principal::Runtime, Command::StartRun(Box::new(new)));
        let name = Text::from("ann");
        let capabilities = Capability::ALL.into();
        let create = Command::CreateUser { name, capabilities };
        work.give(Principal::Operator, create);
        work.emit(WorkspaceId::ROOT, SignalType::Ready);
        work
    }

    fn give(&mut self, principal: Principal, command: Command) {
        self.order(principal, command, None);
    }

    fn order(&mut self, principal: Principal, command: Command, refused: Option<Refusal>) {
        self.now.0 += 1;
        let order = Order { principal, command };
        let (entries, refusal) = step(&mut self.run, &mut self.measured, &order, self.now);
        assert_eq!(refusal, refused, "{}", order.command.name());
        if let Some(kept) = &mut self.entries {
            kept.extend(entries);
        }
    }

    fn emit(&mut self, from: WorkspaceId, signal: SignalType) {
        let command = Command::Emit {
            signal,
            reason: signal.needs_reason().then(|| Text::from("why")),
            reference: None,
        };
        self.give(Principal::Agent(from), command);
    }

    /// Sends and takes.
    fn write(&mut self, from: WorkspaceId, to: WorkspaceId, kind: EnvelopeType) {
        let envelope = EnvelopeId(self.run.next.envelopes);
        let new = NewEnvelope::to(to, kind, self.content);
        self.give(Principal::Agent(from), Command::Send(Box::new(new)));
        let take = Command::Acknowledge {
            workspace: to,
            envelope,
        };
        self.give(Principal::Runtime, take);
    }

    pub fn create(&mut self) -> WorkspaceId {
        let id = WorkspaceId(self.run.next.workspaces);
        let new = self.worker(WorkspaceId::ROOT);
        let create = Command::CreateWorkspace(Box::new(new));
        self.give(Principal::Coordinator, create);
        id
    }

    fn worker(&self, parent: WorkspaceId) -> NewWorkspace {
        let number = self.run.next.workspaces;
        NewWorkspace {
            owner: Some(ANN),
            timeout_us: NEVER_US,
            directive: self.content,
            ..NewWorkspace::worker(parent, &format!("agent-{number}"))
        }
    }

    /// Delegates, one beneath the other, with a budget to give away.
    pub fn delegate(&mut self) {
        for _ in 0..DEPTH {
            let id = WorkspaceId(self.run.next.workspaces);
            let new = NewWorkspace {
                delegate: true,
                budget: tokens(1 << 52),
                authority: Arc::from([Text::from("src/")]),
                ..self.worker(self.place)
            };
            let create = Command::CreateWorkspace(Box::new(new));
            self.give(Principal::Coordinator, create);
            self.write(WorkspaceId::ROOT, id, EnvelopeType::Directive);
            self.place = id;
        }
    }

    fn approve(&mut self) {
        let gate = GateId(self.run.next.gates - 1);
        let approve = Command::ResolveGate {
            gate,
            answer: Answer::Approve,
            modification: None,
        };
        self.give(Principal::User(ANN), approve);
    }

    /// A whole life under supervision.
    pub fn govern(&mut self) {
        let task = TaskId(self.run.next.tasks);
        let graph = NewGraph {
            root: 0,
            tasks: vec![NewTask::named("work", Vec::new())],
        };
        self.give(Principal::Coordinator, Command::SubmitGraph(graph));
        self.approve();
        let id = WorkspaceId(self.run.next.workspaces);
        let new = NewWorkspace {
            task: Some(task),
            budget: tokens(1 << 32),
            authority: Arc::from([Text::from("src/")]),
            metered: true,
            ..self.worker(self.place)
        };
        let create = Command::CreateWorkspace(Box::new(new));
        self.give(Principal::Coordinator, create);
        self.write(WorkspaceId::ROOT, id, EnvelopeType::Directive);
        let totals = Usage {
            tokens: 1_000,
            ..Usage::default()
        };
        let workspace = id;
        self.give(Principal::Meter, Command::MeterUsage { workspace, totals });
        let look = Command::Read {
            workspace: self.place,
            resource: None,
        };
        self.order(Principal::Agent(id), look, Some(Refusal::PermissionDenied));
        let signal = SignalId(self.run.next.signals);
        self.emit(id, SignalType::Escalation);
        let envelope = EnvelopeId(self.run.next.envelopes);
        let answer = Command::AnswerEscalation {
            signal,
            answer: escalation::Answer::Envelope {
                envelope_type: EnvelopeType::Feedback,
                payload: self.content,
            },
        };
        self.give(Principal::User(ANN), answer);
        let take = Command::Acknowledge {
            workspace: id,
            envelope,
        };
        self.give(Principal::Runtime, take);
        let artifact = |name: &str| Artifact {
            base: None,
            bytes: 100,
            hash: self.content.hash,
            resource: Text::from(name),
        };
        let artifacts = ["src/a", "src/b", "src/c"].map(artifact).to_vec();
        let last = NewCheckpoint::last(None, artifacts);
        let checkpoint = Command::CreateCheckpoint(Box::new(last));
        self.give(Principal::Agent(id), checkpoint);
        self.emit(id, SignalType::Started);
        self.emit(id, SignalType::Complete);
        let accept = Acceptance::of(id, Strategy::Layered);
        self.give(Principal::Coordinator, Command::Accept(Box::new(accept)));
        self.approve();
    }

    /// Seven orders of an ordinary day: told, taken, started, asked, taken,
    /// blocked, started.
    pub fn exchange(&mut self, id: WorkspaceId) {
        self.write(WorkspaceId::ROOT, id, EnvelopeType::Directive);
        self.emit(id, SignalType::Started);
        self.write(id, WorkspaceId::ROOT, EnvelopeType::Query);
        self.emit(id, SignalType::Blocked);
        self.emit(id, SignalType::Started);
    }

    /// A whole life.
    pub fn live(&mut self) {
        let id = self.create();
        self.write(WorkspaceId::ROOT, id, EnvelopeType::Directive);
        let last = NewCheckpoint::last(None, vec![]);
        let checkpoint = Command::CreateCheckpoint(Box::new(last));
        self.give(Principal::Agent(id), checkpoint);
        self.emit(id, SignalType::Complete);
        let accept = Acceptance::of(id, Strategy::Direct);
        self.give(Principal::Coordinator, Command::Accept(Box::new(accept)));
    }
}

fn tokens(limit: u64) -> Budget {
    Budget {
        token_limit: Some(limit),
        ..Budget::default()
    }
}

/// Which workspace is next: all of them, in no helpful order.
pub fn visit(at: u32, count: u32) -> WorkspaceId {
    WorkspaceId(1 + at.wrapping_mul(2_654_435_761) % count)
}

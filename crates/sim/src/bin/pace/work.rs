//! The work that is measured: workspaces that are created, written to, write,
//! wait and go on, and some that are carried through to their end.

use trail::Micros;
use wacp::{
    Command, Entry, Order, Principal, Run, apply,
    checkpoint::NewCheckpoint,
    content::Content,
    decide,
    envelope::NewEnvelope,
    gate::config::Highway,
    id::{EnvelopeId, UserId, WorkspaceId},
    integration::{Acceptance, Strategy},
    note,
    role::{EnvelopeType, Taxonomy, Text},
    signal::SignalType,
    workspace::{Limits, NewRun, NewWorkspace},
};

/// Orders of one exchange.
pub const EXCHANGE: u64 = 7;
/// So late that nothing is due while it is measured.
const NEVER_US: u64 = 1 << 50;

#[derive(Debug)]
pub struct Work {
    pub run: Run,
    now: Micros,
    content: Content,
    /// Kept only where they are needed afterwards.
    pub entries: Option<Vec<Entry>>,
}

impl Work {
    pub fn begin() -> Work {
        let mut work = Work {
            run: Run::default(),
            now: Micros(1_000_000),
            content: Content::markdown("some words"),
            entries: None,
        };
        let new = NewRun {
            agent: Text::from("coordinator"),
            directive: Content::markdown("goal"),
            highway: Highway::open(),
            limits: Limits {
                redelivery_base_us: NEVER_US,
                idle_timeout_us: NEVER_US,
                ..Limits::default()
            },
            taxonomy: Taxonomy::base(),
        };
        work.give(Principal::Runtime, Command::StartRun(Box::new(new)));
        let name = Text::from("ann");
        work.give(Principal::Operator, Command::CreateUser { name });
        work.emit(WorkspaceId::ROOT, SignalType::Ready);
        work
    }

    fn give(&mut self, principal: Principal, command: Command) {
        self.now.0 += 1;
        let order = Order { principal, command };
        let entries = match decide(&self.run, &order, self.now) {
            Ok(entries) => entries,
            Err(rejection) => panic!("{}: {rejection}", order.command.name()),
        };
        for entry in &entries {
            apply(&mut self.run, entry);
        }
        note(&mut self.run, &order);
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
        let new = NewWorkspace {
            owner: Some(UserId(0)),
            timeout_us: NEVER_US,
            directive: self.content,
            ..NewWorkspace::worker(WorkspaceId::ROOT, &format!("agent-{}", id.0))
        };
        let create = Command::CreateWorkspace(Box::new(new));
        self.give(Principal::Coordinator, create);
        id
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

/// Which workspace is next: all of them, in no helpful order.
pub fn visit(at: u32, count: u32) -> WorkspaceId {
    WorkspaceId(1 + at.wrapping_mul(2_654_435_761) % count)
}

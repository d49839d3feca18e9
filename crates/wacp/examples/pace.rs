//! How fast the machine decides and replays, and what a workspace weighs.
//!
//! `cargo run --release -p wacp --example pace` prints one line per size of
//! run: open workspaces, commands decided and applied per second, entries
//! replayed per second, resident bytes per workspace.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;

use trail::Micros;
use wacp::{
    Command, Entry, Order, Principal, Run, apply,
    checkpoint::NewCheckpoint,
    content::Content,
    decide,
    envelope::NewEnvelope,
    gate::config::Highway,
    id::{EnvelopeId, UserId, WorkspaceId},
    role::{EnvelopeType, Taxonomy, Text},
    signal::SignalType,
    workspace::{Limits, NewRun, NewWorkspace},
};

struct Pace {
    run: Run,
    now: Micros,
    /// Kept only where replay is measured.
    entries: Option<Vec<Entry>>,
    commands: u64,
}

impl Pace {
    fn give(&mut self, principal: Principal, command: Command) {
        self.now.0 += 1;
        let order = Order { principal, command };
        let entries = decide(&self.run, &order, self.now).unwrap();
        for entry in &entries {
            apply(&mut self.run, entry);
        }
        self.commands += 1;
        if let Some(kept) = &mut self.entries {
            kept.extend(entries);
        }
    }

    fn new(keep: bool) -> Pace {
        let mut pace = Pace {
            run: Run::default(),
            now: Micros(1_000_000),
            entries: keep.then(Vec::new),
            commands: 0,
        };
        let new = NewRun {
            agent: Text::from("coordinator"),
            directive: Content::markdown("goal"),
            highway: Highway::open(),
            limits: Limits {
                redelivery_base_us: 1 << 40,
                idle_timeout_us: 1 << 40,
                ..Limits::default()
            },
            taxonomy: Taxonomy::base(),
        };
        pace.give(Principal::Runtime, Command::StartRun(Box::new(new)));
        let name = Text::from("ann");
        pace.give(Principal::Operator, Command::CreateUser { name });
        pace.give(Principal::Coordinator, emission(SignalType::Ready));
        pace
    }

    fn create(&mut self) -> WorkspaceId {
        let id = WorkspaceId(self.run.next.workspaces);
        let new = NewWorkspace {
            owner: Some(UserId(0)),
            timeout_us: 1 << 50,
            ..NewWorkspace::worker(WorkspaceId::ROOT, &id.to_string())
        };
        self.give(
            Principal::Coordinator,
            Command::CreateWorkspace(Box::new(new)),
        );
        id
    }

    /// Seven commands of an ordinary exchange.
    fn exchange(&mut self, id: WorkspaceId) {
        let content = Content {
            bytes: 4,
            ..Content::markdown("")
        };
        let envelope = EnvelopeId(self.run.next.envelopes);
        let directive = NewEnvelope::to(id, EnvelopeType::Directive, content);
        self.give(Principal::Coordinator, Command::Send(Box::new(directive)));
        self.give(
            Principal::Runtime,
            Command::Acknowledge {
                workspace: id,
                envelope,
            },
        );
        self.give(Principal::Agent(id), emission(SignalType::Started));
        let query = NewEnvelope::to(WorkspaceId::ROOT, EnvelopeType::Query, content);
        let envelope = EnvelopeId(self.run.next.envelopes);
        self.give(Principal::Agent(id), Command::Send(Box::new(query)));
        let root = WorkspaceId::ROOT;
        self.give(
            Principal::Runtime,
            Command::Acknowledge {
                workspace: root,
                envelope,
            },
        );
        self.give(Principal::Agent(id), emission(SignalType::Blocked));
        self.give(Principal::Agent(id), emission(SignalType::Started));
    }
}

fn emission(signal: SignalType) -> Command {
    Command::Emit {
        signal,
        reason: signal.needs_reason().then(|| Text::from("why")),
        reference: None,
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Seconds this process has computed: others on the machine do not count.
fn computed() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|text| text.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn main() {
    let content = Content::markdown("x");
    println!("workspaces  commands/s  replayed/s  bytes/open  bytes/closed");
    let asked = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let counts = asked.map_or(vec![10u32, 10_000, 1_000_000], |count| vec![count]);
    for count in counts {
        let before = resident_bytes();
        let mut pace = Pace::new(false);
        for _ in 0..count {
            pace.create();
        }
        let weight = resident_bytes().saturating_sub(before) / u64::from(count);
        let rounds = 300_000;
        // A stride that visits workspaces in no helpful order.
        let visit = |at: u32| WorkspaceId(1 + (at.wrapping_mul(2_654_435_761) % count));
        pace.commands = 0;
        let start = computed();
        for at in 0..rounds {
            pace.exchange(visit(at));
        }
        let commands = pace.commands as f64 / (computed() - start);

        pace.entries = Some(Vec::new());
        let mut replayed = pace.run.clone();
        for at in 0..100_000 {
            pace.exchange(visit(at));
        }
        let entries = pace.entries.take().unwrap();
        let start = computed();
        for entry in &entries {
            apply(&mut replayed, entry);
        }
        let replay = entries.len() as f64 / (computed() - start);
        assert!(black_box(replayed) == pace.run);

        let mut ended = Pace::new(false);
        let before = resident_bytes();
        for _ in 0..count {
            let id = ended.create();
            let envelope = EnvelopeId(ended.run.next.envelopes);
            let directive = NewEnvelope::to(id, EnvelopeType::Directive, content);
            ended.give(Principal::Coordinator, Command::Send(Box::new(directive)));
            ended.give(
                Principal::Runtime,
                Command::Acknowledge {
                    workspace: id,
                    envelope,
                },
            );
            let last = NewCheckpoint::last(None, vec![]);
            ended.give(
                Principal::Agent(id),
                Command::CreateCheckpoint(Box::new(last)),
            );
            ended.give(Principal::Agent(id), emission(SignalType::Complete));
            let accept = wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Direct);
            ended.give(Principal::Coordinator, Command::Accept(Box::new(accept)));
        }
        let closed = resident_bytes().saturating_sub(before) / u64::from(count);
        println!("{count:>10}  {commands:>10.0}  {replay:>10.0}  {weight:>10}  {closed:>12}");
    }
}

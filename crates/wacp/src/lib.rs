//! The coordination rules of WACP v0.1, levels 1 to 3, as one state machine.
//!
//! There is no clock, no I/O and no randomness in here: the same orders at the
//! same times give the same run, always, and replaying its entries does too.
//!
//! | function | who calls it, and when |
//! | --- | --- |
//! | [`decide`] | whoever takes orders: reads the run, gives entries or a rejection with its record |
//! | [`apply`] | for each entry once it is durable, and for each entry of the past on replay; cannot fail |
//! | [`Measured::note`] | after an accepted order was applied: what it measured and no entry tells yet |
//! | [`effects`] | with the entries of a commit: what the world must be told now; never on replay |
//! | [`Run::next_deadline`] | when to give the order `Tick` next |
//! | [`recovery::rebuild`] | at the start, with the whole trail; then the order `Recover` |
//! | [`recovery::resume`] | the same, with a [`snapshot`] and the entries after it |
//!
//! [`step`] does all three at once.
//! A worker is created, directed, makes something, and its work is merged:
//!
//! ```
//! use trail::Micros;
//! use wacp::{
//!     Command, Effect, Measured, Order, Principal, Refusal, Run,
//!     checkpoint::NewCheckpoint,
//!     content::Content,
//!     effects,
//!     envelope::NewEnvelope,
//!     gate::config::Highway,
//!     id::{UserId, WorkspaceId},
//!     integration::{Acceptance, Strategy},
//!     recovery::rebuild,
//!     role::{EnvelopeType, Taxonomy},
//!     signal::SignalType,
//!     step,
//!     workspace::{Limits, NewRun, NewWorkspace, lifecycle::State},
//! };
//!
//! let (root, worker, ann) = (WorkspaceId::ROOT, WorkspaceId(1), UserId(0));
//! let mut run = Run::default();
//! let mut measured = Measured::default();
//! let mut trail = Vec::new();
//! let mut now = Micros(0);
//! let mut give = |run: &mut Run, by: Principal, command: Command| {
//!     now.0 += 1_000;
//!     let (entries, refusal) = step(run, &mut measured, &Order::new(by, command), now);
//!     let told = effects(run, &entries);
//!     trail.extend(entries);
//!     refusal.map_or(Ok(told), Err)
//! };
//!
//! // The coordinator's own workspace is the root of every run.
//! give(&mut run, Principal::Runtime, Command::StartRun(Box::new(NewRun {
//!     agent: "coordinator-1".into(),
//!     directive: Content::markdown("Make a web site."),
//!     highway: Highway::open(),
//!     limits: Limits::default(),
//!     taxonomy: Taxonomy::base(),
//! })))?;
//! give(&mut run, Principal::Operator, Command::CreateUser { name: "ann".into() })?;
//! let told = give(&mut run, Principal::Coordinator, Command::CreateWorkspace(Box::new(
//!     NewWorkspace { owner: Some(ann), timeout_us: 3_600_000_000, ..NewWorkspace::worker(root, "agent-1") },
//! )))?;
//! assert!(matches!(told[..], [Effect::BindAgent { workspace, .. }] if workspace == worker));
//!
//! // The first envelope begins the work.
//! let directive = NewEnvelope::to(worker, EnvelopeType::Directive, Content::markdown("Write the text."));
//! give(&mut run, Principal::Coordinator, Command::Send(Box::new(directive)))?;
//! assert_eq!(run.state_of(worker), Some(State::Active));
//!
//! // Nothing is merged that was never finished: every refusal has its reason.
//! let accept = || Command::Accept(Box::new(Acceptance::of(worker, Strategy::Direct)));
//! assert_eq!(give(&mut run, Principal::Coordinator, accept()), Err(Refusal::InvalidState));
//!
//! let agent = Principal::Agent(worker);
//! give(&mut run, agent, Command::CreateCheckpoint(Box::new(NewCheckpoint::last(None, vec![]))))?;
//! give(&mut run, agent, Command::Emit { signal: SignalType::Complete, reason: None, reference: None })?;
//! give(&mut run, Principal::Coordinator, accept())?;
//! assert_eq!(run.state_of(worker), Some(State::Closed));
//!
//! // The trail is all there is: it gives the same run again.
//! assert_eq!(rebuild(&trail).unwrap().run, run);
//! # Ok::<(), Refusal>(())
//! ```
//!
//! Logic sits by noun, with deciding and applying beside each other. The tables
//! that a person can check against the specification are data:
//! `workspace::lifecycle`, `signal::table`, `role`, `gate::config`, `user`. What
//! is to be told of a decision, and in which order, is put together on a stage
//! that nobody outside can make, so that no entry comes about past the rules.
//! [`wire`] is apart from all of it: there JSON becomes a command, and entries
//! become answers and mail. Nothing that decides uses it.

mod decide;

pub mod checkpoint;
pub mod command;
pub mod compaction;
pub mod content;
pub mod effect;
pub mod envelope;
pub mod escalation;
pub mod event;
pub mod gate;
pub mod id;
pub mod integration;
pub mod integrity;
pub mod query;
pub mod recovery;
pub mod rejection;
pub mod right;
pub mod role;
pub mod signal;
pub mod snapshot;
mod stage;
pub mod state;
pub mod task;
pub mod user;
pub mod wire;
pub mod workspace;

pub use command::{Command, Order, Principal};
pub use decide::{apply, decide, step};
pub use effect::{Effect, effects};
pub use event::{Actor, Entry, Event};
pub use rejection::{Refusal, Rejection};
pub use state::Run;
pub use workspace::measured::Measured;

//! The coordination rules of WACP v0.1, levels 1 to 3, as one state machine.
//!
//! `decide` reads a run and an order and gives entries or a rejection; `apply`
//! changes the run by one entry and cannot fail; `effects` reads off durable
//! entries what the world must be told; `Run::next_deadline` says when to tick.
//! There is no clock, no I/O and no randomness in here: the same orders at the
//! same times give the same run, always, and replaying its entries does too.
//!
//! Logic sits by noun, with deciding and applying beside each other. The tables
//! that a person can check against the specification are data:
//! `workspace::lifecycle`, `signal::table`, `role`, `gate::config`, `user`.

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
pub mod stage;
pub mod state;
pub mod task;
pub mod user;
pub mod workspace;

pub use command::{Command, Order, Principal};
pub use decide::{apply, decide, note, step};
pub use effect::{Effect, effects};
pub use event::{Actor, Entry, Event};
pub use rejection::{Refusal, Rejection};
pub use state::Run;

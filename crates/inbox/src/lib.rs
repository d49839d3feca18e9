//! What waits for a person, whatever door it came through, and the one way to
//! decide it: approve, reject or redirect, perhaps held for a few seconds so
//! that it can be undone.
//!
//! Who is asking was settled before: a [`Person`] can only be made of someone
//! who may answer. No agent credential leads here.

pub mod answer;
pub mod decide;
pub mod event;

pub use answer::{Answer, Fault, Request, Verdict};
pub use decide::{Person, Rejection, Standing, finish, respond, undo};
pub use event::Event;

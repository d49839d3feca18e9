//! What waits for a person, whatever door it came through, and the one way to
//! decide it: approve, reject or redirect, perhaps held for a few seconds so
//! that it can be undone.
//!
//! A [`Person`] is made of an [`account::Reviewer`], and so of a secret that a
//! person presented. No agent credential leads here:
//!
//! ```compile_fail,E0451
//! let forged = inbox::Person {
//!     by: "agent".to_owned(),
//!     channel: inbox::event::Channel::Api,
//! };
//! ```

pub mod answer;
#[cfg(not(feature = "breaks"))]
mod breaks;
#[cfg(feature = "breaks")]
pub mod breaks;
pub mod decide;
pub mod event;
mod item;
pub mod view;

pub use answer::{Answer, Fault, Request, Verdict};
pub use decide::{Final, Person, Rejection, Standing, finish, respond, undo};
pub use event::Event;
pub use item::ItemId;

//! The spelling of WACP: orders as JSON objects, answers and mail as JSON.
//!
//! An order is one flat object: `do` names it, the other keys are its own. Here
//! it becomes a [`Command`](crate::Command) that cannot be malformed; whoever
//! reads brings what only they know: what a name stands for ([`names::Names`]),
//! where contents are kept ([`content::Shelf`]), and what is put in where
//! nothing is said ([`args::Defaults`]). Who asks is never read: the credential
//! decides it. Integrity proofs are the caller's too, made on the command.
//!
//! An order is read twice. [`content::prepare`] reads it for its faults and takes
//! out the bytes to be stored, away from any run; [`order::command`] reads what
//! is left for the run it is decided on. The keys of every order as data are
//! read off the same code ([`order::keys`]), so they are written once.

pub mod access;
pub mod answer;
pub mod args;
pub mod content;
pub mod fault;
pub mod floor;
pub mod kind;
pub mod length;
pub mod mail;
pub mod names;
pub mod order;
pub mod proof;
pub mod read;
pub mod setting;
pub mod start;
pub mod words;

pub use args::{Args, Context, Defaults, Table};
pub use fault::{Fault, Outcome};

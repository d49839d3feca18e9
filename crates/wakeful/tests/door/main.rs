//! The WAKE door against its specification: every row of its tables, every
//! ruling on deliver and response. Sweeps have a program of their own.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod answers;
mod bodies;
mod callers;
mod exact;
mod fields;
mod holds;
mod letter;
mod rates;
mod repeats;

/// The five fields that a delivery must have.
pub const REQUIRED: [&str; 5] = ["agent_id", "provider", "type", "headline", "summary"];

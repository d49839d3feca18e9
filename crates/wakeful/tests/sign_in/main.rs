//! Signing in while others try to prevent it, and what an open session may do.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod anew;
mod door;
mod flood;
mod lockouts;
mod mark;
mod often;

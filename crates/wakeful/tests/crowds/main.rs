//! Crowds: many strangers, one viewer, one agent's key or many sockets at once
//! must not take the inbox from everybody else.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod bodies;
mod cookie;
mod crowd;
mod reading;
mod relay;
mod sockets;
mod streams;
mod writing;

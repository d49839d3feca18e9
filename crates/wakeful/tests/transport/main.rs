//! How requests may arrive, what every answer carries, and how a server ends.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod ending;
mod framing;
mod framings;
mod operations;
mod patience;
mod plain;
mod proxy;
mod tls;
mod ways;

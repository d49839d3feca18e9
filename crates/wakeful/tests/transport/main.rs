//! How requests may arrive, what every answer carries, and how a server ends.

#[path = "../harness/mod.rs"]
mod harness;

mod ending;
mod operations;
mod plain;
mod proxy;
mod tls;

//! The relay, with a real server, real TLS and real WebSocket clients.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod devices;
mod entering;
mod limits;
mod presence;
mod proxied;
mod python;
mod relaying;
mod scene;
mod secrecy;
mod soak;
mod wire;

//! The documents' own code against the real server, over TLS. The documents are
//! not part of this repository: `cargo xtask samples DIR` builds and runs this
//! with the directory that has them.
//!
//! What the code gets from here (host, key, waiting time, and what the documents
//! leave out) is printed.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod documents;
mod receivers;
mod refused;
mod requests;
mod running;
mod scene;

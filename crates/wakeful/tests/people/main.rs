//! The API for people: who may do what, the inbox, the trail as it grows.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod accounts;
mod events;
mod inbox;
mod keys;
mod roles;

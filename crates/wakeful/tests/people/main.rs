//! The API for people: who may do what, the inbox, the trail as it grows.

#[path = "../harness/mod.rs"]
mod harness;

mod accounts;
mod events;
mod inbox;
mod keys;
mod roles;

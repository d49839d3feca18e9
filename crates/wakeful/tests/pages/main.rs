//! The pages around the inbox, as a browser without JavaScript uses them.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod agents;
mod aside;
mod browser;
mod by_agent;
mod connect;
mod deciding;
mod devices;
mod doors;
mod erasing;
mod late;
mod people;
mod searching;
mod settings;
mod timed_out;
mod trail;
mod webhooks;

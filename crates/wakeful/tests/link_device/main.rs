//! `wakeful link` as people use it: pairing, a device that stays connected,
//! commands through a server that cannot read them.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

// Reads the memory of another process as Linux shows it.
#[cfg(target_os = "linux")]
mod blind;
mod coming_back;
mod commands;
mod crowd;
mod errands;
mod firmware;
mod pairing;
mod scene;
mod unit;

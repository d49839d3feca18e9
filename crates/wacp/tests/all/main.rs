//! The machine as a whole, driven from outside as a runtime would.

#![allow(clippy::unwrap_used)]

mod every;
mod highway;
mod losses;
mod orders;
mod past;
mod recovering;
mod wire;
mod world;

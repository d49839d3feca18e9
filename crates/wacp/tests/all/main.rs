//! The machine as a whole, driven from outside as a runtime would.

#![allow(clippy::unwrap_used)]

mod delegating;
mod escalating;
mod every;
mod highway;
mod integrating;
mod loopholes;
mod losses;
mod messages;
mod orders;
mod people;
mod recovering;
mod resources;
mod states;
mod trees;
mod work;
mod world;

//! The engine that ships, driven through faults beside a small model.
//!
//! The writer ([`engine::Turns`]) runs on a store in memory. A seed decides what
//! people, agents and the operator ask for, in which turns, what the store does
//! wrong, where the process is lost and how the clock jumps. There is no thread,
//! no runtime and no sleep: a turn is a future that is polled here, and a call
//! of the store that waits is the point at which a process can be lost.
//!
//! `orders` draws what is asked; `model`, with `item` and `people`, says what must
//! come of it. `process` is the engine with its store, clock and faults, and a
//! `sweeper` is an agent. `play` lets them take turns and `judge` holds each turn
//! against the model, with `compare` for what is stored.
//! `broken` plays with a rule of the engine broken on purpose.

pub mod asked;
pub mod broken;
pub mod compare;
pub mod counts;
pub mod failure;
pub mod item;
mod judge;
pub mod model;
pub mod orders;
pub mod people;
pub mod play;
pub mod process;
pub mod sweeper;

/// Steps of one seed, where many are played: what one turn costs grows with
/// what the model has to look through.
pub const STEPS_EACH: u64 = 4_000;

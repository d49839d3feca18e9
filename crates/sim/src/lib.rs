//! The real state machines, driven through years of faults in seconds.
//!
//! A seed decides everything: the same seed gives the same orders, the same
//! faults and the same end, on every machine. There is no clock, no
//! environment and no map without an order in here.
//!
//! `orders` draws any command from anyone; `agents` do what agents, the
//! coordinator and people do of their own accord; `errands` carries it, loses
//! some and doubles some. `world` is the runtime's loop over a `log` in memory,
//! `faults` and `damage` what happens to it, and `check` what must be true of
//! it all. `play` puts them together; `crowd` plays many seeds at once. `model`
//! is another machine altogether, held against the real one order by order. `house`
//! is apart from all of these: the engine with WAKE, inbox and accounts.

pub mod agents;
pub mod check;
pub mod crowd;
pub mod damage;
pub mod dice;
pub mod errands;
pub mod failure;
pub mod faults;
pub mod house;
pub mod log;
pub mod model;
pub mod orders;
pub mod play;
pub mod player;
pub mod setup;
pub mod tally;
pub mod world;

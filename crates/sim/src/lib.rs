//! The real state machines, driven through years of faults in seconds.
//!
//! A seed decides everything: the same seed gives the same orders, the same
//! faults and the same end, on every machine. There is no clock, no
//! environment and no map without an order in here.

pub mod check;
pub mod dice;
pub mod orders;
pub mod player;
pub mod setup;

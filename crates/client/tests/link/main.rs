//! A client's end of the relay, with a relay and a device that these tests
//! play: honest, silent, or hostile.
#![allow(clippy::unwrap_used)]

mod admission;
mod calling;
mod relay;

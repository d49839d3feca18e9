//! A device over real sockets: its line to a relay, which these tests play,
//! and the packets that it sends to wake others.
#![allow(clippy::unwrap_used)]

mod coming_back;
mod commands;
mod line;
mod waking;

//! WakeLink without its sockets: the packets that pass between a client and a
//! device, sealed from end to end, and how the two come to share a secret that
//! no server sees. No I/O, no clock; randomness is handed in.
//!
//! `docs/ewsp.md` is the same to the byte, for those who write firmware.

pub mod ewsp;
pub mod pairing;

pub use ewsp::{Hello, Packet, Refusal, Session, Side};
pub use pairing::Secret;

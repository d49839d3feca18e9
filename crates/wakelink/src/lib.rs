//! WakeLink without its sockets: the packets that pass between a client and a
//! device, sealed from end to end, how the two come to share a secret that no
//! server sees, and the rules of the relay between them, which reads where a
//! packet goes and nothing else. No I/O, no clock; time and randomness are
//! handed in.
//!
//! `docs/ewsp.md` is the same to the byte, for those who write firmware.

pub mod command;
pub mod device;
pub mod ewsp;
pub mod frame;
mod json;
pub mod pairing;
pub mod relay;

pub use command::{Answer, Command, Request};
pub use ewsp::{Hello, Packet, Refusal, Session, Side};
pub use frame::Frame;
pub use pairing::Secret;

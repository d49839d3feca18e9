//! EWSP 1.1: two hellos, a confirmation each way, then sealed packets.

mod handshake;
mod keys;
mod packet;
mod session;
mod window;

pub use handshake::{Draw, Initiator, respond};
pub use packet::{Hello, PACKET_BYTES, Packet, Sid};
pub use session::{Opened, Session};
pub use window::Window;

/// What stands in every packet's `v`. The published 1.0 has one key for both
/// directions and no key exchange; nothing here speaks it.
pub const VERSION: &str = "1.1";
/// The last number a packet may have: what JSON keeps exactly.
pub const LAST_SEQ: u64 = (1 << 53) - 1;

/// Who one is in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Client,
    Device,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Device,
            Side::Device => Side::Client,
        }
    }

    /// In keys and associated data: who speaks.
    fn byte(self) -> u8 {
        match self {
            Side::Client => b'C',
            Side::Device => b'D',
        }
    }
}

/// Why a packet or a hello is not taken. The one who sent it is told nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("it is not a packet: {0}")]
    Malformed(&'static str),
    #[error("it is of another version")]
    Version,
    #[error("it belongs to another session")]
    OtherSession,
    #[error("its public key gives no secret")]
    WeakKey,
    #[error("it was seen before, or is too old to know")]
    Replayed,
    #[error("it was not sealed with this session's key")]
    Forged,
    #[error("the session is not confirmed yet")]
    Unconfirmed,
    #[error("the session has no numbers left: start a new one")]
    Exhausted,
}

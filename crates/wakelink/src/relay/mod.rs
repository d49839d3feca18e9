//! The rules of the relay: who may say what, where it goes, when enough is
//! enough. The server's sockets do what is decided here.
//!
//! A payload is never looked at beyond the `sid` that says where it goes, never
//! written anew, and never kept.

mod code;
mod ending;
mod incoming;
mod limits;
mod lockout;
mod moment;
mod pace;
mod patience;
mod scan;
mod session;
mod switchboard;

pub use code::Code;
pub use ending::Ending;
pub use incoming::{BadFrame, Envelope, Incoming};
pub use limits::Limits;
pub use lockout::{Lockout, network};
pub use moment::Moment;
pub use pace::{Pace, SharedPace};
pub use patience::{Patience, Tick};
pub use session::{Over, Session};
pub use switchboard::{Joined, Passage, Place, Refusal, Switchboard};

//! WakeLink from the outside: a socket to the relay for devices and clients
//! alike, and a client's end of it: presence, a session with a device that the
//! relay cannot read, and commands in it.

mod backoff;
mod caller;
mod fault;
mod socket;

pub use backoff::Backoff;
pub use caller::{Caller, Conversation, Presence};
pub use fault::LinkFault;
pub use socket::{Admission, SILENCE, Socket};
pub use wakelink::frame::Auth;

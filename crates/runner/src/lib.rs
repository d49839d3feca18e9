//! Hands. [`Device`] keeps a machine on the relay, whatever happens to the
//! server or the line, and lets confirmed clients ask for what [`Hands`] can
//! do: say that it is there, say what it is, and wake other machines on its
//! network, those on its list and no others.

mod device;
mod hands;
mod lan;
mod mac;

pub use device::{Device, Ended, Timing};
pub use hands::{Hands, ListFault, Target};
pub use lan::{Network, PORT};
pub use mac::{Mac, MagicPacket, NotAMac};

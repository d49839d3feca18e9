//! Who may ask: users and roles, agents, their keys and devices, tokens, the callback
//! allowlist, usual rates and retention rules.
//!
//! The whole of it is small and is held in memory; nothing here grows with the
//! number of deliveries. Secrets never enter: only their hashes do.

mod actor;
pub mod bucket;
pub mod command;
pub mod decide;
pub mod device;
pub mod event;
pub mod rejection;
pub mod reviewer;
pub mod secret;
pub mod sign_in;
pub mod state;

pub use actor::Actor;
pub use bucket::{Bucket, KeyKind, Rate};
pub use command::Command;
pub use decide::decide;
pub use device::{Device, NewDeviceToken};
pub use event::Event;
pub use rejection::Rejection;
pub use reviewer::{Denied, Owner, Presented, Reviewer};
pub use sign_in::{Link, NewSession, Session};
pub use state::{Agent, AllowRule, ENDED_KEYS, Gone, Key, Role, State, Token, User, UserState};

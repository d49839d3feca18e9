//! WAKE v1 as rules: what an agent may deliver, what it gets back, and the life
//! of a delivery in between. No I/O, no clock, no randomness.
//!
//! The answer itself is not decided here: every door's items are answered in
//! the crate `inbox`.

pub mod base;
pub mod delivery;
pub mod environment;
pub mod event;
pub mod fault;
pub mod framework;
pub mod life;
pub mod limits;
pub mod moment;
pub mod net;
pub mod prefix;
pub mod prompt;
pub mod response;
pub mod secret;
pub mod signature;
pub mod status;
pub mod sweep;
pub mod webhook;

pub use base::{BaseFault, base};
pub use delivery::{Body, Delivery, DetailsFormat, Kind, NewDelivery};
pub use event::Event;
pub use fault::Fault;
pub use framework::Framework;
pub use prefix::{IdPrefix, PrefixFault};
pub use status::Status;

/// The JSON Schema of the delivery and response payloads, served at
/// `GET /wake/v1/schema.json`.
pub const SCHEMA: &str = include_str!("schema.json");

//! What cannot be denied.
//!
//! An *entry* is one event: a canonical header, whose hash links it to the
//! entry before it in its stream, and *parts*, whose salted commitments are in
//! the header, so that a part can be erased and every proof stays valid. The
//! entry hashes of all streams, in the order in which they became durable, are
//! the leaves of one RFC 6962 Merkle log with signed checkpoints.
//!
//! Nothing here reads a file, a clock or a random source. The bytes are fixed
//! in `docs/trail-format.md`.

pub mod breaks;
pub mod canonical;
pub mod checkpoint;
mod closed;
mod cursor;
pub mod digest;
pub mod entry;
pub mod erasure;
pub mod export;
pub mod export_reader;
pub mod fault;
pub mod hash;
pub mod json;
pub mod key;
mod key_name;
pub mod layout;
pub mod merkle;
pub mod pipeline;
pub mod presence;
pub mod proof;
pub mod receipt;
pub mod registry;
pub mod rotation;
pub mod stream;
pub mod time;
mod turn;
pub mod verify;

pub use checkpoint::{Checkpoint, CheckpointFault};
pub use entry::{Draft, Header, Part, Sealed};
pub use fault::{Fault, Reason};
pub use hash::Hash;
pub use key::{LogKey, VerifierKey};
pub use key_name::KeyName;
pub use receipt::Receipt;
pub use rotation::Keyring;
pub use stream::Stream;
pub use time::Micros;
pub use verify::Verifier;

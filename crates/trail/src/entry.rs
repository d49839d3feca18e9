//! One event as the trail keeps it: a canonical header and salted parts.
//!
//! The header is stored without `prev_hash` and `seq`: those two belong to the
//! stream's chain and enter the entry hash beside the header's own hash, so
//! that a workspace's local chain can be verified without the rest.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::{Hash, Micros, canonical};

/// The version of the format, in every header.
pub const VERSION: u32 = 1;
/// The part that deciding, applying and views need; it is never erased.
pub const FACTS: &str = "facts";

pub type Salt = [u8; 32];

/// What is known of an event before it has a place in its stream.
#[derive(Clone, Debug)]
pub struct Draft {
    pub stream: String,
    pub id: String,
    pub time: Micros,
    pub actor: String,
    pub event_type: &'static str,
    /// The workspace, the number in its local chain, and the local hash before.
    pub local: Option<Local>,
    /// `facts` first, then what may be erased.
    pub parts: Vec<Part>,
}

/// The place of an entry in its workspace's own chain.
#[derive(Clone, Debug)]
pub struct Local {
    pub workspace: String,
    pub seq: u64,
    pub prev: Option<Hash>,
}

/// Content and the salt that hides it in its commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: Cow<'static, str>,
    pub salt: Salt,
    pub bytes: Vec<u8>,
}

impl Part {
    pub fn commitment(&self) -> Hash {
        commitment(&self.salt, &self.bytes)
    }
}

/// What the header says of a part.
pub fn commitment(salt: &Salt, bytes: &[u8]) -> Hash {
    Hash::of("wakeful/part/1", &[salt, bytes])
}

/// The header as it is stored and hashed. Fields are in canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header<'a> {
    #[serde(borrow)]
    pub actor: Cow<'a, str>,
    #[serde(borrow)]
    pub event_type: Cow<'a, str>,
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    pub local_prev: Option<Hash>,
    pub local_seq: Option<u64>,
    #[serde(borrow)]
    pub parts: Vec<Commitment<'a>>,
    #[serde(borrow)]
    pub stream: Cow<'a, str>,
    pub time: Micros,
    pub v: u32,
    #[serde(borrow)]
    pub workspace: Option<Cow<'a, str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment<'a> {
    pub commitment: Hash,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
}

impl<'a> Header<'a> {
    /// Reads a stored header; it must be exactly what we would have written.
    pub fn read(bytes: &'a [u8]) -> Option<Header<'a>> {
        let header: Header<'a> = serde_json::from_slice(bytes).ok()?;
        (header.v == VERSION && canonical::to_vec(&header) == bytes).then_some(header)
    }
}

/// An entry with its place: what `append` writes.
#[derive(Clone, Debug)]
pub struct Sealed {
    pub seq: u64,
    /// Canonical JSON of the [`Header`].
    pub header: Vec<u8>,
    pub local_hash: Hash,
    pub entry_hash: Hash,
}

impl Draft {
    /// Gives the draft its place after `prev` (`None` for the first, `seq` 0).
    pub fn seal(&self, prev: Option<Hash>, seq: u64) -> Sealed {
        let local = self.local.as_ref();
        let header = canonical::to_vec(&Header {
            actor: Cow::Borrowed(&self.actor),
            event_type: Cow::Borrowed(self.event_type),
            id: Cow::Borrowed(&self.id),
            local_prev: local.and_then(|local| local.prev),
            local_seq: local.map(|local| local.seq),
            parts: self
                .parts
                .iter()
                .map(|part| Commitment {
                    commitment: part.commitment(),
                    name: Cow::Borrowed(&part.name),
                })
                .collect(),
            stream: Cow::Borrowed(&self.stream),
            time: self.time,
            v: VERSION,
            workspace: local.map(|local| Cow::Borrowed(local.workspace.as_str())),
        });
        let local_hash = local_hash(&header);
        Sealed {
            seq,
            entry_hash: entry_hash(prev, seq, local_hash),
            local_hash,
            header,
        }
    }
}

/// The hash of the stored header, which links a workspace's local chain.
pub fn local_hash(header: &[u8]) -> Hash {
    Hash::of("wakeful/local/1", &[header])
}

/// The hash that links a stream and is the entry's leaf in the log.
pub fn entry_hash(prev: Option<Hash>, seq: u64, local_hash: Hash) -> Hash {
    Hash::of(
        "wakeful/entry/1",
        &[
            &prev.unwrap_or(Hash::ZERO).0,
            &seq.to_be_bytes(),
            &local_hash.0,
        ],
    )
}

//! One event as the trail keeps it: a canonical header and salted parts.
//!
//! The header is stored without `prev_hash` and `seq`: those two belong to the
//! stream's chain and enter the entry hash beside the header's own hash, so
//! that a workspace's local chain can be verified without the rest.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::{Hash, Micros, canonical, cursor::Cursor};

/// The version of the format, in every header.
pub const VERSION: u32 = 1;
/// The part that deciding, applying and views need; it is never erased.
pub const FACTS: &str = "facts";
/// More than any event has; it keeps comparing names cheap.
pub const MAX_PARTS: usize = 64;

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
        let mut cursor = Cursor::new(bytes)?;
        let header = Header::take(&mut cursor)?;
        cursor.end().map(|()| header)
    }

    /// Reads a header that stands inside a longer canonical text.
    pub(crate) fn take(cursor: &mut Cursor<'a>) -> Option<Header<'a>> {
        cursor.literal("{\"actor\":")?;
        let actor = cursor.string()?;
        cursor.literal(",\"event_type\":")?;
        let event_type = cursor.string()?;
        cursor.literal(",\"id\":")?;
        let id = cursor.string()?;
        cursor.literal(",\"local_prev\":")?;
        let local_prev = cursor.nullable(Cursor::hash)?;
        cursor.literal(",\"local_seq\":")?;
        let local_seq = cursor.nullable(Cursor::integer)?;
        cursor.literal(",\"parts\":[")?;
        let parts = Commitment::take_all(cursor)?;
        cursor.literal(",\"stream\":")?;
        let stream = cursor.string()?;
        cursor.literal(",\"time\":")?;
        let time = Micros::read(cursor.plain()?)?;
        cursor.literal(",\"v\":1,\"workspace\":")?;
        let workspace = cursor.nullable(Cursor::string)?;
        cursor.literal("}")?;
        Some(Header {
            actor,
            event_type,
            id,
            local_prev,
            local_seq,
            parts,
            stream,
            time,
            v: VERSION,
            workspace,
        })
    }
}

impl<'a> Commitment<'a> {
    /// The list after its opening bracket, with the closing one.
    fn take_all(cursor: &mut Cursor<'a>) -> Option<Vec<Commitment<'a>>> {
        let mut parts = Vec::new();
        while !cursor.try_literal("]") {
            if parts.len() == MAX_PARTS {
                return None;
            }
            if !parts.is_empty() {
                cursor.literal(",")?;
            }
            cursor.literal("{\"commitment\":")?;
            let commitment = cursor.hash()?;
            cursor.literal(",\"name\":")?;
            let name = cursor.string()?;
            cursor.literal("}")?;
            parts.push(Commitment { commitment, name });
        }
        Some(parts)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: it reads as JSON, and writing it again gives the bytes.
    fn by_definition(bytes: &[u8]) -> Option<Header<'_>> {
        let header: Header<'_> = serde_json::from_slice(bytes).ok()?;
        let same = serde_json::to_vec(&header).unwrap() == bytes;
        (header.v == VERSION && same).then_some(header)
    }

    fn draft(actor: String, local: bool, time: i64) -> Draft {
        Draft {
            stream: "run/r1".to_owned(),
            id: "ev_\u{1}\"\\é".to_owned(),
            time: Micros(time),
            actor,
            event_type: "gate_opened",
            local: local.then(|| Local {
                workspace: "w\n1".to_owned(),
                seq: 7,
                prev: Some(Hash([0x5a; 32])),
            }),
            parts: vec![
                Part {
                    name: Cow::Borrowed(FACTS),
                    salt: [1; 32],
                    bytes: b"{}".to_vec(),
                },
                Part {
                    name: Cow::Borrowed("details"),
                    salt: [2; 32],
                    bytes: b"x".to_vec(),
                },
            ],
        }
    }

    proptest! {
        #[test]
        fn reading_agrees_with_the_definition_for_good_and_damaged_headers(
            actor in "\\PC{0,12}", local: bool, time in 0i64..4_000_000_000_000_000, at: usize, byte: u8,
        ) {
            let mut bytes = draft(actor, local, time).seal(None, 0).header;
            prop_assert!(Header::read(&bytes).is_some());
            prop_assert_eq!(Header::read(&bytes), by_definition(&bytes));
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert_eq!(Header::read(&bytes), by_definition(&bytes));
            bytes.remove(at);
            prop_assert_eq!(Header::read(&bytes), by_definition(&bytes));
        }
    }

    #[test]
    fn a_header_with_too_many_parts_is_refused() {
        let mut draft = draft(String::new(), false, 0);
        draft.parts = vec![draft.parts[0].clone(); MAX_PARTS];
        assert!(Header::read(&draft.seal(None, 0).header).is_some());
        draft.parts.push(draft.parts[0].clone());
        assert!(Header::read(&draft.seal(None, 0).header).is_none());
    }
}

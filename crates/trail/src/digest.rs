//! The half of verification that needs one entry alone: reading its header,
//! hashing it, and holding its parts against their commitments.
//!
//! This is nearly all of the work, and entries do not need each other for it,
//! so callers digest batches on as many threads as they like. The batches then
//! go, in order, to [`crate::verify::Verifier::link`].

use std::sync::Arc;

use crate::{
    Hash, Header, Micros,
    entry::{self, FACTS, Salt},
    erasure::Erasures,
    fault::{Fault, Reason},
    turn::Turn,
};

/// An entry as a store or a file holds it.
#[derive(Clone, Copy, Debug)]
pub struct StoredEntry<'a> {
    pub position: u64,
    pub stream: &'a str,
    pub seq: u64,
    /// Canonical JSON of the [`Header`].
    pub header: &'a [u8],
    /// Compared when given.
    pub entry_hash: Option<Hash>,
    /// Compared when given; `Some(None)` says that nothing stands before.
    pub prev_hash: Option<Option<Hash>>,
    /// The position of the entry before it in its stream. Compared when given;
    /// `Some(None)` says that nothing stands before.
    pub prev: Option<Option<u64>>,
    /// Those that were not erased.
    pub parts: &'a [StoredPart<'a>],
}

#[derive(Clone, Copy, Debug)]
pub struct StoredPart<'a> {
    pub name: &'a str,
    /// A slice, because it comes from outside; only 32 bytes are accepted.
    pub salt: &'a [u8],
    pub bytes: &'a [u8],
}

/// What linking needs of an entry. Names are numbers within their batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digested {
    pub position: u64,
    pub stream: usize,
    pub seq: u64,
    pub local: Option<LocalLink>,
    pub time: Micros,
    pub local_hash: Hash,
    pub entry_hash: Option<Hash>,
    pub prev_hash: Option<Option<Hash>>,
    pub prev: Option<Option<u64>>,
    pub parts: u32,
    pub erased: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalLink {
    pub workspace: usize,
    pub seq: u64,
    pub prev: Option<Hash>,
}

/// Entries digested in log order, up to the first that is bad by itself.
#[derive(Debug, Default)]
pub struct Digests {
    pub(crate) entries: Vec<Digested>,
    pub(crate) streams: Names,
    /// For each stream, its workspaces.
    pub(crate) workspaces: Vec<Names>,
    /// Turns of the log, with the number of their entry in this batch.
    pub(crate) turns: Vec<(usize, Turn)>,
    pub(crate) erasures: Erasures,
    /// Comes after all entries.
    pub(crate) fault: Option<Fault>,
}

impl Digests {
    pub fn new() -> Digests {
        Digests::default()
    }

    /// Adds the next entry. After a bad one, nothing more is taken: linking
    /// will report it, unless an earlier entry does not link.
    pub fn push(&mut self, entry: &StoredEntry<'_>) {
        match Header::read(entry.header) {
            Some(header) => self.push_read(entry, &header),
            None => self.refuse(entry, Reason::HeaderMalformed),
        }
    }

    /// For callers that had to read the header to find the entry.
    pub fn push_read(&mut self, entry: &StoredEntry<'_>, header: &Header<'_>) {
        if self.fault.is_some() {
            return;
        }
        match self.digest(entry, header) {
            Ok(digested) => self.entries.push(digested),
            Err(reason) => self.refuse(entry, reason),
        }
    }

    /// Notes what an entry says of erased content, its own or others'. For
    /// readers to whom an absent part means an erased one.
    pub fn note_erasures(&mut self, entry: &StoredEntry<'_>, header: &Header<'_>) {
        let facts = entry.parts.iter().find(|part| part.name == FACTS);
        let facts = facts.map_or(b"".as_slice(), |facts| facts.bytes);
        let is_bare = entry.parts.len() < header.parts.len();
        self.erasures
            .note(entry.position, &header.event_type, facts, is_bare);
    }

    /// Ends the batch with a fault found while reading.
    pub fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Whether a bad entry was met, so that reading on is useless.
    pub fn failed(&self) -> bool {
        self.fault.is_some()
    }

    fn refuse(&mut self, entry: &StoredEntry<'_>, reason: Reason) {
        self.fail(Fault {
            position: entry.position,
            stream: Some(entry.stream.to_owned()),
            seq: Some(entry.seq),
            reason,
        });
    }

    fn digest(&mut self, entry: &StoredEntry<'_>, header: &Header<'_>) -> Result<Digested, Reason> {
        if header.stream != entry.stream {
            return Err(Reason::StreamDiffers);
        }
        check_parts(header, entry.parts)?;
        let facts = entry.parts.iter().find(|part| part.name == FACTS);
        let facts = facts.map_or(b"".as_slice(), |facts| facts.bytes);
        if let Some(turn) = Turn::read(&header.event_type, facts)? {
            self.turns.push((self.entries.len(), turn));
        }
        let stream = self.streams.number(entry.stream);
        if stream == self.workspaces.len() {
            self.workspaces.push(Names::default());
        }
        let local = match (&header.workspace, header.local_seq, header.local_prev) {
            (None, None, None) => None,
            (Some(workspace), Some(seq), prev) if prev.is_some() == (seq > 0) => Some(LocalLink {
                workspace: self.workspaces[stream].number(workspace),
                seq,
                prev,
            }),
            _ => return Err(Reason::LocalIncomplete),
        };
        Ok(Digested {
            position: entry.position,
            stream,
            seq: entry.seq,
            local,
            time: header.time,
            local_hash: entry::local_hash(entry.header),
            entry_hash: entry.entry_hash,
            prev_hash: entry.prev_hash,
            prev: entry.prev,
            parts: header.parts.len() as u32,
            erased: (header.parts.len() - entry.parts.len()) as u32,
        })
    }
}

/// Every part that is there must be one the header commits to, once.
pub(crate) fn check_parts(header: &Header<'_>, parts: &[StoredPart<'_>]) -> Result<(), Reason> {
    for (n, named) in header.parts.iter().enumerate() {
        if header.parts[..n]
            .iter()
            .any(|other| other.name == named.name)
        {
            return Err(Reason::PartTwice(named.name.to_string()));
        }
    }
    for (n, part) in parts.iter().enumerate() {
        let named = header.parts.iter().find(|named| named.name == part.name);
        let named = named.ok_or_else(|| Reason::PartUnknown(part.name.to_owned()))?;
        if parts[..n].iter().any(|other| other.name == part.name) {
            return Err(Reason::PartTwice(part.name.to_owned()));
        }
        // A salt of another length could shift bytes between salt and content.
        let salt: Option<&Salt> = part.salt.try_into().ok();
        let committed = salt.map(|salt| entry::commitment(salt, part.bytes));
        if committed != Some(named.commitment) {
            return Err(Reason::PartChanged(part.name.to_owned()));
        }
    }
    match parts.iter().any(|part| part.name == FACTS) {
        true => Ok(()),
        false => Err(Reason::FactsMissing),
    }
}

/// Gives each name a number, counted from 0 in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Names {
    #[expect(
        clippy::disallowed_types,
        reason = "looked up by name alone, once for almost every entry that is verified"
    )]
    numbers: std::collections::HashMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
    /// Neighbours are often of the same stream, and comparing is cheaper.
    last: usize,
}

impl Names {
    pub fn number(&mut self, name: &str) -> usize {
        if self
            .names
            .get(self.last)
            .is_some_and(|last| **last == *name)
        {
            return self.last;
        }
        self.last = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let shared: Arc<str> = Arc::from(name);
                self.names.push(Arc::clone(&shared));
                self.numbers.insert(shared, self.names.len() - 1);
                self.names.len() - 1
            }
        };
        self.last
    }

    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }
}

//! Where a run is kept: entries in batches, each batch whole or not at all.
//!
//! It does what a store does, in memory: it appends, it seals entries into the
//! chains of the trail, it indexes each workspace's own stream, and it moves
//! what may be archived out of the way. Nothing is ever deleted.

use std::{borrow::Cow, collections::BTreeMap};

use trail::{
    Draft, Hash, Part, Sealed,
    entry::{FACTS, Local},
};
use wacp::{Entry, Run, command::Compaction, compaction::is_essential, id::WorkspaceId};

/// The stream that a run's entries are in.
pub const STREAM: &str = "run/sim";

#[derive(Debug, Default)]
pub struct Log {
    /// `None` where an entry was moved to the archive.
    warm: Vec<Option<Entry>>,
    archive: BTreeMap<u64, Entry>,
    streams: BTreeMap<WorkspaceId, Stream>,
    /// The entries as the trail keeps them; only some runs are sealed.
    sealed: Option<Vec<Record>>,
}

/// A workspace's own stream, as a store indexes it.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub positions: Vec<u64>,
    head: Option<Hash>,
    /// Moved to the archive already.
    pub is_compacted: bool,
}

/// An entry with its place in the chains.
#[derive(Clone, Debug)]
pub struct Record {
    pub sealed: Sealed,
    pub facts: Vec<u8>,
    pub prev: Option<Hash>,
}

/// Salts are random in a store; here they need not hide anything.
pub const SALT: [u8; 32] = [7; 32];

impl Log {
    pub fn new(seals: bool) -> Log {
        Log {
            sealed: seals.then(Vec::new),
            ..Log::default()
        }
    }

    pub fn len(&self) -> usize {
        self.warm.len()
    }

    pub fn is_empty(&self) -> bool {
        self.warm.is_empty()
    }

    /// Everything, in order, wherever it is kept.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.since(0)
    }

    /// What came after so many entries.
    pub fn since(&self, from: usize) -> impl Iterator<Item = &Entry> {
        let rest = self.warm.get(from..).unwrap_or_default().iter();
        rest.enumerate().filter_map(move |(at, entry)| {
            let archived = || self.archive.get(&((from + at) as u64));
            entry.as_ref().or_else(archived)
        })
    }

    pub fn streams(&self) -> &BTreeMap<WorkspaceId, Stream> {
        &self.streams
    }

    pub fn records(&self) -> Option<&[Record]> {
        self.sealed.as_deref()
    }

    pub fn is_archived(&self, position: u64) -> bool {
        self.archive.contains_key(&position)
    }

    /// One commit. `run` is the state after it, which knows the actors' names.
    pub fn append(&mut self, run: &Run, entries: &[Entry]) {
        for entry in entries {
            if self.sealed.is_some() {
                self.seal(run, entry);
            }
            if let Some(id) = entry.workspace {
                let stream = self.streams.entry(id).or_default();
                stream.positions.push(self.warm.len() as u64);
            }
            self.warm.push(Some(entry.clone()));
        }
    }

    fn seal(&mut self, run: &Run, entry: &Entry) {
        let Some(records) = &mut self.sealed else {
            return;
        };
        let facts = entry.event.facts();
        let stream = entry.workspace.map(|id| (id, self.streams.get(&id)));
        let local = stream.map(|(id, stream)| Local {
            workspace: id.to_string(),
            seq: stream.map_or(0, |stream| stream.positions.len() as u64),
            prev: stream.and_then(|stream| stream.head),
        });
        let draft = Draft {
            stream: STREAM.to_owned(),
            id: format!("n{}", records.len()),
            time: entry.time,
            actor: run.actor_name(entry.actor).to_owned(),
            event_type: entry.event.event_type(),
            local,
            parts: vec![Part {
                name: Cow::Borrowed(FACTS),
                salt: SALT,
                bytes: facts,
            }],
        };
        let prev = records.last().map(|record| record.sealed.entry_hash);
        let sealed = draft.seal(prev, records.len() as u64);
        if let Some(id) = entry.workspace {
            self.streams.entry(id).or_default().head = Some(sealed.local_hash);
        }
        let facts = draft.parts.into_iter().next().map(|part| part.bytes);
        records.push(Record {
            sealed,
            facts: facts.unwrap_or_default(),
            prev,
        });
    }

    /// Moves what may be moved of a workspace that has ended, and says what
    /// the trail should say about it.
    pub fn compact(&mut self, workspace: WorkspaceId) -> Option<Compaction> {
        let stream = self.streams.get_mut(&workspace)?;
        if std::mem::replace(&mut stream.is_compacted, true) {
            return None;
        }
        let mut hash = Hash::ZERO;
        let (mut moved, mut kept) = (Vec::new(), 0);
        for position in &stream.positions {
            let slot = &mut self.warm[*position as usize];
            match slot.take_if(|entry| !is_essential(&entry.event)) {
                Some(entry) => {
                    hash = Hash::of("sim/archive/1", &[&hash.0, &entry.event.facts()]);
                    self.archive.insert(*position, entry);
                    moved.push(*position);
                }
                None => kept += 1,
            }
        }
        Some(Compaction {
            workspace,
            archived: moved.len() as u64,
            preserved: kept,
            from: *moved.first()?,
            to: *moved.last()?,
            hash,
        })
    }

    /// A copy of the entries alone, to be damaged.
    pub fn copy(&self) -> Vec<Entry> {
        self.iter().cloned().collect()
    }
}

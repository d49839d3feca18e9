//! The end of the log, and what a batch puts there. An entry is sealed, gets its
//! place in its stream and in the tree, and the batch ends in a signed head. What
//! an event means, and which rows it changes, is known elsewhere.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use store::{EntryRow, HeadRow, PartRow, StreamRow, SubtreeRow, batch::log::Batch};
use trail::{
    Checkpoint, Draft, LogKey, Micros, Part,
    entry::{FACTS, Local},
    merkle::{self, Frontier},
};

use crate::{
    breaks::{self, Break},
    random::Random,
    shared::Shared,
};

/// Where the log ends, in the writer's memory.
#[derive(Debug)]
pub struct End {
    pub frontier: Frontier,
    pub last_time: Micros,
    /// The number that the next new stream gets.
    pub next_stream: u64,
    /// The ends of the streams in use, by name.
    pub streams: HashMap<String, StreamRow>,
    pub random: Random,
}

/// An event that becomes an entry.
#[derive(Debug)]
pub struct NewEntry<'a> {
    /// The stream's name.
    pub stream: Cow<'a, str>,
    pub actor: Cow<'a, str>,
    /// Its place in the chain of a workspace, on a stream that has such.
    pub local: Option<Local>,
    pub event_type: &'static str,
    pub facts: Vec<u8>,
    /// What may be erased, by name.
    pub parts: Vec<(&'static str, Vec<u8>)>,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub position: u64,
    pub time: Micros,
    /// The number of its stream.
    pub stream: u64,
    /// Whether the stream begins with it.
    pub begins: bool,
}

/// The batch could not be sealed: no random bytes, or encryption failed.
#[derive(Debug)]
pub struct Unsealed;

/// The entries of one batch.
#[derive(Debug, Default)]
pub struct Entries {
    entries: Vec<EntryRow>,
    subtrees: Vec<SubtreeRow>,
    touched: HashSet<String>,
}

impl Entries {
    /// Puts an entry at the end of its stream, which begins here if there is none,
    /// and of the log. Every entry is later than the one before it.
    pub fn record(
        &mut self,
        end: &mut End,
        shared: &Shared,
        now: Micros,
        new: NewEntry<'_>,
    ) -> Result<Placed, Unsealed> {
        let step = i64::from(!breaks::is_on(Break::SameTime));
        let time = now.max(Micros(end.last_time.0 + step));
        let position = end.frontier.size();
        let begins = self.touch(end, &new.stream);
        let mut parts = Vec::with_capacity(1 + new.parts.len());
        parts.push(Part {
            name: Cow::Borrowed(FACTS),
            salt: end.random.bytes(&shared.entropy)?,
            bytes: new.facts,
        });
        for (name, bytes) in new.parts {
            parts.push(Part {
                name: Cow::Borrowed(name),
                salt: end.random.bytes(&shared.entropy)?,
                bytes,
            });
        }
        let draft = Draft {
            stream: new.stream.into_owned(),
            id: end.random.entry_id(time, &shared.entropy)?,
            time,
            actor: new.actor.into_owned(),
            event_type: new.event_type,
            local: new.local,
            parts,
        };
        let row = end.streams.get_mut(&draft.stream);
        let row = row.expect("it was touched");
        let sealed = draft.seal(row.head, row.next_seq);
        let subtrees = &mut self.subtrees;
        end.frontier
            .push(merkle::leaf_hash(&sealed.entry_hash), |subtree| {
                let merkle::Subtree { level, index, hash } = subtree;
                subtrees.push(SubtreeRow { level, index, hash });
            });
        let mut parts = draft.parts.into_iter();
        let facts = parts.next().expect("facts come first");
        let parts = parts
            .map(|part| stored_part(shared, position, part))
            .collect::<Result<_, _>>()?;
        self.entries.push(EntryRow {
            position,
            stream: row.no,
            seq: sealed.seq,
            prev: row.last,
            header: sealed.header,
            entry_hash: sealed.entry_hash,
            facts_salt: facts.salt,
            facts: facts.bytes,
            parts,
        });
        row.head = Some(sealed.entry_hash);
        row.next_seq += 1;
        row.last = Some(position);
        end.last_time = time;
        Ok(Placed {
            position,
            time,
            stream: row.no,
            begins,
        })
    }

    /// Counts a stream among those to write; true if it begins here.
    fn touch(&mut self, end: &mut End, name: &str) -> bool {
        if self.touched.contains(name) {
            return false;
        }
        self.touched.insert(name.to_owned());
        if end.streams.contains_key(name) {
            return false;
        }
        let row = StreamRow {
            no: end.next_stream,
            name: name.to_owned(),
            next_seq: 0,
            head: None,
            last: None,
        };
        end.next_stream += 1;
        end.streams.insert(name.to_owned(), row);
        true
    }

    /// What is written, with the signed head that ends it; without entries nothing.
    pub fn into_batch(self, end: &End, key: &LogKey) -> Batch {
        let Entries {
            entries,
            subtrees,
            touched,
        } = self;
        let head = (!entries.is_empty()).then(|| {
            let size = end.frontier.size();
            let checkpoint = Checkpoint {
                origin: key.name().to_owned(),
                size,
                root: end.frontier.root(),
            };
            HeadRow {
                size,
                last_time: end.last_time,
                note: key.sign(&checkpoint),
            }
        });
        let streams = touched.iter().filter_map(|name| end.streams.get(name));
        let mut streams: Vec<StreamRow> = streams.cloned().collect();
        streams.sort_unstable_by_key(|row| row.no);
        Batch {
            head,
            entries,
            streams,
            subtrees,
        }
    }
}

fn stored_part(shared: &Shared, position: u64, part: Part) -> Result<PartRow, Unsealed> {
    let bytes = shared
        .vault
        .seal_part(position, &part.name, part.bytes)
        .map_err(|_| Unsealed)?;
    Ok(PartRow {
        name: part.name.into_owned(),
        salt: part.salt,
        bytes,
    })
}

//! One batch while it is being decided. Recording an event seals it, puts it at
//! the end of its stream and of the log, and projects it onto the rows, all in
//! memory; nothing counts before the batch is durable.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use account::{Actor, Bucket};
use store::{
    Batch, BucketRow, CallbackRow, DeliveryRow, EntryRow, HeadRow, IdempotencyRow, Loaded, Needs,
    PartRow, StreamRow, SubtreeRow,
};
use trail::{Checkpoint, Draft, Hash, Micros, Part, Stream, entry::FACTS, merkle};
use uuid::Uuid;

use crate::{
    breaks::{self, Break},
    core::Core,
    event::Event,
    project::{At, Views},
    shared::Shared,
};

#[derive(Debug)]
pub struct Stage<'a> {
    pub core: &'a mut Core,
    pub shared: &'a Shared,
    pub now: Micros,
    views: Views,
    /// What the commands of this batch asked for. A row that nobody asked for was
    /// not loaded, and would look like one that does not exist.
    asked: Needs,
    idempotency: HashMap<(String, String), IdempotencyRow>,
    callbacks: HashMap<u64, CallbackRow>,
    seen: HashSet<(String, Uuid)>,
    /// Deliveries whose final answer is in this batch.
    pub answered: Vec<Uuid>,
    pub changes: Kept,
    first: u64,
    entries: Vec<EntryRow>,
    subtrees: Vec<SubtreeRow>,
    touched_streams: HashSet<String>,
    touched_buckets: HashSet<String>,
}

/// Changes of kept state.
#[derive(Debug, Default)]
pub struct Kept {
    pub callbacks: Vec<CallbackRow>,
    pub secrets: Vec<(String, Vec<u8>)>,
    pub idempotency: Vec<IdempotencyRow>,
    pub seen: Vec<(String, Uuid)>,
    pub snoozed: Vec<(String, u64, Option<Micros>)>,
}

/// The batch could not be sealed: no random bytes, or encryption failed.
#[derive(Debug)]
pub struct Unsealed;

impl<'a> Stage<'a> {
    pub fn new(core: &'a mut Core, shared: &'a Shared, now: Micros) -> Stage<'a> {
        Stage {
            first: core.frontier.size(),
            core,
            shared,
            now,
            views: Views::default(),
            asked: Needs::default(),
            idempotency: HashMap::new(),
            callbacks: HashMap::new(),
            seen: HashSet::new(),
            answered: Vec::new(),
            changes: Kept::default(),
            entries: Vec::new(),
            subtrees: Vec::new(),
            touched_streams: HashSet::new(),
            touched_buckets: HashSet::new(),
        }
    }

    pub fn add_loaded(&mut self, mut loaded: Loaded) {
        self.views.add_loaded(&mut loaded);
        self.core.streams.extend(loaded.streams);
        self.core.buckets.extend(loaded.buckets);
        self.idempotency.extend(loaded.idempotency);
        self.callbacks.extend(loaded.callbacks);
        self.seen.extend(loaded.seen);
    }

    /// Says what was asked for, and so may be read.
    pub fn expect(&mut self, asked: Needs) {
        self.asked = asked;
    }

    pub fn delivery(&self, id: Uuid) -> Option<&DeliveryRow> {
        let row = self.views.delivery(id);
        debug_assert!(row.is_some() || self.asked.deliveries.contains(&id));
        row
    }

    /// The streams of the deliveries that were loaded.
    pub fn streams_of_deliveries(&self) -> impl Iterator<Item = u64> {
        self.views.streams_of_deliveries()
    }

    pub fn callback(&self, no: u64) -> Option<&CallbackRow> {
        let row = self.callbacks.get(&no);
        debug_assert!(row.is_some() || self.asked.callbacks.contains(&no));
        row
    }

    pub fn set_callback(&mut self, row: CallbackRow) {
        self.callbacks.insert(row.no, row.clone());
        self.changes.callbacks.push(row);
    }

    pub fn idempotency(&self, pair: &(String, String)) -> Option<&IdempotencyRow> {
        let row = self.idempotency.get(pair);
        debug_assert!(row.is_some() || self.asked.idempotency.contains(pair));
        row
    }

    pub fn set_idempotency(&mut self, row: IdempotencyRow) {
        let pair = (row.key_id.clone(), row.idempotency_key.clone());
        if !breaks::is_on(Break::IdempotencyNotStaged) {
            self.idempotency.insert(pair, row.clone());
        }
        self.changes.idempotency.push(row);
    }

    /// Notes that a person has seen a delivery; false if they had before.
    pub fn see(&mut self, name: &str, delivery_id: Uuid) -> bool {
        let mark = (name.to_owned(), delivery_id);
        debug_assert!(self.seen.contains(&mark) || self.asked.seen.contains(&mark));
        self.seen.insert(mark)
    }

    /// What is left of a key's rate; `None` if it was never used.
    pub fn bucket(&self, key_id: &str) -> Option<Bucket> {
        let row = self.core.buckets.get(key_id);
        debug_assert!(row.is_some() || self.asked.buckets.iter().any(|asked| asked == key_id));
        row.map(|row| Bucket {
            level: row.level,
            at: row.at,
        })
    }

    /// Puts an event on the trail. Every change has its own, later time.
    pub fn record(
        &mut self,
        stream: &Stream,
        actor: &Actor,
        event: impl Into<Event>,
        content: Vec<(&'static str, Vec<u8>)>,
    ) -> Result<(u64, Micros), Unsealed> {
        let event = event.into();
        let name = stream.name();
        let step = i64::from(!breaks::is_on(Break::SameTime));
        let time = self.now.max(Micros(self.core.last_time.0 + step));
        let position = self.core.frontier.size();
        let (no, head, next_seq, last) = self.touch_stream(stream, &name);
        let has_content = !content.is_empty();
        let facts = Part {
            name: Cow::Borrowed(FACTS),
            salt: self.core.random.bytes(&self.shared.entropy)?,
            bytes: event.facts(),
        };
        let mut parts = vec![facts];
        for (name, bytes) in content {
            parts.push(Part {
                name: Cow::Borrowed(name),
                salt: self.core.random.bytes(&self.shared.entropy)?,
                bytes,
            });
        }
        let draft = Draft {
            stream: name.into_owned(),
            id: self.core.random.entry_id(time, &self.shared.entropy)?,
            time,
            actor: actor.name().into_owned(),
            event_type: event.event_type(),
            local: None,
            parts,
        };
        let sealed = draft.seal(head, next_seq);
        let subtrees = &mut self.subtrees;
        self.core
            .frontier
            .push(merkle::leaf_hash(&sealed.entry_hash), |subtree| {
                let merkle::Subtree { level, index, hash } = subtree;
                subtrees.push(SubtreeRow { level, index, hash });
            });
        let mut parts = draft.parts.into_iter();
        let facts = parts.next().expect("facts come first");
        let parts = parts
            .map(|part| self.stored_part(position, part))
            .collect::<Result<_, _>>()?;
        self.entries.push(EntryRow {
            position,
            stream: no,
            seq: sealed.seq,
            prev: last,
            header: sealed.header,
            entry_hash: sealed.entry_hash,
            facts_salt: facts.salt,
            facts: facts.bytes,
            parts,
        });
        let core = &mut *self.core;
        let row = core.streams.get_mut(&draft.stream);
        let row = row.expect("it was touched");
        row.head = Some(sealed.entry_hash);
        row.next_seq += 1;
        row.last = Some(position);
        self.views.project(
            &event,
            row,
            &mut core.accounts,
            At {
                position,
                time,
                has_content,
            },
        );
        if breaks::is_on(Break::LaneNotLeft) && event.event_type() == "delivery_answered" {
            row.lanes[0].count += 1;
        }
        core.last_time = time;
        Ok((position, time))
    }

    fn stored_part(&self, position: u64, part: Part) -> Result<PartRow, Unsealed> {
        let bytes = self
            .shared
            .vault
            .seal_part(position, &part.name, part.bytes)
            .map_err(|_| Unsealed)?;
        Ok(PartRow {
            name: part.name.into_owned(),
            salt: part.salt,
            bytes,
        })
    }

    /// The end of a stream, which is among those to write: its number, its head,
    /// the number of its next entry and where its last one is. It begins here if
    /// there is none.
    fn touch_stream(
        &mut self,
        stream: &Stream,
        name: &str,
    ) -> (u64, Option<Hash>, u64, Option<u64>) {
        if !self.touched_streams.contains(name) {
            self.touched_streams.insert(name.to_owned());
            self.begin_stream(stream, name);
        }
        let row = &self.core.streams[name];
        (row.no, row.head, row.next_seq, row.last)
    }

    fn begin_stream(&mut self, stream: &Stream, name: &str) {
        if self.core.streams.contains_key(name) {
            return;
        }
        let no = self.core.next_stream;
        self.core.next_stream += 1;
        if let Stream::Agent(agent_id) = stream {
            Arc::make_mut(&mut self.core.agents).insert(no, agent_id);
        }
        let row = StreamRow {
            no,
            name: name.to_owned(),
            next_seq: 0,
            head: None,
            last: None,
            lanes: Default::default(),
        };
        self.core.streams.insert(name.to_owned(), row);
    }

    /// A random id for a delivery (WAKE white paper §5.1).
    pub fn fresh_id(&mut self) -> Result<Uuid, Unsealed> {
        let random = self.core.random.bytes(&self.shared.entropy)?;
        Ok(uuid::Builder::from_random_bytes(random).into_uuid())
    }

    /// What is left of a key's rate.
    pub fn set_bucket(&mut self, key_id: &str, bucket: Bucket) {
        let Bucket { level, at } = bucket;
        match self.core.buckets.get_mut(key_id) {
            Some(row) => (row.level, row.at) = (level, at),
            None => {
                let key_id = key_id.to_owned();
                let row = BucketRow {
                    key_id: key_id.clone(),
                    level,
                    at,
                };
                self.core.buckets.insert(key_id, row);
            }
        }
        if !self.touched_buckets.contains(key_id) && !breaks::is_on(Break::BucketNotKept) {
            self.touched_buckets.insert(key_id.to_owned());
        }
    }

    /// The stream on which a delivery lives.
    pub fn stream_of(&self, stream: u64) -> Stream {
        Stream::agent(&self.core.agents.id(stream))
    }

    /// Everything to write, with the signed head that ends it; `None` if nothing changed.
    pub fn into_batch(self) -> Option<(Batch, Vec<Uuid>)> {
        let Stage {
            core,
            shared,
            entries,
            subtrees,
            touched_streams,
            touched_buckets,
            changes,
            answered,
            ..
        } = self;
        let mut batch = self.views.into_batch();
        let size = core.frontier.size();
        if size > self.first {
            let checkpoint = Checkpoint {
                origin: shared.keys.log.name().to_owned(),
                size,
                root: core.frontier.root(),
            };
            let note = shared.keys.log.sign(&checkpoint);
            batch.head = Some(HeadRow {
                size,
                last_time: core.last_time,
                note,
            });
        }
        batch.streams = touched_streams
            .iter()
            .filter_map(|name| core.streams.get(name))
            .cloned()
            .collect();
        batch.streams.sort_unstable_by_key(|row| row.no);
        batch.entries = entries;
        batch.subtrees = subtrees;
        batch.callbacks = changes.callbacks;
        batch.secrets = changes.secrets;
        batch.buckets = touched_buckets
            .iter()
            .filter_map(|key_id| core.buckets.get(key_id))
            .cloned()
            .collect();
        batch.idempotency = changes.idempotency;
        batch.seen = changes.seen;
        batch.snoozed = changes.snoozed;
        let changed = batch.head.is_some()
            || !batch.callbacks.is_empty()
            || !batch.secrets.is_empty()
            || !batch.snoozed.is_empty();
        changed.then_some((batch, answered))
    }

    pub fn due_times(&self) -> Option<Micros> {
        self.views.next_due()
    }
}

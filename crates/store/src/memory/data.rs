//! The rows, and how a batch changes them.

use std::collections::{BTreeMap, BTreeSet};

use trail::{Hash, Micros};
use uuid::Uuid;

use super::words::{self, Words};
use crate::{
    Batch, BucketRow, CallbackRow, DeliveryRow, EntryRow, Erased, Error, HeadRow, IdempotencyRow,
    Loaded, Needs, RelayedChange, RelayedRow, Result, StreamRow, sqlite::search,
};

#[derive(Clone, Debug, Default)]
pub struct Data {
    /// How many batches were appended.
    pub version: u64,
    pub head: Option<HeadRow>,
    /// By position.
    pub entries: Vec<EntryRow>,
    pub streams: BTreeMap<u64, StreamRow>,
    pub stream_numbers: BTreeMap<String, u64>,
    pub subtrees: BTreeMap<(u8, u64), Hash>,
    pub deliveries: BTreeMap<u64, DeliveryRow>,
    pub ids: BTreeMap<Uuid, u64>,
    /// Timers, soonest first.
    pub due: BTreeSet<(Micros, u64)>,
    /// Deliveries by stream, status and time of their last change.
    pub lanes: BTreeMap<(u64, u8, Micros), u64>,
    pub blocks: BTreeMap<(u64, u8, u64), i64>,
    pub history: BTreeSet<(u64, u64)>,
    pub callbacks: BTreeMap<u64, CallbackRow>,
    pub accounts: BTreeMap<(String, String), String>,
    pub relayed: BTreeMap<(String, String), RelayedRow>,
    pub secrets: BTreeMap<String, Vec<u8>>,
    pub buckets: BTreeMap<String, BucketRow>,
    pub idempotency: BTreeMap<(String, String), IdempotencyRow>,
    pub seen: BTreeSet<(String, Uuid)>,
    pub snoozed: BTreeMap<(String, u64), Micros>,
    /// The number from which on deliveries are not yet in `words`.
    pub indexed: u64,
    pub words: BTreeMap<u64, Words>,
    pub rebuilding: bool,
}

impl Data {
    pub fn delivery(&self, id: Uuid) -> Option<&DeliveryRow> {
        self.deliveries.get(self.ids.get(&id)?)
    }

    pub fn load(&self, needs: &Needs) -> Loaded {
        let mut loaded = Loaded::default();
        for id in &needs.deliveries {
            if let Some(row) = self.delivery(*id) {
                loaded.deliveries.insert(*id, row.clone());
            }
        }
        for name in &needs.streams {
            if let Some(no) = self.stream_numbers.get(name) {
                loaded
                    .streams
                    .insert(name.clone(), self.streams[no].clone());
            }
        }
        for key_id in &needs.buckets {
            if let Some(row) = self.buckets.get(key_id) {
                loaded.buckets.insert(key_id.clone(), row.clone());
            }
        }
        for pair in &needs.idempotency {
            if let Some(row) = self.idempotency.get(pair) {
                loaded.idempotency.insert(pair.clone(), row.clone());
            }
        }
        for no in &needs.callbacks {
            if let Some(row) = self.callbacks.get(no) {
                loaded.callbacks.insert(*no, row.clone());
            }
        }
        let seen = needs.seen.iter().filter(|mark| self.seen.contains(*mark));
        loaded.seen.extend(seen.cloned());
        loaded
    }

    /// Refuses a batch that does not fit before anything of it is written.
    pub fn append(&mut self, version: u64, batch: &Batch) -> Result<u64> {
        if version != self.version || !self.follows(batch) || !self.is_free(batch) {
            return Err(Error::Conflict);
        }
        self.write(batch);
        self.version += 1;
        Ok(self.version)
    }

    /// Whether the batch was decided on the log as it is.
    fn follows(&self, batch: &Batch) -> bool {
        if batch.entries.is_empty() {
            return true;
        }
        let size = self.head.as_ref().map_or(0, |head| head.size);
        let at_end = (size..).zip(&batch.entries);
        let mut next_seq = BTreeMap::new();
        at_end
            .into_iter()
            .all(|(position, entry)| position == entry.position)
            && batch.entries.iter().all(|entry| {
                let stored = self
                    .streams
                    .get(&entry.stream)
                    .map_or(0, |row| row.next_seq);
                let next = next_seq.entry(entry.stream).or_insert(stored);
                *next += 1;
                *next == entry.seq + 1
            })
    }

    /// Whether the keys of all new rows are unused.
    fn is_free(&self, batch: &Batch) -> bool {
        let mut subtrees = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        let mut history = BTreeSet::new();
        batch.subtrees.iter().all(|row| {
            let key = (row.level, row.index);
            !self.subtrees.contains_key(&key) && subtrees.insert(key)
        }) && batch
            .new_deliveries
            .iter()
            .all(|row| !self.deliveries.contains_key(&row.no) && numbers.insert(row.no))
            && batch
                .history
                .iter()
                .all(|pair| !self.history.contains(pair) && history.insert(*pair))
    }

    fn write(&mut self, batch: &Batch) {
        for row in &batch.streams {
            self.stream_numbers.insert(row.name.clone(), row.no);
            self.streams.insert(row.no, row.clone());
        }
        self.entries.extend(batch.entries.iter().cloned());
        for row in &batch.subtrees {
            self.subtrees.insert((row.level, row.index), row.hash);
        }
        if let Some(head) = &batch.head {
            self.head = Some(head.clone());
        }
        for row in batch.new_deliveries.iter().chain(&batch.changed_deliveries) {
            self.set_delivery(row);
        }
        for (block, more) in &batch.blocks {
            *self.blocks.entry(*block).or_default() += more;
        }
        self.history.extend(&batch.history);
        for row in &batch.accounts {
            let key = (row.kind.clone(), row.id.clone());
            match &row.body {
                Some(body) => self.accounts.insert(key, body.clone()),
                None => self.accounts.remove(&key),
            };
        }
        batch.relayed.iter().for_each(|change| self.relay(change));
        self.keep(batch);
        for (delivery, before) in &batch.erase {
            self.erase(*delivery, *before);
        }
    }

    fn set_delivery(&mut self, row: &DeliveryRow) {
        if let Some(old) = self.deliveries.insert(row.no, row.clone()) {
            self.lanes.remove(&(old.stream, old.status, old.changed_at));
            if let Some(at) = old.due_at {
                self.due.remove(&(at, old.no));
            }
        }
        self.ids.insert(row.id, row.no);
        self.lanes
            .insert((row.stream, row.status, row.changed_at), row.no);
        if let Some(at) = row.due_at {
            self.due.insert((at, row.no));
        }
    }

    fn relay(&mut self, change: &RelayedChange) {
        match change {
            RelayedChange::More(more) => {
                let key = (more.owner.clone(), more.agent_id.clone());
                let row = self.relayed.entry(key).or_insert_with(|| RelayedRow {
                    owner: more.owner.clone(),
                    agent_id: more.agent_id.clone(),
                    ..Default::default()
                });
                row.seen_at = more.seen_at.or(row.seen_at);
                row.to_device += more.to_device;
                row.to_device_bytes += more.to_device_bytes;
                row.from_device += more.from_device;
                row.from_device_bytes += more.from_device_bytes;
                row.refused += more.refused;
            }
            RelayedChange::Gone { owner, agent_id } => {
                self.relayed.remove(&(owner.clone(), agent_id.clone()));
            }
        }
    }

    /// Writes kept state.
    fn keep(&mut self, batch: &Batch) {
        for row in &batch.callbacks {
            self.callbacks.insert(row.no, row.clone());
        }
        self.secrets.extend(batch.secrets.iter().cloned());
        for row in &batch.buckets {
            self.buckets.insert(row.key_id.clone(), row.clone());
        }
        for row in &batch.idempotency {
            let pair = (row.key_id.clone(), row.idempotency_key.clone());
            self.idempotency.insert(pair, row.clone());
        }
        for (name, delivery, until) in &batch.snoozed {
            let key = (name.clone(), *delivery);
            match until {
                Some(until) => self.snoozed.insert(key, *until),
                None => self.snoozed.remove(&key),
            };
        }
        self.seen.extend(batch.seen.iter().cloned());
    }

    /// Removes the parts of entries about a delivery before a position.
    fn erase(&mut self, delivery: u64, before: u64) {
        let Some(id) = self.deliveries.get(&delivery).map(|row| row.id.to_string()) else {
            return;
        };
        if let Some(words) = self.words.get_mut(&delivery) {
            words.details.clear();
        }
        for position in self
            .about(delivery)
            .filter(|position| *position < before)
            .collect::<Vec<_>>()
        {
            if let Some(entry) = self.entries.get_mut(position as usize)
                && names(&entry.facts, &id)
            {
                entry.parts.clear();
            }
        }
    }

    /// Positions of the entries about a delivery, oldest first.
    pub fn about(&self, delivery: u64) -> impl Iterator<Item = u64> {
        let later = self.history.range((delivery, 0)..=(delivery, u64::MAX));
        std::iter::once(delivery).chain(later.map(|(_, position)| *position))
    }

    pub fn index_some(&mut self, limit: usize) -> bool {
        let waiting = self.deliveries.range(self.indexed..).take(limit);
        let mut added = Vec::new();
        for (no, row) in waiting {
            let stream = self
                .streams
                .get(&row.stream)
                .map_or("", |stream| stream.name.as_str());
            let agent = trail::Stream::agent_of(stream).unwrap_or(stream);
            let is_kept = row.erased == Erased::Nothing;
            let details = self.part(*no, "details").filter(|_| is_kept);
            let details = details.filter(|details| search::is_clear(details));
            let details = details.map(search::indexed_text).unwrap_or_default();
            let plain = [agent, &row.headline, &row.summary].map(words::of).to_vec();
            added.push((
                *no,
                Words {
                    plain,
                    details: words::of(&details),
                },
            ));
        }
        self.indexed = added.last().map_or(self.indexed, |(no, _)| no + 1);
        let has_added = !added.is_empty();
        self.words.extend(added);
        has_added
    }

    pub fn part(&self, position: u64, name: &str) -> Option<&[u8]> {
        let entry = self.entries.get(position as usize)?;
        let part = entry.parts.iter().find(|part| part.name == name)?;
        Some(&part.bytes)
    }

    pub fn forget_idempotency(&mut self, before: Micros, limit: usize) -> usize {
        let old = self
            .idempotency
            .iter()
            .filter(|(_, row)| row.created_at < before);
        let old: Vec<_> = old.take(limit).map(|(pair, _)| pair.clone()).collect();
        for pair in &old {
            self.idempotency.remove(pair);
        }
        old.len()
    }

    pub fn clear_views(&mut self) {
        self.rebuilding = true;
        self.deliveries.clear();
        self.ids.clear();
        self.due.clear();
        self.lanes.clear();
        self.blocks.clear();
        self.history.clear();
        self.accounts.clear();
        self.relayed.clear();
        self.words.clear();
        self.indexed = 0;
        for row in self.streams.values_mut() {
            row.lanes = Default::default();
        }
    }

    /// Removes parts that were erased and have come back.
    pub fn end_rebuild(&mut self) -> u64 {
        self.rebuilding = false;
        let mut returned = BTreeSet::new();
        for row in self.deliveries.values() {
            let is_erasure = |position: &u64| {
                let entry = self.entries.get(*position as usize);
                entry.is_some_and(|entry| names(&entry.header, "\"content_erased\""))
            };
            let before = match row.erased {
                Erased::Nothing => 0,
                Erased::All => u64::MAX,
                Erased::BeforeAnswer => self.about(row.no).filter(is_erasure).max().unwrap_or(0),
            };
            returned.extend(self.about(row.no).filter(|position| *position < before));
        }
        let mut removed = 0;
        for position in returned {
            if let Some(entry) = self.entries.get_mut(position as usize) {
                removed += entry.parts.drain(..).count() as u64;
            }
        }
        removed
    }
}

/// Whether a text occurs in these bytes.
fn names(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|found| found == text.as_bytes())
}

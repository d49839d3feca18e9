//! The rows. How a batch changes those of each room is in a file of its own.

use std::collections::{BTreeMap, BTreeSet};

use trail::{Hash, Micros};
use uuid::Uuid;

use super::words::{self, Words};
use crate::{
    Batch, BucketRow, CallbackRow, DeliveryRow, EntryRow, Erased, Error, HeadRow, IdempotencyRow,
    LanesRow, Loaded, Needs, RelayedRow, Result, StreamRow, sqlite::search,
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
    pub changes: BTreeMap<(u64, u8, Micros), u64>,
    pub lanes: BTreeMap<u64, LanesRow>,
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
        Loaded {
            log: self.load_log(&needs.log),
            wake: self.load_wake(&needs.wake),
            inbox: self.load_inbox(&needs.inbox),
            kept: self.load_kept(&needs.kept),
        }
    }

    /// Refuses a batch that does not fit before anything of it is written.
    pub fn append(&mut self, version: u64, batch: &Batch) -> Result<u64> {
        if version != self.version || !self.follows(&batch.log) || !self.is_free(&batch.wake) {
            return Err(Error::Conflict);
        }
        self.write_log(&batch.log);
        self.write_wake(&batch.wake);
        self.write_inbox(&batch.inbox);
        self.write_account(&batch.account);
        self.write_kept(&batch.kept);
        self.version += 1;
        Ok(self.version)
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

    pub fn clear_views(&mut self) {
        self.rebuilding = true;
        self.deliveries.clear();
        self.ids.clear();
        self.due.clear();
        self.changes.clear();
        self.lanes.clear();
        self.blocks.clear();
        self.history.clear();
        self.accounts.clear();
        self.relayed.clear();
        self.words.clear();
        self.indexed = 0;
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
pub fn names(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|found| found == text.as_bytes())
}

//! Entries, the ends of streams, the tree, the head: the same for every door.

use std::collections::{BTreeMap, BTreeSet};

use super::data::Data;
use crate::batch::log::{Batch, Loaded, Needs};

impl Data {
    pub(super) fn load_log(&self, needs: &Needs) -> Loaded {
        let mut loaded = Loaded::default();
        for name in &needs.streams {
            if let Some(no) = self.stream_numbers.get(name) {
                let row = self.streams[no].clone();
                loaded.streams.insert(name.clone(), row);
            }
        }
        loaded
    }

    /// Whether the batch was decided on the log as it is.
    pub(super) fn follows(&self, batch: &Batch) -> bool {
        let mut subtrees = BTreeSet::new();
        let is_free = batch.subtrees.iter().all(|row| {
            let key = (row.level, row.index);
            !self.subtrees.contains_key(&key) && subtrees.insert(key)
        });
        let size = self.head.as_ref().map_or(0, |head| head.size);
        let mut at_end = (size..).zip(&batch.entries);
        let mut next_seq = BTreeMap::new();
        is_free
            && at_end.all(|(position, entry)| position == entry.position)
            && batch.entries.iter().all(|entry| {
                let stored = self.streams.get(&entry.stream);
                let stored = stored.map_or(0, |row| row.next_seq);
                let next = next_seq.entry(entry.stream).or_insert(stored);
                *next += 1;
                *next == entry.seq + 1
            })
    }

    pub(super) fn write_log(&mut self, batch: &Batch) {
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
    }
}

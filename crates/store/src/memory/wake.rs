//! Deliveries, their lanes, blocks and history, callbacks, and what is erased.

use std::collections::BTreeSet;

use super::data::{Data, names};
use crate::{
    DeliveryRow,
    batch::wake::{Batch, Loaded, Needs},
};

impl Data {
    pub(super) fn load_wake(&self, needs: &Needs) -> Loaded {
        let mut loaded = Loaded::default();
        for id in &needs.deliveries {
            if let Some(row) = self.delivery(*id) {
                loaded.deliveries.insert(*id, row.clone());
            }
        }
        for stream in &needs.lanes {
            if let Some(row) = self.lanes.get(stream) {
                loaded.lanes.insert(*stream, *row);
            }
        }
        for no in &needs.callbacks {
            if let Some(row) = self.callbacks.get(no) {
                loaded.callbacks.insert(*no, row.clone());
            }
        }
        loaded
    }

    /// Whether the keys of all new rows are unused.
    pub(super) fn is_free(&self, batch: &Batch) -> bool {
        let mut numbers = BTreeSet::new();
        let mut history = BTreeSet::new();
        let mut new = batch.new_deliveries.iter();
        let mut mentions = batch.history.iter();
        new.all(|row| !self.deliveries.contains_key(&row.no) && numbers.insert(row.no))
            && mentions.all(|pair| !self.history.contains(pair) && history.insert(*pair))
    }

    pub(super) fn write_wake(&mut self, batch: &Batch) {
        for row in batch.new_deliveries.iter().chain(&batch.changed_deliveries) {
            self.set_delivery(row);
        }
        for row in &batch.lanes {
            self.lanes.insert(row.stream, *row);
        }
        for (block, more) in &batch.blocks {
            *self.blocks.entry(*block).or_default() += more;
        }
        self.history.extend(&batch.history);
        for row in &batch.callbacks {
            self.callbacks.insert(row.no, row.clone());
        }
        for (delivery, before) in &batch.erase {
            self.erase(*delivery, *before);
        }
    }

    fn set_delivery(&mut self, row: &DeliveryRow) {
        if let Some(old) = self.deliveries.insert(row.no, row.clone()) {
            self.changes
                .remove(&(old.stream, old.status, old.changed_at));
            if let Some(at) = old.due_at {
                self.due.remove(&(at, old.no));
            }
        }
        self.ids.insert(row.id, row.no);
        self.changes
            .insert((row.stream, row.status, row.changed_at), row.no);
        if let Some(at) = row.due_at {
            self.due.insert((at, row.no));
        }
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
}

//! Rates, answers that are given again, secrets.

use trail::Micros;

use super::data::Data;
use crate::batch::kept::{Batch, Loaded, Needs};

impl Data {
    pub(super) fn load_kept(&self, needs: &Needs) -> Loaded {
        let mut loaded = Loaded::default();
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
        loaded
    }

    pub(super) fn write_kept(&mut self, batch: &Batch) {
        self.secrets.extend(batch.secrets.iter().cloned());
        for row in &batch.buckets {
            self.buckets.insert(row.key_id.clone(), row.clone());
        }
        for row in &batch.idempotency {
            let pair = (row.key_id.clone(), row.idempotency_key.clone());
            self.idempotency.insert(pair, row.clone());
        }
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
}

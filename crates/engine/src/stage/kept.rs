//! The kept state that a batch stages: rates, answers that are given again,
//! secrets.

use std::collections::{HashMap, HashSet};

use account::Bucket;
use store::{BucketRow, IdempotencyRow, batch::kept::Batch};

use crate::{
    breaks::{self, Break},
    stage::Stage,
};

#[derive(Debug, Default)]
pub struct Staged {
    idempotency: HashMap<(String, String), Record>,
    touched_buckets: HashSet<String>,
    pub secrets: Vec<(String, Vec<u8>)>,
}

#[derive(Debug)]
struct Record {
    row: IdempotencyRow,
    is_new: bool,
}

impl Staged {
    pub fn add_loaded(&mut self, idempotency: HashMap<(String, String), IdempotencyRow>) {
        let known = idempotency.into_iter();
        self.idempotency.extend(known.map(|(pair, row)| {
            let record = Record { row, is_new: false };
            (pair, record)
        }));
    }

    pub fn into_batch(self, buckets: &HashMap<String, BucketRow>) -> Batch {
        let touched = self.touched_buckets.iter();
        let records = self.idempotency.into_values();
        Batch {
            secrets: self.secrets,
            buckets: touched
                .filter_map(|key_id| buckets.get(key_id))
                .cloned()
                .collect(),
            idempotency: records
                .filter(|record| record.is_new)
                .map(|record| record.row)
                .collect(),
        }
    }
}

impl Stage<'_> {
    /// What was answered to a request with this idempotency key.
    pub fn idempotency(&self, pair: &(String, String)) -> Option<&IdempotencyRow> {
        let record = self.kept.idempotency.get(pair);
        if record.is_none() {
            let was_asked_for = self.asked.idempotency.contains(pair);
            self.asked.require(was_asked_for, "an idempotency key");
        }
        record
            .filter(|record| !record.is_new || !breaks::is_on(Break::IdempotencyNotStaged))
            .map(|record| &record.row)
    }

    pub fn set_idempotency(&mut self, row: IdempotencyRow) {
        let pair = (row.key_id.clone(), row.idempotency_key.clone());
        let record = Record { row, is_new: true };
        self.kept.idempotency.insert(pair, record);
    }

    /// What is left of a key's rate; `None` if it was never used.
    pub fn bucket(&self, key_id: &str) -> Option<Bucket> {
        let row = self.core.buckets.get(key_id);
        if row.is_none() {
            let was_asked_for = self.asked.buckets.contains(key_id);
            self.asked.require(was_asked_for, "the rate of a key");
        }
        row.map(|row| Bucket {
            level: row.level,
            at: row.at,
        })
    }

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
        let touched = &mut self.kept.touched_buckets;
        if !touched.contains(key_id) && !breaks::is_on(Break::BucketNotKept) {
            touched.insert(key_id.to_owned());
        }
    }
}

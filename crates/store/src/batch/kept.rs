//! The part that no entry tells of and every door uses: rates, answers that are
//! given again, secrets.

use std::collections::HashMap;

use crate::{BucketRow, IdempotencyRow};

#[derive(Debug, Default)]
pub struct Needs {
    /// Rates by the id of their key.
    pub buckets: Vec<String>,
    /// The id of a key and the idempotency key that came with it.
    pub idempotency: Vec<(String, String)>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.idempotency.is_empty()
    }
}

#[derive(Debug, Default)]
pub struct Loaded {
    pub buckets: HashMap<String, BucketRow>,
    pub idempotency: HashMap<(String, String), IdempotencyRow>,
}

#[derive(Debug, Default)]
pub struct Batch {
    pub secrets: Vec<(String, Vec<u8>)>,
    pub buckets: Vec<BucketRow>,
    pub idempotency: Vec<IdempotencyRow>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch {
            secrets,
            buckets,
            idempotency,
        } = self;
        secrets.is_empty() && buckets.is_empty() && idempotency.is_empty()
    }
}

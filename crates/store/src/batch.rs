//! What the writer asks for before it decides, and what it writes afterwards.

use std::collections::HashMap;

use trail::Micros;
use uuid::Uuid;

use crate::rows::*;

/// The rows that a batch of commands needs.
#[derive(Debug, Default)]
pub struct Needs {
    pub deliveries: Vec<Uuid>,
    pub streams: Vec<String>,
    pub buckets: Vec<String>,
    pub idempotency: Vec<(String, String)>,
    pub callbacks: Vec<u64>,
    pub seen: Vec<(String, Uuid)>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
            && self.streams.is_empty()
            && self.buckets.is_empty()
            && self.idempotency.is_empty()
            && self.callbacks.is_empty()
            && self.seen.is_empty()
    }
}

/// Those of them that exist.
#[derive(Debug, Default)]
pub struct Loaded {
    pub deliveries: HashMap<Uuid, DeliveryRow>,
    pub streams: HashMap<String, StreamRow>,
    pub buckets: HashMap<String, BucketRow>,
    pub idempotency: HashMap<(String, String), IdempotencyRow>,
    pub callbacks: HashMap<u64, CallbackRow>,
    pub seen: std::collections::HashSet<(String, Uuid)>,
}

/// What changes in one transaction. Entries stand in log order and start where
/// the log ends.
#[derive(Debug, Default)]
pub struct Batch {
    pub head: Option<HeadRow>,
    pub entries: Vec<EntryRow>,
    pub streams: Vec<StreamRow>,
    pub subtrees: Vec<SubtreeRow>,
    pub new_deliveries: Vec<DeliveryRow>,
    pub changed_deliveries: Vec<DeliveryRow>,
    /// Pending deliveries by stream and block of 256^(level+1) numbers: how many more.
    pub blocks: HashMap<(u64, u8, u64), i64>,
    /// (delivery, entry) for entries after the one that received it.
    pub history: Vec<(u64, u64)>,
    pub callbacks: Vec<CallbackRow>,
    pub accounts: Vec<AccountRow>,
    /// In this order.
    pub relayed: Vec<RelayedChange>,
    pub secrets: Vec<(String, Vec<u8>)>,
    pub buckets: Vec<BucketRow>,
    pub idempotency: Vec<IdempotencyRow>,
    pub seen: Vec<(String, Uuid)>,
    /// Person, delivery, and until when it is out of their sight; `None`: it is not.
    pub snoozed: Vec<(String, u64, Option<Micros>)>,
    /// Deliveries to erase, each with the position of its `content_erased` entry:
    /// the parts of earlier entries about it are deleted, later ones stay.
    pub erase: Vec<(u64, u64)>,
}

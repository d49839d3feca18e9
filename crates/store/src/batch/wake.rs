//! WAKE's part: deliveries, how many there are, the callbacks they owe.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{CallbackRow, DeliveryRow, LanesRow};

/// The status of a delivery that waits for an answer.
pub const PENDING: u8 = 0;
/// Pending deliveries are counted in blocks of 256 numbers, 256² and so on.
pub const BLOCK_LEVELS: u8 = 3;
/// The size of a block of one level in those of the level below it, as a power of 2.
pub const BLOCK_BITS: u32 = 8;

/// The block of this level in which a number is.
pub fn block(number: u64, level: u8) -> u64 {
    number >> (BLOCK_BITS * (u32::from(level) + 1))
}

#[derive(Debug, Default)]
pub struct Needs {
    pub deliveries: Vec<Uuid>,
    /// Lanes by the number of their stream.
    pub lanes: Vec<u64>,
    pub callbacks: Vec<u64>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty() && self.lanes.is_empty() && self.callbacks.is_empty()
    }
}

#[derive(Debug, Default)]
pub struct Loaded {
    pub deliveries: HashMap<Uuid, DeliveryRow>,
    pub lanes: HashMap<u64, LanesRow>,
    pub callbacks: HashMap<u64, CallbackRow>,
}

#[derive(Debug, Default)]
pub struct Batch {
    pub new_deliveries: Vec<DeliveryRow>,
    pub changed_deliveries: Vec<DeliveryRow>,
    pub lanes: Vec<LanesRow>,
    /// Pending deliveries by stream, level and [`block`]: how many more.
    pub blocks: HashMap<(u64, u8, u64), i64>,
    /// (delivery, entry) for entries after the one that received it.
    pub history: Vec<(u64, u64)>,
    pub callbacks: Vec<CallbackRow>,
    /// Deliveries to erase, each with the position of its `content_erased` entry:
    /// the parts of earlier entries about it are deleted, later ones stay.
    pub erase: Vec<(u64, u64)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch {
            new_deliveries,
            changed_deliveries,
            lanes,
            blocks,
            history,
            callbacks,
            erase,
        } = self;
        new_deliveries.is_empty()
            && changed_deliveries.is_empty()
            && lanes.is_empty()
            && blocks.is_empty()
            && history.is_empty()
            && callbacks.is_empty()
            && erase.is_empty()
    }
}

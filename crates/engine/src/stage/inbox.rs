//! The marks of people that a batch stages.

use std::collections::HashSet;

use store::batch::inbox::{Batch, Loaded};
use uuid::Uuid;

use crate::stage::Stage;

#[derive(Debug, Default)]
pub struct Staged {
    seen: HashSet<(String, Uuid)>,
    pub batch: Batch,
}

impl Staged {
    pub fn add_loaded(&mut self, loaded: Loaded) {
        self.seen.extend(loaded.seen);
    }
}

impl Stage<'_> {
    /// Notes that a person has seen a delivery; false if they had before.
    pub fn see(&mut self, name: &str, delivery_id: Uuid) -> bool {
        let mark = (name.to_owned(), delivery_id);
        let seen = &mut self.inbox.seen;
        debug_assert!(seen.contains(&mark) || self.asked.inbox.seen.contains(&mark));
        seen.insert(mark)
    }
}

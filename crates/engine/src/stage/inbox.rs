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
        if !seen.contains(&mark) {
            let was_asked_for = self.asked.seen.contains(&mark);
            self.asked.require(was_asked_for, "who has seen a delivery");
        }
        seen.insert(mark)
    }
}

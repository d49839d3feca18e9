//! Marks of one person: what they have seen, what they have put off.

use super::data::Data;
use crate::batch::inbox::{Batch, Loaded, Needs};

impl Data {
    pub(super) fn load_inbox(&self, needs: &Needs) -> Loaded {
        let seen = needs.seen.iter().filter(|mark| self.seen.contains(*mark));
        Loaded {
            seen: seen.cloned().collect(),
        }
    }

    pub(super) fn write_inbox(&mut self, batch: &Batch) {
        for (name, delivery, until) in &batch.snoozed {
            let key = (name.clone(), *delivery);
            match until {
                Some(until) => self.snoozed.insert(key, *until),
                None => self.snoozed.remove(&key),
            };
        }
        for (name, now) in &batch.over {
            self.snoozed
                .retain(|(of, _), until| of != name || *until > *now);
        }
        self.seen.extend(batch.seen.iter().cloned());
    }
}

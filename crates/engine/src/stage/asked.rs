//! The rows that the commands of a batch asked for. Another one was not loaded and
//! would look like one that does not exist, so a batch that reads it is not written.

use std::{cell::Cell, collections::HashSet};

use store::Needs;
use uuid::Uuid;

#[derive(Debug, Default)]
pub struct Asked {
    pub deliveries: HashSet<Uuid>,
    pub callbacks: HashSet<u64>,
    /// Person and delivery.
    pub seen: HashSet<(String, Uuid)>,
    pub buckets: HashSet<String>,
    pub idempotency: HashSet<(String, String)>,
    /// What was read though nobody had asked for it.
    forgotten: Cell<Option<&'static str>>,
}

impl Asked {
    /// Streams and lanes are looked after where they are used ([`super::Stage::record`]).
    pub fn of(needs: Needs) -> Asked {
        let Needs {
            log: _,
            wake,
            inbox,
            kept,
        } = needs;
        Asked {
            deliveries: wake.deliveries.into_iter().collect(),
            callbacks: wake.callbacks.into_iter().collect(),
            seen: inbox.seen.into_iter().collect(),
            buckets: kept.buckets.into_iter().collect(),
            idempotency: kept.idempotency.into_iter().collect(),
            forgotten: Cell::default(),
        }
    }

    /// For a row that is not in memory: it does not exist if it was asked for.
    pub fn require(&self, was_asked_for: bool, what: &'static str) {
        if !was_asked_for {
            self.forgotten.set(Some(what));
        }
    }

    pub fn forgotten(&self) -> Option<&'static str> {
        self.forgotten.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_nobody_asked_for_is_not_one_that_does_not_exist() {
        let mut needs = Needs::default();
        needs.wake.callbacks.push(7);
        let asked = Asked::of(needs);
        asked.require(asked.callbacks.contains(&7), "a callback");
        assert_eq!(asked.forgotten(), None);
        asked.require(asked.callbacks.contains(&8), "a callback");
        assert_eq!(asked.forgotten(), Some("a callback"));
    }
}

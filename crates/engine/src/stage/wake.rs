//! What a batch stages of WAKE beside its views: callbacks, and who is to be woken.

use std::collections::HashMap;

use store::{CallbackRow, DeliveryRow, batch::wake::Batch};
use trail::{Micros, Stream};
use uuid::Uuid;

use crate::stage::Stage;

#[derive(Debug, Default)]
pub struct Staged {
    callbacks: HashMap<u64, CallbackRow>,
    changed_callbacks: Vec<CallbackRow>,
    /// Deliveries whose final answer is in this batch.
    answered: Vec<Uuid>,
}

impl Staged {
    pub fn add_loaded(&mut self, callbacks: HashMap<u64, CallbackRow>) {
        self.callbacks.extend(callbacks);
    }

    pub fn into_batch(self, views: Batch) -> (Vec<Uuid>, Batch) {
        let batch = Batch {
            callbacks: self.changed_callbacks,
            ..views
        };
        (self.answered, batch)
    }
}

impl Stage<'_> {
    pub fn delivery(&self, id: Uuid) -> Option<&DeliveryRow> {
        let row = self.views.delivery(id);
        if row.is_none() {
            let was_asked_for = self.asked.deliveries.contains(&id);
            self.asked.require(was_asked_for, "a delivery");
        }
        row
    }

    /// The stream on which a delivery lives.
    pub fn stream_of(&self, stream: u64) -> Stream {
        Stream::agent(&self.core.agents.id(stream))
    }

    /// The streams of the deliveries that were loaded.
    pub fn streams_of_deliveries(&self) -> impl Iterator<Item = u64> {
        self.views.streams_of_deliveries()
    }

    pub fn callback(&self, no: u64) -> Option<&CallbackRow> {
        let row = self.wake.callbacks.get(&no);
        if row.is_none() {
            let was_asked_for = self.asked.callbacks.contains(&no);
            self.asked.require(was_asked_for, "a callback");
        }
        row
    }

    pub fn set_callback(&mut self, row: CallbackRow) {
        self.wake.callbacks.insert(row.no, row.clone());
        self.wake.changed_callbacks.push(row);
    }

    /// A final answer was recorded: whoever polls is woken after the commit, and a
    /// callback may be owed.
    pub fn answered(&mut self, delivery_id: Uuid, owed: Option<CallbackRow>) {
        self.wake.answered.push(delivery_id);
        self.wake.changed_callbacks.extend(owed);
    }

    /// The soonest timer among the rows of this batch.
    pub fn next_due(&self) -> Option<Micros> {
        self.views.next_due()
    }
}

//! Events become rows. The writer calls this for what it has just decided, and
//! a rebuild calls it for what the trail says; both must give the same rows, so
//! nothing here looks at anything but the event and the rows before it.

mod account;
mod codes;
mod wake;

use std::{collections::HashMap, sync::Arc};

use ::account::State;
use store::{DeliveryRow, LanesRow, batch};
use trail::{Micros, Stream};
use uuid::Uuid;

use crate::event::Event;

pub use account::read as read_accounts;
pub use codes::*;

/// The lanes in use, by the number of their stream.
pub type Lanes = HashMap<u64, LanesRow>;

/// Rows of a batch, as loaded and as changed.
#[derive(Debug, Default)]
pub struct Views {
    wake: wake::Views,
    account: batch::account::Batch,
}

/// Where an event stands in the log, and whether erasable content stands beside it.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub stream: &'a Stream,
    pub stream_no: u64,
    pub position: u64,
    pub time: Micros,
    pub has_content: bool,
}

impl Views {
    pub fn add_loaded(&mut self, deliveries: HashMap<Uuid, DeliveryRow>) {
        self.wake.add_loaded(deliveries);
    }

    pub fn delivery(&self, id: Uuid) -> Option<&DeliveryRow> {
        self.wake.delivery(id)
    }

    pub fn streams_of_deliveries(&self) -> impl Iterator<Item = u64> {
        self.wake.streams_of_deliveries()
    }

    /// The soonest timer among the rows of this batch.
    pub fn next_due(&self) -> Option<Micros> {
        self.wake.next_due()
    }

    /// Entries that should never have been, and why.
    pub fn take_impossible(&mut self) -> Vec<(u64, &'static str)> {
        std::mem::take(&mut self.wake.impossible)
    }

    /// The changes, with everything else of the batch left to the caller.
    pub fn into_batches(self, lanes: &Lanes) -> (batch::wake::Batch, batch::account::Batch) {
        (self.wake.into_batch(lanes), self.account)
    }

    pub fn project(
        &mut self,
        event: &Event,
        at: At<'_>,
        lanes: &mut Lanes,
        accounts: &mut Arc<State>,
    ) {
        if let Stream::Agent(_) = at.stream {
            self.wake.begin_lanes(at.stream_no, lanes);
        }
        match event {
            Event::Wake(event) => self.wake.wake(event, at, lanes),
            Event::Inbox(event) => self.wake.inbox(event, at, lanes),
            Event::Account(event) => account::project(event, at.time, accounts, &mut self.account),
        }
    }
}

//! The part of people and their devices. All of it is in the writer's memory, so
//! that no command asks for any.

use crate::{AccountRow, RelayedChange};

#[derive(Debug, Default)]
pub struct Batch {
    pub accounts: Vec<AccountRow>,
    /// In this order.
    pub relayed: Vec<RelayedChange>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch { accounts, relayed } = self;
        accounts.is_empty() && relayed.is_empty()
    }
}

//! People, agents, keys, and what passed between devices and their owners.

use super::data::Data;
use crate::{RelayedChange, RelayedRow, batch::account::Batch};

impl Data {
    pub(super) fn write_account(&mut self, batch: &Batch) {
        for row in &batch.accounts {
            let key = (row.kind.clone(), row.id.clone());
            match &row.body {
                Some(body) => self.accounts.insert(key, body.clone()),
                None => self.accounts.remove(&key),
            };
        }
        batch.relayed.iter().for_each(|change| self.relay(change));
    }

    fn relay(&mut self, change: &RelayedChange) {
        match change {
            RelayedChange::More(more) => {
                let key = (more.owner.clone(), more.agent_id.clone());
                let row = self.relayed.entry(key).or_insert_with(|| RelayedRow {
                    owner: more.owner.clone(),
                    agent_id: more.agent_id.clone(),
                    ..Default::default()
                });
                row.seen_at = more.seen_at.or(row.seen_at);
                row.to_device += more.to_device;
                row.to_device_bytes += more.to_device_bytes;
                row.from_device += more.from_device;
                row.from_device_bytes += more.from_device_bytes;
                row.refused += more.refused;
            }
            RelayedChange::Gone { owner, agent_id } => {
                self.relayed.remove(&(owner.clone(), agent_id.clone()));
            }
        }
    }
}

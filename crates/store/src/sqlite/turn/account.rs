//! People, agents, keys, and what passed between devices and their owners.

use rusqlite::{Transaction, params};

use crate::{RelayedChange, batch::account::Batch};

pub fn write(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    for row in &batch.accounts {
        match &row.body {
            Some(body) => transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO accounts (kind, id, body, mac)
                     VALUES (?1, ?2, ?3, row_mac('accounts', ?1, ?2, ?3))",
                )?
                .execute([&row.kind, &row.id, body])?,
            None => transaction
                .prepare_cached("DELETE FROM accounts WHERE kind = ?1 AND id = ?2")?
                .execute([&row.kind, &row.id])?,
        };
    }
    relayed(transaction, &batch.relayed)
}

fn relayed(transaction: &Transaction<'_>, changes: &[RelayedChange]) -> rusqlite::Result<()> {
    for change in changes {
        match change {
            RelayedChange::More(row) => transaction
                .prepare_cached(
                    "INSERT INTO relayed VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                     ON CONFLICT (owner, agent_id) DO UPDATE SET
                         seen_at           = coalesce(excluded.seen_at, seen_at),
                         to_device         = to_device + excluded.to_device,
                         to_device_bytes   = to_device_bytes + excluded.to_device_bytes,
                         from_device       = from_device + excluded.from_device,
                         from_device_bytes = from_device_bytes + excluded.from_device_bytes,
                         refused           = refused + excluded.refused",
                )?
                .execute(params![
                    row.owner,
                    row.agent_id,
                    row.seen_at.map(|at| at.0),
                    row.to_device as i64,
                    row.to_device_bytes as i64,
                    row.from_device as i64,
                    row.from_device_bytes as i64,
                    row.refused as i64,
                ])?,
            RelayedChange::Gone { owner, agent_id } => transaction
                .prepare_cached("DELETE FROM relayed WHERE owner = ?1 AND agent_id = ?2")?
                .execute([owner, agent_id])?,
        };
    }
    Ok(())
}

//! Marks of one person: what they have seen, what they have put off.

use rusqlite::{Connection, Transaction, params};

use crate::{
    batch::inbox::{Batch, Loaded, Needs},
    sqlite::sealed,
};

pub fn load(connection: &Connection, needs: &Needs) -> rusqlite::Result<Loaded> {
    let mut loaded = Loaded::default();
    for mark in &needs.seen {
        let mut find = connection.prepare_cached(&format!(
            "SELECT 1 FROM seen WHERE name = ?1 AND delivery = ?2 AND {}",
            sealed::SEEN
        ))?;
        if find.exists(params![mark.0, mark.1.as_bytes().as_slice()])? {
            loaded.seen.insert(mark.clone());
        }
    }
    Ok(loaded)
}

pub fn write(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    for (name, delivery, until) in &batch.snoozed {
        match until {
            Some(until) => transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO snoozed (name, delivery, until, mac)
                     VALUES (?1, ?2, ?3, row_mac('snoozed', ?1, ?2, ?3))",
                )?
                .execute(params![name, *delivery as i64, until.0])?,
            None => transaction
                .prepare_cached("DELETE FROM snoozed WHERE name = ?1 AND delivery = ?2")?
                .execute(params![name, *delivery as i64])?,
        };
    }
    for (name, now) in &batch.over {
        transaction
            .prepare_cached("DELETE FROM snoozed WHERE name = ?1 AND until <= ?2")?
            .execute(params![name, now.0])?;
    }
    for (name, delivery) in &batch.seen {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO seen (name, delivery, mac)
                 VALUES (?1, ?2, row_mac('seen', ?1, ?2))",
            )?
            .execute(params![name, delivery.as_bytes().as_slice()])?;
    }
    Ok(())
}

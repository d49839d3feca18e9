//! Rates, answers that are given again, secrets.

use rusqlite::{Connection, Transaction, params};
use trail::{Hash, Micros};

use crate::{
    BucketRow, IdempotencyRow,
    batch::kept::{Batch, Loaded, Needs},
    sqlite::{sealed, turn::unchanged},
};

pub fn load(connection: &Connection, needs: &Needs) -> rusqlite::Result<Loaded> {
    let mut loaded = Loaded::default();
    for key_id in &needs.buckets {
        let mut find = connection.prepare_cached(&format!(
            "SELECT level, at, {} FROM buckets WHERE key_id = ?1",
            sealed::BUCKET
        ))?;
        let bucket = find.query_row([key_id], |row| {
            let (level, at) = (row.get(0)?, Micros(row.get(1)?));
            let bucket = BucketRow {
                key_id: key_id.clone(),
                level,
                at,
            };
            Ok((bucket, row.get(2)?))
        });
        if let Some(row) = unchanged("buckets", bucket)? {
            loaded.buckets.insert(key_id.clone(), row);
        }
    }
    for pair in &needs.idempotency {
        let mut find = connection.prepare_cached(&format!(
            "SELECT digest, status, body, created_at, {} FROM idempotency
             WHERE key_id = ?1 AND idempotency_key = ?2",
            sealed::IDEMPOTENCY
        ))?;
        let record = find.query_row([&pair.0, &pair.1], |row| {
            let record = IdempotencyRow {
                key_id: pair.0.clone(),
                idempotency_key: pair.1.clone(),
                digest: Hash(row.get(0)?),
                status: row.get(1)?,
                body: row.get(2)?,
                created_at: Micros(row.get(3)?),
            };
            Ok((record, row.get(4)?))
        });
        if let Some(row) = unchanged("idempotency", record)? {
            loaded.idempotency.insert(pair.clone(), row);
        }
    }
    Ok(loaded)
}

pub fn write(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    for (name, sealed) in &batch.secrets {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO secrets (name, sealed, mac)
                 VALUES (?1, ?2, row_mac('secrets', ?1, ?2))",
            )?
            .execute(params![name, sealed])?;
    }
    for row in &batch.buckets {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO buckets (key_id, level, at, mac)
                 VALUES (?1, ?2, ?3, row_mac('buckets', ?1, ?2, ?3))",
            )?
            .execute(params![row.key_id, row.level, row.at.0])?;
    }
    for row in &batch.idempotency {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO idempotency
                 (key_id, idempotency_key, digest, status, body, created_at, mac)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6,
                         row_mac('idempotency', ?1, ?2, ?3, ?4, ?5, ?6))",
            )?
            .execute(params![
                row.key_id,
                row.idempotency_key,
                row.digest.0,
                row.status,
                row.body,
                row.created_at.0
            ])?;
    }
    Ok(())
}

//! A writer's turn: loading what a batch needs and making it durable. Each room's
//! rows are in a file of their own; here is what holds for all of them.

mod account;
mod inbox;
mod kept;
mod log;
mod wake;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior};

use crate::{
    Batch, Error, Loaded, Needs, Result, RowSeal,
    sqlite::{
        failed,
        ids::{self, Ids},
        is_unreadable, records, schema, search,
    },
};

pub use wake::lanes;

pub fn load(
    connection: &Connection,
    seal: &RowSeal,
    known: &Ids,
    needs: &Needs,
) -> rusqlite::Result<Loaded> {
    Ok(Loaded {
        log: log::load(connection, &needs.log)?,
        wake: wake::load(connection, seal, known, &needs.wake)?,
        inbox: inbox::load(connection, &needs.inbox)?,
        kept: kept::load(connection, &needs.kept)?,
    })
}

/// A row that carries the right code. Another is as good as none: it was changed
/// by someone else, and what it says is not to be acted on.
fn unchanged<T>(
    table: &'static str,
    found: rusqlite::Result<(T, bool)>,
) -> rusqlite::Result<Option<T>> {
    match found {
        Ok((row, true)) => return Ok(Some(row)),
        Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(None),
        Err(error) if !is_unreadable(&error) => return Err(error),
        Ok((_, false)) | Err(_) => tracing::error!(
            table,
            "a row was changed and is passed over; run `wakeful trail verify`"
        ),
    }
    Ok(None)
}

pub fn append(
    connection: &mut Connection,
    seal: &RowSeal,
    ids: &Ids,
    version: u64,
    batch: &Batch,
) -> Result<u64> {
    // Dropping the transaction on any failure rolls it back.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    if !follows(&transaction, version, batch).map_err(failed)? {
        return Err(Error::Conflict);
    }
    let written = write(&transaction, seal, version, batch).map_err(|error| {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Error::Conflict,
            _ => failed(error),
        }
    });
    let version = written?.ok_or(Error::Conflict)?;
    let added = &batch.wake.new_deliveries;
    let settled = ids.settle_some(&transaction, added.len()).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    ids.committed(settled, added);
    Ok(version)
}

/// How many batches were appended. An empty log has no row to say so: its first
/// entry is fenced by its position.
pub fn version(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(version_and_size(connection)?.0)
}

/// Versions begin again after this one. Whatever somebody wrote into the column is
/// one of them.
pub const VERSIONS: u64 = (1 << 62) - 1;

fn version_and_size(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let found = connection
        .prepare_cached("SELECT CAST(version AS INTEGER), size FROM head")?
        .query_row([], |row| {
            let version = row.get::<_, i64>(0)? as u64 & VERSIONS;
            Ok((version, records::number(row, 1)?))
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Whether the batch was decided on the state as it is; [`log::write`] compares the
/// ends of the streams.
fn follows(transaction: &Transaction<'_>, version: u64, batch: &Batch) -> rusqlite::Result<bool> {
    let (found, size) = version_and_size(transaction)?;
    let first = batch.log.entries.first();
    Ok(found == version && first.is_none_or(|first| first.position == size))
}

/// Gives the version that it leaves; `None` if the batch does not continue a stream
/// where that ends.
fn write(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    version: u64,
    batch: &Batch,
) -> rusqlite::Result<Option<u64>> {
    let Some(version) = log::write(transaction, seal, version, &batch.log)? else {
        return Ok(None);
    };
    wake::write(transaction, seal, &batch.wake)?;
    inbox::write(transaction, &batch.inbox)?;
    account::write(transaction, &batch.account)?;
    kept::write(transaction, &batch.kept)?;
    Ok(Some(version))
}

pub fn clear_views(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("INSERT OR IGNORE INTO rebuilding VALUES (1)", [])?;
    for view in schema::VIEWS {
        transaction.execute(&format!("DELETE FROM {view}"), [])?;
    }
    search::clear_from(&transaction, 0)?;
    ids::clear(&transaction)?;
    transaction.commit()
}

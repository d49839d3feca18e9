//! The writer's side: loading what a batch needs and making it durable.

use rusqlite::{
    Connection, ErrorCode, OptionalExtension as _, Row, Statement, Transaction,
    TransactionBehavior, params,
    types::{FromSqlResult, ValueRef},
};
use trail::{Hash, Micros};

use crate::{
    Batch, BucketRow, DeliveryRow, EntryRow, Error, IdempotencyRow, LaneRow, Loaded, Needs,
    RelayedChange, Result, RowSeal, StreamRow,
    sqlite::{
        failed,
        ids::{self, Ids},
        is_unreadable, records, schema, sealed, search,
    },
};

pub fn load(
    connection: &Connection,
    seal: &RowSeal,
    known: &Ids,
    needs: &Needs,
) -> rusqlite::Result<Loaded> {
    let mut loaded = Loaded::default();
    for id in &needs.deliveries {
        match ids::delivery(connection, Some(seal), *id, known.recent(*id)) {
            Ok(Some(row)) => drop(loaded.deliveries.insert(*id, row)),
            Ok(None) => {}
            // As good as none, so that the others of the batch are decided.
            Err(error) if is_unreadable(&error) => {
                tracing::error!(%id, %error, "a delivery is passed over");
            }
            Err(error) => return Err(error),
        }
    }
    for name in &needs.streams {
        let mut find = connection.prepare_cached(
            "SELECT s.no, s.name, s.next_seq, s.head, s.lanes, s.last,
                    e.stream, e.seq, e.entry_hash, e.header
             FROM streams s LEFT JOIN entries e ON e.position = s.last WHERE s.name = ?1",
        )?;
        if let Some(row) = find.query_row([name], whole_stream).optional()? {
            loaded.streams.insert(name.clone(), row);
        }
    }
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
        if let Some(row) = unchanged("buckets", bucket.optional()?) {
            loaded.buckets.insert(key_id.clone(), row);
        }
    }
    for pair in &needs.idempotency {
        let mut find = connection.prepare_cached(&format!(
            "SELECT digest, delivery_id, created_at, {} FROM idempotency
             WHERE key_id = ?1 AND idempotency_key = ?2",
            sealed::IDEMPOTENCY
        ))?;
        let record = find.query_row([&pair.0, &pair.1], |row| {
            let record = IdempotencyRow {
                key_id: pair.0.clone(),
                idempotency_key: pair.1.clone(),
                digest: Hash(row.get(0)?),
                delivery_id: records::uuid(row, 1)?,
                created_at: Micros(row.get(2)?),
            };
            Ok((record, row.get(3)?))
        });
        if let Some(row) = unchanged("idempotency", record.optional()?) {
            loaded.idempotency.insert(pair.clone(), row);
        }
    }
    for no in &needs.callbacks {
        let mut find = connection.prepare_cached(&format!(
            "SELECT {}, {} FROM callbacks WHERE no = ?1",
            records::CALLBACK,
            sealed::CALLBACK
        ))?;
        let callback = find.query_row([*no as i64], |row| {
            Ok((records::callback(row)?, row.get(records::CALLBACK_COLUMNS)?))
        });
        if let Some(row) = unchanged("callbacks", callback.optional()?) {
            loaded.callbacks.insert(*no, row);
        }
    }
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

/// A row that carries the right code. Another is as good as none: it was changed
/// by someone else, and what it says is not to be acted on.
fn unchanged<T>(table: &'static str, found: Option<(T, bool)>) -> Option<T> {
    match found? {
        (row, true) => Some(row),
        (_, false) => {
            tracing::error!(
                table,
                "a row was changed and is passed over; run `wakeful trail verify`"
            );
            None
        }
    }
}

/// A stream whose row fits the entry at its end, on which the next one builds:
/// a chain that is continued from a wrong end is broken for good.
fn whole_stream(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    let found = stream(row)?;
    let end = match row.get::<_, Option<i64>>(6)? {
        Some(stream) => Some((
            stream as u64,
            records::number(row, 7)? + 1,
            Some(Hash(row.get(8)?)),
        )),
        None => None,
    };
    let fits = match (found.last, end) {
        (None, None) => (found.next_seq, found.head) == (0, None),
        (Some(_), Some(end)) => {
            let header = trail::Header::read(row.get_ref(9)?.as_bytes()?);
            (found.no, found.next_seq, found.head) == end
                && header.is_none_or(|header| header.stream == found.name)
        }
        _ => false,
    };
    if fits {
        return Ok(found);
    }
    let what = format!(
        "the end of stream {} is not its last entry; run `wakeful trail rebuild`",
        found.name
    );
    let kind = rusqlite::types::Type::Blob;
    Err(rusqlite::Error::FromSqlConversionFailure(
        3,
        kind,
        what.into(),
    ))
}

fn stream(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    Ok(StreamRow {
        no: records::number(row, 0)?,
        name: row.get(1)?,
        next_seq: records::number(row, 2)?,
        head: row.get::<_, Option<[u8; 32]>>(3)?.map(Hash),
        lanes: read_lanes(row.get_ref(4)?)?,
        last: row.get::<_, Option<i64>>(5)?.map(|last| last as u64),
    })
}

/// Four pairs of numbers, big-endian.
pub fn read_lanes(value: ValueRef<'_>) -> FromSqlResult<[LaneRow; 4]> {
    let bytes = value.as_blob()?;
    let number = |index: usize| {
        let at = bytes
            .get(index * 8..index * 8 + 8)
            .and_then(|bytes| bytes.try_into().ok());
        at.map_or(0, u64::from_be_bytes)
    };
    Ok(std::array::from_fn(|lane| LaneRow {
        count: number(lane * 2),
        next_no: number(lane * 2 + 1),
    }))
}

pub fn write_lanes(lanes: &[LaneRow; 4]) -> Vec<u8> {
    lanes
        .iter()
        .flat_map(|lane| [lane.count, lane.next_no])
        .flat_map(u64::to_be_bytes)
        .collect()
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
    let version = write(&transaction, seal, version, batch).map_err(|error| {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Error::Conflict,
            _ => failed(error),
        }
    })?;
    let settled = ids.settle_some(&transaction).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    ids.committed(settled, &batch.new_deliveries);
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

/// Whether the batch was decided on the state as it is.
fn follows(transaction: &Transaction<'_>, version: u64, batch: &Batch) -> rusqlite::Result<bool> {
    let (found, size) = version_and_size(transaction)?;
    if found != version {
        return Ok(false);
    }
    let Some(first) = batch.entries.first() else {
        return Ok(true);
    };
    let mut next_seq = transaction.prepare_cached("SELECT next_seq FROM streams WHERE no = ?1")?;
    for stream in &batch.streams {
        let Some(entry) = batch.entries.iter().find(|entry| entry.stream == stream.no) else {
            continue;
        };
        let next = next_seq
            .query_row([stream.no as i64], |row| records::number(row, 0))
            .optional()?;
        if next.unwrap_or(0) != entry.seq {
            return Ok(false);
        }
    }
    Ok(size == first.position)
}

/// Gives the version that it leaves.
fn write(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    version: u64,
    batch: &Batch,
) -> rusqlite::Result<u64> {
    let version = log(transaction, seal, version, batch)?;
    insert_deliveries(transaction, seal, &batch.new_deliveries)?;
    change_deliveries(transaction, seal, &batch.changed_deliveries)?;
    for ((stream, level, block), n) in batch.blocks.iter().filter(|(_, n)| **n != 0) {
        transaction
            .prepare_cached(
                "INSERT INTO blocks (stream, level, block, n) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET n = n + excluded.n",
            )?
            .execute(params![*stream as i64, level, *block as i64, n])?;
    }
    let mut mention =
        transaction.prepare_cached("INSERT INTO history (delivery, position) VALUES (?1, ?2)")?;
    for (delivery, position) in &batch.history {
        mention.execute((*delivery as i64, *position as i64))?;
    }
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
    relayed(transaction, &batch.relayed)?;
    kept_state(transaction, batch)?;
    erase(transaction, batch)?;
    Ok(version)
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

fn log(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    version: u64,
    batch: &Batch,
) -> rusqlite::Result<u64> {
    for row in &batch.streams {
        transaction
            .prepare_cached(
                "INSERT INTO streams (no, name, next_seq, head, lanes, last)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (no) DO UPDATE SET next_seq = excluded.next_seq,
                    head = excluded.head, lanes = excluded.lanes, last = excluded.last",
            )?
            .execute(params![
                row.no as i64,
                row.name,
                row.next_seq as i64,
                row.head.map(|hash| hash.0),
                write_lanes(&row.lanes),
                row.last.map(|last| last as i64)
            ])?;
    }
    insert_entries(transaction, seal, &batch.entries)?;
    for row in &batch.subtrees {
        transaction
            .prepare_cached("INSERT INTO subtrees (level, idx, hash) VALUES (?1, ?2, ?3)")?
            .execute(params![row.level, row.index as i64, row.hash.0])?;
    }
    let next = (version + 1) & VERSIONS;
    let heads = match &batch.head {
        Some(head) => transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO head (one, size, last_time, note, version)
                 VALUES (1, ?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                head.size as i64,
                head.last_time.0,
                head.note,
                next as i64
            ])?,
        None => transaction
            .prepare_cached("UPDATE head SET version = ?1")?
            .execute([next as i64])?,
    };
    Ok(if heads == 1 { next } else { version })
}

/// Positions are unique: a second writer fails here.
fn insert_entries(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    rows: &[EntryRow],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entries (position, stream, seq, header, entry_hash, facts_salt, facts, prev, mac)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut insert_part = transaction.prepare_cached(
        "INSERT INTO parts (no, name, salt, bytes, mac) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in rows {
        insert.execute((
            row.position as i64,
            row.stream as i64,
            row.seq as i64,
            row.header.as_slice(),
            row.entry_hash.0.as_slice(),
            row.facts_salt.as_slice(),
            row.facts.as_slice(),
            row.prev.map(|prev| prev as i64),
            seal.entry(row),
        ))?;
        let names: Vec<&str> = row.parts.iter().map(|part| part.name.as_str()).collect();
        for (place, part) in (1..).zip(&row.parts) {
            let no = (row.position * records::PARTS_PER_ENTRY + place) as i64;
            let code = seal.part(no, &part.name, &part.bytes, &names);
            let (name, salt) = (part.name.as_str(), part.salt.as_slice());
            insert_part.execute((no, name, salt, part.bytes.as_slice(), code))?;
        }
    }
    Ok(())
}

/// A delivery's columns in the order of [`records::DELIVERY`], and its codes.
const DELIVERY_VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
    ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27";

fn insert_deliveries(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    rows: &[DeliveryRow],
) -> rusqlite::Result<()> {
    let insert = format!(
        "INSERT INTO deliveries ({}, mac, told) VALUES ({DELIVERY_VALUES})",
        records::DELIVERY
    );
    write_deliveries(transaction, seal, &insert, rows)
}

/// Only what can change after the delivery was received. The code is that of the
/// row as it was decided on: what someone else changed meanwhile does not fit it.
fn change_deliveries(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    rows: &[DeliveryRow],
) -> rusqlite::Result<()> {
    let change =
        "UPDATE deliveries SET status = ?5, changed_at = ?12, lane_no = ?13, timed_out = ?16,
                answered_by = ?18, answer_position = ?19, hold_by = ?20, hold_channel = ?21,
                hold_status = ?22, hold_until = ?23, erased = ?24, due_at = ?25,
                mac = ?26, told = ?27
             WHERE no = ?1";
    write_deliveries(transaction, seal, change, rows)
}

fn write_deliveries(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    statement: &str,
    rows: &[DeliveryRow],
) -> rusqlite::Result<()> {
    let mut write = transaction.prepare_cached(statement)?;
    for row in rows {
        bind_delivery(&mut write, row, seal)?;
        write.raw_execute()?;
    }
    Ok(())
}

/// Each value as its own type: among so many, finding out types costs more than
/// binding.
fn bind_delivery(
    write: &mut Statement<'_>,
    row: &DeliveryRow,
    seal: &RowSeal,
) -> rusqlite::Result<()> {
    let hold = row.hold.as_ref();
    write.raw_bind_parameter(1, row.no as i64)?;
    write.raw_bind_parameter(2, row.id.as_bytes().as_slice())?;
    write.raw_bind_parameter(3, row.stream as i64)?;
    write.raw_bind_parameter(4, row.kind)?;
    write.raw_bind_parameter(5, row.status)?;
    write.raw_bind_parameter(6, row.test)?;
    write.raw_bind_parameter(7, row.provider.as_str())?;
    write.raw_bind_parameter(8, row.headline.as_str())?;
    write.raw_bind_parameter(9, row.summary.as_str())?;
    write.raw_bind_parameter(10, row.details_format)?;
    write.raw_bind_parameter(11, row.created_at.0)?;
    write.raw_bind_parameter(12, row.changed_at.0)?;
    write.raw_bind_parameter(13, row.lane_no as i64)?;
    write.raw_bind_parameter(14, row.pending_no as i64)?;
    write.raw_bind_parameter(15, row.timeout_at.map(|at| at.0))?;
    write.raw_bind_parameter(16, row.timed_out)?;
    write.raw_bind_parameter(17, row.callback.as_deref())?;
    write.raw_bind_parameter(18, row.answered_by.as_deref())?;
    write.raw_bind_parameter(19, row.answer_position.map(|at| at as i64))?;
    write.raw_bind_parameter(20, hold.map(|hold| hold.by.as_str()))?;
    write.raw_bind_parameter(21, hold.map(|hold| hold.channel))?;
    write.raw_bind_parameter(22, hold.map(|hold| hold.status))?;
    write.raw_bind_parameter(23, hold.map(|hold| hold.until.0))?;
    write.raw_bind_parameter(24, row.erased.code())?;
    write.raw_bind_parameter(25, row.due_at.map(|at| at.0))?;
    write.raw_bind_parameter(26, seal.delivery(row))?;
    write.raw_bind_parameter(27, seal.answer(&row.answer()))
}

fn kept_state(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    for row in &batch.callbacks {
        transaction
            .prepare_cached(&format!(
                "INSERT OR REPLACE INTO callbacks ({}, mac) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                 row_mac('callbacks', ?1, ?2, ?3, ?4, ?5, ?6, ?7))",
                records::CALLBACK
            ))?
            .execute(params![
                row.no as i64,
                row.delivery_id.as_bytes().as_slice(),
                row.webhook_id,
                row.attempts,
                row.state,
                row.next_at.map(|at| at.0),
                row.last_error
            ])?;
    }
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
                 (key_id, idempotency_key, digest, delivery_id, created_at, mac)
                 VALUES (?1, ?2, ?3, ?4, ?5, row_mac('idempotency', ?1, ?2, ?3, ?4, ?5))",
            )?
            .execute(params![
                row.key_id,
                row.idempotency_key,
                row.digest.0,
                row.delivery_id.as_bytes().as_slice(),
                row.created_at.0
            ])?;
    }
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

/// Only content of entries that are about the delivery: where the list of them
/// was changed, nothing of another one is erased.
fn erase(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    search::forget_details(transaction, batch.erase.iter().map(|(no, _)| *no))?;
    for (delivery, before) in &batch.erase {
        let id = transaction
            .prepare_cached("SELECT id FROM deliveries WHERE no = ?1")?
            .query_row([*delivery as i64], |row| records::uuid(row, 0))?;
        transaction
            .prepare_cached(
                "DELETE FROM parts WHERE no IN (SELECT p.no FROM entries e CROSS JOIN parts p
                 ON p.no BETWEEN e.position * ?2 AND e.position * ?2 + ?2 - 1
                 WHERE (e.position = ?1
                     OR e.position IN (SELECT position FROM history WHERE delivery = ?1))
                   AND e.position < ?4 AND instr(e.facts, ?3) > 0)",
            )?
            .execute(params![
                *delivery as i64,
                records::PARTS_PER_ENTRY as i64,
                id.to_string().as_bytes(),
                *before as i64
            ])?;
    }
    Ok(())
}

pub fn clear_views(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("INSERT OR IGNORE INTO rebuilding VALUES (1)", [])?;
    for view in schema::VIEWS {
        transaction.execute(&format!("DELETE FROM {view}"), [])?;
    }
    transaction.execute(
        "UPDATE streams SET lanes = ?1",
        [write_lanes(&Default::default())],
    )?;
    search::clear_from(&transaction, 0)?;
    ids::clear(&transaction)?;
    transaction.commit()
}

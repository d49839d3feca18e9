//! Deliveries, their lanes, blocks and history, callbacks, and what is erased.

use rusqlite::{
    Connection, OptionalExtension as _, Statement, Transaction, params,
    types::{FromSqlResult, ValueRef},
};

use crate::{
    CallbackRow, DeliveryRow, LaneRow, LanesRow, RowSeal, STATUSES,
    batch::wake::{Batch, Loaded, Needs},
    sqlite::{
        ids::{self, Ids},
        is_unreadable, records, sealed, search,
        turn::unchanged,
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
    for stream in &needs.lanes {
        if let Some(by_status) = lanes(connection, *stream)? {
            let row = LanesRow {
                stream: *stream,
                by_status,
            };
            loaded.lanes.insert(*stream, row);
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
        if let Some(row) = unchanged("callbacks", callback)? {
            loaded.callbacks.insert(*no, row);
        }
    }
    Ok(loaded)
}

/// The lanes of a stream, by status.
pub fn lanes(
    connection: &Connection,
    stream: u64,
) -> rusqlite::Result<Option<[LaneRow; STATUSES]>> {
    connection
        .prepare_cached("SELECT numbers FROM lanes WHERE stream = ?1")?
        .query_row([stream as i64], |row| Ok(read_lanes(row.get_ref(0)?)?))
        .optional()
}

/// A pair of numbers for each status, big-endian; none for one that came later.
fn read_lanes(value: ValueRef<'_>) -> FromSqlResult<[LaneRow; STATUSES]> {
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

fn write_lanes(lanes: &[LaneRow; STATUSES]) -> [u8; 16 * STATUSES] {
    let mut bytes = [0; 16 * STATUSES];
    let numbers = lanes.iter().flat_map(|lane| [lane.count, lane.next_no]);
    for (room, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        room.copy_from_slice(&number.to_be_bytes());
    }
    bytes
}

pub fn write(transaction: &Transaction<'_>, seal: &RowSeal, batch: &Batch) -> rusqlite::Result<()> {
    insert_deliveries(transaction, seal, &batch.new_deliveries)?;
    change_deliveries(transaction, seal, &batch.changed_deliveries)?;
    for row in &batch.lanes {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO lanes (stream, numbers) VALUES (?1, ?2)")?
            .execute(params![row.stream as i64, write_lanes(&row.by_status)])?;
    }
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
    write_callbacks(transaction, &batch.callbacks)?;
    erase(transaction, batch)
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

fn write_callbacks(transaction: &Transaction<'_>, rows: &[CallbackRow]) -> rusqlite::Result<()> {
    for row in rows {
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

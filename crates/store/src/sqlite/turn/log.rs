//! Entries, the ends of streams, the tree, the head: the same for every door.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use trail::Hash;

use crate::{
    EntryRow, RowSeal, StreamRow,
    batch::log::{Batch, Loaded, Needs},
    sqlite::{records, turn::VERSIONS},
};

pub fn load(connection: &Connection, needs: &Needs) -> rusqlite::Result<Loaded> {
    let mut loaded = Loaded::default();
    for name in &needs.streams {
        let mut find = connection.prepare_cached(
            "SELECT s.no, s.name, s.next_seq, s.head, s.last,
                    e.stream, e.seq, e.entry_hash, e.header
             FROM streams s LEFT JOIN entries e ON e.position = s.last WHERE s.name = ?1",
        )?;
        if let Some(row) = find.query_row([name], whole_stream).optional()? {
            loaded.streams.insert(name.clone(), row);
        }
    }
    Ok(loaded)
}

/// A stream whose row fits the entry at its end, on which the next one builds:
/// a chain that is continued from a wrong end is broken for good.
fn whole_stream(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    let found = stream(row)?;
    let end = match row.get::<_, Option<i64>>(5)? {
        Some(stream) => Some((
            stream as u64,
            records::number(row, 6)? + 1,
            Some(Hash(row.get(7)?)),
        )),
        None => None,
    };
    let fits = match (found.last, end) {
        (None, None) => (found.next_seq, found.head) == (0, None),
        (Some(_), Some(end)) => {
            let header = trail::Header::read(row.get_ref(8)?.as_bytes()?);
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
    Err(records::damaged(what))
}

fn stream(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    Ok(StreamRow {
        no: records::number(row, 0)?,
        name: row.get(1)?,
        next_seq: records::number(row, 2)?,
        head: row.get::<_, Option<[u8; 32]>>(3)?.map(Hash),
        last: row.get::<_, Option<i64>>(4)?.map(|last| last as u64),
    })
}

/// Gives the version that it leaves; `None` if a stream does not end where the
/// batch goes on.
pub fn write(
    transaction: &Transaction<'_>,
    seal: &RowSeal,
    version: u64,
    batch: &Batch,
) -> rusqlite::Result<Option<u64>> {
    for row in &batch.streams {
        let first = batch.entries.iter().find(|entry| entry.stream == row.no);
        let first_seq = first.map_or(row.next_seq, |entry| entry.seq);
        if !write_stream(transaction, row, first_seq)? {
            return Ok(None);
        }
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
    Ok(Some(if heads == 1 { next } else { version }))
}

/// Writes the end of a stream that went on at `first_seq`; false if it does not end
/// there.
fn write_stream(
    transaction: &Transaction<'_>,
    row: &StreamRow,
    first_seq: u64,
) -> rusqlite::Result<bool> {
    let (no, next_seq) = (row.no as i64, row.next_seq as i64);
    let head = row.head.map(|hash| hash.0);
    let last = row.last.map(|last| last as i64);
    let written = match first_seq {
        0 => transaction
            .prepare_cached(
                "INSERT INTO streams (no, name, next_seq, head, last) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (no) DO UPDATE SET next_seq = excluded.next_seq,
                    head = excluded.head, last = excluded.last WHERE next_seq = 0",
            )?
            .execute(params![no, row.name, next_seq, head, last])?,
        first_seq => transaction
            .prepare_cached(
                "UPDATE streams SET next_seq = ?2, head = ?3, last = ?4
                 WHERE no = ?1 AND next_seq = ?5",
            )?
            .execute(params![no, next_seq, head, last, first_seq as i64])?,
    };
    Ok(written == 1)
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

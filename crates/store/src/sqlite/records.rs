//! Rows out of SQLite, one function for each type.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use trail::{Hash, Micros};
use uuid::Uuid;

use crate::{
    AccountRow, AnswerRow, CHANNELS, CallbackRow, DeliveryRow, EntryQuery, EntryRef, EntryRow,
    Erased, FORMATS, HoldRow, KINDS, PartRow, RowSeal, STATUSES, StreamQuery,
    sqlite::{is_unreadable, sealed},
};

/// Parts of one entry are numbered within this: more than any event has.
pub const PARTS_PER_ENTRY: u64 = 16;

/// The columns of a [`DeliveryRow`]; those of its codes, `mac` and `told`, follow.
pub const DELIVERY: &str = "no, id, stream, kind, status, test, provider, headline, summary,
    details_format, created_at, changed_at, lane_no, pending_no, timeout_at, timed_out, callback,
    answered_by, answer_position, hold_by, hold_channel, hold_status, hold_until, erased, due_at";

pub const DELIVERY_COLUMNS: usize = 25;

/// With a seal, `mac` is selected behind the columns, and a row that does not
/// carry its code is not given: nobody is shown it, and nothing is decided on it.
/// Nor is one that this version cannot understand.
pub fn delivery(row: &Row<'_>, seal: Option<&RowSeal>) -> rusqlite::Result<DeliveryRow> {
    let found = plain_delivery(row)?;
    match seal {
        Some(seal) if row.get::<_, i64>(DELIVERY_COLUMNS)? != seal.delivery(&found) => {
            Err(changed("deliveries"))
        }
        Some(_) => match unknown(&found) {
            Some(what) => Err(unknown_code(found.id, what)),
            None => Ok(found),
        },
        None => Ok(found),
    }
}

/// The first column that has a code of no meaning in this version.
fn unknown(row: &DeliveryRow) -> Option<(&'static str, u8)> {
    let hold = row.hold.as_ref();
    let is_answered = row.answered_by.is_some();
    // A hold's status is that of its answer, so that it does not wait.
    [
        ("kind", Some(row.kind), 0..KINDS),
        (
            "status",
            Some(row.status),
            usize::from(is_answered)..STATUSES,
        ),
        ("details_format", row.details_format, 0..FORMATS),
        ("hold_channel", hold.map(|hold| hold.channel), 0..CHANNELS),
        ("hold_status", hold.map(|hold| hold.status), 1..STATUSES),
    ]
    .into_iter()
    .find_map(|(column, code, known)| {
        code.filter(|code| !known.contains(&usize::from(*code)))
            .map(|code| (column, code))
    })
}

fn unknown_code(id: Uuid, (column, code): (&'static str, u8)) -> rusqlite::Error {
    damaged(format!(
        "deliveries: the {column} of {id} is {code}, which this version does not know; \
         run `wakeful trail verify`"
    ))
}

fn plain_delivery(row: &Row<'_>) -> rusqlite::Result<DeliveryRow> {
    let hold = match row.get::<_, Option<String>>(19)? {
        Some(by) => Some(HoldRow {
            by,
            channel: row.get(20)?,
            status: row.get(21)?,
            until: Micros(row.get(22)?),
        }),
        None => None,
    };
    Ok(DeliveryRow {
        no: number(row, 0)?,
        id: uuid(row, 1)?,
        stream: number(row, 2)?,
        kind: row.get(3)?,
        status: row.get(4)?,
        test: row.get(5)?,
        provider: row.get(6)?,
        headline: row.get(7)?,
        summary: row.get(8)?,
        details_format: row.get(9)?,
        created_at: Micros(row.get(10)?),
        changed_at: Micros(row.get(11)?),
        lane_no: number(row, 12)?,
        pending_no: number(row, 13)?,
        timeout_at: row.get::<_, Option<i64>>(14)?.map(Micros),
        timed_out: row.get(15)?,
        callback: row.get(16)?,
        answered_by: row.get(17)?,
        answer_position: row.get::<_, Option<i64>>(18)?.map(|at| at as u64),
        hold,
        erased: erased(row, 23)?,
        due_at: row.get::<_, Option<i64>>(24)?.map(Micros),
    })
}

fn erased(row: &Row<'_>, column: usize) -> rusqlite::Result<Erased> {
    Erased::of(row.get(column)?).ok_or_else(|| changed("deliveries"))
}

/// A row that was changed by someone else.
fn changed(table: &str) -> rusqlite::Error {
    damaged(format!(
        "{table}: a row is not as it was written; run `wakeful trail verify`"
    ))
}

/// What is damaged, and what to run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Damage(String);

/// What cannot have been written, and what to run.
pub fn damaged(what: String) -> rusqlite::Error {
    let damage = Box::new(Damage(what));
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Integer, damage)
}

/// A row that does not carry its code is not given: it would say who may do what.
pub fn account(row: &Row<'_>) -> rusqlite::Result<AccountRow> {
    if !row.get::<_, bool>(3)? {
        return Err(changed("accounts"));
    }
    Ok(AccountRow {
        kind: row.get(0)?,
        id: row.get(1)?,
        body: row.get(2)?,
    })
}

/// The columns of an [`AnswerRow`], and its code.
pub const ANSWER: &str = "id, stream, status, changed_at, answer_position, erased, told";
pub const ANSWER_COLUMNS: usize = 7;

/// Without its texts. With a seal, a row that does not carry its code is not given.
pub fn answer(row: &Row<'_>, seal: Option<&RowSeal>) -> rusqlite::Result<AnswerRow> {
    let found = AnswerRow {
        id: uuid(row, 0)?,
        stream: number(row, 1)?,
        status: row.get(2)?,
        changed_at: Micros(row.get(3)?),
        answer_position: row.get::<_, Option<i64>>(4)?.map(|at| at as u64),
        erased: erased(row, 5)?,
        feedback: None,
        edited_content: None,
    };
    match seal {
        Some(seal) if row.get::<_, i64>(6)? != seal.answer(&found) => Err(changed("deliveries")),
        Some(_) if usize::from(found.status) >= STATUSES => {
            Err(unknown_code(found.id, ("status", found.status)))
        }
        _ => Ok(found),
    }
}

/// The columns of a part, as [`Part::read`] takes them.
pub const PART: &str = "parts.no, parts.name, parts.bytes, parts.mac";

/// A part with its number and its code.
#[derive(Debug)]
pub struct Part {
    no: i64,
    name: String,
    bytes: Vec<u8>,
    mac: i64,
}

impl Part {
    /// Of a row in which its columns begin at `first`.
    pub fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Part> {
        Ok(Part {
            no: row.get(first)?,
            name: row.get(first + 1)?,
            bytes: row.get(first + 2)?,
            mac: row.get(first + 3)?,
        })
    }

    /// The position of its entry.
    pub fn position(&self) -> i64 {
        self.no.div_euclid(PARTS_PER_ENTRY as i64)
    }

    pub fn no(&self) -> i64 {
        self.no
    }
}

/// The codes that all parts of one entry should carry.
pub fn part_codes(parts: &[Part], seal: &RowSeal) -> Vec<i64> {
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let codes = parts.iter();
    codes
        .map(|part| seal.part(part.no, &part.name, &part.bytes, &names))
        .collect()
}

/// Whether these are all parts of an entry, as they were written.
pub fn are_whole(parts: &[Part], seal: &RowSeal) -> bool {
    part_codes(parts, seal)
        .iter()
        .eq(parts.iter().map(|part| &part.mac))
}

/// Adds the texts of a final answer. With a seal, an answer whose texts are not
/// all there, as they were written, is not given.
pub fn set_texts(
    row: &mut AnswerRow,
    parts: Vec<Part>,
    seal: Option<&RowSeal>,
) -> rusqlite::Result<()> {
    let is_missing = parts.is_empty() && has_texts(row);
    if seal.is_some_and(|seal| is_missing || !are_whole(&parts, seal)) {
        return Err(changed(sealed::PARTS));
    }
    for part in parts {
        match part.name.as_str() {
            "feedback" => row.feedback = Some(part.bytes),
            "edited_content" => row.edited_content = Some(part.bytes),
            _ => {}
        }
    }
    Ok(())
}

/// Whether an agent is told texts with it.
fn has_texts(row: &AnswerRow) -> bool {
    row.status > 0 && row.answer_position.is_some() && row.erased != Erased::All
}

/// Adds the texts of final answers.
pub fn add_texts(
    connection: &Connection,
    seal: Option<&RowSeal>,
    rows: &mut Vec<AnswerRow>,
) -> rusqlite::Result<()> {
    let mut find = connection.prepare_cached(&format!(
        "SELECT {PART} FROM parts WHERE no BETWEEN ?1 AND ?2 ORDER BY no"
    ))?;
    let mut add = |row: &mut AnswerRow| {
        let position = row.answer_position.unwrap_or_default();
        let parts = find.query_map(part_range(position), |part| Part::read(part, 0))?;
        set_texts(row, parts.collect::<rusqlite::Result<_>>()?, seal)
    };
    let mut failed = None;
    rows.retain_mut(|row| match has_texts(row).then(|| add(row)) {
        None | Some(Ok(())) => true,
        // The others are told to their agents all the same.
        Some(Err(error)) if is_unreadable(&error) => {
            tracing::error!(id = %row.id, %error, "a delivery is not swept");
            false
        }
        Some(Err(error)) => {
            failed = Some(error);
            true
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Fails if one of these entries, or content that was read with it, does not
/// carry its code. Without a seal nobody can tell.
pub fn require_codes(
    connection: &Connection,
    seal: Option<&RowSeal>,
    rows: &[EntryRow],
) -> rusqlite::Result<()> {
    let Some(seal) = seal else { return Ok(()) };
    let mut find = connection.prepare_cached("SELECT mac FROM entries WHERE position = ?1")?;
    let mut find_parts = connection.prepare_cached(&format!(
        "SELECT {PART} FROM parts WHERE no BETWEEN ?1 AND ?2 ORDER BY no"
    ))?;
    for row in rows {
        let code: i64 = find.query_row([row.position as i64], |row| row.get(0))?;
        if code != seal.entry(row) {
            return Err(changed("entries"));
        }
        if !row.parts.is_empty() {
            let parts = find_parts.query_map(part_range(row.position), |row| Part::read(row, 0))?;
            let parts = parts.collect::<rusqlite::Result<Vec<_>>>()?;
            if !are_whole(&parts, seal) {
                return Err(changed(sealed::PARTS));
            }
        }
    }
    Ok(())
}

fn part_range(position: u64) -> (i64, i64) {
    let first = (position * PARTS_PER_ENTRY) as i64;
    (first, first + PARTS_PER_ENTRY as i64 - 1)
}

pub fn part(
    connection: &Connection,
    position: u64,
    name: &str,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let (first, last) = part_range(position);
    connection
        .prepare_cached("SELECT bytes FROM parts WHERE no BETWEEN ?1 AND ?2 AND name = ?3")?
        .query_row(params![first, last, name], |row| row.get(0))
        .optional()
}

fn parts(connection: &Connection, position: u64) -> rusqlite::Result<Vec<PartRow>> {
    connection
        .prepare_cached(
            "SELECT name, salt, bytes FROM parts WHERE no BETWEEN ?1 AND ?2 ORDER BY no",
        )?
        .query_map(part_range(position), |row| {
            Ok(PartRow {
                name: row.get(0)?,
                salt: row.get(1)?,
                bytes: row.get(2)?,
            })
        })?
        .collect()
}

pub const ENTRY: &str = "position, stream, seq, header, entry_hash, facts_salt, facts, prev";
pub const ENTRY_COLUMNS: usize = 8;

pub fn entry(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        position: number(row, 0)?,
        stream: number(row, 1)?,
        seq: number(row, 2)?,
        header: row.get(3)?,
        entry_hash: Hash(row.get(4)?),
        facts_salt: row.get(5)?,
        facts: row.get(6)?,
        prev: row.get::<_, Option<i64>>(7)?.map(|prev| prev as u64),
        parts: Vec::new(),
    })
}

pub fn entries(connection: &Connection, query: &EntryQuery) -> rusqlite::Result<Vec<EntryRow>> {
    let to = query.to.map_or(i64::MAX, |to| to as i64);
    let order = if query.newest_first { "DESC" } else { "ASC" };
    let mut found: Vec<EntryRow> = connection
        .prepare_cached(&format!(
            "SELECT {ENTRY} FROM entries WHERE position >= ?1 AND position < ?2
             ORDER BY position {order} LIMIT ?3"
        ))?
        .query_map(params![query.from as i64, to, query.limit as i64], entry)?
        .collect::<rusqlite::Result<_>>()?;
    if query.with_parts {
        for entry in &mut found {
            entry.parts = parts(connection, entry.position)?;
        }
    }
    Ok(found)
}

pub fn stream_entries(
    connection: &Connection,
    query: &StreamQuery,
) -> rusqlite::Result<Vec<EntryRow>> {
    let mut next: Option<i64> = match query.from {
        Some(from) => Some(from as i64),
        None => connection
            .prepare_cached("SELECT last FROM streams WHERE no = ?1")?
            .query_row([query.stream as i64], |row| row.get(0))
            .optional()?
            .flatten(),
    };
    let mut find = connection.prepare_cached(&format!(
        "SELECT {ENTRY} FROM entries WHERE position = ?1 AND stream = ?2"
    ))?;
    let mut found: Vec<EntryRow> = Vec::new();
    while let Some(position) = next.filter(|_| found.len() < query.limit) {
        let Some(row) = find
            .query_row([position, query.stream as i64], entry)
            .optional()?
        else {
            // Where a caller begins is theirs to say; a link is ours.
            match found.last() {
                None if query.from.is_some() => break,
                _ => return Err(broken_link(position)),
            }
        };
        // A link that leaves entries out would hide them.
        let follows = found.last().is_none_or(|last| last.seq == row.seq + 1);
        if !follows || row.prev.is_none() != (row.seq == 0) {
            return Err(broken_link(position));
        }
        next = row.prev.map(|prev| prev as i64);
        found.push(row);
    }
    Ok(found)
}

/// The links of a stream lead to an entry that does not belong there.
fn broken_link(position: i64) -> rusqlite::Error {
    damaged(format!(
        "the link to entry {position}; run `wakeful trail rebuild`"
    ))
}

pub fn history(connection: &Connection, delivery: u64) -> rusqlite::Result<Vec<EntryRow>> {
    connection
        .prepare_cached(&format!(
            "SELECT {ENTRY} FROM entries WHERE position = ?1
             UNION ALL
             SELECT {ENTRY} FROM entries WHERE position IN
                (SELECT position FROM history WHERE delivery = ?1 ORDER BY position DESC LIMIT 1000)
             ORDER BY position"
        ))?
        .query_map([delivery as i64], entry)?
        .collect()
}

/// Walks two ordered tables side by side, without a look-up for each entry.
pub fn scan(
    connection: &Connection,
    from: u64,
    to: u64,
    visit: &mut dyn FnMut(EntryRef<'_>) -> bool,
) -> rusqlite::Result<()> {
    let mut entries = connection.prepare_cached(&format!(
        "SELECT {ENTRY} FROM entries WHERE position >= ?1 AND position < ?2 ORDER BY position"
    ))?;
    let mut parts = connection.prepare_cached(
        "SELECT no, name, salt, bytes FROM parts WHERE no >= ?1 AND no < ?2 ORDER BY no",
    )?;
    let part_bounds = (
        (from * PARTS_PER_ENTRY) as i64,
        (to * PARTS_PER_ENTRY) as i64,
    );
    let mut entry_rows = entries.query((from as i64, to as i64))?;
    let mut part_rows = parts.query(part_bounds)?;
    let mut next_part = next_part_row(&mut part_rows, PartRow::default())?;
    let mut own: Vec<PartRow> = Vec::new();
    // Rows whose memory is used again.
    let mut spare: Vec<PartRow> = Vec::new();
    while let Some(row) = entry_rows.next()? {
        let position = number(row, 0)?;
        spare.append(&mut own);
        // A part without an entry is handed to the next one, to be noticed.
        while let Some((_, part)) = next_part.take_if(|(at, _)| *at <= position) {
            own.push(part);
            next_part = next_part_row(&mut part_rows, spare.pop().unwrap_or_default())?;
        }
        let facts_salt: [u8; 32] = row.get(5)?;
        let keep_going = visit(EntryRef {
            position,
            stream: number(row, 1)?,
            seq: number(row, 2)?,
            header: row.get_ref(3)?.as_bytes()?,
            entry_hash: Hash(row.get(4)?),
            facts_salt: &facts_salt,
            facts: row.get_ref(6)?.as_bytes()?,
            prev: row.get::<_, Option<i64>>(7)?.map(|prev| prev as u64),
            parts: &own,
        });
        if !keep_going {
            break;
        }
    }
    Ok(())
}

/// Reads the next part into `part`, with the position of its entry.
fn next_part_row(
    rows: &mut rusqlite::Rows<'_>,
    mut part: PartRow,
) -> rusqlite::Result<Option<(u64, PartRow)>> {
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    part.name.clear();
    part.name.push_str(row.get_ref(1)?.as_str()?);
    part.salt = row.get(2)?;
    part.bytes.clear();
    part.bytes.extend_from_slice(row.get_ref(3)?.as_blob()?);
    Ok(Some((number(row, 0)? / PARTS_PER_ENTRY, part)))
}

pub fn hashes(
    connection: &Connection,
    level: u8,
    from: u64,
    to: u64,
) -> rusqlite::Result<Vec<Hash>> {
    let hash = |row: &Row<'_>| Ok(Hash(row.get(0)?));
    match level {
        0 => connection
            .prepare_cached(
                "SELECT entry_hash FROM entries WHERE position >= ?1 AND position < ?2
                 ORDER BY position",
            )?
            .query_map((from as i64, to as i64), |row| {
                Ok(trail::merkle::leaf_hash(&Hash(row.get(0)?)))
            })?
            .collect(),
        _ => connection
            .prepare_cached(
                "SELECT hash FROM subtrees WHERE level = ?3 AND idx >= ?1 AND idx < ?2
                 ORDER BY idx",
            )?
            .query_map((from as i64, to as i64, level), hash)?
            .collect(),
    }
}

pub const CALLBACK: &str = "no, delivery_id, webhook_id, attempts, state, next_at, last_error";
pub const CALLBACK_COLUMNS: usize = 7;

pub fn callback(row: &Row<'_>) -> rusqlite::Result<CallbackRow> {
    Ok(CallbackRow {
        no: number(row, 0)?,
        delivery_id: uuid(row, 1)?,
        webhook_id: row.get(2)?,
        attempts: row.get(3)?,
        state: row.get(4)?,
        next_at: row.get::<_, Option<i64>>(5)?.map(Micros),
        last_error: row.get(6)?,
    })
}

pub fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(column)?))
}

/// Positions and counts fit in 63 bits.
pub fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)? as u64)
}

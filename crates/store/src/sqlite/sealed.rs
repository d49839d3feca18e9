//! Tables whose rows carry a code (see `seal.rs`), and the SQL function that
//! makes it. A statement that writes such a row gives its `mac` by
//! `row_mac(table, columns…)`, and one that reads it compares.

use rusqlite::{
    Connection, Transaction,
    functions::{Context, FunctionFlags},
    types::ValueRef,
};

use crate::{
    RowSeal,
    sqlite::{
        is_unreadable,
        records::{self, Part},
        schema,
    },
};

/// Each table with its columns, in the order in which the code takes them.
const TABLES: &[(&str, &[&str])] = &[
    ("secrets", &["name", "sealed"]),
    ("buckets", &["key_id", "level", "at"]),
    (
        "idempotency",
        &[
            "key_id",
            "idempotency_key",
            "digest",
            "status",
            "body",
            "created_at",
        ],
    ),
    (
        "callbacks",
        &[
            "no",
            "delivery_id",
            "webhook_id",
            "attempts",
            "state",
            "next_at",
            "last_error",
        ],
    ),
    ("snoozed", &["name", "delivery", "until"]),
    ("seen", &["name", "delivery"]),
    ("accounts", &["kind", "id", "body"]),
];

/// Tables that had other columns in databases before a version.
const BEFORE: &[(i64, &str, &[&str])] = &[(
    8,
    "idempotency",
    &[
        "key_id",
        "idempotency_key",
        "digest",
        "delivery_id",
        "created_at",
    ],
)];

/// The tables as a database of its version has them.
fn tables(
    connection: &Connection,
) -> rusqlite::Result<Vec<(&'static str, &'static [&'static str])>> {
    let version = schema::version(connection)?;
    let of_version = |&(table, columns)| {
        let mut before = BEFORE.iter();
        let before = before.find(|(until, name, _)| version < *until && *name == table);
        (table, before.map_or(columns, |(_, _, columns)| *columns))
    };
    Ok(TABLES.iter().map(of_version).collect())
}

/// These have quicker codes, which are compared where rows are read.
pub const DELIVERIES: &str = "deliveries";
pub const PARTS: &str = "parts";
pub const ENTRIES: &str = "entries";
/// Rows that are sealed in one go.
const CHUNK: i64 = 1000;

/// Whether the row of a statement is one that was sealed.
pub const SECRET: &str = "mac = row_mac('secrets', name, sealed)";
pub const BUCKET: &str = "mac = row_mac('buckets', key_id, level, at)";
pub const IDEMPOTENCY: &str = "mac = row_mac('idempotency', key_id, idempotency_key, digest,
    status, body, created_at)";
pub const CALLBACK: &str = "mac = row_mac('callbacks', no, delivery_id, webhook_id, attempts,
    state, next_at, last_error)";
pub const SNOOZED: &str = "snoozed.mac = row_mac('snoozed', snoozed.name, snoozed.delivery,
    snoozed.until)";
pub const SEEN: &str = "mac = row_mac('seen', name, delivery)";
pub const ACCOUNT: &str = "mac = row_mac('accounts', kind, id, body)";

/// What `row_seal` holds: it tells another key from changed rows.
const PROOF: &str = "row_mac('row_seal', 1)";

/// Makes `row_mac` known to a connection. Without a seal it gives nothing, and
/// no row is taken for a sealed one. Nothing in the schema may call it.
pub fn register(connection: &Connection, seal: Option<RowSeal>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("row_mac", -1, flags, move |context| {
        seal.as_ref().map(|seal| code(seal, context)).transpose()
    })
}

fn code(seal: &RowSeal, context: &Context<'_>) -> rusqlite::Result<[u8; 16]> {
    let mut code = seal.code();
    for at in 0..context.len() {
        match context.get_raw(at) {
            ValueRef::Null => code.add(0, b""),
            ValueRef::Integer(number) => code.add(1, &number.to_be_bytes()),
            ValueRef::Real(number) => code.add(2, &number.to_be_bytes()),
            ValueRef::Text(text) => code.add(3, text),
            ValueRef::Blob(bytes) => code.add(4, bytes),
        }
    }
    Ok(code.finish())
}

/// Gives every row of these tables its code, whatever it had.
///
/// This trusts the rows as they are. It happens once to a database of a version
/// before the codes, and again where a backup is restored without the key that
/// its rows were sealed with. Views are then rebuilt from the trail; a change that
/// was made before to any other of these tables stays unnoticed.
pub fn seal(transaction: &Transaction<'_>, key: &RowSeal, tables: &[&str]) -> rusqlite::Result<()> {
    for (table, columns) in self::tables(transaction)? {
        if !tables.contains(&table) {
            continue;
        }
        let columns = columns.join(", ");
        let seal = format!("UPDATE {table} SET mac = row_mac('{table}', {columns})");
        transaction.execute(&seal, [])?;
    }
    if tables.contains(&DELIVERIES) {
        seal_deliveries(transaction, key)?;
    }
    if tables.contains(&PARTS) {
        seal_parts(transaction, key)?;
    }
    if tables.contains(&ENTRIES) {
        seal_entries(transaction, key)?;
    }
    prove(transaction)
}

/// Gives every row of every table its code.
pub fn seal_all(transaction: &Transaction<'_>, key: &RowSeal) -> rusqlite::Result<()> {
    seal_kept(transaction, key)?;
    seal(transaction, key, &[DELIVERIES, PARTS, ENTRIES])
}

/// The same, but for what is read row by row.
pub fn seal_kept(transaction: &Transaction<'_>, key: &RowSeal) -> rusqlite::Result<()> {
    let all: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
    seal(transaction, key, &all)
}

fn seal_deliveries(transaction: &Transaction<'_>, key: &RowSeal) -> rusqlite::Result<()> {
    let mut find = transaction.prepare(&format!(
        "SELECT {} FROM deliveries WHERE no > ?1 ORDER BY no LIMIT {CHUNK}",
        records::DELIVERY
    ))?;
    let mut write =
        transaction.prepare("UPDATE deliveries SET mac = ?2, told = ?3 WHERE no = ?1")?;
    let mut last = -1;
    loop {
        let rows = find.query_map([last], |row| {
            Ok((row.get(0)?, records::delivery(row, None)))
        })?;
        let rows: Vec<(i64, _)> = rows.collect::<rusqlite::Result<_>>()?;
        let Some((end, _)) = rows.last() else {
            return Ok(());
        };
        last = *end;
        for (no, row) in rows {
            match row {
                Ok(row) => {
                    let told = key.answer(&row.answer());
                    write.execute((no, key.delivery(&row), told))?;
                }
                // Nobody takes it for one of ours; a rebuild makes it anew.
                Err(error) if is_unreadable(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Goes through all parts, entry by entry: one may have a megabyte.
fn each_entrys_parts(
    connection: &Connection,
    mut visit: impl FnMut(&[Part]) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut find = connection.prepare(&format!(
        "SELECT {} FROM parts WHERE no >= ?1 ORDER BY no LIMIT ?2",
        records::PART
    ))?;
    let mut from = i64::MIN;
    loop {
        let rows = find.query_map((from, records::PARTS_PER_ENTRY as i64), |row| {
            Part::read(row, 0)
        })?;
        let mut parts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let Some(position) = parts.first().map(Part::position) else {
            return Ok(());
        };
        parts.retain(|part| part.position() == position);
        visit(&parts)?;
        from = (position + 1) * records::PARTS_PER_ENTRY as i64;
    }
}

fn seal_parts(transaction: &Transaction<'_>, key: &RowSeal) -> rusqlite::Result<()> {
    let mut write = transaction.prepare("UPDATE parts SET mac = ?2 WHERE no = ?1")?;
    each_entrys_parts(transaction, |parts| {
        for (part, code) in parts.iter().zip(records::part_codes(parts, key)) {
            write.execute((part.no(), code))?;
        }
        Ok(())
    })
}

/// How many entries have parts that carry a wrong code.
fn changed_parts(connection: &Connection, key: &RowSeal) -> rusqlite::Result<u64> {
    let mut changed = 0;
    each_entrys_parts(connection, |parts| {
        changed += u64::from(!records::are_whole(parts, key));
        Ok(())
    })?;
    Ok(changed)
}

/// Gives entries their codes, where they have others; gives how many had.
pub fn seal_entries(transaction: &Transaction<'_>, key: &RowSeal) -> rusqlite::Result<u64> {
    let mut find = transaction.prepare(&format!(
        "SELECT {}, mac FROM entries WHERE position > ?1 ORDER BY position LIMIT {CHUNK}",
        records::ENTRY
    ))?;
    let mut write = transaction.prepare("UPDATE entries SET mac = ?2 WHERE position = ?1")?;
    let (mut last, mut changed) = (-1, 0);
    loop {
        let rows = find.query_map([last], |row| {
            Ok((
                records::entry(row)?,
                row.get::<_, i64>(records::ENTRY_COLUMNS)?,
            ))
        })?;
        let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let Some((end, _)) = rows.last() else {
            return Ok(changed);
        };
        last = end.position as i64;
        for (row, found) in &rows {
            let code = key.entry(row);
            if code != *found {
                write.execute((row.position as i64, code))?;
                changed += 1;
            }
        }
    }
}

/// How many entries carry a wrong code.
fn changed_entries(connection: &Connection, key: &RowSeal) -> rusqlite::Result<u64> {
    let mut find = connection.prepare(&format!("SELECT {}, mac FROM entries", records::ENTRY))?;
    let mut rows = find.query([])?;
    let mut changed = 0;
    while let Some(row) = rows.next()? {
        let code: i64 = row.get(records::ENTRY_COLUMNS)?;
        changed += u64::from(code != key.entry(&records::entry(row)?));
    }
    Ok(changed)
}

/// How many deliveries carry a wrong code.
fn changed_deliveries(connection: &Connection, key: &RowSeal) -> rusqlite::Result<u64> {
    let mut find = connection.prepare(&format!(
        "SELECT {}, mac, told FROM deliveries",
        records::DELIVERY
    ))?;
    let mut rows = find.query([])?;
    let mut changed = 0;
    while let Some(row) = rows.next()? {
        let codes = (
            row.get(records::DELIVERY_COLUMNS)?,
            row.get(records::DELIVERY_COLUMNS + 1)?,
        );
        let ours = match records::delivery(row, None) {
            Ok(row) => Some((key.delivery(&row), key.answer(&row.answer()))),
            Err(error) if is_unreadable(&error) => None,
            Err(error) => return Err(error),
        };
        changed += u64::from(Some(codes) != ours);
    }
    Ok(changed)
}

/// Writes down which key the rows are sealed with.
pub fn prove(connection: &Connection) -> rusqlite::Result<()> {
    let prove = format!("INSERT OR REPLACE INTO row_seal (one, proof) VALUES (1, {PROOF})");
    connection.execute(&prove, []).map(drop)
}

/// Of a few rows of each table, how many carry a code of this connection's key,
/// and how many there are.
pub fn sample(connection: &Connection, limit: u32) -> rusqlite::Result<(u64, u64)> {
    let (mut ours, mut all) = (0, 0);
    for (table, columns) in tables(connection)? {
        let columns = columns.join(", ");
        let find = format!(
            "SELECT count(*), coalesce(sum(ours), 0) FROM (
                SELECT mac = row_mac('{table}', {columns}) AS ours FROM {table} LIMIT {limit})"
        );
        let (found, of_ours): (i64, i64) =
            connection.query_row(&find, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        all += found as u64;
        ours += of_ours as u64;
    }
    Ok((ours, all))
}

/// Whether the rows were sealed with the key of this connection.
pub fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let ours = format!("SELECT 1 FROM row_seal WHERE proof = {PROOF}");
    connection.prepare(&ours)?.exists([])
}

/// Tables with rows that carry a wrong code, and how many.
pub fn changed(
    connection: &Connection,
    key: &RowSeal,
) -> rusqlite::Result<Vec<(&'static str, u64)>> {
    let mut changed = changed_by_function(connection)?;
    let quick = [
        (DELIVERIES, changed_deliveries(connection, key)?),
        (PARTS, changed_parts(connection, key)?),
        (ENTRIES, changed_entries(connection, key)?),
    ];
    changed.extend(quick.into_iter().filter(|(_, count)| *count > 0));
    Ok(changed)
}

fn changed_by_function(connection: &Connection) -> rusqlite::Result<Vec<(&'static str, u64)>> {
    let mut changed = Vec::new();
    for (table, columns) in tables(connection)? {
        let columns = columns.join(", ");
        let find =
            format!("SELECT count(*) FROM {table} WHERE mac IS NOT row_mac('{table}', {columns})");
        let count: i64 = connection.query_row(&find, [], |row| row.get(0))?;
        if count > 0 {
            changed.push((table, count as u64));
        }
    }
    Ok(changed)
}

/// Removes rows that carry a wrong code; says how many of each table.
///
/// A mark, a rate or a repeated request that is forgotten does less harm than
/// one that somebody made up. Secrets have to be set again. Callbacks and views
/// are made anew from the trail by whoever rebuilds.
pub fn remove_changed(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(&'static str, u64)>> {
    let found = changed_by_function(transaction)?;
    let tables = tables(transaction)?;
    for (table, _) in &found {
        let columns = tables.iter().find(|(name, _)| name == table);
        let columns = columns.map_or(String::new(), |(_, columns)| columns.join(", "));
        let remove = format!("DELETE FROM {table} WHERE mac IS NOT row_mac('{table}', {columns})");
        transaction.execute(&remove, [])?;
    }
    Ok(found)
}

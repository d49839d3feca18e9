//! Tables whose rows carry a code (see `seal.rs`), and the SQL function that
//! makes it. A statement that writes such a row gives its `mac` by
//! `row_mac(table, columns…)`, and one that reads it compares.

use rusqlite::{
    Connection, Transaction,
    functions::{Context, FunctionFlags},
    types::ValueRef,
};

use crate::RowSeal;

/// Each table with its columns, in the order in which the code takes them.
pub const TABLES: &[(&str, &[&str])] = &[
    ("secrets", &["name", "sealed"]),
    ("buckets", &["key_id", "level", "at"]),
    (
        "idempotency",
        &[
            "key_id",
            "idempotency_key",
            "digest",
            "delivery_id",
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
];

/// Whether the row of a statement is one that was sealed.
pub const SECRET: &str = "mac = row_mac('secrets', name, sealed)";
pub const BUCKET: &str = "mac = row_mac('buckets', key_id, level, at)";
pub const IDEMPOTENCY: &str = "mac = row_mac('idempotency', key_id, idempotency_key, digest,
    delivery_id, created_at)";
pub const CALLBACK: &str = "mac = row_mac('callbacks', no, delivery_id, webhook_id, attempts,
    state, next_at, last_error)";
pub const SNOOZED: &str = "snoozed.mac = row_mac('snoozed', snoozed.name, snoozed.delivery,
    snoozed.until)";
pub const SEEN: &str = "mac = row_mac('seen', name, delivery)";

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

/// Gives every row its code, whatever it had.
///
/// This trusts the rows as they are. It happens once to a database of a version
/// before the codes: what was changed in these tables before that stays
/// unnoticed, as it was before. It happens again where a backup is restored
/// without the key that its rows were sealed with.
pub fn seal_all(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for (table, columns) in TABLES {
        let columns = columns.join(", ");
        let seal = format!("UPDATE {table} SET mac = row_mac('{table}', {columns})");
        transaction.execute(&seal, [])?;
    }
    prove(transaction)
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
    for (table, columns) in TABLES {
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
pub fn changed(connection: &Connection) -> rusqlite::Result<Vec<(&'static str, u64)>> {
    let mut changed = Vec::new();
    for (table, columns) in TABLES {
        let columns = columns.join(", ");
        let find =
            format!("SELECT count(*) FROM {table} WHERE mac IS NOT row_mac('{table}', {columns})");
        let count: i64 = connection.query_row(&find, [], |row| row.get(0))?;
        if count > 0 {
            changed.push((*table, count as u64));
        }
    }
    Ok(changed)
}

/// Removes rows that carry a wrong code; says how many of each table.
///
/// A mark, a rate or a repeated request that is forgotten does less harm than
/// one that somebody made up. Secrets have to be set again. Callbacks are made
/// anew from the trail by whoever rebuilds.
pub fn remove_changed(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(&'static str, u64)>> {
    let found = changed(transaction)?;
    for (table, _) in &found {
        let columns = TABLES.iter().find(|(name, _)| name == table);
        let columns = columns.map_or(String::new(), |(_, columns)| columns.join(", "));
        let remove = format!("DELETE FROM {table} WHERE mac IS NOT row_mac('{table}', {columns})");
        transaction.execute(&remove, [])?;
    }
    Ok(found)
}

//! A consistent copy of the whole database, and digests of its views.

use std::path::Path;

use rusqlite::{Connection, types::ValueRef};
use trail::Hash;

use crate::sqlite::schema;

/// Copies from one read transaction; the writer is not held up.
pub fn copy(connection: &Connection, file: &Path) -> rusqlite::Result<()> {
    let path = file.to_string_lossy();
    connection
        .execute("VACUUM INTO ?1", [path.as_ref()])
        .map(drop)
}

/// A hash over all rows of each view, in the order of its key.
pub fn view_digests(connection: &Connection) -> rusqlite::Result<Vec<(String, Hash)>> {
    let mut digests = Vec::new();
    for (view, rows) in schema::VIEW_ROWS {
        digests.push(((*view).to_owned(), digest(connection, rows)?));
    }
    Ok(digests)
}

fn digest(connection: &Connection, sql: &str) -> rusqlite::Result<Hash> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut hash = Hash::ZERO;
    while let Some(row) = rows.next()? {
        let mut bytes = Vec::new();
        for column in 0..columns {
            let (tag, value): (u8, &[u8]) = match row.get_ref(column)? {
                ValueRef::Null => (0, b""),
                ValueRef::Integer(number) => {
                    bytes.push(1);
                    bytes.extend(number.to_be_bytes());
                    continue;
                }
                ValueRef::Real(_) => (2, b""),
                ValueRef::Text(text) => (3, text),
                ValueRef::Blob(blob) => (4, blob),
            };
            bytes.push(tag);
            bytes.extend((value.len() as u64).to_be_bytes());
            bytes.extend(value);
        }
        hash = Hash::of("wakeful/view/1", &[&hash.0, &bytes]);
    }
    Ok(hash)
}

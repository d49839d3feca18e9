//! A consistent copy of the whole database, and digests of its views.

use std::path::Path;

use rusqlite::{Connection, params, types::ValueRef};
use trail::Hash;

use crate::{
    Error, Result, RowSeal,
    durable::with_suffix,
    sqlite::{FILE, create_private, failed, schema, sealed},
};

/// Names of keys inside a backup.
const KEYS: &str = "backup-key/";

/// Copies from one read transaction; the writer is not held up.
pub fn copy(
    connection: &Connection,
    file: &Path,
    keys: &[(String, Vec<u8>)],
) -> rusqlite::Result<()> {
    // Absolute, because SQLite reads a name that starts with `file:` as a URI.
    let file = &absolute(file)?;
    let path = file
        .to_str()
        .ok_or_else(|| unusable("the name is not UTF-8"))?;
    let copied = connection.execute("VACUUM INTO ?1", [path]);
    if copied.is_err() {
        // Left beside a copy that failed.
        let _ = std::fs::remove_file(with_suffix(file, "-journal"));
    }
    copied?;
    let copied = Connection::open(file)?;
    for (name, key) in keys {
        let insert = "INSERT INTO secrets (name, sealed) VALUES (?1, ?2)";
        copied.execute(insert, params![format!("{KEYS}{name}"), key])?;
    }
    Ok(())
}

fn absolute(file: &Path) -> rusqlite::Result<std::path::PathBuf> {
    std::path::absolute(file).map_err(|error| unusable(&error.to_string()))
}

fn unusable(why: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidPath(why.into())
}

/// Copies a backup into an empty place and takes the keys out of it.
pub fn restore(
    file: &Path,
    directory: &Path,
    with_seal_key: bool,
) -> Result<Vec<(String, Vec<u8>)>> {
    let target = directory.join(FILE);
    let placed = match target.exists() {
        true => Err(std::io::ErrorKind::AlreadyExists.into()),
        false => create_private(&target).and_then(|()| copy_bytes(file, &target)),
    };
    placed.map_err(|error| Error::Unavailable(Box::new(error)))?;
    let connection = Connection::open(&target).map_err(failed)?;
    take_keys(&connection, with_seal_key).map_err(failed)
}

/// Seals the rows of a copy that were sealed with another key, or with none; or
/// only those that no rebuild makes anew.
pub fn reseal(directory: &Path, seal: &RowSeal, all: bool) -> Result<()> {
    let mut connection = Connection::open(directory.join(FILE)).map_err(failed)?;
    sealed::register(&connection, Some(seal.clone())).map_err(failed)?;
    if schema::is_older_and_sealed(&connection)? {
        // A later step keeps only rows with our codes, so they get them first.
        let transaction = connection.transaction().map_err(failed)?;
        sealed::seal_kept(&transaction, seal).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    schema::migrate(&mut connection, seal)?;
    let transaction = connection.transaction().map_err(failed)?;
    match all {
        true => sealed::seal_all(&transaction, seal),
        false => sealed::seal_kept(&transaction, seal),
    }
    .map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn copy_bytes(from: &Path, to: &Path) -> std::io::Result<u64> {
    let mut to = std::fs::OpenOptions::new().write(true).open(to)?;
    std::io::copy(&mut std::fs::File::open(from)?, &mut to)
}

fn take_keys(
    connection: &Connection,
    with_seal_key: bool,
) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    connection.execute_batch("PRAGMA secure_delete = ON;")?;
    let keys = connection
        .prepare("SELECT substr(name, ?2), sealed FROM secrets WHERE name GLOB ?1")?
        .query_map(params![format!("{KEYS}*"), KEYS.len() as i64 + 1], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    connection.execute(
        "DELETE FROM secrets WHERE name GLOB ?1",
        [format!("{KEYS}*")],
    )?;
    if keys.is_empty() && !with_seal_key {
        // Sealed with a key that is not here: to be made anew.
        for made_anew in ["webhook/*", "device/*", "password/*", "sign-in/*"] {
            connection.execute("DELETE FROM secrets WHERE name GLOB ?1", [made_anew])?;
        }
    }
    Ok(keys)
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

//! The full-text index over agent, headline, summary and details. It follows
//! the deliveries by number and may lag behind them.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::sqlite::records;

/// What of one `details` is indexed: enough to find it by, not a copy.
const DETAILS_BYTES: usize = 64 << 10;

/// Indexes the next deliveries; true while there are more.
pub fn index_some(
    connection: &mut Connection,
    limit: usize,
    with_details: bool,
) -> rusqlite::Result<bool> {
    let next: i64 = connection
        .prepare_cached("SELECT next FROM indexed")?
        .query_row([], |row| row.get(0))?;
    let waiting: Option<i64> = connection
        .prepare_cached("SELECT no FROM deliveries WHERE no >= ?1 ORDER BY no LIMIT 1")?
        .query_row([next], |row| row.get(0))
        .optional()?;
    if waiting.is_none() {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut last = next;
    let mut count = 0;
    {
        let mut rows = transaction.prepare_cached(
            "SELECT d.no, s.name, d.headline, d.summary, d.erased
             FROM deliveries d JOIN streams s ON s.no = d.stream
             WHERE d.no >= ?1 ORDER BY d.no LIMIT ?2",
        )?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO search (rowid, agent, headline, summary, details) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut mark = transaction.prepare_cached("INSERT INTO detailed (no) VALUES (?1)")?;
        let mut rows = rows.query(params![next, limit as i64])?;
        while let Some(row) = rows.next()? {
            let no = records::number(row, 0)?;
            let stream: &str = row.get_ref(1)?.as_str()?;
            let agent = stream.strip_prefix("agent/").unwrap_or(stream);
            let (headline, summary) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
            let erased: bool = row.get(4)?;
            let details = match with_details && !erased {
                true => records::part(&transaction, no, "details")?,
                false => None,
            };
            let details = details.as_deref().map(indexed_text);
            insert.execute(params![no as i64, agent, headline, summary, details])?;
            if details.is_some() {
                mark.execute([no as i64])?;
            }
            last = no as i64;
            count += 1;
        }
    }
    transaction.execute("UPDATE indexed SET next = ?1", [last + 1])?;
    transaction.commit()?;
    Ok(count == limit)
}

/// What of `details` is in the index: the same each time it is asked.
fn indexed_text(details: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&details[..details.len().min(DETAILS_BYTES)])
}

/// Removes the words of deliveries' details, which must still be there: the
/// index keeps no copy, and removes what it is told was indexed.
pub fn forget_details(connection: &Connection, numbers: &[u64]) -> rusqlite::Result<()> {
    let mut find = connection.prepare_cached(
        "SELECT s.name, d.headline, d.summary FROM deliveries d
         JOIN streams s ON s.no = d.stream WHERE d.no = ?1",
    )?;
    let mut remove = connection.prepare_cached(
        "INSERT INTO search (search, rowid, agent, headline, summary, details)
         VALUES ('delete', ?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO search (rowid, agent, headline, summary) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let mut unmark = connection.prepare_cached("DELETE FROM detailed WHERE no = ?1")?;
    for no in numbers {
        if unmark.execute([*no as i64])? == 0 {
            continue;
        }
        let details = records::part(connection, *no, "details")?;
        let mut rows = find.query([*no as i64])?;
        if let (Some(row), Some(details)) = (rows.next()?, details) {
            let stream = row.get_ref(0)?.as_str()?;
            let agent = stream.strip_prefix("agent/").unwrap_or(stream);
            let (headline, summary) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
            let details = indexed_text(&details);
            remove.execute(params![*no as i64, agent, headline, summary, details])?;
            insert.execute(params![*no as i64, agent, headline, summary])?;
        }
    }
    Ok(())
}

/// The newest deliveries in which all words occur, each as a word or its beginning.
pub fn matches(
    connection: &Connection,
    words: &str,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, u64)>> {
    // Quoted, a word is nothing but a word to the query language, which ends at NUL.
    let query: Vec<String> = words
        .split(|c: char| c.is_whitespace() || c == '\0')
        .filter(|word| !word.is_empty())
        .take(16)
        .map(|word| format!("\"{}\"*", word.replace('"', "\"\"")))
        .collect();
    if query.is_empty() {
        return Ok(Vec::new());
    }
    connection
        .prepare_cached(
            "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2
             ORDER BY rowid DESC LIMIT ?3",
        )?
        .query_map(params![query.join(" "), before, limit as i64], |row| {
            let no = records::number(row, 0)?;
            Ok((no as i64, no))
        })?
        .collect()
}

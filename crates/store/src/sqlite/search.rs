//! The full-text index over agent, headline, summary and details. It follows
//! the deliveries by number and may lag behind them.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::sqlite::records;

/// What of one `details` is indexed: enough to find it by, not a copy.
const DETAILS_BYTES: usize = 64 << 10;
/// So much text is indexed in one transaction: some ten milliseconds.
const STEP_BYTES: usize = 128 << 10;
/// A shorter word must occur as it is: so many words begin with one letter that
/// to look through them all would take longer the more there is.
const PREFIX_LETTERS: usize = 3;

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
    let (mut count, mut bytes) = (0, 0);
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
            bytes += details.map_or(0, |details| details.len());
            if bytes >= STEP_BYTES {
                break;
            }
        }
    }
    transaction.execute("UPDATE indexed SET next = ?1", [last + 1])?;
    transaction.commit()?;
    Ok(count == limit || bytes >= STEP_BYTES)
}

/// What of `details` is in the index: the same each time it is asked. The words
/// as they are meant, for an escape would stick to the word after it.
fn indexed_text(details: &[u8]) -> String {
    let text = String::from_utf8_lossy(&details[..details.len().min(DETAILS_BYTES)]);
    let mut meant = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((plain, escape)) = rest.split_once('\\') {
        meant.push_str(plain);
        let unicode = |text: &str| u16::from_str_radix(text.get(1..5)?, 16).ok();
        rest = match escape.bytes().next() {
            Some(b'u') => {
                let first = unicode(escape);
                let second = escape.get(5..).and_then(|rest| rest.strip_prefix('\\'));
                let pair = first.into_iter().chain(second.and_then(unicode));
                match char::decode_utf16(pair).next() {
                    Some(Ok(letter)) => {
                        meant.push(letter);
                        &escape[if letter.len_utf16() == 2 { 11 } else { 5 }..]
                    }
                    _ => escape,
                }
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                // None of them is part of a word.
                meant.push(' ');
                &escape[1..]
            }
            _ => escape,
        };
    }
    meant.push_str(rest);
    meant
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

/// The newest deliveries in which all words occur, each as a word or, from
/// [`PREFIX_LETTERS`] letters on, as its beginning.
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
        .map(|word| {
            let prefix = word.chars().count() >= PREFIX_LETTERS;
            let quoted = word.replace('"', "\"\"");
            format!("\"{quoted}\"{}", if prefix { "*" } else { "" })
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_indexed_as_they_are_meant_and_not_as_they_are_escaped() {
        for (details, meant) in [
            (
                r##""# Title\nalpha \u00e9clair""##,
                "\"# Title alpha \u{e9}clair\"",
            ),
            (r#"{"a":"\ud83d\ude00x"}"#, "{\"a\":\"\u{1f600}x\"}"),
            (r#""\\n\"q""#, "\" n q\""),
            // Cut in the middle, or never JSON.
            (r#""\u00"#, "\"u00"),
            (r#""\ud83dx"#, "\"ud83dx"),
            (r#""\"#, "\""),
        ] {
            assert_eq!(indexed_text(details.as_bytes()), meant, "{details}");
        }
    }
}

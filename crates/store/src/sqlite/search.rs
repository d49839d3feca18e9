//! The full-text index over agent, headline, summary and details. It follows
//! the deliveries by number and may lag behind them.
//!
//! To find the beginning of a word, FTS5 first gathers everything in which such
//! a word occurs. In one table over everything that would take longer with
//! every delivery, and so would the merging of its segments; therefore an index
//! covers an era of [`ERA`] numbers. A search begins with the latest, and most
//! end there.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::{ENCRYPTED, sqlite::records};

/// Numbers of one era. Gathering all of it takes some ten milliseconds.
pub const ERA: i64 = 1 << 16;
/// Eras looked through for one page, so that a word that is nowhere does not
/// keep anyone waiting; the page then says where to look on.
const ERAS: usize = 64;

/// What of one `details` is indexed: enough to find it by, not a copy.
const DETAILS_BYTES: usize = 64 << 10;
/// So much text is indexed in one transaction: some ten milliseconds.
const STEP_BYTES: usize = 128 << 10;
/// A shorter word must occur as it is: so many words begin with one letter that
/// to look through them all would take longer the more there is.
pub const PREFIX_LETTERS: usize = 3;

/// Words of a search that are looked for.
const PHRASES: usize = 16;

/// Indexes the next deliveries; true while there are more.
pub fn index_some(connection: &mut Connection, limit: usize) -> rusqlite::Result<bool> {
    let next: i64 = connection
        .prepare_cached("SELECT next FROM indexed")?
        .query_row([], |row| row.get(0))?;
    let waiting: Option<i64> = connection
        .prepare_cached("SELECT no FROM deliveries WHERE no >= ?1 ORDER BY no LIMIT 1")?
        .query_row([next], |row| row.get(0))
        .optional()?;
    let Some(waiting) = waiting else {
        return Ok(false);
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let era = waiting / ERA;
    begin(&transaction, era)?;
    let mut last = next;
    let (mut count, mut bytes) = (0, 0);
    {
        let mut rows = transaction.prepare_cached(
            "SELECT d.no, s.name, d.headline, d.summary, d.erased
             FROM deliveries d JOIN streams s ON s.no = d.stream
             WHERE d.no >= ?1 AND d.no < ?2 ORDER BY d.no LIMIT ?3",
        )?;
        let mut insert = transaction.prepare_cached(&format!(
            "INSERT INTO search_{era} (rowid, agent, headline, summary, details)
             VALUES (?1, ?2, ?3, ?4, ?5)"
        ))?;
        let mut mark = transaction.prepare_cached("INSERT INTO detailed (no) VALUES (?1)")?;
        let mut rows = rows.query(params![next, (era + 1) * ERA, limit as i64])?;
        while let Some(row) = rows.next()? {
            let no = records::number(row, 0)?;
            let stream: &str = row.get_ref(1)?.as_str()?;
            let agent = trail::Stream::agent_of(stream).unwrap_or(stream);
            let (headline, summary) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
            let erased: bool = row.get(4)?;
            let details = match erased {
                false => clear_details(&transaction, no)?,
                true => None,
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
    Ok(count > 0)
}

/// Makes the index of an era, if it is not there.
fn begin(transaction: &Transaction<'_>, era: i64) -> rusqlite::Result<()> {
    if transaction.execute("INSERT OR IGNORE INTO eras (no) VALUES (?1)", [era])? == 0 {
        return Ok(());
    }
    // Without contentless_delete, which would only mark words as deleted: what
    // was indexed is told to the index again, and secure-delete removes it from
    // its pages.
    transaction.execute_batch(&format!(
        "CREATE VIRTUAL TABLE search_{era} USING fts5 (
             agent, headline, summary, details,
             content = '', tokenize = 'unicode61 remove_diacritics 2'
         );
         INSERT INTO search_{era} (search_{era}, rank) VALUES ('secure-delete', 1);"
    ))
}

/// Takes the index of an era and of all after it away, to be made anew.
pub fn clear_from(connection: &Connection, first: i64) -> rusqlite::Result<()> {
    for era in made(connection)?.into_iter().filter(|era| *era >= first) {
        connection.execute_batch(&format!("DROP TABLE search_{era}"))?;
    }
    let from = first * ERA;
    connection.execute("DELETE FROM eras WHERE no >= ?1", [first])?;
    connection.execute("DELETE FROM detailed WHERE no >= ?1", [from])?;
    let next = "INSERT OR REPLACE INTO indexed
        SELECT 1, min(coalesce((SELECT next FROM indexed), 0), ?1)";
    connection.execute(next, [from]).map(drop)
}

/// The eras that have an index, whatever is written down about them.
pub fn made(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let tables = "SELECT CAST(substr(name, 8) AS INTEGER) FROM sqlite_schema
        WHERE type = 'table' AND name GLOB 'search_[0-9]*' AND name NOT GLOB 'search_*_*'
        ORDER BY 1";
    let mut find = connection.prepare(tables)?;
    let rows = find.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// Whether each era that is written down has an index, and the other way round.
pub fn is_whole(connection: &Connection) -> rusqlite::Result<bool> {
    let mut kept = eras(connection, i64::MAX, usize::MAX)?;
    kept.reverse();
    Ok(kept == made(connection)?)
}

/// Whether the index has a delivery that is not below its boundary: it would be
/// indexed a second time.
pub fn is_ahead(connection: &Connection) -> rusqlite::Result<bool> {
    let Some(era) = made(connection)?.pop() else {
        return Ok(false);
    };
    let ahead = format!(
        "SELECT 1 FROM search_{era}_docsize
         WHERE id >= coalesce((SELECT next FROM indexed), 0) LIMIT 1"
    );
    connection.prepare(&ahead)?.exists([])
}

/// The latest eras up to one.
fn eras(connection: &Connection, last: i64, limit: usize) -> rusqlite::Result<Vec<i64>> {
    connection
        .prepare_cached("SELECT no FROM eras WHERE no <= ?1 ORDER BY no DESC LIMIT ?2")?
        .query_map(params![last, limit.min(i64::MAX as usize) as i64], |row| {
            row.get(0)
        })?
        .collect()
}

/// The details of a delivery, if there are words to find in them.
fn clear_details(connection: &Connection, no: u64) -> rusqlite::Result<Option<Vec<u8>>> {
    let details = records::part(connection, no, "details")?;
    Ok(details.filter(|details| is_clear(details)))
}

pub fn is_clear(details: &[u8]) -> bool {
    details.first() != Some(&ENCRYPTED)
}

/// What of `details` is in the index: the same each time it is asked. The words
/// as they are meant, for an escape would stick to the word after it.
pub fn indexed_text(details: &[u8]) -> String {
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
///
/// Details that should be in the index and have no mark may be there all the
/// same, if somebody removed the mark: then that part of the index is made anew.
pub fn forget_details(
    connection: &Connection,
    numbers: impl Iterator<Item = u64>,
) -> rusqlite::Result<()> {
    let mut find = connection.prepare_cached(
        "SELECT s.name, d.headline, d.summary FROM deliveries d
         JOIN streams s ON s.no = d.stream WHERE d.no = ?1",
    )?;
    let mut unmark = connection.prepare_cached("DELETE FROM detailed WHERE no = ?1")?;
    let mut next = connection.prepare_cached("SELECT next FROM indexed")?;
    for no in numbers {
        let is_marked = unmark.execute([no as i64])? > 0;
        let details = clear_details(connection, no)?;
        if !is_marked {
            let next: i64 = next.query_row([], |row| row.get(0))?;
            if details.is_some() && (no as i64) < next {
                let era = no as i64 / ERA;
                tracing::error!(no, era, "a mark of the search index is missing; made anew");
                clear_from(connection, era)?;
            }
            continue;
        }
        let mut rows = find.query([no as i64])?;
        if let (Some(row), Some(details)) = (rows.next()?, details) {
            let stream = row.get_ref(0)?.as_str()?;
            let agent = trail::Stream::agent_of(stream).unwrap_or(stream);
            let (headline, summary) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
            let details = indexed_text(&details);
            let era = no as i64 / ERA;
            let mut remove = connection.prepare_cached(&format!(
                "INSERT INTO search_{era} (search_{era}, rowid, agent, headline, summary, details)
                 VALUES ('delete', ?1, ?2, ?3, ?4, ?5)"
            ))?;
            remove.execute(params![no as i64, agent, headline, summary, details])?;
            let mut insert = connection.prepare_cached(&format!(
                "INSERT INTO search_{era} (rowid, agent, headline, summary)
                 VALUES (?1, ?2, ?3, ?4)"
            ))?;
            insert.execute(params![no as i64, agent, headline, summary])?;
        }
    }
    Ok(())
}

/// Some of the deliveries in which the words of a search occur.
#[derive(Debug, Default)]
pub struct Matches {
    /// The newest first.
    pub numbers: Vec<u64>,
    /// Below this number nothing was looked at; `None` when all was.
    pub rest: Option<u64>,
}

/// The newest deliveries in which all words occur, each as a word or, from
/// [`PREFIX_LETTERS`] letters on, as its beginning.
pub fn matches(
    connection: &Connection,
    words: &str,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Matches> {
    let mut found = Matches::default();
    let query = query(words);
    if query.is_empty() {
        return Ok(found);
    }
    let eras = eras(connection, (before - 1).div_euclid(ERA), ERAS + 1)?;
    for era in eras.iter().take(ERAS) {
        let sql = format!(
            "SELECT rowid FROM search_{era} WHERE search_{era} MATCH ?1 AND rowid < ?2
             ORDER BY rowid DESC LIMIT ?3"
        );
        let wanted = limit - found.numbers.len();
        let mut find = connection.prepare(&sql)?;
        let mut rows = find.query(params![query, before, wanted as i64])?;
        while let Some(row) = rows.next()? {
            found.numbers.push(records::number(row, 0)?);
        }
        if found.numbers.len() == limit {
            found.rest = found.numbers.last().copied();
            return Ok(found);
        }
    }
    found.rest = eras.get(ERAS).map(|next| ((next + 1) * ERA) as u64);
    Ok(found)
}

/// Words in the query language of the index.
fn query(words: &str) -> String {
    // Quoted, a word is nothing but a word to the query language.
    let words: Vec<String> = phrases(words)
        .map(|word| {
            let prefix = word.chars().count() >= PREFIX_LETTERS;
            let quoted = word.replace('"', "\"\"");
            format!("\"{quoted}\"{}", if prefix { "*" } else { "" })
        })
        .collect();
    words.join(" ")
}

/// What a search asks for, at most [`PHRASES`] of it; the query language ends at NUL.
pub fn phrases(words: &str) -> impl Iterator<Item = &str> {
    words
        .split(|c: char| c.is_whitespace() || c == '\0')
        .filter(|word| !word.is_empty())
        .take(PHRASES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// An index with one delivery in each of these eras, all of the same words.
    fn indexed(eras: &[i64]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        let seal = crate::RowSeal::new(&[1; 32]);
        crate::sqlite::sealed::register(&connection, Some(seal.clone())).unwrap();
        schema::migrate(&mut connection, &seal).unwrap();
        let transaction = connection.transaction().unwrap();
        for era in eras {
            begin(&transaction, *era).unwrap();
            let insert =
                format!("INSERT INTO search_{era} (rowid, headline) VALUES (?1, 'market report')");
            transaction.execute(&insert, [era * ERA + 7]).unwrap();
        }
        transaction.commit().unwrap();
        connection
    }

    fn number(era: i64) -> u64 {
        (era * ERA + 7) as u64
    }

    #[test]
    fn a_search_goes_on_in_the_era_before() {
        let connection = indexed(&[0, 1, 5]);
        let found = matches(&connection, "mark", i64::MAX, 10).unwrap();
        assert_eq!(found.numbers, [number(5), number(1), number(0)]);
        assert_eq!(found.rest, None);
        let found = matches(&connection, "report", i64::MAX, 2).unwrap();
        assert_eq!(found.numbers, [number(5), number(1)]);
        let rest = found.rest.unwrap() as i64;
        let found = matches(&connection, "report", rest, 2).unwrap();
        assert_eq!((found.numbers, found.rest), (vec![number(0)], None));
    }

    #[test]
    fn a_search_that_finds_nothing_stops_and_says_where_to_go_on() {
        let eras: Vec<i64> = (0..ERAS as i64 + 3).collect();
        let connection = indexed(&eras);
        let found = matches(&connection, "nowhere", i64::MAX, 10).unwrap();
        assert_eq!((found.numbers.len(), found.rest), (0, Some(3 * ERA as u64)));
        let found = matches(&connection, "market", 3 * ERA, 10).unwrap();
        assert_eq!(found.numbers, [number(2), number(1), number(0)]);
        assert_eq!(found.rest, None);
    }

    #[test]
    fn an_index_that_is_cleared_is_gone() {
        let mut connection = indexed(&[0, 3]);
        let transaction = connection.transaction().unwrap();
        clear_from(&transaction, 0).unwrap();
        transaction.commit().unwrap();
        let left = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'search%'";
        let left: i64 = connection.query_row(left, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
        let found = matches(&connection, "market", i64::MAX, 10).unwrap();
        assert!(found.numbers.is_empty() && found.rest.is_none());
    }

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

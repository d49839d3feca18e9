//! What must be true of rows that neither the log nor a rebuild of the views
//! proves: the index of ids, the marks of the full-text index, sealed rows, the
//! schema itself. Verification asks for all of it; a start only for what costs
//! the same in a store of any age.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use trail::{
    Hash, Micros,
    verify::{StreamEnd, block_digest},
};

use crate::{
    Error, HeadRow, LogEnd, Result, RowCheck, RowSeal,
    sqlite::{at_one_moment, failed, ids, records, schema, sealed, search},
};

/// Blocks of the tree hold 2^8 of the level below.
const BITS_PER_LEVEL: u32 = 8;
/// Rows of each table by which a start tells its own key from another.
const SAMPLE: u32 = 16;

/// What a start must know of the end of the log, and of the indices of ids and of
/// words.
pub fn start(connection: &Connection) -> Result<()> {
    if is_headless(connection).map_err(failed)? {
        return Err(Error::Damaged(HEADLESS.to_owned()));
    }
    let lost = connection
        .prepare(LOST_STREAM)
        .and_then(|mut find| find.exists([]));
    if lost.map_err(failed)? {
        return Err(Error::Damaged(
            "streams: one that the log has is missing; run `wakeful trail rebuild`".to_owned(),
        ));
    }
    ids::Ids::check_boundary(connection)?;
    if !search::is_whole(connection).map_err(failed)? {
        return Err(Error::Damaged(
            "eras: an era without its index, or an index without its era; \
             run `wakeful trail rebuild`"
                .to_owned(),
        ));
    }
    match search::is_ahead(connection).map_err(failed)? {
        false => Ok(()),
        true => Err(Error::Damaged(
            "indexed: the index has more than it says; run `wakeful trail rebuild`".to_owned(),
        )),
    }
}

/// Nothing else in the database is signed.
const HEADLESS: &str = "head: there is none, and nothing else says what was signed; \
    restore a backup with `wakeful restore`";

/// Every agent has lanes, every delivery has an agent, and the last entry has a
/// stream: a few look-ups for each agent. The engine checks the streams of people.
/// Other streams are not checked here: there may be far more of them than agents and
/// people.
const LOST_STREAM: &str = "
    WITH RECURSIVE delivered (stream) AS (
        SELECT min(stream) FROM deliveries
        UNION ALL SELECT (SELECT min(stream) FROM deliveries WHERE stream > before.stream)
            FROM delivered before WHERE before.stream IS NOT NULL)
    SELECT 1 FROM (SELECT stream FROM lanes
        UNION ALL SELECT stream FROM delivered WHERE stream IS NOT NULL
        UNION ALL SELECT * FROM (SELECT stream FROM entries ORDER BY position DESC LIMIT 1)) s
    WHERE NOT EXISTS (SELECT 1 FROM streams WHERE no = s.stream)";

fn is_headless(connection: &Connection) -> rusqlite::Result<bool> {
    // Two values: in a WHERE they would be a join, which looks at every entry.
    let find = "SELECT EXISTS (SELECT 1 FROM entries), EXISTS (SELECT 1 FROM head)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: (bool, bool) = connection.query_row(find, [], read)?;
    Ok(found == (true, false))
}

/// Makes an index anew whose boundary somebody removed: from 0 on, all of it is
/// true, while without a boundary no delivery would be found.
pub fn put_back_boundaries(connection: &mut Connection) -> rusqlite::Result<()> {
    let is_missing = |table: &str| {
        let find = format!("SELECT 1 FROM {table}");
        connection.prepare(&find)?.exists([]).map(|found| !found)
    };
    let (settled, indexed) = (is_missing("settled")?, is_missing("indexed")?);
    if !settled && !indexed {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if settled {
        tracing::error!("the row of settled was removed; the index of ids is made anew");
        ids::clear(&transaction)?;
    }
    if indexed {
        tracing::error!("the row of indexed was removed; the search index is made anew");
        search::clear_from(&transaction, 0)?;
    }
    transaction.commit()
}

/// Removes triggers and views, of which no version has any: they would act on
/// what is written, or stand for a table.
pub fn remove_foreign_code(connection: &Connection) -> Result<()> {
    let find = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')";
    let found: Vec<(String, String)> = connection
        .prepare(find)
        .and_then(|mut find| {
            let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
        .map_err(failed)?;
    for (kind, name) in found {
        tracing::error!(
            kind,
            name,
            "removed from the database, where it does not belong"
        );
        let quoted = name.replace('"', "\"\"");
        connection
            .execute_batch(&format!("DROP {kind} \"{quoted}\""))
            .map_err(failed)?;
    }
    Ok(())
}

/// Refuses a database whose tables are not those of its version, or whose rows
/// were sealed with another key.
pub fn refuse_foreign(connection: &Connection) -> Result<()> {
    let (found, expected) = (
        schema::objects(connection).map_err(failed)?,
        schema::expected_of(connection)?,
    );
    if let Some(what) = different_object(&found, &expected) {
        return Err(Error::Damaged(format!(
            "{what} is not as this program made it; restore a backup"
        )));
    }
    if sealed::is_ours(connection).map_err(failed)? {
        return Ok(());
    }
    // The proof alone was changed if the rows themselves carry our codes.
    let (ours, all) = sealed::sample(connection, SAMPLE).map_err(failed)?;
    if all > 0 && ours == 0 {
        return Err(Error::OtherSeal);
    }
    tracing::error!("the proof of the row seal was changed; made anew");
    sealed::prove(connection).map_err(failed)
}

fn different_object(found: &[(String, String)], expected: &[(String, String)]) -> Option<String> {
    let unknown = found.iter().find(|object| !expected.contains(object));
    let missing = expected.iter().find(|object| !found.contains(object));
    unknown.or(missing).map(|(name, _)| name.clone())
}

/// The head and the ends of all streams.
pub fn log_end(connection: &Connection) -> rusqlite::Result<Option<LogEnd>> {
    let head = connection
        .prepare("SELECT size, last_time, note FROM head")?
        .query_row([], |row| {
            Ok(HeadRow {
                size: records::number(row, 0)?,
                last_time: Micros(row.get(1)?),
                note: row.get(2)?,
            })
        })
        .optional()?;
    let Some(head) = head else {
        return match is_headless(connection)? {
            true => Err(records::damaged(HEADLESS.to_owned())),
            false => Ok(None),
        };
    };
    let streams = connection
        .prepare("SELECT name, next_seq, head, last FROM streams ORDER BY no")?
        .query_map([], |row| {
            Ok(StreamEnd {
                name: row.get(0)?,
                next_seq: records::number(row, 1)?,
                head: row.get::<_, Option<[u8; 32]>>(2)?.map(Hash),
                last: row.get::<_, Option<i64>>(3)?.map(|last| last as u64),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(LogEnd { head, streams }))
}

pub fn block_digests(connection: &Connection, size: u64) -> rusqlite::Result<Vec<Hash>> {
    let mut find = connection
        .prepare("SELECT idx, hash FROM subtrees WHERE level = ?1 AND idx < ?2 ORDER BY idx")?;
    let mut digests = Vec::new();
    for level in 1..u64::BITS / BITS_PER_LEVEL {
        let blocks = size >> (level * BITS_PER_LEVEL);
        if blocks == 0 {
            break;
        }
        let mut rows = find.query((level, blocks as i64))?;
        let mut digest = Hash::ZERO;
        while let Some(row) = rows.next()? {
            digest = block_digest(digest, records::number(row, 0)?, &Hash(row.get(1)?));
        }
        digests.push(digest);
    }
    Ok(digests)
}

pub fn rows(connection: &Connection, seal: Option<&RowSeal>) -> Result<RowCheck> {
    let mut check = RowCheck {
        sealed_checked: seal.is_some(),
        ..Default::default()
    };
    let objects = schema::objects(connection).map_err(failed)?;
    let expected = schema::expected_of(connection)?;
    let found = at_one_moment(connection, |connection| {
        let mut wrong = Vec::new();
        if let Some(seal) = seal {
            seals(connection, seal, &mut wrong)?;
        }
        counted(connection, PLAIN, &mut wrong)?;
        let returned = format!("SELECT count(*) FROM ({RETURNED})");
        let what = "parts: content of a delivery that was erased";
        counted(connection, &[(what, &returned)], &mut wrong)?;
        settled(connection, &mut wrong)?;
        index(connection, &mut wrong)?;
        Ok(wrong)
    });
    check.wrong = found.map_err(failed)?;
    if let Some(what) = different_object(&objects, &expected) {
        check
            .wrong
            .push(format!("schema: {what} is not as this program made it"));
    }
    Ok(check)
}

fn seals(connection: &Connection, seal: &RowSeal, wrong: &mut Vec<String>) -> rusqlite::Result<()> {
    let is_ours = sealed::is_ours(connection)?;
    let (ours, all) = sealed::sample(connection, SAMPLE)?;
    if !is_ours {
        wrong.push("row_seal: the proof is not of the key in keys/seal.key".to_owned());
    }
    if !is_ours && ours == 0 && all > 0 {
        return Ok(());
    }
    for (table, count) in sealed::changed(connection, seal)? {
        wrong.push(match count {
            1 => format!("{table}: 1 row is not as it was written"),
            _ => format!("{table}: {count} rows are not as they were written"),
        });
    }
    Ok(())
}

/// Parts that were erased and are in the table again. If a delivery was answered
/// after its erasure, only parts before its last `content_erased` entry count.
pub const RETURNED: &str = "SELECT p.no FROM (
        SELECT no AS position FROM deliveries WHERE erased <> 0
        UNION SELECT h.position FROM deliveries d CROSS JOIN history h ON h.delivery = d.no
        WHERE d.erased = 1 OR (d.erased = 2 AND h.position < (
            SELECT max(x.position) FROM history x JOIN entries n ON n.position = x.position
            WHERE x.delivery = d.no AND instr(n.header, '\"content_erased\"') > 0))) e
    CROSS JOIN parts p ON p.no BETWEEN e.position * 16 AND e.position * 16 + 15";

/// What must find nothing, and what it means if it does.
const PLAIN: &[(&str, &str)] = &[
    (
        "rebuilding: a rebuild of the views was cut short",
        "SELECT count(*) FROM rebuilding",
    ),
    (
        "head: there is more than one, or none",
        "SELECT count(*) <> 1 FROM head",
    ),
    (
        "settled: there is more than one, or none",
        "SELECT count(*) <> 1 FROM settled",
    ),
    (
        "indexed: there is more than one, or none",
        "SELECT count(*) <> 1 FROM indexed",
    ),
    (
        "parts: content that belongs to no entry",
        "SELECT count(*) FROM parts WHERE no < 0 OR no / 16 > (SELECT max(position) FROM entries)",
    ),
    (
        "subtrees: of a level or number that the log does not have",
        "SELECT count(*) FROM subtrees WHERE level < 1 OR level > 7 OR idx < 0
         OR ((idx + 1) << (8 * level)) > (SELECT max(position) + 1 FROM entries)",
    ),
    (
        "ids: an id that is not its delivery's",
        "SELECT count(*) FROM ids i LEFT JOIN deliveries d ON d.no = i.no WHERE d.id IS NOT i.id",
    ),
    (
        "settled, ids: deliveries below the boundary whose id is in no index",
        "SELECT count(*) FROM deliveries d LEFT JOIN ids i ON i.id = d.id
         WHERE d.no < (SELECT next FROM settled) AND i.no IS NOT d.no",
    ),
    (
        "settled: the boundary is behind the last delivery",
        "SELECT count(*) FROM settled
         WHERE next <> 0 AND next > (SELECT coalesce(max(no), 0) + 1 FROM deliveries)",
    ),
    (
        "indexed: the boundary is behind the last delivery",
        "SELECT count(*) FROM indexed
         WHERE next <> 0 AND next > (SELECT coalesce(max(no), 0) + 1 FROM deliveries)",
    ),
    (
        "detailed: a delivery without details, or that is not in the index",
        // Not a join: SQLite would look through all parts for each delivery.
        "SELECT count(*) FROM detailed t LEFT JOIN deliveries d ON d.no = t.no
         WHERE d.no IS NULL OR d.erased <> 0 OR t.no >= (SELECT next FROM indexed)
            OR NOT EXISTS (SELECT 1 FROM parts p
                           WHERE p.no BETWEEN t.no * 16 AND t.no * 16 + 15 AND p.name = 'details')",
    ),
    (
        "detailed: details that should be in the index and have no mark",
        // Encrypted ones never are.
        "SELECT count(*) FROM deliveries d
         WHERE d.erased = 0 AND d.no < (SELECT next FROM indexed)
           AND NOT EXISTS (SELECT 1 FROM detailed t WHERE t.no = d.no)
           AND EXISTS (SELECT 1 FROM parts p WHERE p.no BETWEEN d.no * 16 AND d.no * 16 + 15
                       AND p.name = 'details' AND substr(p.bytes, 1, 1) <> x'01')",
    ),
];

fn counted(
    connection: &Connection,
    checks: &[(&str, &str)],
    wrong: &mut Vec<String>,
) -> rusqlite::Result<()> {
    for (what, sql) in checks {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count != 0 {
            wrong.push(format!("{what} ({count})"));
        }
    }
    Ok(())
}

/// Ids beyond the boundary are there only while many are on their way.
fn settled(connection: &Connection, wrong: &mut Vec<String>) -> rusqlite::Result<()> {
    let next = "coalesce((SELECT next FROM settled), 0)";
    let early = format!("SELECT count(*) FROM ids WHERE no >= {next}");
    let early: i64 = connection.query_row(&early, [], |row| row.get(0))?;
    let recent = format!("SELECT count(*) FROM deliveries WHERE no >= {next}");
    let recent: i64 = connection.query_row(&recent, [], |row| row.get(0))?;
    if early > 0 && (recent as usize) < ids::GATHERED {
        wrong.push("settled: the boundary is below ids that are in the index".to_owned());
    }
    Ok(())
}

/// The full-text index has the deliveries below its boundary, and no others.
/// Its words are not compared: they decide which rows a search lists, and
/// nothing that a row says.
fn index(connection: &Connection, wrong: &mut Vec<String>) -> rusqlite::Result<()> {
    let next = "SELECT coalesce((SELECT next FROM indexed), 0)";
    let next: i64 = connection.query_row(next, [], |row| row.get(0))?;
    let eras = format!(
        "SELECT DISTINCT no / {} FROM deliveries WHERE no < ?1",
        search::ERA
    );
    let numbers = |sql: &str, bound: Option<i64>| -> rusqlite::Result<Vec<i64>> {
        let mut find = connection.prepare(sql)?;
        let bounds = rusqlite::params_from_iter(bound);
        find.query_map(bounds, |row| row.get(0))?.collect()
    };
    let needed = numbers(&eras, Some(next))?;
    let kept = numbers("SELECT no FROM eras ORDER BY no", None)?;
    if !search::is_whole(connection)? {
        wrong.push("eras: an era without its index, or an index without its era".to_owned());
        return Ok(());
    }
    if needed.iter().any(|era| !kept.contains(era)) {
        wrong.push("eras: deliveries of an era that has no index".to_owned());
        return Ok(());
    }
    for era in kept {
        let differing = format!(
            "SELECT count(*) FROM
                (SELECT no FROM deliveries WHERE no < ?1 AND no / {size} = ?2) d
             FULL JOIN search_{era}_docsize s ON s.id = d.no
             WHERE d.no IS NULL OR s.id IS NULL",
            size = search::ERA
        );
        let count: i64 = connection.query_row(&differing, [next, era], |row| row.get(0))?;
        if count > 0 {
            wrong.push(format!(
                "indexed: the index does not have the deliveries below its boundary ({count})"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use rusqlite::params;

    use super::*;

    /// The steps that SQLite takes for the checks of a start.
    fn steps_of_a_start(entries: i64) -> u64 {
        let seal = RowSeal::new(&[7; 32]);
        let mut connection = Connection::open_in_memory().unwrap();
        sealed::register(&connection, Some(seal.clone())).unwrap();
        schema::migrate(&mut connection, &seal).unwrap();
        connection
            .execute_batch("INSERT INTO streams VALUES (0, 'admin', 0, NULL, NULL); INSERT INTO head VALUES (1, 0, 0, '', 0);")
            .unwrap();
        let entry = "INSERT INTO entries VALUES (?1, 0, ?1, NULL, x'', x'', x'', x'', 0)";
        for position in 0..entries {
            connection.execute(entry, params![position]).unwrap();
        }
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        connection.progress_handler(1, Some(count)).unwrap();
        start(&connection).unwrap();
        steps.load(Ordering::Relaxed)
    }

    #[test]
    fn a_start_takes_as_long_in_a_large_store_as_in_a_small_one() {
        assert_eq!(steps_of_a_start(1000), steps_of_a_start(10));
    }
}

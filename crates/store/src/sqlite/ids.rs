//! Deliveries by id.
//!
//! Ids are random, so a B-tree of them is changed everywhere at once: with a
//! million deliveries every new one would cost a page of its own, in the log
//! and again in the file. Therefore the newest ids are held in memory (they are
//! durable in the deliveries themselves, and read from there on start), and
//! move into the B-tree in order, thousands at a time, so that a page is
//! written once for many of them.

use std::{
    collections::HashMap,
    ops::RangeInclusive,
    sync::{LazyLock, Mutex, PoisonError, RwLock},
};

use rusqlite::{
    Connection, OptionalExtension as _, Transaction, params,
    types::{Value, ValueRef},
};
use uuid::Uuid;

use crate::{
    AnswerRow, DeliveryRow, Error, Result, RowSeal,
    sqlite::{failed, records},
};

/// So many are gathered before they move; about 2 MiB of memory.
pub const GATHERED: usize = 32_768;
/// At least so many move in one transaction. With a million stored each touches a
/// page for every few ids: 256 take about half a millisecond, while 2,048 kept
/// everyone in one commit of sixty waiting for several, which was the 99th
/// percentile of deliveries.
const STEP: usize = 256;
/// And so many for each that the transaction adds, so that moving always ends.
const MOVED_PER_ADDED: usize = 2;

/// Finds the boundary if it is not just behind a delivery that is in the B-tree.
const LAST_SETTLED_ASTRAY: &str = "SELECT 1 FROM settled WHERE next <> 0 AND NOT EXISTS (
    SELECT 1 FROM deliveries d JOIN ids i ON i.id = d.id AND i.no = d.no WHERE d.no = next - 1)";

#[derive(Debug)]
pub struct Ids {
    recent: RwLock<HashMap<Uuid, u64>>,
    moving: Mutex<Option<Moving>>,
}

/// Ids on their way into the B-tree, in its order.
#[derive(Debug)]
struct Moving {
    ids: Vec<(Uuid, u64)>,
    done: usize,
}

impl Ids {
    /// Refuses a boundary that cannot be: below it everything is in the B-tree,
    /// and deliveries that are neither there nor here would not be found.
    pub fn check_boundary(connection: &Connection) -> Result<()> {
        let astray = connection
            .prepare(LAST_SETTLED_ASTRAY)
            .and_then(|mut find| find.exists([]))
            .map_err(failed)?;
        if astray {
            let what = "settled: the index of ids does not reach as far as it says; \
                        run `wakeful trail rebuild`";
            return Err(Error::Damaged(what.to_owned()));
        }
        Ok(())
    }

    pub fn load(connection: &Connection) -> rusqlite::Result<Ids> {
        let mut find = connection.prepare(
            "SELECT id, no FROM deliveries WHERE no >= coalesce((SELECT next FROM settled), 0)
             ORDER BY no",
        )?;
        let rows = find.query_map([], |row| {
            Ok((records::uuid(row, 0)?, records::number(row, 1)?))
        })?;
        let recent = rows.collect::<rusqlite::Result<_>>()?;
        Ok(Ids {
            recent: RwLock::new(recent),
            moving: Mutex::default(),
        })
    }

    /// A recent one's number. To be asked before a read transaction begins: an
    /// id that is gone from here by then is in the B-tree that the transaction
    /// sees.
    pub fn recent(&self, id: Uuid) -> Option<u64> {
        self.recent
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .copied()
    }

    /// The numbers of recent ids in a range, in the order of the ids. To be asked
    /// before a read transaction begins, as [`Ids::recent`].
    pub fn recent_within(&self, range: &RangeInclusive<Uuid>, limit: usize) -> Vec<u64> {
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        let within = recent.iter().filter(|(id, _)| range.contains(*id));
        let mut found: Vec<(Uuid, u64)> = within.map(|(id, no)| (*id, *no)).collect();
        drop(recent);
        found.sort_unstable();
        found.into_iter().take(limit).map(|(_, no)| no).collect()
    }

    /// Moves some within a transaction that adds `added`, when enough have gathered;
    /// gives how far it came, for [`Ids::committed`].
    pub fn settle_some(
        &self,
        transaction: &Transaction<'_>,
        added: usize,
    ) -> rusqlite::Result<usize> {
        let mut moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if moving.is_none() {
            let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
            if recent.len() < GATHERED {
                return Ok(0);
            }
            let mut ids: Vec<(Uuid, u64)> = recent.iter().map(|(id, no)| (*id, *no)).collect();
            ids.sort_unstable();
            *moving = Some(Moving { ids, done: 0 });
        }
        let Some(Moving { ids, done }) = moving.as_ref() else {
            return Ok(0);
        };
        let step = STEP.max(MOVED_PER_ADDED * added);
        let end = (done + step).min(ids.len());
        // A crash may have left some of them there already.
        let mut insert =
            transaction.prepare_cached("INSERT OR IGNORE INTO ids (id, no) VALUES (?1, ?2)")?;
        for (id, no) in &ids[*done..end] {
            insert.execute(params![id.as_bytes().as_slice(), *no as i64])?;
        }
        if end == ids.len() {
            let next = ids.iter().map(|(_, no)| no + 1).max().unwrap_or(0);
            transaction.execute("UPDATE settled SET next = ?1", [next as i64])?;
        }
        Ok(end)
    }

    /// After a commit: what it added, and how far it came with moving.
    pub fn committed(&self, settled: usize, added: &[DeliveryRow]) {
        let mut moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        recent.extend(added.iter().map(|row| (row.id, row.no)));
        if let Some(current) = moving.as_mut() {
            current.done = settled;
            if settled == current.ids.len() {
                for (id, _) in &current.ids {
                    recent.remove(id);
                }
                *moving = None;
            }
        }
    }

    /// When the views are emptied.
    pub fn clear(&self) {
        self.recent
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        *self.moving.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Takes the whole B-tree away; ids gather for it anew.
pub fn clear(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch("DELETE FROM ids; INSERT OR REPLACE INTO settled VALUES (1, 0);")
}

/// A statement about one delivery, found in either of two ways: by its number, or
/// through the B-tree, in one statement either way, because a statement of its
/// own would be a transaction of its own. The texts are made once: every poll
/// needs one.
struct Find {
    by_number: String,
    by_id: String,
}

impl Find {
    fn new(text: impl Fn(&str) -> String) -> Find {
        Find {
            by_number: text("?1"),
            by_id: text("(SELECT no FROM ids WHERE id = ?1)"),
        }
    }

    /// The statement, and what is bound in it, given what [`Ids::recent`] said of
    /// the id.
    fn by(&self, id: Uuid, recent: Option<u64>) -> (&str, Value) {
        match recent {
            Some(no) => (&self.by_number, Value::Integer(no as i64)),
            None => (&self.by_id, Value::Blob(id.as_bytes().to_vec())),
        }
    }
}

/// A delivery by its id.
pub fn delivery(
    connection: &Connection,
    seal: Option<&RowSeal>,
    id: Uuid,
    recent: Option<u64>,
) -> rusqlite::Result<Option<DeliveryRow>> {
    static FIND: LazyLock<Find> = LazyLock::new(|| {
        let columns = records::DELIVERY;
        Find::new(|no| format!("SELECT {columns}, mac FROM deliveries WHERE no = {no}"))
    });
    let (find, key) = FIND.by(id, recent);
    let row = connection
        .prepare_cached(find)?
        .query_row([key], |row| records::delivery(row, seal))
        .optional()?;
    Ok(row.filter(|row| is_the_one(id, row.id)))
}

/// Whether a row that was found is the delivery that was asked for. What is not
/// is not given: nothing is shown or decided in the name of another delivery.
fn is_the_one(asked: Uuid, found: Uuid) -> bool {
    if asked != found {
        tracing::error!(%asked, %found, "the index of ids leads to another delivery; run `wakeful trail rebuild`");
    }
    asked == found
}

/// Deliveries whose ids are in a range, in the order of their ids: those that
/// [`Ids::recent_within`] gave, and those of the B-tree.
pub fn deliveries_within(
    connection: &Connection,
    seal: Option<&RowSeal>,
    range: &RangeInclusive<Uuid>,
    recent: &[u64],
    limit: usize,
) -> rusqlite::Result<Vec<DeliveryRow>> {
    let mut rows = Vec::new();
    let mut by_number = connection.prepare_cached(&format!(
        "SELECT {}, mac FROM deliveries WHERE no = ?1",
        records::DELIVERY
    ))?;
    for no in recent {
        rows.extend(
            by_number
                .query_row([*no as i64], |row| records::delivery(row, seal))
                .optional()?,
        );
    }
    let mut by_id = connection.prepare_cached(&format!(
        "SELECT {}, mac FROM deliveries
         WHERE no IN (SELECT no FROM ids WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3)",
        records::DELIVERY
    ))?;
    let [first, last] = [range.start(), range.end()].map(|id| id.as_bytes().as_slice());
    let settled = by_id.query_map(params![first, last, limit as i64], |row| {
        records::delivery(row, seal)
    })?;
    for row in settled {
        rows.push(row?);
    }
    // Some are on their way from one to the other, and in both.
    rows.retain(|row| range.contains(&row.id));
    rows.sort_unstable_by_key(|row| row.id);
    rows.dedup_by_key(|row| row.id);
    rows.truncate(limit);
    Ok(rows)
}

/// What an agent is told of a delivery: the row, and the texts of a final
/// answer, of one moment because they are read by one statement.
pub fn answer(
    connection: &Connection,
    seal: Option<&RowSeal>,
    id: Uuid,
    recent: Option<u64>,
) -> rusqlite::Result<Option<AnswerRow>> {
    static FIND: LazyLock<Find> = LazyLock::new(|| {
        let (answer, part, n) = (records::ANSWER, records::PART, records::PARTS_PER_ENTRY);
        Find::new(|no| {
            format!(
                "SELECT {answer}, {part} FROM deliveries LEFT JOIN parts
                   ON status > 0 AND erased <> 1
                   AND parts.no >= answer_position * {n} AND parts.no < (answer_position + 1) * {n}
                 WHERE deliveries.no = {no} ORDER BY parts.no"
            )
        })
    });
    let (find, key) = FIND.by(id, recent);
    let mut find = connection.prepare_cached(find)?;
    let mut rows = find.query([key])?;
    let (mut answer, mut parts) = (None, Vec::new());
    while let Some(row) = rows.next()? {
        if answer.is_none() {
            answer = Some(records::answer(row, seal)?);
        }
        if row.get_ref(records::ANSWER_COLUMNS)? != ValueRef::Null {
            parts.push(records::Part::read(row, records::ANSWER_COLUMNS)?);
        }
    }
    if let Some(answer) = &mut answer {
        records::set_texts(answer, parts, seal)?;
    }
    Ok(answer.filter(|answer| is_the_one(id, answer.id)))
}

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
    sync::{Mutex, PoisonError, RwLock},
};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use uuid::Uuid;

use crate::{DeliveryRow, sqlite::records};

/// So many are gathered before they move; about 2 MiB of memory.
const GATHERED: usize = 32_768;
/// So many move in one transaction: a few milliseconds.
const STEP: usize = 2048;

#[derive(Debug, Default)]
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
    pub fn load(connection: &Connection) -> rusqlite::Result<Ids> {
        let ids = Ids::default();
        let mut find = connection.prepare(
            "SELECT id, no FROM deliveries WHERE no >= (SELECT next FROM settled) ORDER BY no",
        )?;
        let rows = find.query_map([], |row| {
            Ok((records::uuid(row, 0)?, records::number(row, 1)?))
        })?;
        *ids.write() = rows.collect::<rusqlite::Result<_>>()?;
        Ok(ids)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<Uuid, u64>> {
        self.recent.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a commit.
    pub fn add(&self, added: impl Iterator<Item = (Uuid, u64)>) {
        self.write().extend(added);
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

    /// Moves some, when enough have gathered.
    pub fn settle_some(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let mut moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if moving.is_none() {
            let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
            if recent.len() < GATHERED {
                return Ok(());
            }
            let mut ids: Vec<(Uuid, u64)> = recent.iter().map(|(id, no)| (*id, *no)).collect();
            ids.sort_unstable();
            *moving = Some(Moving { ids, done: 0 });
        }
        let Some(current) = moving.as_mut() else {
            return Ok(());
        };
        let end = (current.done + STEP).min(current.ids.len());
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            // A crash may have left some of them there already.
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO ids (id, no) VALUES (?1, ?2)")?;
            for (id, no) in &current.ids[current.done..end] {
                insert.execute(params![id.as_bytes().as_slice(), *no as i64])?;
            }
        }
        let last = end == current.ids.len();
        if last {
            let next = current.ids.iter().map(|(_, no)| no + 1).max().unwrap_or(0);
            transaction.execute("UPDATE settled SET next = ?1", [next as i64])?;
        }
        transaction.commit()?;
        current.done = end;
        if last {
            let mut recent = self.write();
            current.ids.iter().for_each(|(id, _)| {
                recent.remove(id);
            });
            *moving = None;
        }
        Ok(())
    }

    /// When the views are emptied.
    pub fn clear(&self) {
        self.write().clear();
        *self.moving.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A delivery by its id, given what [`Ids::recent`] said of it.
pub fn delivery(
    connection: &Connection,
    id: Uuid,
    recent: Option<u64>,
) -> rusqlite::Result<Option<DeliveryRow>> {
    let no = match recent {
        Some(no) => Some(no as i64),
        None => connection
            .prepare_cached("SELECT no FROM ids WHERE id = ?1")?
            .query_row([id.as_bytes().as_slice()], |row| row.get(0))
            .optional()?,
    };
    let Some(no) = no else { return Ok(None) };
    connection
        .prepare_cached(&format!(
            "SELECT {} FROM deliveries WHERE no = ?1",
            records::DELIVERY
        ))?
        .query_row([no], records::delivery)
        .optional()
}

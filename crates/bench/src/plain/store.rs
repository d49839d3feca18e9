//! The plain server's store: one SQLite table, two indexes, one writer thread
//! that commits whatever has queued up in one transaction.
//!
//! There is deliberately nothing else: no trail, no views, no keys. The same
//! table and insert serve the raw measurement, so that all three write the same
//! row with the same durability.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

/// One transaction holds at most this many writes; beyond it the first in line
/// would wait longer than the sync it shares costs.
pub const BATCH_MAX: usize = 512;
/// Requests that may wait for the writer; more wait at the channel's door.
const QUEUE_MAX: usize = 4096;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS deliveries (
    id BLOB NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    type TEXT NOT NULL,
    headline TEXT NOT NULL,
    summary TEXT NOT NULL,
    details TEXT,
    callback_webhook TEXT,
    timeout_seconds INTEGER,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    feedback TEXT,
    edited_content TEXT,
    responded_at INTEGER
);
CREATE INDEX IF NOT EXISTS deliveries_by_change ON deliveries (agent_id, changed_at);
";

const INSERT: &str = "INSERT INTO deliveries (id, agent_id, provider, type, headline, summary, \
    details, callback_webhook, timeout_seconds, created_at, changed_at, status) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, 'pending')";

const ANSWER: &str = "UPDATE deliveries SET status = ?2, feedback = ?3, edited_content = ?4, \
    responded_at = ?5, changed_at = ?5 WHERE id = ?1 AND status = 'pending'";

/// A delivery as it is stored; `details` is the JSON text that came.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: Uuid,
    pub agent_id: String,
    pub provider: String,
    pub kind: &'static str,
    pub headline: String,
    pub summary: String,
    pub details: Option<String>,
    pub callback_webhook: Option<String>,
    pub timeout_seconds: Option<u32>,
}

#[derive(Debug)]
pub struct Answer {
    pub id: Uuid,
    pub status: &'static str,
    pub feedback: Option<String>,
    pub edited_content: Option<String>,
}

/// What the writer says back once it is durable: the change's time in
/// microseconds, or that there was nothing to change. Dropped if the commit failed.
type Done = oneshot::Sender<Option<i64>>;

#[derive(Debug)]
pub enum Write {
    Insert(Row, Done),
    Answer(Answer, Done),
}

pub fn path(dir: &Path) -> PathBuf {
    dir.join("plain.db")
}

/// Opens the store for writing, durable on every commit.
pub fn open(dir: &Path) -> Result<Connection> {
    let conn = Connection::open(path(dir)).context("open the plain store")?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    // 64 MiB: the id index of a million rows fits, else every insert reads pages back.
    conn.pragma_update(None, "cache_size", -65536)?;
    // 40 MiB: random ids dirty a page each, and at the default of 4 MiB a large
    // store spends half its time carrying them back.
    conn.pragma_update(None, "wal_autocheckpoint", 10_000)?;
    conn.execute_batch(SCHEMA)?;
    Ok(conn)
}

pub fn open_reader(dir: &Path) -> Result<Connection> {
    let conn = Connection::open(path(dir)).context("open a reader of the plain store")?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

pub fn insert(conn: &Connection, row: &Row, now_us: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(INSERT)?.execute(params![
        row.id.as_bytes(),
        row.agent_id,
        row.provider,
        row.kind,
        row.headline,
        row.summary,
        row.details,
        row.callback_webhook,
        row.timeout_seconds,
        now_us,
    ])?;
    Ok(())
}

/// `None` when there is no such delivery or it has been answered.
fn answer(conn: &Connection, answer: &Answer, now_us: i64) -> rusqlite::Result<Option<i64>> {
    let changed = conn.prepare_cached(ANSWER)?.execute(params![
        answer.id.as_bytes(),
        answer.status,
        answer.feedback,
        answer.edited_content,
        now_us,
    ])?;
    Ok((changed == 1).then_some(now_us))
}

/// Fills the store with `count` deliveries a millisecond apart up to now, every
/// other one answered, as a server would have left it.
pub fn preload(dir: &Path, row: &Row, count: u64) -> Result<()> {
    let mut conn = open(dir)?;
    conn.pragma_update(None, "synchronous", "OFF")?;
    let mut at_us = now_us() - i64::try_from(count)? * 1000;
    let mut left = count;
    while left > 0 {
        let tx = conn.transaction()?;
        let batch = left.min(10_000);
        for n in 0..batch {
            let row = Row {
                id: Uuid::new_v4(),
                ..row.clone()
            };
            insert(&tx, &row, at_us)?;
            if n % 2 == 0 {
                let ok = Answer {
                    id: row.id,
                    status: "approved",
                    feedback: Some("ok".into()),
                    edited_content: None,
                };
                answer(&tx, &ok, at_us + 1)?;
            }
            at_us += 1000;
        }
        tx.commit()?;
        left -= batch;
    }
    // Off until here; what the measurements start from must be on the disk.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .optional()?;
    Ok(())
}

/// Starts the writer; it ends, with its connection closed, when every sender is gone.
pub fn spawn_writer(conn: Connection) -> (mpsc::Sender<Write>, std::thread::JoinHandle<()>) {
    let (sender, queue) = mpsc::channel(QUEUE_MAX);
    (sender, std::thread::spawn(move || write_all(conn, queue)))
}

fn write_all(mut conn: Connection, mut queue: mpsc::Receiver<Write>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut done = Vec::with_capacity(BATCH_MAX);
    let mut clock_us = 0;
    while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        if let Err(error) = commit(&mut conn, &mut batch, &mut done, &mut clock_us) {
            eprintln!("plain: {error}");
            done.clear();
        }
        for (reply, time) in done.drain(..) {
            // A client that has gone away does not want its answer.
            let _ = reply.send(time);
        }
    }
}

fn commit(
    conn: &mut Connection,
    batch: &mut Vec<Write>,
    done: &mut Vec<(Done, Option<i64>)>,
    clock_us: &mut i64,
) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    for write in batch.drain(..) {
        *clock_us = now_us().max(*clock_us + 1);
        match write {
            Write::Insert(row, reply) => {
                insert(&tx, &row, *clock_us)?;
                done.push((reply, Some(*clock_us)));
            }
            Write::Answer(given, reply) => {
                let time = answer(&tx, &given, *clock_us)?;
                done.push((reply, time));
            }
        }
    }
    tx.commit()
}

pub fn now_us() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

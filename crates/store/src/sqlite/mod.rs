//! SQLite in one file, write-ahead log, every commit synced.
//!
//! One connection writes, on the thread of whoever calls the writer's methods:
//! the engine has a thread of its own for that, so no hand-over is paid. Reads
//! use other connections and see the last commit. A point read costs less than
//! giving it to another thread, so it is done in place; what may look through
//! many rows goes to a blocking thread.

mod backup;
mod check;
mod checkpoints;
pub(crate) mod files;
mod head_file;
mod ids;
mod inbox;
mod mend;
mod readers;
mod records;
mod schema;
mod sealed;
pub(crate) mod search;
mod sweep;
mod turn;

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, config::DbConfig, params, types::Value};
use trail::{Hash, Micros};
use uuid::Uuid;

use crate::{
    AccountRow, AnswerRow, Batch, CallbackRow, DeliveryRow, Due, EntryQuery, EntryRef, EntryRow,
    ErasableQuery, Error, HeadRow, InboxPage, InboxQuery, Loaded, LogEnd, Mended, Needs, Prefix,
    RelayedRow, Result, RowCheck, RowSeal, Since, Store, StreamQuery, SweepPage, SweepQuery, Turn,
    batch::wake::PENDING,
};
use checkpoints::Checkpoints;
use head_file::HeadFile;
use ids::Ids;
use readers::Readers;
use records::Damage;

pub use backup::{reseal, restore};
use head_file::HEAD_FILE;

/// The file in the data directory.
const FILE: &str = "wakeful.db";

/// Idempotency records forgotten in one transaction.
const FORGOTTEN: usize = 1000;
/// More than most batches: when this can be written, they can.
const PROBE_BYTES: i64 = 256 << 10;
/// How long the writer waits for a reader of the file.
const BUSY: Duration = Duration::from_secs(5);
/// Bounds the writer's page cache, in KiB.
const WRITER_CACHE_KIB: i32 = 8 << 10;

pub struct Sqlite {
    path: PathBuf,
    /// `None` in a store that was opened to be read.
    writer: Option<Mutex<Connection>>,
    /// Behind the writer, which is dropped first.
    checkpoints: Option<Checkpoints>,
    readers: Arc<Readers>,
    ids: Ids,
    /// `None` in a store that was opened to be read.
    head_file: Option<Mutex<HeadFile>>,
    /// The key of rows, if it is here and rows carry codes.
    seal: Option<RowSeal>,
    /// Whether opening it brought it from an older version to this one.
    migrated: bool,
    /// How many batches were appended, unless it is [`UNKNOWN`].
    version: AtomicU64,
}

/// The version must be read from the database.
const UNKNOWN: u64 = u64::MAX;

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Any failure of the database itself.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            Error::Damaged(error.to_string())
        }
        _ if is_unreadable(&error) => Error::Damaged(advised(&error)),
        _ => Error::Unavailable(Box::new(error)),
    }
}

/// What is wrong, and what to run.
fn advised(error: &rusqlite::Error) -> String {
    let said = match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, what) if what.is::<Damage>() => {
            return what.to_string();
        }
        rusqlite::Error::FromSqlConversionFailure(_, _, what) => what.to_string(),
        other => other.to_string(),
    };
    format!("{said}; run `wakeful trail verify`")
}

/// A value of a type or size that was never written.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..)
    )
}

impl Sqlite {
    pub fn open(directory: &Path, seal: &RowSeal) -> Result<Sqlite> {
        let path = directory.join(FILE);
        create_private(&path).map_err(|error| Error::Unavailable(Box::new(error)))?;
        let mut connection = Connection::open(&path).map_err(failed)?;
        prepare_once(&connection).map_err(failed)?;
        // Whoever finds that a start must be refused leaves the files as they are.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        sealed::register(&connection, Some(seal.clone())).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL;
                 PRAGMA synchronous = FULL;
                 PRAGMA secure_delete = ON;
                 PRAGMA journal_size_limit = {};
                 PRAGMA cache_size = -{WRITER_CACHE_KIB};",
                64 << 20
            ))
            .map_err(failed)?;
        check::remove_foreign_code(&connection)?;
        // A step may seal rows anew, and would then take another key for ours.
        if schema::is_older_and_sealed(&connection)? {
            check::refuse_foreign(&connection)?;
        }
        let migrated = schema::migrate(&mut connection, seal)?;
        check::refuse_foreign(&connection)?;
        check::put_back_boundaries(&mut connection).map_err(failed)?;
        let checkpoints = Checkpoints::start(&path, &mut connection).map_err(failed)?;
        let readers = Arc::new(Readers::new(path.clone(), Some(seal.clone())));
        // Read through a connection of its own, whose page cache goes with it.
        let ids = Readers::new(path.clone(), None).with(|c| Ids::load(c).map_err(failed))?;
        let head_file = HeadFile::open(&directory.join(HEAD_FILE))
            .map_err(|error| Error::Unavailable(Box::new(error)))?;
        Ok(Sqlite {
            path,
            writer: Some(Mutex::new(connection)),
            checkpoints: Some(checkpoints),
            readers,
            ids,
            head_file: Some(Mutex::new(head_file)),
            seal: Some(seal.clone()),
            migrated,
            version: AtomicU64::new(UNKNOWN),
        })
    }

    pub fn open_read_only(directory: &Path, seal: Option<&RowSeal>) -> Result<Sqlite> {
        let path = directory.join(FILE);
        let readers = Readers::of_copy(path.clone(), seal.cloned());
        // Fails here, rather than at the first read, when there is none. What is
        // wrong with it is for whoever verifies to say.
        let ids = readers.with(|connection| Ids::load(connection).map_err(failed))?;
        // A database of an older version has no codes until it is opened to be written.
        let is_sealed = readers.with(schema::is_sealed)?;
        Ok(Sqlite {
            ids,
            seal: seal.filter(|_| is_sealed).cloned(),
            readers: Arc::new(readers),
            path,
            writer: None,
            checkpoints: None,
            head_file: None,
            migrated: false,
            version: AtomicU64::new(UNKNOWN),
        })
    }

    fn writer(&self) -> Result<MutexGuard<'_, Connection>> {
        let writer = self
            .writer
            .as_ref()
            .ok_or_else(|| Error::Unavailable("this store was opened to be read only".into()))?;
        // A panic while writing left its transaction to be rolled back.
        Ok(writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whoever writes seals.
    fn writing_seal(&self) -> Result<&RowSeal> {
        let seal = self.seal.as_ref();
        seal.ok_or_else(|| Error::Unavailable("this store was opened without its key".into()))
    }

    fn head_file(&self) -> Option<MutexGuard<'_, HeadFile>> {
        let file = self.head_file.as_ref()?;
        Some(file.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies the whole write-ahead log into the database and empties it, if no
    /// reader uses it for so long.
    fn empty_log(&self, patience: Duration) -> Result<()> {
        let writer = self.writer()?;
        let _alone = self.checkpoints.as_ref().map(Checkpoints::pause);
        writer.busy_timeout(patience).map_err(failed)?;
        let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        });
        writer.busy_timeout(BUSY).map_err(failed)?;
        match busy.map_err(failed)? {
            0 => Ok(()),
            _ => Err(Error::Unavailable(
                "a reader still uses the write-ahead log".into(),
            )),
        }
    }

    /// A short read, in place.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.readers
            .with(|connection| read(connection).map_err(failed))
    }

    /// A short read in several steps, which all see the same state.
    fn read_steps<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|connection| at_one_moment(connection, read))
    }

    /// A read that may take a while, on a thread that may block, when one of
    /// the few places for such is free; all of it sees the same state.
    async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let readers = Arc::clone(&self.readers);
        let place = Arc::clone(&readers.places).acquire_owned().await;
        let place = place.map_err(|error| Error::Unavailable(Box::new(error)))?;
        tokio::task::spawn_blocking(move || {
            // Held until the read has ended, though nobody may wait for it any more.
            let _place = place;
            readers.with_long(|connection| at_one_moment(connection, read).map_err(failed))
        })
        .await
        .map_err(|error| Error::Unavailable(Box::new(error)))?
    }
}

/// Whether a database has a head; one without tables has none.
pub fn has_log(directory: &Path) -> Result<bool> {
    Readers::of_copy(directory.join(FILE), None).with(|connection| {
        let exists = |sql: &str| connection.prepare(sql)?.exists([]);
        let found = exists("SELECT 1 FROM sqlite_schema WHERE name = 'head'");
        let found = found.and_then(|found| Ok(found && exists("SELECT 1 FROM head")?));
        found.map_err(failed)
    })
}

/// Statements are prepared once and kept. Where a table has partial indices a
/// plan may depend on bound values, and SQLite would prepare such a statement
/// again each time others are bound, which costs more than running it.
///
/// Nobody of ours makes triggers or views: if there are any, they do nothing.
fn prepare_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The database is for its owner alone; SQLite gives its other files the same mode.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map(drop)
}

/// What a retention rule asks for: a kind, and a moment. The planner would take an
/// index that also holds all that was erased long ago.
fn erasable(since: Since) -> String {
    let (index, of) = match since {
        Since::Answer => (
            "deliveries_erasable",
            "status > 0 AND kind = ?1 AND changed_at < ?2 ORDER BY changed_at",
        ),
        Since::TimeOut => (
            "deliveries_timed_out",
            "status = 0 AND timed_out = 1 AND hold_by IS NULL
             AND kind <> 0 AND kind = ?1 AND timeout_at < ?2 ORDER BY timeout_at",
        ),
        Since::Creation => (
            "deliveries_updates",
            "status = 0 AND kind = 0 AND hold_by IS NULL
             AND kind = ?1 AND created_at < ?2 ORDER BY created_at",
        ),
    };
    let columns = records::DELIVERY;
    format!("SELECT {columns}, mac FROM deliveries INDEXED BY {index} WHERE erased <> 1 AND {of}")
}

/// Without a transaction each statement would see its own state: a sweep that
/// read one lane before a commit and the next one after it would lose answers.
fn at_one_moment<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let moment = connection.unchecked_transaction()?;
    let answer = read(&moment)?;
    moment.commit()?;
    Ok(answer)
}

/// One file has one process, so nothing is locked while a turn lasts; the version
/// is compared when it appends.
#[derive(Debug)]
struct SqliteTurn<'a> {
    store: &'a Sqlite,
    version: u64,
}

#[async_trait]
impl Turn for SqliteTurn<'_> {
    fn version(&self) -> u64 {
        self.version
    }

    async fn load(&mut self, needs: &Needs) -> Result<Loaded> {
        let store = self.store;
        let writer = store.writer()?;
        turn::load(&writer, store.writing_seal()?, &store.ids, needs).map_err(failed)
    }

    async fn append(self: Box<Self>, batch: Batch) -> Result<u64> {
        let SqliteTurn { store, version } = *self;
        let mut writer = store.writer()?;
        let (seal, ids) = (store.writing_seal()?, &store.ids);
        let appended = turn::append(&mut writer, seal, ids, version, &batch);
        let next = appended.as_ref().copied().unwrap_or(UNKNOWN);
        store.version.store(next, Ordering::Relaxed);
        appended
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn head(&self) -> Result<Option<HeadRow>> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT size, last_time, note FROM head")?
                .query_row([], |row| {
                    Ok(HeadRow {
                        size: row.get::<_, i64>(0)? as u64,
                        last_time: Micros(row.get(1)?),
                        note: row.get(2)?,
                    })
                })
                .optional()
        })
    }

    async fn turn(&self) -> Result<Box<dyn Turn + '_>> {
        let writer = self.writer()?;
        let version = match self.version.load(Ordering::Relaxed) {
            UNKNOWN => turn::version(&writer).map_err(failed)?,
            known => known,
        };
        Ok(Box::new(SqliteTurn {
            store: self,
            version,
        }))
    }

    fn remember(&self, note: &str) {
        if let Some(mut file) = self.head_file() {
            file.write(note);
        }
    }

    fn remembered(&self) -> Result<Vec<String>> {
        head_file::read(&self.path.with_file_name(HEAD_FILE))
            .map_err(|error| Error::Unavailable(Box::new(error)))
    }

    async fn settle(&self, patience: Duration) -> Result<()> {
        self.empty_log(patience)?;
        let synced = self.head_file().map_or(Ok(()), |file| file.sync());
        synced.map_err(|error| Error::Unavailable(Box::new(error)))
    }

    async fn index_some(&self, limit: usize) -> Result<bool> {
        search::index_some(&mut *self.writer()?, limit).map_err(failed)
    }

    async fn forget_idempotency(&self, before: Micros) -> Result<bool> {
        // In steps, so that no commit waits long for this one.
        let forget = "DELETE FROM idempotency WHERE (key_id, idempotency_key) IN
             (SELECT key_id, idempotency_key FROM idempotency WHERE created_at < ?1 LIMIT ?2)";
        self.writer()?
            .execute(forget, params![before.0, FORGOTTEN as i64])
            .map(|forgotten| forgotten == FORGOTTEN)
            .map_err(failed)
    }

    async fn probe(&self) -> Result<()> {
        let writer = self.writer()?;
        let write = "INSERT OR REPLACE INTO secrets (name, sealed, mac)
            VALUES ('probe', zeroblob(?1), row_mac('secrets', 'probe', zeroblob(?1)))";
        writer.execute(write, [PROBE_BYTES]).map_err(failed)?;
        let remove = "DELETE FROM secrets WHERE name = 'probe'";
        writer.execute(remove, []).map(drop).map_err(failed)
    }

    async fn scrub(&self) -> Result<()> {
        self.empty_log(BUSY)
    }

    async fn clear_views(&self) -> Result<()> {
        turn::clear_views(&mut *self.writer()?).map_err(failed)?;
        self.ids.clear();
        Ok(())
    }

    async fn end_rebuild(&self) -> Result<u64> {
        let mut writer = self.writer()?;
        let transaction = writer.transaction().map_err(failed)?;
        let remove = format!("DELETE FROM parts WHERE no IN ({})", check::RETURNED);
        let removed = transaction.execute(&remove, []).map_err(failed)?;
        let ended = transaction.execute("DELETE FROM rebuilding", []);
        ended.map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(removed as u64)
    }

    fn was_migrated(&self) -> bool {
        self.migrated
    }

    async fn is_rebuilding(&self) -> Result<bool> {
        self.read(|connection| connection.prepare("SELECT 1 FROM rebuilding")?.exists([]))
    }

    async fn due(&self, now: Micros, limit: usize) -> Result<Vec<Due>> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT {}, mac FROM deliveries WHERE due_at <= ?1 ORDER BY due_at",
                records::DELIVERY
            ))?;
            let rows = find.query_map([now.0], |row| records::delivery(row, self.seal.as_ref()))?;
            // However many were changed, those behind them have their time.
            rows.filter(|row| !row.as_ref().is_err_and(is_unreadable))
                .map(|row| Ok(Due::Delivery(row?.id)))
                .take(limit)
                .collect()
        })
    }

    async fn next_due(&self, after: Micros) -> Result<Option<Micros>> {
        self.read(|connection| {
            let soonest = "SELECT min(due_at) FROM deliveries WHERE due_at > ?1";
            let at: Option<i64> = connection
                .prepare_cached(soonest)?
                .query_row([after.0], |row| row.get(0))?;
            Ok(at.map(Micros))
        })
    }

    async fn callbacks_due(&self, now: Micros, limit: usize) -> Result<Vec<CallbackRow>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM callbacks WHERE next_at <= ?1 AND {} ORDER BY next_at LIMIT ?2",
                records::CALLBACK,
                sealed::CALLBACK
            );
            connection
                .prepare_cached(&sql)?
                .query_map(params![now.0, limit as i64], records::callback)?
                .collect()
        })
    }

    async fn next_callback(&self) -> Result<Option<Micros>> {
        self.read(|connection| {
            let soonest = format!(
                "SELECT next_at FROM callbacks WHERE next_at IS NOT NULL AND {}
                 ORDER BY next_at LIMIT 1",
                sealed::CALLBACK
            );
            let at: Option<i64> = connection
                .prepare_cached(&soonest)?
                .query_row([], |row| row.get(0))
                .optional()?;
            Ok(at.map(Micros))
        })
    }

    async fn callbacks(&self, before: Option<u64>, limit: usize) -> Result<Vec<CallbackRow>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM callbacks WHERE no < ?1 AND {} ORDER BY no DESC LIMIT ?2",
                records::CALLBACK,
                sealed::CALLBACK
            );
            let before = before.map_or(i64::MAX, |before| before as i64);
            connection
                .prepare_cached(&sql)?
                .query_map(params![before, limit as i64], records::callback)?
                .collect()
        })
    }

    async fn erasable(&self, query: ErasableQuery) -> Result<Vec<DeliveryRow>> {
        self.read(|connection| {
            let read = |row: &rusqlite::Row<'_>| records::delivery(row, self.seal.as_ref());
            connection
                .prepare_cached(&erasable(query.since))?
                .query_map(params![query.kind, query.before.0], read)?
                // One that was changed is left as it is, and keeps none after it.
                .filter(|row| !row.as_ref().is_err_and(is_unreadable))
                .take(query.limit)
                .collect()
        })
    }

    async fn delivery(&self, id: Uuid) -> Result<Option<DeliveryRow>> {
        let recent = self.ids.recent(id);
        self.read(|connection| ids::delivery(connection, self.seal.as_ref(), id, recent))
    }

    async fn deliveries_within(
        &self,
        range: RangeInclusive<Uuid>,
        limit: usize,
    ) -> Result<Vec<DeliveryRow>> {
        let recent = self.ids.recent_within(&range, limit);
        let seal = self.seal.clone();
        self.read_long(move |connection| {
            ids::deliveries_within(connection, seal.as_ref(), &range, &recent, limit)
        })
        .await
    }

    async fn response(&self, id: Uuid) -> Result<Option<AnswerRow>> {
        let recent = self.ids.recent(id);
        self.read(|connection| ids::answer(connection, self.seal.as_ref(), id, recent))
    }

    async fn sweep(&self, query: SweepQuery) -> Result<SweepPage> {
        // One agent's page is short; an orchestrator's may be many ranges.
        if query.lanes.len() <= 4 {
            let seal = self.seal.as_ref();
            return self.read_steps(|connection| sweep::sweep(connection, seal, &query));
        }
        let seal = self.seal.clone();
        self.read_long(move |connection| sweep::sweep(connection, seal.as_ref(), &query))
            .await
    }

    async fn seen(&self, name: &str, ids: Vec<Uuid>) -> Result<HashSet<Uuid>> {
        self.read_steps(|connection| {
            let mut find = connection.prepare_cached(&format!(
                "SELECT 1 FROM seen WHERE name = ?1 AND delivery = ?2 AND {}",
                sealed::SEEN
            ))?;
            let mut seen = HashSet::new();
            for id in ids {
                if find.exists(params![name, id.as_bytes().as_slice()])? {
                    seen.insert(id);
                }
            }
            Ok(seen)
        })
    }

    async fn snoozed(&self, name: &str, now: Micros, limit: usize) -> Result<HashMap<u64, Micros>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT snoozed.delivery, snoozed.until FROM snoozed
                     LEFT JOIN deliveries d ON d.no = snoozed.delivery
                     WHERE snoozed.name = ?1 AND snoozed.until > ?2
                       AND coalesce(d.status, 0) = 0 AND {}
                     ORDER BY snoozed.delivery DESC LIMIT ?3",
                    sealed::SNOOZED
                ))?
                .query_map(params![name, now.0, limit as i64], |row| {
                    Ok((records::number(row, 0)?, Micros(row.get(1)?)))
                })?
                .collect()
        })
    }

    async fn is_snoozed(&self, name: &str, delivery: u64, now: Micros) -> Result<bool> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT 1 FROM snoozed
                     WHERE name = ?1 AND delivery = ?2 AND until > ?3 AND {}",
                    sealed::SNOOZED
                ))?
                .exists(params![name, delivery as i64, now.0])
        })
    }

    async fn inbox(&self, query: InboxQuery) -> Result<InboxPage> {
        let seal = self.seal.clone();
        self.read_long(move |connection| inbox::page(connection, seal.as_ref(), &query))
            .await
    }

    async fn entry(&self, position: u64) -> Result<Option<EntryRow>> {
        let query = EntryQuery {
            from: position,
            to: Some(position + 1),
            limit: 1,
            with_parts: true,
            ..Default::default()
        };
        let found = self.read_steps(|connection| {
            let found = records::entries(connection, &query)?;
            records::require_codes(connection, self.seal.as_ref(), &found)?;
            Ok(found)
        });
        Ok(found?.pop())
    }

    async fn history(&self, delivery: u64) -> Result<Vec<EntryRow>> {
        let seal = self.seal.clone();
        self.read_long(move |connection| {
            let found = records::history(connection, delivery)?;
            records::require_codes(connection, seal.as_ref(), &found)?;
            Ok(found)
        })
        .await
    }

    async fn entries(&self, query: EntryQuery) -> Result<Vec<EntryRow>> {
        self.read_long(move |connection| records::entries(connection, &query))
            .await
    }

    async fn stream_entries(&self, query: StreamQuery) -> Result<Vec<EntryRow>> {
        self.read_long(move |connection| records::stream_entries(connection, &query))
            .await
    }

    async fn streams(&self, prefix: &str) -> Result<Vec<(u64, String)>> {
        // A text is less than any blob.
        let end = match prefix.as_bytes().split_last() {
            Some((last, rest)) => {
                let end = [rest, &[last.saturating_add(1)]].concat();
                Value::Text(String::from_utf8_lossy(&end).into_owned())
            }
            None => Value::Blob(Vec::new()),
        };
        let bounds = [Value::Text(prefix.to_owned()), end];
        self.read_long(move |connection| {
            connection
                .prepare("SELECT no, name FROM streams WHERE name >= ?1 AND name < ?2 ORDER BY no")?
                .query_map(bounds, |row| Ok((records::number(row, 0)?, row.get(1)?)))?
                .collect()
        })
        .await
    }

    async fn next_stream(&self) -> Result<u64> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT coalesce(max(no) + 1, 0) FROM streams")?
                .query_row([], |row| records::number(row, 0))
        })
    }

    async fn stream_number(&self, name: &str) -> Result<Option<u64>> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT no FROM streams WHERE name = ?1")?
                .query_row([name], |row| records::number(row, 0))
                .optional()
        })
    }

    async fn waiting(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>> {
        self.read_long(move |connection| sweep::kept(connection, &streams, &[PENDING]))
            .await
    }

    async fn deliveries(&self, streams: Vec<u64>) -> Result<HashMap<u64, u64>> {
        self.read_long(move |connection| sweep::kept(connection, &streams, &[0, 1, 2, 3]))
            .await
    }

    async fn hashes(&self, level: u8, from: u64, to: u64) -> Result<Vec<Hash>> {
        self.read(|connection| records::hashes(connection, level, from, to))
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.read_long(|connection| {
            connection
                .prepare(&format!(
                    "SELECT kind, id, body, {} FROM accounts",
                    sealed::ACCOUNT
                ))?
                .query_map([], records::account)?
                .collect()
        })
        .await
    }

    async fn relayed(&self) -> Result<Vec<RelayedRow>> {
        self.read_long(|connection| {
            connection
                .prepare(
                    "SELECT owner, agent_id, seen_at, to_device, to_device_bytes,
                            from_device, from_device_bytes, refused FROM relayed",
                )?
                .query_map([], |row| {
                    let count = |at| row.get::<_, i64>(at).map(|count| count as u64);
                    Ok(RelayedRow {
                        owner: row.get(0)?,
                        agent_id: row.get(1)?,
                        seen_at: row.get::<_, Option<i64>>(2)?.map(Micros),
                        to_device: count(3)?,
                        to_device_bytes: count(4)?,
                        from_device: count(5)?,
                        from_device_bytes: count(6)?,
                        refused: count(7)?,
                    })
                })?
                .collect()
        })
        .await
    }

    async fn secret(&self, name: &str) -> Result<Option<Vec<u8>>> {
        // Whoever only reads may have no key to tell a changed one by.
        let which = self.seal.as_ref().map_or("1", |_| sealed::SECRET);
        let found: Option<(Vec<u8>, bool)> = self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT sealed, {which} FROM secrets WHERE name = ?1"
                ))?
                .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        match found {
            Some((_, false)) => Err(Error::Damaged(format!(
                "the secret {name} was changed; run `wakeful trail rebuild`, which removes it"
            ))),
            found => Ok(found.map(|(sealed, _)| sealed)),
        }
    }

    async fn log_end(&self) -> Result<Option<LogEnd>> {
        self.read_long(check::log_end).await
    }

    async fn check_start(&self) -> Result<()> {
        self.readers.with(check::start)
    }

    async fn check_rows(&self) -> Result<RowCheck> {
        let readers = Arc::clone(&self.readers);
        let seal = self.seal.clone();
        let check = move || readers.with(|connection| check::rows(connection, seal.as_ref()));
        tokio::task::spawn_blocking(check)
            .await
            .map_err(|error| Error::Unavailable(Box::new(error)))?
    }

    async fn block_digests(&self, size: u64) -> Result<Vec<Hash>> {
        self.read_long(move |connection| check::block_digests(connection, size))
            .await
    }

    async fn mend_log(&self) -> Result<Mended> {
        mend::log(&mut *self.writer()?, self.writing_seal()?)
    }

    async fn sound_prefix(&self) -> Result<Option<Prefix>> {
        let readers = Arc::clone(&self.readers);
        tokio::task::spawn_blocking(move || readers.with(mend::sound_prefix))
            .await
            .map_err(|error| Error::Unavailable(Box::new(error)))?
    }

    async fn cut_log(&self, size: u64, head: HeadRow) -> Result<()> {
        mend::cut(&mut *self.writer()?, size, &head)
    }

    async fn backup(&self, file: &Path, keys: Vec<(String, Vec<u8>)>) -> Result<()> {
        let file = file.to_owned();
        let readers = Arc::clone(&self.readers);
        // Not within a transaction: the copy is one of its own.
        tokio::task::spawn_blocking(move || {
            readers.with(|connection| backup::copy(connection, &file, &keys).map_err(failed))
        })
        .await
        .map_err(|error| Error::Unavailable(Box::new(error)))?
    }

    async fn view_digests(&self) -> Result<Vec<(String, Hash)>> {
        self.read_long(backup::view_digests).await
    }

    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(EntryRef<'_>) -> bool) -> Result<()> {
        self.readers
            .with(|connection| records::scan(connection, from, to, visit).map_err(failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_rule_looks_at_nothing_that_was_erased() {
        let seal = RowSeal::new(&[7; 32]);
        let mut connection = Connection::open_in_memory().unwrap();
        sealed::register(&connection, Some(seal.clone())).unwrap();
        schema::migrate(&mut connection, &seal).unwrap();
        for since in [Since::Answer, Since::TimeOut, Since::Creation] {
            let explain = format!("EXPLAIN QUERY PLAN {}", erasable(since));
            let mut plan = connection.prepare(&explain).unwrap();
            let steps = plan.query_map([0, 9], |row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.unwrap().map(|step| step.unwrap()).collect();
            // One search of the index that leaves out what was erased, in its order.
            assert!(
                steps.len() == 1 && steps[0].starts_with("SEARCH"),
                "{steps:?}"
            );
        }
    }
}

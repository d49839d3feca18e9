//! Copying the write-ahead log into the database, beside the writer.
//!
//! A checkpoint of 32 MiB takes some eight milliseconds, and whoever makes it
//! commits nothing meanwhile. So another thread makes it, on a connection of its
//! own: commits go on, and once everything is copied the next one begins the log
//! anew. A writer that is too quick for that makes one itself when the log has
//! become four times as long.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, TrySendError},
    },
    thread::JoinHandle,
};

use rusqlite::{Connection, config::DbConfig};

/// Pages between checkpoints: 32 MiB, so that a page that changes with every
/// batch is copied back once for many batches.
const PAGES: i32 = 8192;
const MOST_PAGES: i32 = 4 * PAGES;
/// What was committed during a checkpoint is copied by the next; so many in a row.
const IN_A_ROW: usize = 4;

/// The thread that makes checkpoints. It ends with the writer's connection, which
/// must be dropped before this.
#[derive(Debug)]
pub struct Checkpoints {
    /// SQLite refuses a second checkpoint while one is being made.
    one_at_a_time: Arc<Mutex<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Starts the thread; from now on the writer makes hardly any checkpoints.
    pub fn start(path: &Path, writer: &mut Connection) -> rusqlite::Result<Checkpoints> {
        let one_at_a_time = Arc::default();
        let (wanted, wants) = mpsc::sync_channel(1);
        let own = Connection::open(path)?;
        own.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        own.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;")?;
        let thread = {
            let one_at_a_time = Arc::clone(&one_at_a_time);
            let thread = std::thread::Builder::new().name("checkpoints".to_owned());
            thread.spawn(move || {
                while wants.recv().is_ok() {
                    copy(&own, &one_at_a_time);
                }
            })
        };
        let alone = Arc::clone(&one_at_a_time);
        writer.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, pages| {
            if pages < PAGES {
                return Ok(());
            }
            // If one is wanted already, it will copy this as well.
            let is_alone = wanted.try_send(()) == Err(TrySendError::Disconnected(()));
            if pages >= MOST_PAGES || is_alone {
                let _alone = lock(&alone);
                // The commit is durable, whatever comes of this.
                let _ = log.checkpoint();
            }
            Ok(())
        }))?;
        Ok(Checkpoints {
            one_at_a_time,
            thread: thread.ok(),
        })
    }

    /// Nobody makes a checkpoint until the guard is dropped.
    pub fn pause(&self) -> MutexGuard<'_, ()> {
        lock(&self.one_at_a_time)
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Copies until nothing is left, if the writer allows for that. A checkpoint that
/// fails is made again after the next commit.
fn copy(connection: &Connection, one_at_a_time: &Mutex<()>) {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    for _ in 0..IN_A_ROW {
        let _alone = lock(one_at_a_time);
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], read);
        match copied {
            Ok((there, copied)) if copied < there => {}
            _ => break,
        }
    }
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

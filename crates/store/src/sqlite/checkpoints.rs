//! Copying the write-ahead log into the database, beside the writer.
//!
//! A checkpoint of 32 MiB takes some eight milliseconds, and whoever makes it
//! commits nothing meanwhile. So another thread copies nearly all of it, on a
//! connection of its own, while commits go on. What they have added by then the
//! writer copies itself, which takes a fraction of a millisecond: the log begins
//! anew only when nothing is left to copy, and a thread beside a busy writer never
//! gets there. A writer that is too quick for the thread makes a whole checkpoint
//! when the log has become four times as long.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use rusqlite::{Connection, config::DbConfig, hooks::Wal, wal::CheckpointMode};

/// Pages between checkpoints: 32 MiB, so that a page that changes with every
/// batch is copied back once for many batches.
const PAGES: i32 = 8192;
const MOST_PAGES: i32 = 4 * PAGES;
/// So much longer the log becomes before the next try, if a reader has kept a
/// checkpoint from being whole.
const MORE_PAGES: i32 = PAGES / 8;
/// The thread copies again what was committed meanwhile, unless it is this little.
const FEW_PAGES: i64 = 128;
const IN_A_ROW: usize = 3;

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
        let copied = Arc::new(AtomicBool::new(false));
        let (wanted, wants) = mpsc::sync_channel(1);
        let own = Connection::open(path)?;
        own.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        own.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;")?;
        let thread = {
            let (one_at_a_time, copied) = (Arc::clone(&one_at_a_time), Arc::clone(&copied));
            let thread = std::thread::Builder::new().name("checkpoints".to_owned());
            thread.spawn(move || {
                while wants.recv().is_ok() {
                    copy(&own, &one_at_a_time);
                    copied.store(true, Ordering::Release);
                }
            })
        };
        let alone = Arc::clone(&one_at_a_time);
        // Whether the thread was asked and its answer not yet taken.
        let mut asked = false;
        let mut next = PAGES;
        writer.wal_hook(Some(move |log: &mut Wal, pages| {
            if pages < PAGES {
                next = PAGES;
            }
            let is_copied = asked && copied.swap(false, Ordering::Acquire);
            asked &= !is_copied;
            if pages < next {
                return Ok(());
            }
            if !is_copied && !asked {
                asked = wanted.try_send(()).is_ok();
            }
            // Without the thread, the writer is left to do it.
            if is_copied || !asked || pages >= MOST_PAGES {
                let _alone = lock(&alone);
                // The commit is durable, whatever comes of this.
                let done = log.checkpoint_v2(CheckpointMode::PASSIVE);
                let is_whole = done.is_ok_and(|(there, copied)| copied >= there);
                next = if is_whole { PAGES } else { pages + MORE_PAGES };
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

/// Copies until little is left, if the writer allows for that.
fn copy(connection: &Connection, one_at_a_time: &Mutex<()>) {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    for _ in 0..IN_A_ROW {
        let _alone = lock(one_at_a_time);
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], read);
        match copied {
            Ok((there, copied)) if there - copied > FEW_PAGES => {}
            _ => break,
        }
    }
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Connections for reading. One is taken for each read and given back; a few
//! are kept, with their prepared statements.
//!
//! A short read is done on its caller's thread and never waits, so there are as
//! many at once as there are such threads. A long one waits for one of a few
//! places, and its connection keeps little: what a thousand ask for at once
//! costs time and not memory, and no short read waits behind it.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use crate::{
    Result, RowSeal,
    sqlite::{failed, prepare_once, sealed},
};

/// More than this many idle connections would only hold memory.
const KEPT: usize = 4;
/// Pages that one connection keeps, filled only as far as it reads. Among a
/// million deliveries a poll costs a tenth less than with half of it.
const CACHE_KIB: u32 = 32 << 10;
/// Long reads go through many pages once: there is little to keep.
const LONG_CACHE_KIB: u32 = 4 << 10;
/// Long reads at once, at least and at the most; between them, half as many as
/// there are processors, which are the writer's and the short reads' too.
const LONG: (usize, usize) = (2, 8);

pub struct Readers {
    path: PathBuf,
    /// Nothing can write there, not even the files that readers and writers
    /// agree with each other in.
    immutable: bool,
    seal: Option<RowSeal>,
    idle: Mutex<Vec<Connection>>,
    long: Mutex<Vec<Connection>>,
    pub places: Arc<Semaphore>,
}

impl Readers {
    pub fn new(path: PathBuf, seal: Option<RowSeal>) -> Readers {
        Readers {
            path,
            immutable: false,
            seal,
            idle: Mutex::new(Vec::new()),
            long: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(long_reads())),
        }
    }

    /// For a copy that may lie where nothing can be written.
    pub fn of_copy(path: PathBuf, seal: Option<RowSeal>) -> Readers {
        let mut readers = Readers::new(path, seal);
        let usable = |readers: &Readers| {
            readers.with(|connection| {
                let found = connection.query_row("SELECT 1 FROM sqlite_schema", [], |_| Ok(()));
                found.map_err(failed)
            })
        };
        let mut log = readers.path.clone().into_os_string();
        log.push("-wal");
        if usable(&readers).is_err() && !Path::new(&log).exists() {
            readers.immutable = true;
        }
        readers
    }

    /// A short read.
    pub fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.with_one_of(&self.idle, CACHE_KIB, read)
    }

    /// A long read, for whoever has one of the `places`.
    pub fn with_long<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.with_one_of(&self.long, LONG_CACHE_KIB, read)
    }

    fn with_one_of<T>(
        &self,
        kept: &Mutex<Vec<Connection>>,
        cache_kib: u32,
        read: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let idle = kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect(cache_kib)?,
        };
        let answer = read(&connection);
        let mut idle = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.is_ok() && idle.len() < KEPT {
            idle.push(connection);
        }
        answer
    }

    fn connect(&self, cache_kib: u32) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self.immutable {
            false => Connection::open_with_flags(&self.path, flags),
            true => {
                let flags = flags | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable_uri(&self.path), flags)
            }
        };
        let connection = connection.map_err(failed)?;
        prepare_once(&connection).map_err(failed)?;
        sealed::register(&connection, self.seal.clone()).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "PRAGMA busy_timeout = 5000; PRAGMA cache_size = -{cache_kib};"
            ))
            .map_err(failed)?;
        Ok(connection)
    }
}

fn long_reads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(LONG.0, LONG.1)
}

/// The path as a URI, which alone can say that nothing writes there.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

//! Connections for reading. One is taken for each read and given back; a few
//! are kept, with their prepared statements.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use rusqlite::{Connection, OpenFlags};

use crate::{Result, sqlite::failed};

/// More than this many idle connections would only hold memory.
const KEPT: usize = 8;

pub struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: PathBuf) -> Readers {
        Readers {
            path,
            idle: Mutex::new(Vec::new()),
        }
    }

    pub fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = read(&connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.is_ok() && idle.len() < KEPT {
            idle.push(connection);
        }
        answer
    }

    fn connect(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection
            .execute_batch("PRAGMA busy_timeout = 5000; PRAGMA cache_size = -4096;")
            .map_err(failed)?;
        Ok(connection)
    }
}

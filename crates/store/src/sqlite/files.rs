//! The files of a store in its directory: the database, what SQLite keeps beside
//! it, and how far it was signed. Nobody else names them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Error, Result,
    durable::{put_in_place, unused, with_suffix},
    sqlite::{FILE, HEAD_FILE},
};

/// What SQLite may leave beside a database, by the end of its name.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

fn unavailable(error: io::Error) -> Error {
    Error::Unavailable(Box::new(error))
}

pub fn database(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

pub fn exists(directory: &Path) -> Result<bool> {
    database(directory).try_exists().map_err(unavailable)
}

pub fn is_empty(directory: &Path) -> bool {
    !is_filled(&database(directory))
}

pub fn remembered_head(directory: &Path) -> Option<PathBuf> {
    Some(directory.join(HEAD_FILE)).filter(|file| is_filled(file))
}

fn is_filled(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.len() > 0)
}

/// A database keeps what belongs to it; what a lost one has left is put aside for
/// itself.
pub fn set_aside(directory: &Path, suffix: &str) -> Result<PathBuf> {
    let file = database(directory);
    let aside = unused(&with_suffix(&file, suffix));
    let has_database = file.exists();
    for companion in COMPANIONS.map(|end| (with_suffix(&file, end), end)) {
        let to = match has_database {
            true => with_suffix(&aside, companion.1),
            false => with_suffix(&companion.0, suffix),
        };
        if companion.0.exists() {
            fs::rename(&companion.0, to).map_err(unavailable)?;
        }
    }
    if has_database {
        fs::rename(&file, &aside).map_err(unavailable)?;
    }
    Ok(aside)
}

/// The head first: a head without data is refused, and whoever moves them does it
/// again.
pub fn move_all(from: &Path, to: &Path) -> Result<()> {
    for file in [HEAD_FILE, FILE] {
        put_in_place(&from.join(file), &to.join(file)).map_err(unavailable)?;
    }
    Ok(())
}

//! The file `head`: how far the log was signed, kept apart from the database.
//!
//! SQLite drops the rest of a write-ahead log from its first damaged frame on
//! without a word, and begins an empty database where there is none. What it
//! then holds is whole and signed, and only too short. This file holds the last
//! signed checkpoint, so that whoever starts or verifies can tell.
//!
//! It is written after each commit, when the commit is durable and whoever waited
//! for it was answered, and so never says more than the database has. It is not
//! synced then: it survives the end
//! of the process as it is, and a power cut may take it back to what was last
//! synced, which only makes it say less.
//!
//! Two slots are written in turn, each in a page of its own: a write that was
//! torn leaves the checkpoint before it. Whether a slot holds one is not looked
//! at here; its signature tells.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
};

use trail::Checkpoint;

/// The file in the data directory.
pub const HEAD_FILE: &str = "head";

/// A page, several times as long as a checkpoint with one signature.
const SLOT: usize = 4096;
const SLOTS: usize = 2;

pub struct HeadFile {
    file: File,
    /// The slot that is written next: not the one with the last checkpoint.
    next: usize,
    /// The log that the last checkpoint is of.
    origin: String,
    /// The last write failed; said once.
    failing: bool,
}

impl HeadFile {
    /// Opens the file, making an empty one if there is none.
    pub fn open(path: &Path) -> io::Result<HeadFile> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let slots = slots(&file)?;
        let known = slots.iter().enumerate().filter_map(|(number, note)| {
            let checkpoint = Checkpoint::unsigned(note)?;
            Some((checkpoint.size, number, checkpoint.origin))
        });
        let last = known.max();
        Ok(HeadFile {
            file,
            next: last.as_ref().map_or(0, |(_, number, _)| 1 - number),
            origin: last.map(|(_, _, origin)| origin).unwrap_or_default(),
            failing: false,
        })
    }

    /// Writes a checkpoint, without a sync. The database has it already, so a
    /// failure is no reason to refuse anything; the file then says less.
    pub fn write(&mut self, note: &str) {
        let written = self.try_write(note);
        if let (Err(error), false) = (&written, self.failing) {
            tracing::warn!(%error, "the file head could not follow the log");
        }
        self.failing = written.is_err();
    }

    fn try_write(&mut self, note: &str) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(note.len() + 1);
        bytes.extend(note.as_bytes());
        bytes.push(0);
        if bytes.len() > SLOT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all_at(&bytes, (self.next * SLOT) as u64)?;
        self.next = 1 - self.next;
        let origin = note.lines().next().unwrap_or_default();
        if origin != self.origin {
            // Another log, which may be shorter than the one before it.
            self.file.write_all_at(&[0], (self.next * SLOT) as u64)?;
            self.file.sync_data()?;
            origin.clone_into(&mut self.origin);
        }
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The texts in the file, which may be torn or of another log; none if there is
/// no file.
pub fn read(path: &Path) -> io::Result<Vec<String>> {
    match File::open(path) {
        Ok(file) => slots(&file).map(|mut slots| {
            slots.retain(|note| !note.is_empty());
            slots
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What the slots hold up to their first zero byte.
fn slots(file: &File) -> io::Result<Vec<String>> {
    let mut slots = Vec::with_capacity(SLOTS);
    for number in 0..SLOTS {
        let mut bytes = vec![0; SLOT];
        let mut read = 0;
        while read < SLOT {
            match file.read_at(&mut bytes[read..], (number * SLOT + read) as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(SLOT);
        slots.push(String::from_utf8_lossy(&bytes[..end]).into_owned());
    }
    Ok(slots)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use trail::{Hash, LogKey};

    use super::*;

    fn note(origin: &str, size: u64) -> String {
        let key = LogKey::from_seed(origin, [3; 32]).unwrap();
        key.sign(&Checkpoint {
            origin: origin.to_owned(),
            size,
            root: Hash([9; 32]),
        })
    }

    fn sizes(path: &Path) -> Vec<u64> {
        let notes = read(path).unwrap();
        let mut sizes: Vec<u64> = notes
            .iter()
            .filter_map(|note| Some(Checkpoint::unsigned(note)?.size))
            .collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn the_last_two_checkpoints_are_kept_also_when_it_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HEAD_FILE);
        assert!(sizes(&path).is_empty());
        for size in 1..20 {
            // A file of several sessions, at every parity.
            let mut file = HeadFile::open(&path).unwrap();
            file.write(&note("log", size * 10));
            if size % 3 == 0 {
                file.write(&note("log", size * 10 + 1));
            }
            file.sync().unwrap();
            assert_eq!(sizes(&path).len(), 2.min(size as usize));
            let last = size * 10 + u64::from(size % 3 == 0);
            assert_eq!(sizes(&path).last(), Some(&last));
        }
    }

    #[test]
    fn a_torn_write_leaves_the_checkpoint_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HEAD_FILE);
        let mut file = HeadFile::open(&path).unwrap();
        (1..=5).for_each(|size| file.write(&note("log", size)));
        let slot = 1 - file.next;
        file.file
            .write_all_at(&[b'?'; 30], (slot * SLOT) as u64)
            .unwrap();
        assert_eq!(sizes(&path), [4]);
        let mut file = HeadFile::open(&path).unwrap();
        file.write(&note("log", 6));
        assert_eq!(sizes(&path), [4, 6]);
    }

    #[test]
    fn nothing_is_left_of_another_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HEAD_FILE);
        let mut file = HeadFile::open(&path).unwrap();
        (100..110).for_each(|size| file.write(&note("one", size)));
        file.write(&note("two", 7));
        assert_eq!(sizes(&path), [7]);
        file.write(&note("two", 8));
        assert_eq!(sizes(&path), [7, 8]);
    }

    #[test]
    fn a_file_of_anything_is_read_and_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HEAD_FILE);
        for length in [0, 1, 4095, 4096, 4097, 20_000] {
            std::fs::write(&path, vec![0xff; length]).unwrap();
            assert!(sizes(&path).is_empty());
            HeadFile::open(&path).unwrap().write(&note("log", 3));
            assert_eq!(sizes(&path), [3]);
        }
    }
}

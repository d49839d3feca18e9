//! A device that forgets what was not synced: a library in C, preloaded into the
//! server, notes what each write replaces (`unsynced.c`), and the notes are
//! played backwards after the server was killed.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use trail::Checkpoint;

use crate::harness::{Dice, House};

pub struct Unsynced {
    directory: tempfile::TempDir,
    data: PathBuf,
    /// Writes that were forgotten.
    pub forgotten: usize,
    /// Kills after which the file `head` said less than it had.
    pub heads_behind: usize,
}

impl Unsynced {
    /// From now on the server of this house runs on such a device.
    pub fn under(house: &mut House) -> Unsynced {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("unsynced.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crashes/unsynced.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
            .arg(&library)
            .args([source, "-lpthread"])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        fs::create_dir(directory.path().join("undo")).unwrap();
        let data = fs::canonicalize(house.data()).unwrap();
        let prelude = format!(
            "export UNSYNCED_DATA='{}' UNSYNCED_UNDO='{}' LD_PRELOAD='{}'",
            data.display(),
            directory.path().join("undo").display(),
            library.display()
        );
        house.prelude = Some(prelude.leak());
        Unsynced {
            directory,
            data,
            forgotten: 0,
            heads_behind: 0,
        }
    }

    /// After a kill: takes back what was not synced, or some of it, for a device
    /// writes what it likes before it loses power.
    pub fn forget(&mut self, dice: &mut Dice) {
        let before = head_size(&self.data);
        let keep_some = dice.below(2) == 0;
        let files = by_inode(&self.data);
        for notes in fs::read_dir(self.directory.path().join("undo")).unwrap() {
            let notes = notes.unwrap().path();
            let inode: u64 = notes
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            let bytes = fs::read(&notes).unwrap();
            fs::remove_file(&notes).unwrap();
            let Some(path) = files.get(&inode) else {
                continue;
            };
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            for note in read_notes(&bytes).into_iter().rev() {
                if keep_some && dice.below(2) == 0 {
                    continue;
                }
                file.write_all_at(note.bytes, note.offset).unwrap();
                file.set_len(note.size).unwrap();
                self.forgotten += 1;
            }
        }
        self.heads_behind += usize::from(head_size(&self.data) < before);
    }
}

/// What one write replaced.
struct Note<'a> {
    /// How long the file was.
    size: u64,
    offset: u64,
    bytes: &'a [u8],
}

/// Oldest first. One that was cut short belongs to a write that never was.
fn read_notes(mut bytes: &[u8]) -> Vec<Note<'_>> {
    let mut notes = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(24) {
        let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap());
        let (size, offset, count) = (number(0), number(8), number(16));
        let Some((bytes_before, rest)) = rest.split_at_checked(count as usize) else {
            break;
        };
        notes.push(Note {
            size,
            offset,
            bytes: bytes_before,
        });
        bytes = rest;
    }
    notes
}

fn by_inode(directory: &Path) -> HashMap<u64, PathBuf> {
    let mut files = HashMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            files.extend(by_inode(&path));
        } else {
            files.insert(metadata.ino(), path);
        }
    }
    files
}

/// How far the file `head` says that the log was signed.
fn head_size(data: &Path) -> u64 {
    let bytes = fs::read(data.join("head")).unwrap_or_default();
    let slots = bytes.chunks(4096).filter_map(|slot| {
        let end = slot.iter().position(|byte| *byte == 0)?;
        Checkpoint::unsigned(std::str::from_utf8(&slot[..end]).ok()?)
    });
    slots.map(|checkpoint| checkpoint.size).max().unwrap_or(0)
}

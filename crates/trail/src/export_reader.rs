//! Reads an export line by line and verifies one on several threads.
//!
//! The reader checks form only: that every line is the one spelling of what it
//! says. Whether the entries follow each other and give the checkpoint's root
//! is the verifier's part, and [`verify_export`] does both.

use std::io::{BufRead, Read};

use crate::{
    checkpoint::Checkpoint,
    cursor::Cursor,
    digest::{Digests, StoredEntry},
    export::{self, CLOSING_START, ExportEntry, MAX_LINE_BYTES},
    fault::{Fault, Reason},
    key::VerifierKey,
    pipeline::link_in_order,
    rotation::Keyring,
    verify::{Report, Verifier},
};

/// An opening holds one name twice and one key.
const MAX_OPENING_BYTES: usize = 4096;
/// Enough to make handing over between threads cheap, small enough to stay in
/// cache.
const CHUNK_BYTES: usize = 96 << 10;

/// Yields the entries of an export in order.
#[derive(Debug)]
pub struct ExportReader<R> {
    lines: R,
    key: VerifierKey,
    /// The position of the entry on the next line.
    position: u64,
    line: Vec<u8>,
    note: Option<String>,
}

impl<R: BufRead> ExportReader<R> {
    /// Reads the opening.
    pub fn open(mut lines: R) -> Result<ExportReader<R>, Fault> {
        let mut line = Vec::new();
        take_line(&mut lines, &mut line, MAX_OPENING_BYTES, 0)?;
        let key = read_opening(&line).ok_or_else(|| Reason::OpeningMalformed.at(0))?;
        Ok(ExportReader {
            lines,
            key,
            position: 0,
            line,
            note: None,
        })
    }

    /// The key that the export says signed it; whether to trust it is another
    /// question.
    pub fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// The next entry, or `None` when the checkpoint was reached.
    #[allow(clippy::should_implement_trait)] // An entry borrows the reader's line.
    pub fn next(&mut self) -> Result<Option<ExportEntry<'_>>, Fault> {
        let position = self.position;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let more = self.next_line(&mut line);
        self.line = line;
        if !more? {
            return Ok(None);
        }
        match ExportEntry::read(&self.line) {
            Some((entry, _)) => Ok(Some(entry)),
            None => Err(Reason::LineMalformed.at(position)),
        }
    }

    /// The checkpoint's signed note, once the end was reached.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Appends the next entry's line; false at the checkpoint.
    fn next_line(&mut self, into: &mut Vec<u8>) -> Result<bool, Fault> {
        if self.note.is_some() {
            return Ok(false);
        }
        let start = into.len();
        take_line(&mut self.lines, into, MAX_LINE_BYTES, self.position)?;
        if !into[start..].starts_with(CLOSING_START.as_bytes()) {
            self.position += 1;
            return Ok(true);
        }
        let note = read_closing(&into[start..]);
        self.note = Some(note.ok_or_else(|| Reason::LineMalformed.at(self.position))?);
        match self.lines.fill_buf() {
            Ok([]) => Ok(false),
            Ok(_) => Err(Reason::AfterEnd.at(self.position)),
            Err(error) => Err(Reason::Unread(error.to_string()).at(self.position)),
        }
    }

    /// Some lines at once, or `None` at the end.
    fn next_chunk(&mut self) -> Option<Chunk> {
        let mut chunk = Chunk {
            position: self.position,
            lines: Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8),
            ends: Vec::new(),
            fault: None,
        };
        while chunk.lines.len() < CHUNK_BYTES {
            match self.next_line(&mut chunk.lines) {
                Ok(true) => chunk.ends.push(chunk.lines.len()),
                Ok(false) if chunk.ends.is_empty() => return None,
                Ok(false) => break,
                Err(fault) => {
                    // Nothing can be read after this.
                    self.note = Some(String::new());
                    chunk.fault = Some(fault);
                    break;
                }
            }
        }
        Some(chunk)
    }
}

/// Lines of consecutive entries, one after the other.
struct Chunk {
    position: u64,
    lines: Vec<u8>,
    ends: Vec<usize>,
    /// Met after the last of them.
    fault: Option<Fault>,
}

impl Chunk {
    fn digest(&self, digests: &mut Digests) {
        let mut start = 0;
        for (position, &end) in (self.position..).zip(&self.ends) {
            let Some((entry, header)) = ExportEntry::read(&self.lines[start..end]) else {
                return digests.fail(Reason::LineMalformed.at(position));
            };
            let stored = StoredEntry {
                position: entry.position,
                stream: &header.stream,
                seq: entry.seq,
                header: entry.header,
                entry_hash: Some(entry.entry_hash),
                prev_hash: Some(entry.prev_hash),
                prev: None,
                parts: &entry.present(),
            };
            digests.note_erasures(&stored, &header);
            digests.push_read(&stored, &header);
            if digests.failed() {
                return;
            }
            start = end;
        }
        if let Some(fault) = &self.fault {
            digests.fail(fault.clone());
        }
    }
}

/// Verifies a whole export: every line, every link, the root, the signature by
/// one of `keys` or by one that they handed the log over to, and that the log still begins with each checkpoint in `kept`.
pub fn verify_export<R: BufRead + Send>(
    lines: R,
    keys: &Keyring,
    kept: impl IntoIterator<Item = Checkpoint>,
    threads: usize,
) -> Result<Report, Fault> {
    let mut reader = ExportReader::open(lines)?;
    let mut verifier = Verifier::new();
    verifier.trust(keys.clone());
    for checkpoint in kept {
        if checkpoint.origin != keys.name() {
            return Err(Reason::OtherOrigin(checkpoint.origin).at(0));
        }
        verifier.expect(checkpoint);
    }
    link_in_order(
        &mut verifier,
        threads,
        || reader.next_chunk(),
        Chunk::digest,
    )?;
    let size = verifier.size();
    let note = reader.note().ok_or_else(|| Reason::Truncated.at(size))?;
    let checkpoint = match verifier.trusts(reader.key()) {
        true => reader.key().open(note),
        false => return Err(Reason::KeyNotTrusted.at(0)),
    };
    let checkpoint = checkpoint.map_err(|fault| Reason::from(fault).at(size))?;
    verifier.finish(&checkpoint)
}

/// Appends one line without its end.
fn take_line<R: BufRead>(
    lines: &mut R,
    into: &mut Vec<u8>,
    max: usize,
    position: u64,
) -> Result<(), Fault> {
    let start = into.len();
    let read = lines.take(max as u64 + 1).read_until(b'\n', into);
    if let Err(error) = read {
        return Err(Reason::Unread(error.to_string()).at(position));
    }
    match into.last() {
        Some(b'\n') if into.len() > start => {
            into.pop();
            Ok(())
        }
        _ if into.len() - start > max => Err(Reason::LineTooLong { max }.at(position)),
        _ => Err(Reason::Truncated.at(position)),
    }
}

fn read_opening(line: &[u8]) -> Option<VerifierKey> {
    let mut cursor = Cursor::new(line)?;
    cursor.literal("{\"key\":")?;
    let key: VerifierKey = cursor.string()?.parse().ok()?;
    (export::opening(&key) == line).then_some(key)
}

fn read_closing(line: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(line)?;
    cursor.literal(CLOSING_START)?;
    let note = cursor.string()?;
    cursor.literal("}")?;
    cursor.end()?;
    Some(note.into_owned())
}

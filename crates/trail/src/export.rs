//! The export file: a whole log in one text that proves itself.
//!
//! JSON Lines, every line canonical: an opening with the log's key, one line
//! for each entry from position 0, and the checkpoint of exactly that many
//! entries. Headers are embedded as objects, so that people can read them;
//! parts are base64, because content is kept as the exact bytes received.
//! Each line has one spelling, so that no bit of the file is without meaning.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

use crate::{
    Hash, Header, canonical, cursor::Cursor, digest::StoredPart, entry::Salt, json::utf16_less,
    key::VerifierKey,
};

/// Room for the largest parts an entry may have (16 MiB) as base64, three times.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// One entry of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportEntry<'a> {
    pub position: u64,
    pub seq: u64,
    pub entry_hash: Hash,
    pub prev_hash: Option<Hash>,
    /// Canonical JSON of the [`Header`].
    pub header: &'a [u8],
    /// All that the header names, in any order.
    pub parts: Vec<ExportPart<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPart<'a> {
    pub name: Cow<'a, str>,
    /// `None` when it was erased.
    pub content: Option<(Salt, Cow<'a, [u8]>)>,
}

/// The first line. Fields in canonical order.
#[derive(Serialize)]
struct Opening<'a> {
    key: &'a str,
    origin: &'a str,
    wakeful_export: u8,
}

/// The last line.
#[derive(Serialize)]
struct Closing<'a> {
    checkpoint: &'a str,
}

pub(crate) const CLOSING_START: &str = "{\"checkpoint\":";

pub(crate) fn opening(key: &VerifierKey) -> Vec<u8> {
    canonical::to_vec(&Opening {
        key: &key.to_string(),
        origin: key.name(),
        wakeful_export: 1,
    })
}

/// Writes an export, line by line. It must be finished to be worth anything.
#[derive(Debug)]
pub struct ExportWriter<W> {
    out: W,
    next: u64,
    line: Vec<u8>,
}

impl<W: Write> ExportWriter<W> {
    /// Writes the opening: the key that will have signed the checkpoint.
    pub fn begin(mut out: W, key: &VerifierKey) -> io::Result<ExportWriter<W>> {
        let mut line = opening(key);
        line.push(b'\n');
        out.write_all(&line)?;
        Ok(ExportWriter { out, next: 0, line })
    }

    /// Writes the entry of the next position.
    pub fn entry(&mut self, entry: &ExportEntry<'_>) -> io::Result<()> {
        if entry.position != self.next {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("expected the entry at {}", self.next),
            ));
        }
        self.line.clear();
        entry.write(&mut self.line);
        if self.line.len() > MAX_LINE_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the entry at {} is too long to export", self.next),
            ));
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.next += 1;
        Ok(())
    }

    /// Writes the checkpoint of exactly the entries written, as a signed note.
    pub fn finish(mut self, note: &str) -> io::Result<W> {
        let mut line = canonical::to_vec(&Closing { checkpoint: note });
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<'a> ExportEntry<'a> {
    fn write(&self, line: &mut Vec<u8>) {
        let text = |line: &mut Vec<u8>, text: &str| line.extend_from_slice(text.as_bytes());
        text(
            line,
            &format!("{{\"entry_hash\":\"{}\",\"header\":", self.entry_hash),
        );
        line.extend_from_slice(self.header);
        text(line, ",\"parts\":{");
        let mut sorted: Vec<_> = self.parts.iter().collect();
        sorted.sort_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
        for (n, part) in sorted.into_iter().enumerate() {
            if n > 0 {
                line.push(b',');
            }
            line.extend(canonical::to_vec(&part.name));
            match &part.content {
                None => text(line, ":null"),
                Some((salt, bytes)) => {
                    let (bytes, salt) = (STANDARD.encode(bytes), Hash(*salt));
                    text(
                        line,
                        &format!(":{{\"bytes\":\"{bytes}\",\"salt\":\"{salt}\"}}"),
                    );
                }
            }
        }
        text(
            line,
            &format!("}},\"position\":{},\"prev_hash\":", self.position),
        );
        match &self.prev_hash {
            None => text(line, "null"),
            Some(hash) => text(line, &format!("\"{hash}\"")),
        }
        text(line, &format!(",\"seq\":{}}}", self.seq));
    }

    /// Reads one line, which must be exactly what the writer would write.
    pub(crate) fn read(line: &'a [u8]) -> Option<(ExportEntry<'a>, Header<'a>)> {
        let mut cursor = Cursor::new(line)?;
        cursor.literal("{\"entry_hash\":")?;
        let entry_hash = cursor.hash()?;
        cursor.literal(",\"header\":")?;
        let start = cursor.at();
        let header = Header::take(&mut cursor)?;
        let header_bytes = &line[start..cursor.at()];
        cursor.literal(",\"parts\":{")?;
        let parts = ExportPart::take_all(&mut cursor, &header)?;
        cursor.literal(",\"position\":")?;
        let position = cursor.integer()?;
        cursor.literal(",\"prev_hash\":")?;
        let prev_hash = cursor.nullable(Cursor::hash)?;
        cursor.literal(",\"seq\":")?;
        let seq = cursor.integer()?;
        cursor.literal("}")?;
        cursor.end()?;
        let entry = ExportEntry {
            position,
            seq,
            entry_hash,
            prev_hash,
            header: header_bytes,
            parts,
        };
        Some((entry, header))
    }

    /// The parts that were not erased.
    pub fn present(&self) -> Vec<StoredPart<'_>> {
        let parts = self.parts.iter();
        parts
            .filter_map(|part| {
                let (salt, bytes) = part.content.as_ref()?;
                Some(StoredPart {
                    name: &part.name,
                    salt,
                    bytes,
                })
            })
            .collect()
    }
}

impl<'a> ExportPart<'a> {
    /// The object after its opening brace, with the closing one. Its keys are
    /// exactly the names in the header, sorted.
    fn take_all(cursor: &mut Cursor<'a>, header: &Header<'a>) -> Option<Vec<ExportPart<'a>>> {
        let mut parts: Vec<ExportPart<'a>> = Vec::with_capacity(header.parts.len());
        while !cursor.try_literal("}") {
            if !parts.is_empty() {
                cursor.literal(",")?;
            }
            let name = cursor.string()?;
            let sorted = parts
                .last()
                .is_none_or(|last| utf16_less(&last.name, &name));
            if !sorted || !header.parts.iter().any(|named| named.name == name) {
                return None;
            }
            cursor.literal(":")?;
            let content = cursor.nullable(|cursor| {
                cursor.literal("{\"bytes\":")?;
                let bytes = STANDARD.decode(cursor.plain()?).ok()?;
                cursor.literal(",\"salt\":")?;
                let salt = cursor.bytes32()?;
                cursor.literal("}")?;
                Some((salt, Cow::Owned(bytes)))
            })?;
            parts.push(ExportPart { name, content });
        }
        (parts.len() == header.parts.len()).then_some(parts)
    }
}

//! The key that proves rows which are trusted without looking at the trail.
//!
//! Such a row carries a message authentication code over its table and all of
//! its columns, the primary key among them: a row that was changed, or moved to
//! another key or table, is not taken for one that this server wrote. A row that
//! was deleted, or put back as it was earlier, is not noticed.
//!
//! Codes are HMAC-SHA-256, but for deliveries, entries and content: a sweep reads
//! hundreds of these and takes two microseconds for each, so theirs are
//! SipHash-2-4, of 64 bits. A delivery has two: one over the row, and one over
//! the little of it that an agent is told.

use std::hash::Hasher as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use siphasher::sip::SipHasher24;

use crate::{AnswerRow, DeliveryRow, EntryRow};

/// Bytes of a code that are kept: nobody can try enough guesses to meet 16.
pub const CODE_BYTES: usize = 16;

/// Makes the codes of rows. Whoever has it can forge them.
#[derive(Clone)]
pub struct RowSeal {
    rows: Hmac<Sha256>,
    deliveries: SipHasher24,
    answers: SipHasher24,
    parts: SipHasher24,
    entries: SipHasher24,
}

impl std::fmt::Debug for RowSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowSeal(…)")
    }
}

impl RowSeal {
    /// From 32 secret bytes that are used for nothing else.
    pub fn new(key: &[u8; 32]) -> RowSeal {
        let rows: Hmac<Sha256> = Hmac::new_from_slice(key).expect("a key of any length is one");
        let derived = |name: &[u8]| {
            let mut code = Code(rows.clone());
            code.add(5, name);
            SipHasher24::new_with_key(&code.finish())
        };
        RowSeal {
            deliveries: derived(b"deliveries"),
            answers: derived(b"answers"),
            parts: derived(b"parts"),
            entries: derived(b"entries"),
            rows,
        }
    }

    /// Begins a code. The key was taken in already: this is a copy.
    pub(crate) fn code(&self) -> Code {
        Code(self.rows.clone())
    }

    /// The code of a delivery's row.
    pub(crate) fn delivery(&self, row: &DeliveryRow) -> i64 {
        let mut quick = Quick::new(self.deliveries);
        quick.number(row.no);
        quick.bytes(row.id.as_bytes());
        quick.number(row.stream);
        quick.number(u64::from_be_bytes([
            row.kind,
            row.status,
            u8::from(row.test),
            u8::from(row.timed_out),
            row.erased.code(),
            row.details_format.map_or(u8::MAX, |format| format),
            u8::from(row.details_format.is_some()),
            u8::from(row.hold.is_some()),
        ]));
        quick.text(Some(&row.provider));
        quick.text(Some(&row.headline));
        quick.text(Some(&row.summary));
        quick.number(row.created_at.0 as u64);
        quick.number(row.changed_at.0 as u64);
        quick.number(row.lane_no);
        quick.number(row.pending_no);
        quick.perhaps(row.timeout_at.map(|at| at.0 as u64));
        quick.text(row.callback.as_deref());
        quick.text(row.answered_by.as_deref());
        quick.perhaps(row.answer_position);
        if let Some(hold) = &row.hold {
            quick.text(Some(&hold.by));
            quick.number(u64::from(hold.channel) << 8 | u64::from(hold.status));
            quick.number(hold.until.0 as u64);
        }
        quick.perhaps(row.due_at.map(|at| at.0 as u64));
        quick.finish()
    }

    /// The code of what an agent is told of a delivery, apart from the texts.
    pub(crate) fn answer(&self, row: &AnswerRow) -> i64 {
        let mut quick = Quick::new(self.answers);
        quick.bytes(row.id.as_bytes());
        quick.number(row.stream << 16 | u64::from(row.status) << 8 | u64::from(row.erased.code()));
        quick.number(row.changed_at.0 as u64);
        quick.perhaps(row.answer_position);
        quick.finish()
    }

    /// The code of content as it is stored, among the parts of these names that
    /// its entry has. Its salt is the entry's to prove.
    pub(crate) fn part(&self, no: i64, name: &str, bytes: &[u8], names: &[&str]) -> i64 {
        let mut quick = Quick::new(self.parts);
        quick.number(no as u64);
        quick.text(Some(name));
        quick.number(names.len() as u64);
        names.iter().for_each(|name| quick.text(Some(name)));
        quick.bytes(bytes);
        quick.finish()
    }

    /// The code of an entry's row. Its facts are the header's to prove.
    pub(crate) fn entry(&self, row: &EntryRow) -> i64 {
        let mut quick = Quick::new(self.entries);
        quick.number(row.position);
        quick.number(row.stream);
        quick.number(row.seq);
        quick.perhaps(row.prev);
        quick.bytes(&row.entry_hash.0);
        quick.bytes(&row.header);
        quick.finish()
    }
}

/// Values one after the other, in a way that no two lists of them give the same
/// bytes. They are gathered first: many short writes cost the hasher more than
/// the hashing.
struct Quick {
    hasher: SipHasher24,
    gathered: [u8; GATHERED],
    used: usize,
}

/// More than most rows have beside a text or two, which are not copied for it.
const GATHERED: usize = 256;

impl Quick {
    fn new(hasher: SipHasher24) -> Quick {
        Quick {
            hasher,
            gathered: [0; GATHERED],
            used: 0,
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > GATHERED - self.used {
            self.flush();
        }
        match self.gathered.get_mut(self.used..self.used + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.used += bytes.len();
            }
            None => self.hasher.write(bytes),
        }
    }

    fn flush(&mut self) {
        self.hasher.write(&self.gathered[..self.used]);
        self.used = 0;
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_ne_bytes());
    }

    /// No position and no time is the greatest number.
    fn perhaps(&mut self, number: Option<u64>) {
        self.number(number.unwrap_or(u64::MAX));
    }

    fn text(&mut self, text: Option<&str>) {
        self.perhaps(text.map(|text| text.len() as u64));
        self.bytes(text.unwrap_or_default().as_bytes());
    }

    fn finish(mut self) -> i64 {
        self.flush();
        self.hasher.finish() as i64
    }
}

/// A code that is being made, value by value.
pub(crate) struct Code(Hmac<Sha256>);

impl Code {
    /// Adds a value: its type and its length stand before it, so that no two
    /// lists of values give the same bytes.
    pub fn add(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.update(&head);
        self.0.update(bytes);
    }

    pub fn finish(self) -> [u8; CODE_BYTES] {
        let whole: [u8; 32] = self.0.finalize().into_bytes().into();
        let mut code = [0; CODE_BYTES];
        code.copy_from_slice(&whole[..CODE_BYTES]);
        code
    }
}

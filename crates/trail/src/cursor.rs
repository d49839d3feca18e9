//! Reads canonical JSON of a known shape from left to right.
//!
//! Canonical bytes have one spelling, so a reader that knows the fields in
//! order can demand each byte as it comes: what it accepts is canonical by
//! construction, in one pass, and nothing has to be written again to compare.
//! `None` means "not the one spelling"; callers know what they were reading.

use std::borrow::Cow;

use hex::HEXLOWER;

use crate::{Hash, canonical::MAX_INTEGER};

pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Cursor<'a>> {
        let text = std::str::from_utf8(bytes).ok()?;
        Some(Cursor { text, at: 0 })
    }

    pub fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Demands these bytes.
    pub fn literal(&mut self, bytes: &str) -> Option<()> {
        self.try_literal(bytes).then_some(())
    }

    /// Takes these bytes if they come next.
    pub fn try_literal(&mut self, bytes: &str) -> bool {
        let here = self.rest().starts_with(bytes.as_bytes());
        if here {
            self.at += bytes.len();
        }
        here
    }

    /// `null`, or what `read` reads.
    pub fn nullable<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.try_literal("null") {
            true => Some(None),
            false => read(self).map(Some),
        }
    }

    pub fn end(&self) -> Option<()> {
        (self.at == self.text.len()).then_some(())
    }

    pub fn integer(&mut self) -> Option<u64> {
        let rest = self.rest();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // 16 digits hold the largest integer and cannot overflow.
        if !(1..=16).contains(&digits) || (digits > 1 && rest[0] == b'0') {
            return None;
        }
        self.at += digits;
        let number = rest[..digits]
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        (number <= MAX_INTEGER as u64).then_some(number)
    }

    /// A string without escapes, as base64 and hex are.
    pub fn plain(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let end = start + special(bytes.get(start..)?)?;
        if bytes[end] != b'"' {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// Exactly 32 bytes in lowercase hex.
    pub fn bytes32(&mut self) -> Option<[u8; 32]> {
        let text = self.rest().get(..66)?;
        if text[0] != b'"' || text[65] != b'"' {
            return None;
        }
        let mut bytes = [0; 32];
        HEXLOWER.decode_mut(&text[1..65], &mut bytes).ok()?;
        self.at += 66;
        Some(bytes)
    }

    pub fn hash(&mut self) -> Option<Hash> {
        self.bytes32().map(Hash)
    }

    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        let before = self.at;
        if let Some(plain) = self.plain() {
            return Some(Cow::Borrowed(plain));
        }
        self.at = before;
        self.literal("\"")?;
        let mut owned = String::new();
        loop {
            let length = special(self.rest())?;
            owned.push_str(self.text.get(self.at..self.at + length)?);
            self.at += length;
            match self.rest()[0] {
                b'"' => break,
                b'\\' => owned.push(self.escape()?),
                _ => return None,
            }
        }
        self.at += 1;
        Some(Cow::Owned(owned))
    }

    /// RFC 8785 escapes only what must be, each in the shortest way.
    fn escape(&mut self) -> Option<char> {
        let rest = self.rest();
        let (meaning, length) = match rest.get(1)? {
            b'"' => ('"', 2),
            b'\\' => ('\\', 2),
            b'b' => ('\u{8}', 2),
            b't' => ('\t', 2),
            b'n' => ('\n', 2),
            b'f' => ('\u{c}', 2),
            b'r' => ('\r', 2),
            b'u' => (control(rest.get(2..6)?)?, 6),
            _ => return None,
        };
        self.at += length;
        Some(meaning)
    }
}

/// `00xx` for a control character that has no escape of its own.
fn control(digits: &[u8]) -> Option<char> {
    let mut code = [0; 2];
    HEXLOWER.decode_mut(digits, &mut code).ok()?;
    match code {
        [0, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d] => None,
        [0, code @ 0..0x20] => Some(char::from(code)),
        _ => None,
    }
}

/// Where the first quote, backslash or control character is; eight bytes at a
/// time, because most of an export is one long base64 string after another.
fn special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let words = bytes.chunks_exact(8);
    let tail = bytes.len() - words.remainder().len();
    for (n, word) in words.enumerate() {
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let slash = zero(word ^ (ONES * u64::from(b'\\')));
        // The lowest marked byte of each is exact; a borrow only runs upwards.
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let found = quote | slash | control;
        if found != 0 {
            return Some(n * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let rest = &bytes[tail..];
    let found = rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    found.map(|at| tail + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_string_reads_exactly_when_serde_json_writes_it_so(text in "(\"|\\\\|\\PC|[\\x00-\\x1f]|a){0,40}") {
            let written = serde_json::to_string(&text).unwrap();
            let mut cursor = Cursor::new(written.as_bytes()).unwrap();
            let read = cursor.string();
            prop_assert_eq!(read.as_deref(), Some(text.as_str()));
            prop_assert!(cursor.end().is_some());
        }

        #[test]
        fn any_other_spelling_of_a_string_is_refused(inner in r#"(\\u00[0-9a-fA-F]{2}|\\[a-z/"\\]|[a-z"]|é){0,12}"#) {
            let written = format!("\"{inner}\"");
            let read = Cursor::new(written.as_bytes()).and_then(|mut cursor| {
                let text = cursor.string()?;
                cursor.end().map(|()| text)
            });
            let expected = serde_json::from_str::<String>(&written).ok()
                .filter(|text| serde_json::to_string(text).unwrap() == written);
            prop_assert_eq!(read.as_deref(), expected.as_deref());
        }

        #[test]
        fn the_first_special_byte_is_found(bytes in prop::collection::vec(any::<u8>(), 0..40), at in 0usize..40) {
            let mut bytes: Vec<u8> = bytes.into_iter().map(|byte| byte | 0x80).collect();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = [b'"', b'\\', 0, 0x1f][at % 4];
            }
            let slow = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(special(&bytes), slow);
        }
    }

    #[test]
    fn integers_have_one_spelling_and_a_maximum() {
        let read = |text: &str| Cursor::new(text.as_bytes())?.integer();
        assert_eq!(read("0"), Some(0));
        assert_eq!(read("9007199254740991"), Some(MAX_INTEGER as u64));
        for text in [
            "",
            "00",
            "01",
            "-1",
            "9007199254740992",
            "99999999999999999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

//! A strict look at JSON bytes, in one pass and without building a value.
//!
//! Two questions are answered here: "is this one JSON text in which no object
//! repeats a key?" (what every request must satisfy) and "is it canonical?"
//! (what we write). Numbers are checked as text, so none is ever rounded.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{KeyName, canonical::MAX_INTEGER};

/// For `deserialize_with`: keeps a field's exact bytes, and tells a field that
/// is `null` from one that is absent (with `default`).
pub fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&'a RawValue>::deserialize(deserializer).map(Some)
}

/// How strict to be.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Arrays and objects may nest this deep; it bounds our own stack too.
    pub max_depth: usize,
    canonical: bool,
}

impl Rules {
    /// For requests. 128 is what `serde_json` can read afterwards.
    pub const REQUEST: Rules = Rules {
        max_depth: 127,
        canonical: false,
    };
    /// For headers and facts.
    pub const CANONICAL: Rules = Rules {
        max_depth: 127,
        canonical: true,
    };
}

/// Why the bytes were refused, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("not valid JSON at byte {at}: {what}")]
    Syntax { at: usize, what: &'static str },
    #[error("the key {key} appears twice in one object (byte {at})")]
    DuplicateKey { at: usize, key: KeyName },
    #[error("nested deeper than {max} levels (byte {at})")]
    TooDeep { at: usize, max: usize },
    #[error("not canonical at byte {at}: {what}")]
    NotCanonical { at: usize, what: &'static str },
}

/// Checks that `bytes` are exactly one JSON text under `rules`.
pub fn scan(bytes: &[u8], rules: Rules) -> Result<(), Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| Fault::Syntax {
        at: error.valid_up_to(),
        what: "not UTF-8",
    })?;
    Scanner {
        text,
        bytes,
        at: 0,
        rules,
        open: Vec::new(),
    }
    .run()
}

/// One object or array that is not yet closed.
enum Open<'a> {
    Array,
    Object(Keys<'a>),
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    rules: Rules,
    open: Vec<Open<'a>>,
}

impl<'a> Scanner<'a> {
    fn run(mut self) -> Result<(), Fault> {
        self.space()?;
        loop {
            // A value starts here.
            let opened = self.value_start()?;
            if opened && self.first_member()? {
                continue;
            }
            // A value ended here: close what it ends, or go to the next one.
            if !self.after_value()? {
                break;
            }
        }
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(self.syntax("something follows the value")),
        }
    }

    /// Reads a scalar whole, or the opening of an array or object (then true).
    fn value_start(&mut self) -> Result<bool, Fault> {
        match self.peek() {
            Some(b'{') => self.push(Open::Object(Keys::default())),
            Some(b'[') => self.push(Open::Array),
            Some(b'"') => self.string().map(|_| false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.syntax("expected a value")),
        }
    }

    fn push(&mut self, open: Open<'a>) -> Result<bool, Fault> {
        if self.open.len() == self.rules.max_depth {
            return Err(Fault::TooDeep {
                at: self.at,
                max: self.rules.max_depth,
            });
        }
        self.at += 1;
        self.open.push(open);
        self.space()?;
        Ok(true)
    }

    /// After an opening: true when a first value follows, false when it was empty.
    fn first_member(&mut self) -> Result<bool, Fault> {
        match (self.open.last(), self.peek()) {
            (Some(Open::Array), Some(b']')) | (Some(Open::Object(_)), Some(b'}')) => {
                self.close()?;
                Ok(false)
            }
            (Some(Open::Object(_)), _) => self.key().map(|()| true),
            _ => Ok(true),
        }
    }

    /// After a value: true when another follows, false when the text is over.
    fn after_value(&mut self) -> Result<bool, Fault> {
        loop {
            self.space()?;
            match (self.open.last(), self.peek()) {
                (None, _) => return Ok(false),
                (Some(Open::Array), Some(b',')) => {
                    self.at += 1;
                    self.space()?;
                    return Ok(true);
                }
                (Some(Open::Object(_)), Some(b',')) => {
                    self.at += 1;
                    self.space()?;
                    self.key()?;
                    return Ok(true);
                }
                (Some(Open::Array), Some(b']')) | (Some(Open::Object(_)), Some(b'}')) => {
                    self.close()?;
                }
                _ => return Err(self.syntax("expected a comma or a closing bracket")),
            }
        }
    }

    fn close(&mut self) -> Result<(), Fault> {
        self.at += 1;
        self.open.pop();
        Ok(())
    }

    fn key(&mut self) -> Result<(), Fault> {
        let at = self.at;
        let key = self.string()?;
        let canonical = self.rules.canonical;
        if let Some(Open::Object(keys)) = self.open.last_mut() {
            if canonical && keys.last().is_some_and(|last| !utf16_less(last, &key)) {
                return Err(Fault::NotCanonical {
                    at,
                    what: "keys are not in order",
                });
            }
            if let Err(key) = keys.insert(key) {
                let key = KeyName::new(&key);
                return Err(Fault::DuplicateKey { at, key });
            }
        }
        self.space()?;
        if self.peek() != Some(b':') {
            return Err(self.syntax("expected a colon"));
        }
        self.at += 1;
        self.space()
    }

    fn word(&mut self, word: &str) -> Result<bool, Fault> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.syntax("expected a value"));
        }
        self.at += word.len();
        Ok(false)
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.syntax("expected a digit")),
        }
        let integer_end = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.rules.canonical {
            let value: Option<i64> = self.text[start..integer_end].parse().ok();
            let exact = self.at == integer_end
                && &self.text[start..integer_end] != "-0"
                && value.is_some_and(|value| value.abs() <= MAX_INTEGER);
            if !exact {
                return Err(Fault::NotCanonical {
                    at: start,
                    what: "not a safe integer",
                });
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            Err(self.syntax("expected a digit"))
        } else {
            Ok(())
        }
    }

    /// Reads a string and gives its meaning, borrowed when it has no escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax("expected a string"));
        }
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut plain_from = start;
        loop {
            match self.peek() {
                None => return Err(self.syntax("the string does not end")),
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(&self.text[plain_from..self.at]);
                    let escaped = self.escape()?;
                    owned.get_or_insert_default().push(escaped);
                    plain_from = self.at;
                }
                Some(0..=0x1f) => return Err(self.syntax("a control character must be escaped")),
                Some(_) => {
                    let rest = &self.bytes[self.at..];
                    let plain = rest
                        .iter()
                        .position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f));
                    self.at += plain.unwrap_or(rest.len());
                }
            }
        }
        let tail = &self.text[plain_from..self.at];
        self.at += 1;
        Ok(match owned {
            None => Cow::Borrowed(tail),
            Some(mut text) => {
                text.push_str(tail);
                Cow::Owned(text)
            }
        })
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let at = self.at;
        self.at += 1;
        let letter = self
            .peek()
            .ok_or_else(|| self.syntax("the string does not end"))?;
        self.at += 1;
        let meaning = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode()?,
            _ => return Err(self.syntax("unknown escape")),
        };
        let needed = match letter {
            b'/' => false,
            b'u' => {
                meaning < ' '
                    && !matches!(meaning, '\u{8}' | '\t' | '\n' | '\u{c}' | '\r')
                    && !self.bytes[at..self.at].iter().any(u8::is_ascii_uppercase)
            }
            _ => true,
        };
        if self.rules.canonical && !needed {
            return Err(Fault::NotCanonical {
                at,
                what: "a needless escape",
            });
        }
        Ok(meaning)
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.bytes[self.at..].starts_with(b"\\u") {
                    return Err(self.syntax("half of a surrogate pair"));
                }
                self.at += 2;
                match self.hex4()? {
                    second @ 0xdc00..=0xdfff => {
                        0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    _ => return Err(self.syntax("half of a surrogate pair")),
                }
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.syntax("half of a surrogate pair"))
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.syntax("expected four hex digits"));
        }
        let code = u32::from_str_radix(&self.text[self.at..self.at + 4], 16)
            .map_err(|_| self.syntax("expected four hex digits"))?;
        self.at += 4;
        Ok(code)
    }

    fn space(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        if self.rules.canonical && self.at > start {
            return Err(Fault::NotCanonical {
                at: start,
                what: "white space",
            });
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn syntax(&self, what: &'static str) -> Fault {
        Fault::Syntax { at: self.at, what }
    }
}

/// The keys of one object: a short list is searched, a long one is a tree.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: BTreeSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 16;

    fn last(&self) -> Option<&str> {
        self.few.last().map(Cow::as_ref)
    }

    /// Gives the key back if it is already there.
    fn insert(&mut self, key: Cow<'a, str>) -> Result<(), String> {
        if self.few.contains(&key) || (!self.many.is_empty() && self.many.contains(&key)) {
            return Err(key.into_owned());
        }
        if self.few.len() == Self::FEW {
            self.many.extend(self.few.drain(..));
        }
        self.few.push(key);
        Ok(())
    }
}

pub(crate) fn utf16_less(a: &str, b: &str) -> bool {
    a.encode_utf16().lt(b.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(text: &str) -> Result<(), Fault> {
        scan(text.as_bytes(), Rules::REQUEST)
    }

    #[test]
    fn a_repeated_key_is_found_at_any_depth_and_however_it_is_spelled() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":[{"a":1,"\u0061":2}]}"#,
            r#"{"details":{"é":1,"\u00e9":2}}"#,
        ] {
            assert!(
                matches!(request(text), Err(Fault::DuplicateKey { .. })),
                "{text}"
            );
        }
        let many: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":0")).collect();
        assert_eq!(request(&format!("{{{}}}", many.join(","))), Ok(()));
        let twice = format!("{{{},\"k3\":0}}", many.join(","));
        assert!(matches!(request(&twice), Err(Fault::DuplicateKey { .. })));
        assert_eq!(request(r#"[{"a":1},{"a":1}]"#), Ok(()));
    }

    #[test]
    fn numbers_of_any_size_pass_and_are_not_read() {
        assert_eq!(
            request("[1e400,123456789012345678901234567890,-0.0]"),
            Ok(())
        );
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "01",
            "1.",
            "+1",
            "nul",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\n\"",
            "1 2",
            "{\"a\":1,}",
            "]",
            "\"",
            "\"\\u12\"",
            "NaN",
        ] {
            assert!(matches!(request(text), Err(Fault::Syntax { .. })), "{text}");
        }
        assert!(matches!(
            scan(b"\"\xff\"", Rules::REQUEST),
            Err(Fault::Syntax { .. })
        ));
    }

    #[test]
    fn depth_is_limited() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(request(&deep(127)), Ok(()));
        assert!(matches!(request(&deep(128)), Err(Fault::TooDeep { .. })));
        assert!(matches!(
            request(&"[".repeat(1 << 20)),
            Err(Fault::TooDeep { .. })
        ));
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_what_is_json(text in r#"[\[\]{}":,0-9a-z\\u \-.eE]{0,24}"#) {
            // Distinct keys cannot be promised here, so only that difference is allowed.
            let ours = request(&text);
            let theirs = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            match ours {
                Ok(()) => prop_assert!(theirs || text.contains(['e', 'E'])),
                Err(Fault::DuplicateKey { .. }) => {}
                Err(_) => prop_assert!(!theirs),
            }
        }

        #[test]
        fn canonical_means_what_rfc_8785_writes(keys in prop::collection::btree_map(".{0,6}", any::<i32>(), 0..6), text in ".*") {
            let value = serde_json::json!({"s": text, "m": keys});
            let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
            prop_assert_eq!(scan(&canonical, Rules::CANONICAL), Ok(()));
            let plain = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(plain == canonical, scan(&plain, Rules::CANONICAL).is_ok());
        }
    }
}

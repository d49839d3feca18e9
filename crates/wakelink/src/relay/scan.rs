//! The members of a JSON object, one after the other, without keeping any of
//! them: what is asked for is a piece of the text, all else is only checked to
//! be JSON.

use std::borrow::Cow;

use memchr::memchr2;

/// Deeper than any frame of ours; it bounds our own stack.
const DEPTH: u32 = 64;
/// Words of eight bytes that are looked at by themselves before it is worth
/// while to look at many more together.
const SHORT_WORDS: usize = 2;

/// The text is not a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnObject;

/// A string as it stands in the text, between its quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'t> {
    within: &'t str,
    escaped: bool,
}

impl<'t> Quoted<'t> {
    /// What it says, if that is what it looks like.
    pub fn plain(self) -> Option<&'t str> {
        (!self.escaped).then_some(self.within)
    }

    /// What it says; nothing if an escape in it stands for no character.
    pub fn read(self) -> Option<Cow<'t, str>> {
        match self.escaped {
            false => Some(Cow::Borrowed(self.within)),
            true => {
                let quoted = format!("\"{}\"", self.within);
                serde_json::from_str(&quoted).ok().map(Cow::Owned)
            }
        }
    }

    pub fn is(self, text: &str) -> bool {
        match self.escaped {
            false => self.within == text,
            true => self.read().is_some_and(|read| read == text),
        }
    }
}

/// Calls `each` with every key, and with its value if that is a string.
pub fn members<'t>(
    text: &'t str,
    mut each: impl FnMut(Quoted<'t>, Option<Quoted<'t>>),
) -> Result<(), NotAnObject> {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    scanner.space();
    scanner.object(0, &mut each)?;
    scanner.space();
    match scanner.at == text.len() {
        true => Ok(()),
        false => Err(NotAnObject),
    }
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Scanner<'t> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.next() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.next() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotAnObject> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(NotAnObject),
        }
    }

    fn object(
        &mut self,
        depth: u32,
        each: &mut impl FnMut(Quoted<'t>, Option<Quoted<'t>>),
    ) -> Result<(), NotAnObject> {
        self.expect(b'{')?;
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            let value = match self.next() {
                Some(b'"') => Some(self.string()?),
                _ => {
                    self.pass(depth)?;
                    None
                }
            };
            each(key, value);
            self.space();
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<(), NotAnObject> {
        self.expect(b'[')?;
        self.space();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.space();
            self.pass(depth)?;
            self.space();
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Passes over a value.
    fn pass(&mut self, depth: u32) -> Result<(), NotAnObject> {
        match self.next() {
            Some(b'"') => self.string().map(drop),
            Some(b'{' | b'[') if depth == DEPTH => Err(NotAnObject),
            Some(b'{') => self.object(depth + 1, &mut |_, _| {}),
            Some(b'[') => self.array(depth + 1),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NotAnObject> {
        match self.bytes[self.at..].starts_with(word.as_bytes()) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(NotAnObject),
        }
    }

    // To give it back through memory would take longer than to find it.
    #[inline(always)]
    fn string(&mut self) -> Result<Quoted<'t>, NotAnObject> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.plain_characters()?;
            if self.take(b'"') {
                break;
            }
            escaped = true;
            self.expect(b'\\')?;
            self.escape()?;
        }
        Ok(Quoted {
            within: &self.text[start..self.at - 1],
            escaped,
        })
    }

    /// Passes over characters of a string that stand for themselves, up to one
    /// that does not. A packet is one long string and a few short ones.
    fn plain_characters(&mut self) -> Result<(), NotAnObject> {
        for _ in 0..SHORT_WORDS {
            let Some((word, _)) = self.bytes[self.at..].split_first_chunk() else {
                break;
            };
            let special = special_bytes(u64::from_le_bytes(*word));
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                return Ok(());
            }
            self.at += word.len();
        }
        let rest = &self.bytes[self.at..];
        let count = memchr2(b'"', b'\\', rest).ok_or(NotAnObject)?;
        // To look for the least takes many bytes at a time; to look for the
        // first control character would take one.
        let least = rest[..count]
            .iter()
            .fold(u8::MAX, |least, byte| least.min(*byte));
        self.at += count;
        match least < b' ' {
            true => Err(NotAnObject),
            false => Ok(()),
        }
    }

    fn escape(&mut self) -> Result<(), NotAnObject> {
        match self.next() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 1..self.at + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(NotAnObject);
                }
                self.at += 5;
            }
            _ => return Err(NotAnObject),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotAnObject> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotAnObject> {
        let start = self.at;
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(NotAnObject),
        }
    }
}

/// Has the highest bit of the first byte set that is a quote, a backslash or a
/// control character, and none before it; those after it say nothing.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // A byte that is less borrows from above; nothing below it is touched.
    let less = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than)) & !word;
    let quote = less(word ^ (ONES * u64::from(b'"')), 1);
    let backslash = less(word ^ (ONES * u64::from(b'\\')), 1);
    (quote | backslash | less(word, b' ')) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<(String, Option<String>)>, NotAnObject> {
        let mut found = Vec::new();
        members(text, |key, value| {
            let value = value.and_then(Quoted::read).map(Cow::into_owned);
            found.push((key.read().unwrap_or_default().into_owned(), value));
        })?;
        Ok(found)
    }

    #[test]
    fn strings_are_given_and_the_rest_is_passed_over() {
        let text = r#" { "a" : "x\n\u00e9\ud83d\ude00" , "b":[1,{"sid":"no"},[]],"c":-1.5e+3,
            "s\u0069d":"yes", "d":true,"e":null,"f":{} } "#;
        let found = read(text).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "sid", "d", "e", "f"]);
        assert_eq!(found[0].1.as_deref(), Some("x\né😀"));
        assert_eq!(found[3].1.as_deref(), Some("yes"));
        assert_eq!(found[1].1, None);
        assert_eq!(read("{}"), Ok(vec![]));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "",
            "[]",
            "1",
            "\"x\"",
            "null",
            "{",
            "{}}",
            "{} x",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{'a':1}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":.5}",
            "{\"a\":1e}",
            "{\"a\":+1}",
            "{\"a\":nul}",
            "{\"a\":\"\u{1}\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"x}",
            "{\"a\":[1,]}",
            "{\"a\":[}",
            "{\"a\" 1}",
            "\u{feff}{}",
            "{\"a\":NaN}",
            "{\"a\":-}",
        ] {
            assert_eq!(read(text), Err(NotAnObject), "{text}");
            assert!(
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_ends_a_string_is_seen_wherever_it_stands() {
        for at in 0..100 {
            let text = |byte: &str| {
                let (before, after) = ("x".repeat(at), "é".repeat(50 - at / 2));
                format!("{{\"{before}{byte}{after}\":1}}")
            };
            assert_eq!(read(&text("\"")), Err(NotAnObject), "{at}");
            assert_eq!(read(&text("\u{1f}")), Err(NotAnObject), "{at}");
            assert_eq!(read(&text("\\")), Err(NotAnObject), "{at}");
            for fine in ["\\n", "\u{7f}", " ", "ÿ"] {
                let found = read(&text(fine)).unwrap();
                let key: String = serde_json::from_str(&format!("\"{fine}\"")).unwrap();
                assert_eq!(found[0].0.matches(&key).count(), 1, "{at}");
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEPTH as usize)).is_ok());
        assert_eq!(read(&nested(DEPTH as usize + 1)), Err(NotAnObject));
        assert_eq!(read(&nested(50_000)), Err(NotAnObject));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_object_is_read_as_others_read_it(value in json()) {
            let text = value.to_string();
            match value.as_object() {
                None => prop_assert_eq!(read(&text), Err(NotAnObject)),
                Some(object) => {
                    let mut expected: Vec<_> = object
                        .iter()
                        .map(|(key, value)| (key.clone(), value.as_str().map(str::to_owned)))
                        .collect();
                    let mut found = read(&text).unwrap();
                    expected.sort();
                    found.sort();
                    prop_assert_eq!(found, expected);
                }
            }
        }

        #[test]
        fn damaged_text_never_panics_and_agrees_with_others(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = value.to_string().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(text) = String::from_utf8(bytes) {
                let ours = read(&text).is_ok();
                let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok()
                    && text.trim_start_matches([' ', '\n', '\t', '\r']).starts_with('{');
                prop_assert_eq!(ours, theirs, "{}", text);
            }
        }
    }
}

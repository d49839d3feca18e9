//! JSON text as a row of tokens, each a slice of the text itself.
//!
//! Numbers are never read as numbers and strings are not decoded here, so
//! nothing is rounded and nothing is lost. What is not JSON has no tokens from
//! there on.

use crate::limits::JSON_DEPTH_READ;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// An object (true) or an array (false) begins.
    Open(bool),
    Close,
    /// The inside of a member's name, escapes as they are.
    Key(&'t str),
    /// The inside of a string, escapes as they are.
    String(&'t str),
    Number(&'t str),
    /// `true`, `false` or `null`.
    Word(&'t str),
}

/// What must come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of an array that has just begun.
    FirstItem,
    /// A name, or the end of an object that has just begun.
    FirstKey,
    /// A comma or the end of what is open.
    More,
    Nothing,
}

pub(crate) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    /// What is open, outermost first: objects are true.
    open: Vec<bool>,
    next: Next,
}

/// There is no JSON here.
#[derive(Debug)]
pub(crate) struct NotJson;

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str) -> Tokens<'t> {
        Tokens {
            text,
            at: 0,
            open: Vec::new(),
            next: Next::Value,
        }
    }

    /// How many objects and arrays are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The next token, or none when the text is over.
    pub fn token(&mut self) -> Result<Option<Token<'t>>, NotJson> {
        self.space();
        match (self.next, self.peek()) {
            (Next::Nothing, None) => Ok(None),
            (Next::FirstItem, Some(b']')) | (Next::FirstKey, Some(b'}')) => self.close(),
            (Next::More, Some(b']')) if self.open.last() == Some(&false) => self.close(),
            (Next::More, Some(b'}')) if self.open.last() == Some(&true) => self.close(),
            (Next::More, Some(b',')) => {
                self.at += 1;
                self.space();
                match self.open.last() {
                    Some(true) => self.key(),
                    _ => self.value(),
                }
            }
            (Next::FirstKey, _) => self.key(),
            (Next::FirstItem | Next::Value, _) => self.value(),
            (Next::More | Next::Nothing, _) => Err(NotJson),
        }
    }

    fn key(&mut self) -> Result<Option<Token<'t>>, NotJson> {
        let name = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(NotJson);
        }
        self.at += 1;
        self.next = Next::Value;
        Ok(Some(Token::Key(name)))
    }

    fn value(&mut self) -> Result<Option<Token<'t>>, NotJson> {
        let token = match self.peek() {
            Some(open @ (b'{' | b'[')) => return self.begin(open == b'{'),
            Some(b'"') => Token::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Token::Number(self.number()?),
            _ => Token::Word(self.word()?),
        };
        self.after_value();
        Ok(Some(token))
    }

    fn begin(&mut self, object: bool) -> Result<Option<Token<'t>>, NotJson> {
        if self.open.len() == JSON_DEPTH_READ {
            return Err(NotJson);
        }
        self.at += 1;
        self.open.push(object);
        self.next = match object {
            true => Next::FirstKey,
            false => Next::FirstItem,
        };
        Ok(Some(Token::Open(object)))
    }

    fn close(&mut self) -> Result<Option<Token<'t>>, NotJson> {
        self.at += 1;
        self.open.pop();
        self.after_value();
        Ok(Some(Token::Close))
    }

    fn after_value(&mut self) {
        self.next = match self.open.is_empty() {
            true => Next::Nothing,
            false => Next::More,
        };
    }

    /// The inside of a string.
    fn string(&mut self) -> Result<&'t str, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(NotJson);
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.as_bytes().get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += self.escape(at)?,
                Some(0x00..=0x1F) | None => return Err(NotJson),
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(&self.text[start..at])
    }

    /// The length of the escape at `at`.
    fn escape(&self, at: usize) -> Result<usize, NotJson> {
        match self.text.as_bytes().get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
            Some(b'u') => {
                let digits = self.text.as_bytes().get(at + 2..at + 6).ok_or(NotJson)?;
                let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
                if is_hex { Ok(6) } else { Err(NotJson) }
            }
            _ => Err(NotJson),
        }
    }

    fn number(&mut self) -> Result<&'t str, NotJson> {
        let number = self.run(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        is_number(number).then_some(number).ok_or(NotJson)
    }

    fn word(&mut self) -> Result<&'t str, NotJson> {
        let word = self.run(|b| b.is_ascii_lowercase());
        let known = matches!(word, "true" | "false" | "null");
        known.then_some(word).ok_or(NotJson)
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'t str {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|&&byte| belongs(byte)).count();
        let start = self.at;
        self.at += length;
        &self.text[start..self.at]
    }

    fn space(&mut self) {
        self.run(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// `-? digits (. digits)? ([eE] [+-]? digits)?` without leading zeros.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (rest, exponent) = match text.split_once(['e', 'E']) {
        Some((rest, exponent)) => (rest, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let leads_with_zero = whole.len() > 1 && whole.starts_with('0');
    digits(whole) && digits(fraction) && digits(exponent) && !leads_with_zero
}

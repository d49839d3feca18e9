//! Code with its keywords, strings, comments and numbers set apart.
//!
//! This is a lexer for reading, not a parser: where it is wrong, a word has the
//! wrong colour and nothing else. It goes over the text once and changes
//! nothing of it.

use crate::{
    html::Html,
    language::{self, Kind, Language},
    tag::{self, Tag},
};

/// Writes `code` into the element that is open.
pub(crate) fn write(html: &mut Html, code: &str, fence: &str) {
    match language::named(fence) {
        None => html.text(code),
        Some(language) if language.kind == Kind::Diff => write_diff(html, code),
        Some(language) => Lexer::new(language, code).write(html),
    }
}

fn write_diff(html: &mut Html, code: &str) {
    for line in code.split_inclusive('\n') {
        let tag = match line.as_bytes().first() {
            Some(b'+') => tag::ADDED,
            Some(b'-') => tag::REMOVED,
            Some(b'@') => tag::PLACE,
            _ => tag::NONE,
        };
        html.within(tag, |html| html.text(line));
    }
}

struct Lexer<'t> {
    language: &'static Language,
    code: &'t str,
    at: usize,
    /// Where what is not yet written begins.
    from: usize,
    in_tag: bool,
}

impl<'t> Lexer<'t> {
    fn new(language: &'static Language, code: &'t str) -> Lexer<'t> {
        Lexer {
            language,
            code,
            at: 0,
            from: 0,
            in_tag: false,
        }
    }

    fn write(mut self, html: &mut Html) {
        while let Some(next) = self.rest().chars().next() {
            if html.is_full() {
                return;
            }
            match self.token(next) {
                Some((tag, length)) => {
                    html.text(&self.code[self.from..self.at]);
                    let end = self.at + length;
                    html.within(tag, |html| html.text(&self.code[self.at..end]));
                    (self.at, self.from) = (end, end);
                }
                None => self.at += self.plain(next),
            }
        }
        html.text(&self.code[self.from..]);
    }

    fn rest(&self) -> &'t str {
        &self.code[self.at..]
    }

    /// What begins here and shall be set apart, and how long it is.
    fn token(&mut self, next: char) -> Option<(Tag, usize)> {
        let comment = self.comment().map(|length| (tag::COMMENT, length));
        if self.language.kind == Kind::Tags {
            return comment.or_else(|| self.in_tags(next));
        }
        comment
            .or_else(|| self.string(next).map(|length| (tag::STRING, length)))
            .or_else(|| self.number(next).map(|length| (tag::NUMBER, length)))
            .or_else(|| self.keyword().map(|length| (tag::KEYWORD, length)))
    }

    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        if let Some((open, close)) = self.language.block_comment
            && let Some(inside) = rest.strip_prefix(open)
        {
            let end = inside.find(close).map(|at| at + close.len());
            return Some(open.len() + end.unwrap_or(inside.len()));
        }
        let begins = |open: &&&str| rest.starts_with(**open);
        self.language.line_comments.iter().find(begins)?;
        let within_word = self.code[..self.at].ends_with(|c: char| !c.is_whitespace());
        if self.language.kind == Kind::Words && within_word {
            return None;
        }
        Some(rest.find('\n').unwrap_or(rest.len()))
    }

    fn string(&self, next: char) -> Option<usize> {
        let rest = self.rest();
        if self.language.kind == Kind::Lifetimes && next == '\'' {
            return character(rest);
        }
        let long = self.language.long_quotes.iter();
        if let Some(quote) = long.copied().find(|quote| rest.starts_with(quote)) {
            return Some(closed(rest, quote, false));
        }
        let quote = self.language.quotes.contains(next);
        quote.then(|| closed(rest, &rest[..next.len_utf8()], true))
    }

    fn number(&self, next: char) -> Option<usize> {
        let number = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        next.is_ascii_digit().then(|| {
            let rest = self.rest();
            let length = rest.find(|c| !number(c)).unwrap_or(rest.len());
            // A full stop or a range behind a number is not part of it.
            let dots = rest[..length].find("..").unwrap_or(length);
            rest[..dots].trim_end_matches('.').len()
        })
    }

    fn keyword(&self) -> Option<usize> {
        let word = &self.rest()[..self.word()];
        let known = self.language.keywords.contains(&word);
        let in_any_case = || {
            let lower = word.to_ascii_lowercase();
            word.len() < 16 && self.language.keywords.contains(&lower.as_str())
        };
        let is_keyword = known || (self.language.kind == Kind::AnyCase && in_any_case());
        is_keyword.then_some(word.len())
    }

    fn in_tags(&mut self, next: char) -> Option<(Tag, usize)> {
        if self.in_tag {
            self.in_tag = next != '>';
            return self.string(next).map(|length| (tag::STRING, length));
        }
        let name = self.rest().strip_prefix('<')?;
        let name = name.strip_prefix(['/', '!', '?']).unwrap_or(name);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | ':' | '_' | '.');
        let length = name.find(|c| !is_name(c)).unwrap_or(name.len());
        self.in_tag = length > 0;
        let all = self.rest().len() - name.len() + length;
        self.in_tag.then_some((tag::KEYWORD, all))
    }

    /// What is passed over at once: a whole word, so that no keyword is found
    /// within one, or a single character.
    fn plain(&self, next: char) -> usize {
        self.word().max(next.len_utf8())
    }

    fn word(&self) -> usize {
        let dashes = self.language.kind == Kind::Words;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || (dashes && c == '-');
        let rest = self.rest();
        rest.find(|c| !is_word(c)).unwrap_or(rest.len())
    }
}

/// The length of a string that begins with `quote`, to its end, to the end of
/// its line or to the end of all.
fn closed(rest: &str, quote: &str, on_one_line: bool) -> usize {
    let mut at = quote.len();
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if on_one_line => return at,
            _ if bytes[at..].starts_with(quote.as_bytes()) => return at + quote.len(),
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a Rust character literal, as opposed to a lifetime.
fn character(rest: &str) -> Option<usize> {
    /// `'\u{10FFFF}'` is the longest there is.
    const LONGEST: usize = 12;
    let mut inside = rest[1..].chars();
    match inside.next()? {
        '\\' => rest[2..]
            .char_indices()
            .take(LONGEST)
            .skip(1)
            .find(|&(_, c)| c == '\'')
            .map(|(at, _)| at + 3),
        one => (inside.next()? == '\'').then(|| one.len_utf8() + 2),
    }
}

//! What changed within a line: two lines compared word by word.

use unicode_width::UnicodeWidthChar;

use super::lcs;
use crate::limits::{WORD_EDITS, WORD_LINE_BYTES, WORD_STEPS};

/// Parts of a line; true for those that the other line does not have.
pub(super) type Parts<'t> = Vec<(bool, &'t str)>;

/// Compares lines until its steps are used up.
pub(super) struct Words {
    steps: usize,
}

impl Words {
    pub fn new() -> Words {
        Words { steps: WORD_STEPS }
    }

    /// Both lines in parts, if they are alike enough for that to help.
    pub fn compare<'t>(&mut self, old: &'t str, new: &'t str) -> Option<(Parts<'t>, Parts<'t>)> {
        if old.len().max(new.len()) > WORD_LINE_BYTES {
            return None;
        }
        let (old_words, new_words) = (split(old), split(new));
        let most = WORD_EDITS.min(old_words.len() + new_words.len());
        self.steps = self
            .steps
            .checked_sub(most * most + old.len() + new.len())?;
        let pairs = lcs::common(&old_words, &new_words, WORD_EDITS)?;

        let common: usize = pairs.iter().map(|&(at, _)| ink(old_words[at])).sum();
        if common * 3 < ink(old).max(ink(new)) || common == 0 {
            return None;
        }
        let old_parts = parts(old, &old_words, pairs.iter().map(|pair| pair.0));
        let new_parts = parts(new, &new_words, pairs.iter().map(|pair| pair.1));
        Some((old_parts, new_parts))
    }
}

/// Bytes of a text that are not blank.
fn ink(text: &str) -> usize {
    text.bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count()
}

/// Words, blanks and single signs. What stands on a letter stays with it.
fn split(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Kind {
        Word,
        Blank,
        Sign,
    }
    let kind = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' || c.width() == Some(0) => Kind::Word,
        _ if c.is_whitespace() => Kind::Blank,
        _ => Kind::Sign,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = Kind::Sign;
    for (at, character) in line.char_indices() {
        let now = kind(character);
        if at > start && (now != before || now == Kind::Sign) {
            words.push(&line[start..at]);
            start = at;
        }
        before = now;
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

/// Joins words that are all common, or all not, into one part.
fn parts<'t>(line: &'t str, words: &[&'t str], common: impl Iterator<Item = usize>) -> Parts<'t> {
    let mut common = common.peekable();
    let mut parts: Parts<'t> = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut changed = false;
    for (at, word) in words.iter().enumerate() {
        let is_changed = common.next_if_eq(&at).is_none();
        if is_changed != changed && start < end {
            parts.push((changed, &line[start..end]));
            start = end;
        }
        changed = is_changed;
        end += word.len();
    }
    if start < end {
        parts.push((changed, &line[start..end]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Words, split};

    #[test]
    fn lines_are_split_into_words_blanks_and_signs() {
        assert_eq!(
            split("let x_1  = f(y);"),
            ["let", " ", "x_1", "  ", "=", " ", "f", "(", "y", ")", ";"]
        );
        assert_eq!(split("e\u{301}t\u{e9}!"), ["e\u{301}t\u{e9}", "!"]);
        assert!(split("").is_empty());
    }

    #[test]
    fn what_changed_is_found_and_nothing_is_lost() {
        let (old, new) = Words::new()
            .compare("pay 10 EUR now", "pay 1000 EUR now")
            .unwrap();
        assert_eq!(old, [(false, "pay "), (true, "10"), (false, " EUR now")]);
        assert_eq!(new, [(false, "pay "), (true, "1000"), (false, " EUR now")]);
    }

    #[test]
    fn lines_with_little_in_common_are_left_alone() {
        assert!(
            Words::new()
                .compare("one two three", "quite another line")
                .is_none()
        );
        assert!(Words::new().compare("", "x").is_none());
        let long = "x ".repeat(2_000);
        assert!(Words::new().compare(&long, &long).is_none());
    }
}

//! How text is looked at: in pieces that a person sees, and pieces that must be
//! pointed out.
//!
//! A joiner or selector stays where it changes what is seen: inside an emoji,
//! between Arabic letters, after an Indic virama. Anywhere else it is unseen.
//! The eye remembers what it saw last, so that a text that comes in parts is
//! judged as a whole.

use crate::{
    limits::COMBINING_MARKS,
    unseen::{is_combining, is_unseen},
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Fit to be shown as it stands (and still to be escaped).
    Seen(&'t str),
    /// The same unseen character so many times.
    Unseen(char, usize),
    /// So many combining marks more than one letter can carry.
    Piled(usize),
}

#[derive(Default, Debug)]
pub(crate) struct Eye {
    /// The last character that was seen, if nothing unseen followed it.
    before: char,
    /// Combining marks since the last letter.
    marks: usize,
}

impl Eye {
    /// The pieces of `text`, in order.
    pub fn look<'e, 't>(&'e mut self, text: &'t str) -> Look<'e, 't> {
        Look {
            eye: self,
            rest: text,
        }
    }

    /// Whether `character` can be shown, given what is around it.
    fn sees(&mut self, character: char, after: Option<char>) -> bool {
        let seen = match character {
            ' '..='~' | '\n' | '\t' => {
                self.marks = 0;
                true
            }
            _ if is_unseen(character) => joins(self.before, character, after),
            _ if is_combining(character) => {
                self.marks += 1;
                self.marks <= COMBINING_MARKS
            }
            _ => {
                self.marks = 0;
                true
            }
        };
        self.before = if seen { character } else { '\0' };
        seen
    }
}

pub(crate) struct Look<'e, 't> {
    eye: &'e mut Eye,
    rest: &'t str,
}

impl<'t> Look<'_, 't> {
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Bytes from here on that can be shown as they stand.
    fn seen(&mut self) -> usize {
        let mut at = 0;
        let mut characters = self.rest.chars().peekable();
        while let Some(character) = characters.next() {
            if !self.eye.sees(character, characters.peek().copied()) {
                break;
            }
            at += character.len_utf8();
            if character == BLACK_FLAG {
                let tags = flag_tags(&self.rest[at..]);
                at += tags;
                characters = self.rest[at..].chars().peekable();
            }
        }
        at
    }
}

impl<'t> Iterator for Look<'_, 't> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        // Windows ends lines with both; the line break is seen well enough.
        if self.rest.starts_with("\r\n") {
            self.take(1);
        }
        let seen = self.seen();
        if seen > 0 {
            return Some(Piece::Seen(self.take(seen)));
        }
        let first = self.rest.chars().next()?;
        if is_combining(first) {
            let times = self.rest.chars().take_while(|&c| is_combining(c)).count();
            let bytes = self.rest.chars().take(times).map(char::len_utf8).sum();
            self.take(bytes);
            return Some(Piece::Piled(times));
        }
        let times = self.rest.chars().take_while(|&c| c == first).count();
        self.take(times * first.len_utf8());
        Some(Piece::Unseen(first, times))
    }
}

const BLACK_FLAG: char = '\u{1F3F4}';

/// The three flags that are written with tags: England, Scotland and Wales.
const FLAG_TAGS: [&str; 3] = [
    "\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

fn flag_tags(rest: &str) -> usize {
    let tags = FLAG_TAGS.iter().find(|tags| rest.starts_with(**tags));
    tags.map_or(0, |tags| tags.len())
}

/// Whether an unseen character does its ordinary work between its neighbours.
fn joins(before: char, character: char, after: Option<char>) -> bool {
    let after = after.unwrap_or('\0');
    match character {
        // Text or emoji style, and the number in a keycap.
        '\u{FE0E}' | '\u{FE0F}' => {
            is_emoji(before) || (matches!(before, '0'..='9' | '#' | '*') && after == '\u{20E3}')
        }
        '\u{200D}' if is_emoji(after) => is_emoji(before) || before == '\u{FE0F}',
        '\u{200C}' if is_arabic(before) && is_arabic(after) => true,
        '\u{200C}' | '\u{200D}' => is_virama(before) && after.is_alphabetic(),
        _ => false,
    }
}

fn is_emoji(character: char) -> bool {
    matches!(character,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2194}'..='\u{21AA}' | '\u{231A}'..='\u{23FF}'
        | 'Ⓜ' | '\u{25AA}'..='\u{25FE}' | '\u{2600}'..='\u{27BF}' | '\u{2934}' | '\u{2935}'
        | '\u{2B05}'..='\u{2B55}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
        | '\u{1F000}'..='\u{1FAFF}')
}

fn is_arabic(character: char) -> bool {
    matches!(character, '\u{620}'..='\u{6D3}' | '\u{750}'..='\u{77F}')
}

fn is_virama(character: char) -> bool {
    matches!(
        u32::from(character),
        0x94D | 0x9CD | 0xA4D | 0xACD | 0xB4D | 0xBCD | 0xC4D | 0xCCD | 0xD4D | 0xDCA
    )
}

#[cfg(test)]
mod tests {
    use super::{Eye, Piece};

    fn look(text: &str) -> Vec<Piece<'_>> {
        Eye::default().look(text).collect()
    }

    #[test]
    fn emoji_and_joined_letters_stay_whole() {
        for text in [
            "👩‍💻 👨‍👩‍👧 ❤️ 🏳️‍🌈 👍🏽 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇫🇷 👩🏽‍🚀 ©️",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "line\nline\tand more",
        ] {
            assert_eq!(look(text), [Piece::Seen(text)]);
        }
        assert_eq!(look("a\r\nb"), [Piece::Seen("a"), Piece::Seen("\nb")]);
    }

    #[test]
    fn the_same_characters_elsewhere_are_pointed_out() {
        let unseen = |text, character, times| {
            let found = look(text);
            let expected = Piece::Unseen(character, times);
            assert!(found.contains(&expected), "{text:?}: {found:?}");
        };
        unseen("pay\u{200D}pal", '\u{200D}', 1);
        unseen("pay\u{200C}pal", '\u{200C}', 1);
        unseen("a\u{FE0F}", '\u{FE0F}', 1);
        unseen("❤\u{FE0F}\u{FE0F}", '\u{FE0F}', 1);
        unseen("👩\u{200D}\u{200D}👩", '\u{200D}', 2);
        unseen("🏴\u{E0067}\u{E0062}", '\u{E0067}', 1);
        unseen("a\u{200B}\u{200B}\u{200B}", '\u{200B}', 3);
        unseen("a\rb", '\r', 1);
    }

    #[test]
    fn piled_up_marks_are_cut_even_when_they_come_in_parts() {
        let text = format!("a{}b", "\u{301}".repeat(40));
        assert_eq!(
            look(&text),
            [Piece::Seen(&text[..11]), Piece::Piled(35), Piece::Seen("b")]
        );
        let mut eye = Eye::default();
        let parts = ["a\u{301}\u{301}\u{301}", "\u{301}\u{301}", "\u{301}\u{302}"];
        let last = parts.map(|part| eye.look(part).last());
        assert_eq!(last[2], Some(Piece::Piled(2)));
    }
}

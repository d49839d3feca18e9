//! What the source of a Markdown text holds but its shown form does not.
//!
//! Link definitions that nothing uses, cells beyond a table's last column and
//! the like vanish when Markdown is shown. Every event of the parser says which
//! bytes it came from; letters that no event accounts for are found here.

use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use crate::{cut::clip, html::Html, limits::UNSHOWN_BYTES, tag};

pub(crate) struct Unshown<'t> {
    source: &'t str,
    /// Everything before this is accounted for.
    passed: usize,
    found: Vec<&'t str>,
}

impl<'t> Unshown<'t> {
    pub fn new(source: &'t str) -> Unshown<'t> {
        Unshown {
            source,
            passed: 0,
            found: Vec::new(),
        }
    }

    /// Takes note of an event and the bytes it came from.
    pub fn pass(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            // These are shown with all they have: address, title, fence.
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => {}
            Event::Start(_) | Event::End(_) => return,
            _ => {}
        }
        self.keep(range.start);
        self.passed = self.passed.max(range.end);
    }

    /// Keeps what lies before `next` and was not passed, if it says anything.
    fn keep(&mut self, next: usize) {
        let gap = self.source.get(self.passed..next).unwrap_or_default();
        let lines = gap.lines().filter(|line| says_something(line));
        self.found.extend(lines.map(str::trim));
    }

    /// Lists what was found.
    pub fn write(mut self, html: &mut Html) {
        self.keep(self.source.len());
        if self.found.is_empty() {
            return;
        }
        html.within(tag::NOTE, |html| {
            html.ours("Also in the source, but not shown as Markdown:");
        });
        let mut room = UNSHOWN_BYTES;
        html.open(tag::PRE_UNSHOWN);
        for text in self.found {
            let shown = clip(text, room);
            html.text(shown);
            html.ours("\n");
            room -= shown.len();
            if shown.len() < text.len() {
                html.leave_out();
                break;
            }
        }
        html.close();
    }
}

/// Whether a line between events is more than Markdown's own signs: list
/// numbers, quotes, rules, the line under a table's head.
fn says_something(line: &str) -> bool {
    let is_sign = |word: &str| {
        let digits = word.trim_end_matches(['.', ')']);
        let is_number = digits.len() + 1 == word.len();
        word.bytes().all(|byte| byte.is_ascii_punctuation())
            || (is_number && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    !line.split([' ', '\t', '\r', '>']).all(is_sign)
}

#[cfg(test)]
mod tests {
    use super::says_something;

    #[test]
    fn signs_say_nothing_and_words_do() {
        for signs in [
            "",
            "> > ",
            "12. ",
            "1) 2. ",
            "| --- |:-:|",
            "***",
            "- > 3. ",
            "1. - ",
            "```",
        ] {
            assert!(!says_something(signs), "{signs}");
        }
        for words in ["[//]: # (hidden)", "| more |", "| 12 |", "\u{200B}"] {
            assert!(says_something(words), "{words:?}");
        }
    }
}

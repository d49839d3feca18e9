//! A short plain text for places that hold no HTML, such as a page's title.

use crate::{
    cut::{clip, first_chars},
    eye::{Eye, Piece},
};

/// What stands for everything that cannot be seen.
const REPLACEMENT: char = '\u{FFFD}';
/// Bytes of the longest character; how much text can be needed at most depends
/// on it.
const CHARACTER_BYTES: usize = 4;

/// The beginning of `text` on one line, at most `max_chars` characters.
///
/// The result is text, not HTML: it must be escaped like any other.
pub fn plain_excerpt(text: &str, max_chars: usize) -> String {
    // Blanks are joined, so more may be needed than is kept; but not endlessly.
    let looked_at = clip(text.trim(), max_chars.saturating_mul(CHARACTER_BYTES * 4));
    let mut line = String::new();
    for piece in Eye::default().look(looked_at) {
        match piece {
            Piece::Seen(seen) => line.push_str(seen),
            Piece::Unseen(..) => line.push(REPLACEMENT),
            Piece::Piled(_) => {}
        }
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    let whole = looked_at.len() == text.trim().len();
    if whole && line.chars().count() <= max_chars {
        return line;
    }
    let kept = first_chars(&line, max_chars.saturating_sub(1)).trim_end();
    let dots = if max_chars > 0 { "…" } else { "" };
    format!("{kept}{dots}")
}

#[cfg(test)]
mod tests {
    use super::plain_excerpt;

    #[test]
    fn an_excerpt_is_one_line_of_what_can_be_seen() {
        assert_eq!(plain_excerpt(" Buy\n\tmilk ", 80), "Buy milk");
        assert_eq!(plain_excerpt("a\u{202E}b\u{0}c", 80), "a\u{FFFD}b\u{FFFD}c");
        assert_eq!(plain_excerpt("naïve 👩‍💻", 80), "naïve 👩‍💻");
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        assert_eq!(plain_excerpt("ééééé", 5), "ééééé");
        assert_eq!(plain_excerpt("éééééé", 5), "éééé…");
        assert_eq!(plain_excerpt("one two", 5), "one…");
        assert_eq!(plain_excerpt("x", 0), "");
        assert_eq!(plain_excerpt(&"\n".repeat(1 << 20), 10), "");
    }
}

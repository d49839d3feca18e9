//! The beginning of a text on one line: as HTML, and as plain text for places that
//! hold no HTML, such as a page's title. Both point out what cannot be seen in the
//! same words.

use maud::Markup;

use crate::{
    cut::{clip, first_chars},
    eye::{Eye, Piece},
};

/// Bytes of the longest character; how much text can be needed at most depends
/// on it.
const CHARACTER_BYTES: usize = 4;

/// The beginning of `text` on one line, at most `max_chars` characters of it. To
/// be put inside an element.
pub fn excerpt(text: &str, max_chars: usize) -> Markup {
    let looked_at = clip(text.trim(), max_chars.saturating_mul(CHARACTER_BYTES * 4));
    let words: Vec<&str> = looked_at.split_ascii_whitespace().collect();
    let line = words.join(" ");
    let whole = looked_at.len() == text.trim().len();
    if whole && line.chars().count() <= max_chars {
        return crate::text(&line);
    }
    let kept = first_chars(&line, max_chars.saturating_sub(1)).trim_end();
    crate::text(&format!("{kept}…"))
}

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
            Piece::Unseen(character, times) => {
                line.push_str(&format!("U+{:04X}", u32::from(character)));
                if times > 1 {
                    line.push_str(&format!(" ×{times}"));
                }
            }
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
    use super::{excerpt, plain_excerpt};

    #[test]
    fn an_excerpt_is_one_line_of_what_can_be_seen() {
        assert_eq!(plain_excerpt(" Buy\n\tmilk ", 80), "Buy milk");
        assert_eq!(plain_excerpt("a\u{202E}b\u{0}c", 80), "aU+202EbU+0000c");
        assert_eq!(plain_excerpt("naïve 👩‍💻", 80), "naïve 👩‍💻");
    }

    #[test]
    fn an_excerpt_points_out_what_cannot_be_seen_as_the_whole_text_does() {
        let headline = "Pay\u{202E}\u{200B}\u{200B} now";
        assert_eq!(excerpt(headline, 80).0, crate::text(headline).0);
        let plain = plain_excerpt(headline, 80);
        for (code, times) in [("U+202E", ""), ("U+200B", " ×2")] {
            let spelled = format!("{code}{times}");
            assert!(excerpt(headline, 80).0.contains(&spelled), "{spelled}");
            assert!(plain.contains(&spelled), "{plain}");
        }
        assert_eq!(excerpt(" a\n b ", 80).0, "a b");
        assert_eq!(excerpt("abcdef", 4).0, "abc…");
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

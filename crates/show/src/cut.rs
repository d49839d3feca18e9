//! How much of a text is shown: cutting, always between characters.

use crate::limits::{LINES, TEXT_BYTES};

/// The beginning of `text`, at most `bytes` long.
pub(crate) fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The beginning of `text`, at most `count` characters.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// As much of a text as is shown of anything, and whether that is all of it.
pub(crate) fn cut(text: &str) -> (&str, bool) {
    let shown = clip(text, TEXT_BYTES);
    let last = shown.match_indices('\n').nth(LINES - 1);
    let shown = &shown[..last.map_or(shown.len(), |(at, _)| at + 1)];
    (shown, shown.len() == text.len())
}

#[cfg(test)]
mod tests {
    use super::{LINES, TEXT_BYTES, clip, cut, first_chars};

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(clip("aé", 2), "a");
        assert_eq!(clip("aé", 9), "aé");
        assert_eq!(first_chars("éa", 1), "é");
        assert_eq!(first_chars("éa", 2), "éa");
    }

    #[test]
    fn no_more_lines_and_bytes_are_shown_than_the_limits_say() {
        assert_eq!(cut("a\nb\n"), ("a\nb\n", true));
        let lines = "\n".repeat(LINES);
        assert_eq!(cut(&lines), (lines.as_str(), true));
        assert_eq!(cut(&"\n".repeat(LINES + 1)), (lines.as_str(), false));
        let long = "é".repeat(TEXT_BYTES);
        let (shown, whole) = cut(&long);
        assert_eq!((shown.len(), whole), (TEXT_BYTES, false));
    }
}

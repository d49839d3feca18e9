//! Which characters a person cannot see, and what they are called.
//!
//! Unseen is what has no ink and no width of its own, what turns the direction
//! of other text around, and what has no agreed look at all. Spaces are not
//! unseen: a gap can be seen.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Ranges of unseen characters, in order: Unicode's default ignorable code
/// points, controls, separators that break lines, blank letters, private use.
const UNSEEN: &[(u32, u32)] = &[
    (0x00, 0x08),
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xE000, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFC),
    (0xFFFE, 0xFFFF),
    (0x13430, 0x1343F),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0x10FFFF),
];

/// The names a reader may want to look up; the rest are named by their kind.
const NAMES: &[(u32, &str)] = &[
    (0x00, "NULL"),
    (0x07, "BELL"),
    (0x08, "BACKSPACE"),
    (0x0B, "LINE TABULATION"),
    (0x0C, "FORM FEED"),
    (0x0D, "CARRIAGE RETURN"),
    (0x1B, "ESCAPE"),
    (0x7F, "DELETE"),
    (0x85, "NEXT LINE"),
    (0x9B, "CONTROL SEQUENCE INTRODUCER"),
    (0xAD, "SOFT HYPHEN"),
    (0x34F, "COMBINING GRAPHEME JOINER"),
    (0x61C, "ARABIC LETTER MARK"),
    (0x115F, "HANGUL CHOSEONG FILLER"),
    (0x1160, "HANGUL JUNGSEONG FILLER"),
    (0x180E, "MONGOLIAN VOWEL SEPARATOR"),
    (0x200B, "ZERO WIDTH SPACE"),
    (0x200C, "ZERO WIDTH NON-JOINER"),
    (0x200D, "ZERO WIDTH JOINER"),
    (0x200E, "LEFT-TO-RIGHT MARK"),
    (0x200F, "RIGHT-TO-LEFT MARK"),
    (0x2028, "LINE SEPARATOR"),
    (0x2029, "PARAGRAPH SEPARATOR"),
    (0x202A, "LEFT-TO-RIGHT EMBEDDING"),
    (0x202B, "RIGHT-TO-LEFT EMBEDDING"),
    (0x202C, "POP DIRECTIONAL FORMATTING"),
    (0x202D, "LEFT-TO-RIGHT OVERRIDE"),
    (0x202E, "RIGHT-TO-LEFT OVERRIDE"),
    (0x2060, "WORD JOINER"),
    (0x2061, "FUNCTION APPLICATION"),
    (0x2062, "INVISIBLE TIMES"),
    (0x2063, "INVISIBLE SEPARATOR"),
    (0x2064, "INVISIBLE PLUS"),
    (0x2066, "LEFT-TO-RIGHT ISOLATE"),
    (0x2067, "RIGHT-TO-LEFT ISOLATE"),
    (0x2068, "FIRST STRONG ISOLATE"),
    (0x2069, "POP DIRECTIONAL ISOLATE"),
    (0x2800, "BRAILLE PATTERN BLANK"),
    (0x3164, "HANGUL FILLER"),
    (0xFEFF, "ZERO WIDTH NO-BREAK SPACE"),
    (0xFFA0, "HALFWIDTH HANGUL FILLER"),
    (0xFFF9, "INTERLINEAR ANNOTATION ANCHOR"),
    (0xFFFA, "INTERLINEAR ANNOTATION SEPARATOR"),
    (0xFFFB, "INTERLINEAR ANNOTATION TERMINATOR"),
    (0xFFFC, "OBJECT REPLACEMENT CHARACTER"),
    (0xE0001, "LANGUAGE TAG"),
    (0xE007F, "CANCEL TAG"),
];

/// Whether a person cannot see this character. Line feed and tab can be seen.
pub(crate) fn is_unseen(character: char) -> bool {
    let code = u32::from(character);
    let after = UNSEEN.partition_point(|&(first, _)| first <= code);
    let in_range = after > 0 && code <= UNSEEN[after - 1].1;
    // The last two of every plane are no characters.
    in_range || code & 0xFFFE == 0xFFFE
}

/// Whether this stands on the character before it and takes no room itself.
pub(crate) fn is_combining(character: char) -> bool {
    !is_unseen(character) && character.width() == Some(0)
}

/// What to call an unseen character.
pub(crate) fn name(character: char) -> Cow<'static, str> {
    let code = u32::from(character);
    if let Ok(at) = NAMES.binary_search_by_key(&code, |&(code, _)| code) {
        return NAMES[at].1.into();
    }
    match code {
        0x00..=0x9F => "CONTROL".into(),
        0xFE00..=0xFE0F => format!("VARIATION SELECTOR-{}", code - 0xFE00 + 1).into(),
        0xE0100..=0xE01EF => format!("VARIATION SELECTOR-{}", code - 0xE0100 + 17).into(),
        // Tags spell out ASCII that nobody sees; this makes it readable.
        0xE0020..=0xE007E => {
            let letter = char::from_u32(code - 0xE0000).unwrap_or(' ');
            format!("TAG, hidden character {letter}").into()
        }
        0xE000..=0xF8FF | 0xF0000..=0xFFFFD | 0x100000..=0x10FFFD => "PRIVATE USE".into(),
        _ if code & 0xFFFE == 0xFFFE || matches!(code, 0xFDD0..=0xFDEF) => "NOT A CHARACTER".into(),
        _ => "INVISIBLE".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order_and_every_named_character_is_unseen() {
        assert!(UNSEEN.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for &(code, name) in NAMES {
            assert!(is_unseen(char::from_u32(code).unwrap()), "{name}");
        }
    }

    #[test]
    fn what_can_be_seen_is_not_unseen() {
        for character in "aé\n\t \u{A0}\u{3000}ß漢ש\u{301}👍🏽\u{20E3}…".chars() {
            assert!(!is_unseen(character), "{character:?}");
        }
        assert!(is_combining('\u{301}') && !is_combining('a') && !is_combining('\u{200D}'));
    }

    #[test]
    fn a_hidden_letter_is_named() {
        assert_eq!(name('\u{E0041}'), "TAG, hidden character A");
        assert_eq!(name('\u{202E}'), "RIGHT-TO-LEFT OVERRIDE");
        assert_eq!(name('\u{FE0F}'), "VARIATION SELECTOR-16");
    }
}

//! The inside of a JSON string as the text it stands for.

use crate::cut::clip;

/// Decodes until about `max` bytes are made; also says whether that was all.
///
/// Half of a surrogate pair stands for no character. It is left as it is
/// written, so that it can be seen.
pub(crate) fn decode(raw: &str, max: usize) -> (String, bool) {
    let mut text = String::with_capacity(raw.len().min(max));
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        if text.len() + at >= max {
            break;
        }
        text.push_str(&rest[..at]);
        let length = match escape(&rest[at..]) {
            Some((character, length)) => {
                text.push(character);
                length
            }
            None => {
                let written = clip(&rest[at..], UNIT_BYTES);
                text.push_str(written);
                written.len()
            }
        };
        rest = &rest[at + length..];
    }
    let room = max.saturating_sub(text.len());
    let last = clip(rest, room);
    text.push_str(last);
    (text, last.len() == rest.len())
}

/// The character that the escape at the beginning of `rest` stands for, and
/// how many bytes it takes.
fn escape(rest: &str) -> Option<(char, usize)> {
    let character = match rest.as_bytes().get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((character, 2))
}

/// What `\uXXXX` takes.
const UNIT_BYTES: usize = 6;

fn unicode(rest: &str) -> Option<(char, usize)> {
    let first = unit(rest)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, UNIT_BYTES));
    }
    let second = unit(rest.get(UNIT_BYTES..)?)?;
    let is_pair = matches!((first, second), (0xD800..=0xDBFF, 0xDC00..=0xDFFF));
    let code = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF);
    char::from_u32(code)
        .filter(|_| is_pair)
        .map(|c| (c, 2 * UNIT_BYTES))
}

/// The number in `\uXXXX`.
fn unit(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_what_they_stand_for_and_half_pairs_stay() {
        for (raw, text) in [
            (r"a\nb\t\u0041\u00e9", "a\nb\tAé"),
            (r"\ud83d\udc4d", "👍"),
            (r"\ud83d", r"\ud83d"),
            (r"\udc4d\ud83d", r"\udc4d\ud83d"),
            (r"\ud83d\u0041", r"\ud83dA"),
            (r"\\u0041 \/", r"\u0041 /"),
            (r"\ud83", r"\ud83"),
            (r"\u12é4x", r"\u12é4x"),
            ("\\", "\\"),
        ] {
            assert_eq!(decode(raw, 100), (text.to_owned(), true), "{raw}");
        }
    }

    #[test]
    fn no_more_is_decoded_than_is_shown() {
        assert_eq!(decode("ééé", 3), ("é".to_owned(), false));
        assert_eq!(decode(&r"\n".repeat(100), 5), ("\n".repeat(5), false));
    }
}

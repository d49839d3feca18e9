//! The lines of a diff that are not content.

/// What `@@ -1,2 +3,4 @@ section` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HunkHeader<'t> {
    pub old_start: usize,
    pub old_count: usize,
    pub new_start: usize,
    pub new_count: usize,
    pub section: &'t str,
}

impl<'t> HunkHeader<'t> {
    pub fn parse(line: &'t str) -> Option<HunkHeader<'t>> {
        let (ranges, section) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let (old_start, old_count) = range(old)?;
        let (new_start, new_count) = range(new)?;
        let section = match section.strip_prefix(' ') {
            Some(section) => section,
            None if section.is_empty() => section,
            None => return None,
        };
        let header = HunkHeader {
            old_start,
            old_count,
            new_start,
            new_count,
            section,
        };
        // Where there is nothing, the number is that of the line before.
        let stands = |start, count| start > 0 || count == 0;
        let is_one = old_count + new_count > 0;
        (is_one && stands(old_start, old_count) && stands(new_start, new_count)).then_some(header)
    }
}

/// `12,3` or `12`, which means one line.
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((number(start)?, number(count)?))
}

/// No file has a billion lines, and sums of these cannot overflow.
const MAX_DIGITS: usize = 9;

fn number(text: &str) -> Option<usize> {
    let is_number = text.len() <= MAX_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// What git may say about a file between its first line and its hunks.
const FACTS: &[&str] = &[
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "copy from ",
    "copy to ",
    "rename from ",
    "rename to ",
    "similarity index ",
    "dissimilarity index ",
];

/// A line of git that a reader wants to see.
pub(super) fn is_fact(line: &str) -> bool {
    let is_binary = line.starts_with("Binary files ") && line.ends_with(" differ");
    is_binary || FACTS.iter().any(|fact| line.starts_with(fact))
}

/// A line of git that only git needs: the hashes of both sides.
pub(super) fn is_index(line: &str) -> bool {
    let rest = line.strip_prefix("index ").unwrap_or_default();
    let is_hash = |c: u8| c.is_ascii_hexdigit() || matches!(c, b'.' | b' ' | b',');
    !rest.is_empty() && rest.bytes().all(is_hash)
}

/// The name in `--- name` or `+++ name`; a tab ends it, and a time may follow.
pub(super) fn name<'t>(line: &'t str, sign: &str) -> Option<&'t str> {
    let name = line.strip_prefix(sign)?.split('\t').next()?;
    (!name.is_empty()).then_some(name)
}

/// Whether the first line that git writes names the same file as the names
/// that follow. A diff that says one thing first and does another is none.
pub(super) fn agrees(git: &str, old: &str, new: &str) -> bool {
    match (old, new) {
        ("/dev/null", "/dev/null") => false,
        ("/dev/null", new) => git
            .strip_suffix(new)
            .is_some_and(|rest| rest.ends_with(' ')),
        (old, "/dev/null") => git
            .strip_prefix(old)
            .is_some_and(|rest| rest.starts_with(' ')),
        (old, new) => {
            let middle = git
                .strip_prefix(old)
                .and_then(|rest| rest.strip_suffix(new));
            middle == Some(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunk_headers_are_read_strictly() {
        let header = HunkHeader::parse("@@ -1,2 +3 @@ fn main()").unwrap();
        assert_eq!((header.old_start, header.old_count), (1, 2));
        assert_eq!((header.new_start, header.new_count), (3, 1));
        assert_eq!(header.section, "fn main()");
        for bad in [
            "@@ -1,2 +3 @",
            "@@ -1,2 +3,4@@",
            "@@ -+1 +1 @@",
            "@@ -1,0 +1,0 @@",
            "@@ -0,1 +1 @@",
            "@@ -1,2 +3 @@x",
            "@@ -1, +3 @@",
            "@@ -99999999999999999999 +1 @@",
            "@@@ -1 -1 +1 @@@",
        ] {
            assert_eq!(HunkHeader::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_first_line_must_agree_with_the_names() {
        assert!(agrees("a/x y b/x y", "a/x y", "b/x y"));
        assert!(agrees("a/x b/x", "/dev/null", "b/x"));
        assert!(agrees("a/x b/x", "a/x", "/dev/null"));
        assert!(!agrees("a/safe b/safe", "a/evil", "b/evil"));
        assert!(!agrees("a/safe b/safe", "/dev/null", "b/evil"));
    }
}

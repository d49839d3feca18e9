//! Whether a text is a unified diff, from the first line to the last. Nothing
//! is guessed: a text that only quotes a diff is a text.

use std::{iter::Peekable, str::Lines};

/// What git writes between `diff --git` and the names.
const EXTENDED: [&str; 12] = [
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
    "index ",
    "Binary files ",
];

/// Files with their hunks, each hunk with as many lines as it announces.
pub fn is_unified(text: &str) -> bool {
    let mut lines = text.lines().peekable();
    loop {
        if file(&mut lines).is_none() {
            return false;
        }
        if lines.clone().all(str::is_empty) {
            return true;
        }
    }
}

fn file(lines: &mut Peekable<Lines<'_>>) -> Option<()> {
    let command = lines.next_if(|line| line.starts_with("diff "));
    let is_extended = |line: &&str| EXTENDED.iter().any(|start| line.starts_with(start));
    let mut extended = false;
    while command.is_some() && lines.next_if(is_extended).is_some() {
        extended = true;
    }
    if lines.next_if(|line| line.starts_with("--- ")).is_none() {
        // A renamed or binary file has no lines to show.
        let by_git = command?.starts_with("diff --git ");
        return (by_git && extended).then_some(());
    }
    lines.next_if(|line| line.starts_with("+++ "))?;
    hunk(lines)?;
    while lines.peek().is_some_and(|line| line.starts_with("@@ ")) {
        hunk(lines)?;
    }
    Some(())
}

fn hunk(lines: &mut Peekable<Lines<'_>>) -> Option<()> {
    let (mut old, mut new) = lengths(lines.next()?).filter(|lengths| *lengths != (0, 0))?;
    while (old, new) != (0, 0) {
        match lines.next()?.as_bytes().first() {
            // Some editors take the blank from an empty line.
            None | Some(b' ') => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            // "\ No newline at end of file"
            Some(b'\\') => {}
            Some(_) => return None,
        }
    }
    lines.next_if(|line| line.starts_with('\\'));
    Some(())
}

/// The two lengths of `@@ -1,7 +1,6 @@ anything`.
fn lengths(line: &str) -> Option<(u32, u32)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, section) = rest.split_once(" @@")?;
    let section_fits = section.is_empty() || section.starts_with(' ');
    Some((length(old)?, length(new)?)).filter(|_| section_fits)
}

fn length(range: &str) -> Option<u32> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (start, length) = range.split_once(',').unwrap_or((range, "1"));
    (digits(start) && digits(length) && !start.is_empty()).then(|| length.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn main\n one\n-two\n+2\n three\n";

    #[test]
    fn what_diff_and_git_write_is_a_diff() {
        let git = format!("diff --git a/x b/x\nindex 123..456 100644\n{PLAIN}");
        let added = "diff --git a/n b/n\nnew file mode 100644\nindex 000..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n";
        let renamed = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
        let command = format!("diff -ru a/x b/x\n{PLAIN}");
        let two_hunks = format!("{PLAIN}@@ -9 +9 @@\n-a\n+b");
        let stripped = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n\n-x\n+y\n\n";
        let windows = PLAIN.replace('\n', "\r\n");
        let removed_rule = "--- a\n+++ b\n@@ -1,2 +0,0 @@\n--- not a header\n-+++ nor this\n";
        for text in [
            PLAIN,
            &git,
            added,
            renamed,
            &command,
            &two_hunks,
            stripped,
            &windows,
            removed_rule,
        ] {
            assert!(is_unified(text), "{text}");
        }
        assert!(is_unified(&[&git, added, renamed, PLAIN].concat()));
    }

    #[test]
    fn what_is_not_a_diff_from_end_to_end_is_none() {
        for text in [
            "",
            "\n",
            "# A heading\n\n- a list\n+ another",
            "--- a\n+++ b\n",
            "---\ntitle: x\n---\n",
            "@@ -1 +1 @@\n-a\n+b\n",
            "diff is a fine tool\n",
            "diff --git a/x b/x\n",
            "diff -ru a/x b/x\nindex 1..2\n",
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n",
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n+c\n",
            "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\nand so on\n",
            "--- a\n+++ b\n@@ -x +1 @@\n-a\n+b\n",
            "--- a\n+++ b\n@@ -1,99999999999 +1 @@\n-a\n+b\n",
            "--- a\n+++ b\n@@ -0,0 +0,0 @@\n",
            "--- a\n+++ b\n@@ -1 +1 @@@\n-a\n+b\n",
        ] {
            assert!(!is_unified(text), "{text}");
        }
        assert!(!is_unified(&format!("Here it is:\n{PLAIN}")));
        assert!(!is_unified(&format!("```diff\n{PLAIN}```\n")));
        assert!(!is_unified(&format!("{PLAIN}\nThat was it.\n")));
    }
}

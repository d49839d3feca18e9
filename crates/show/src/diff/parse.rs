//! Reading a unified diff.

use super::{
    Change, Diff, File, Hunk, Line,
    header::{HunkHeader, agrees, is_fact, is_index, name},
};
use crate::limits::DIFF_BYTES;

/// Reads a text that is one whole unified diff, of git or of `diff -u`.
///
/// Hunks must have the lines they announce and follow each other; the names
/// must agree. Empty lines may follow the end, nothing else may stand around.
pub fn parse(text: &str) -> Option<Diff<'_>> {
    if text.len() > DIFF_BYTES {
        return None;
    }
    let mut lines = Lines::new(text);
    let mut diff = Diff::default();
    while lines.has_more() {
        diff.files.push(file(&mut lines)?);
    }
    (!diff.files.is_empty()).then_some(diff)
}

/// The lines that are still to be read.
struct Lines<'t> {
    rest: Option<&'t str>,
    /// Every line ends as on Windows, so that is not part of the lines.
    returns: bool,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let returns = text.ends_with('\r') && text.split('\n').all(|line| line.ends_with('\r'));
        Lines {
            rest: Some(text),
            returns,
        }
    }

    fn peek(&self) -> Option<&'t str> {
        let line = self.rest?.split('\n').next()?;
        match self.returns {
            true => line.strip_suffix('\r'),
            false => Some(line),
        }
    }

    fn next(&mut self) -> Option<&'t str> {
        let line = self.peek();
        self.rest = self
            .rest
            .and_then(|rest| rest.split_once('\n'))
            .map(|(_, rest)| rest);
        line
    }

    /// Takes the next line if it fits.
    fn next_if(&mut self, fits: impl Fn(&str) -> bool) -> Option<&'t str> {
        self.peek().filter(|line| fits(line))?;
        self.next()
    }

    /// Whether more than empty lines follow.
    fn has_more(&self) -> bool {
        self.rest
            .is_some_and(|rest| !rest.trim_end_matches(['\n', '\r']).is_empty())
    }
}

fn file<'t>(lines: &mut Lines<'t>) -> Option<File<'t>> {
    let mut file = File::default();
    let git = lines.next_if(|line| line.starts_with("diff --git "));
    if git.is_some() {
        while let Some(line) = lines.next_if(|line| is_fact(line) || is_index(line)) {
            if is_fact(line) {
                file.facts.push(line);
            }
        }
    } else {
        // What `diff -r` writes above each file.
        lines.next_if(|line| line.starts_with("diff -"));
    }
    let git = git.and_then(|line| line.strip_prefix("diff --git "));

    let Some(old) = lines.next_if(|line| line.starts_with("--- ")) else {
        // Without lines there must be something else that changes.
        file.names = git?;
        return (!file.facts.is_empty()).then_some(file);
    };
    let old = name(old, "--- ")?;
    let new = name(lines.next()?, "+++ ")?;
    if git.is_some_and(|git| !agrees(git, old, new)) {
        return None;
    }
    (file.old, file.new) = (Some(old), Some(new));
    hunks(lines, &mut file)?;
    Some(file)
}

fn hunks<'t>(lines: &mut Lines<'t>, file: &mut File<'t>) -> Option<()> {
    let (mut old_end, mut new_end) = (0, 0);
    while let Some(line) = lines.next_if(|line| line.starts_with("@@ ")) {
        let header = HunkHeader::parse(line)?;
        if header.old_start < old_end || header.new_start < new_end {
            return None;
        }
        old_end = header.old_start + header.old_count;
        new_end = header.new_start + header.new_count;
        file.hunks.push(hunk(lines, &header)?);
    }
    (!file.hunks.is_empty()).then_some(())
}

fn hunk<'t>(lines: &mut Lines<'t>, header: &HunkHeader<'t>) -> Option<Hunk<'t>> {
    let (mut old, mut new) = (header.old_count, header.new_count);
    let mut hunk = Hunk {
        old_start: header.old_start,
        new_start: header.new_start,
        section: header.section,
        lines: Vec::new(),
    };
    while old + new > 0 {
        let line = lines.next()?;
        let (change, text) = match line.as_bytes().first() {
            Some(b' ') => (Change::Same, &line[1..]),
            Some(b'-') => (Change::Del, &line[1..]),
            Some(b'+') => (Change::Add, &line[1..]),
            // Many tools strip the blank that an empty line should have.
            None => (Change::Same, ""),
            Some(_) => return None,
        };
        if change != Change::Add {
            old = old.checked_sub(1)?;
        }
        if change != Change::Del {
            new = new.checked_sub(1)?;
        }
        let no_newline = lines
            .next_if(|line| line.starts_with("\\ No newline"))
            .is_some();
        hunk.lines.push(Line {
            change,
            text,
            no_newline,
        });
    }
    Some(hunk)
}

#[cfg(test)]
mod tests {
    use super::parse;

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
        let all = [&git, added, PLAIN, renamed].concat();
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
            &all,
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_diff_from_end_to_end_is_none() {
        let before = format!("Here it is:\n{PLAIN}");
        let fenced = format!("```diff\n{PLAIN}```\n");
        let after = format!("{PLAIN}\nThat was it.\n");
        for text in [
            &before,
            &fenced,
            &after,
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
            assert!(parse(text).is_none(), "{text}");
        }
    }
}

//! Unified diffs: reading them, comparing texts, and showing both alike.
//!
//! The reader is strict. It takes a text that is one diff from its first line
//! to its last, with the lines its hunks announce; prose with a diff in it is
//! prose. So what is shown as a diff is what a tool would apply.

mod compare;
mod header;
mod lcs;
mod parse;
mod table;
mod words;

pub use parse::parse;

pub(crate) use compare::compare;
pub(crate) use table::write;

/// One whole diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff<'t> {
    pub files: Vec<File<'t>>,
}

/// What changes in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File<'t> {
    /// The names before and after, as the diff writes them above the lines;
    /// none when there are no lines.
    pub old: Option<&'t str>,
    pub new: Option<&'t str>,
    /// Both names as git writes them, when nothing else names the file.
    pub names: &'t str,
    /// What git says besides lines: modes, renames, binary files.
    pub facts: Vec<&'t str>,
    pub hunks: Vec<Hunk<'t>>,
}

/// Some lines in a row, changed and not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk<'t> {
    /// The number of the first line before and after.
    pub old_start: usize,
    pub new_start: usize,
    /// What the diff says about where this is: the function, the section.
    pub section: &'t str,
    pub lines: Vec<Line<'t>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    pub change: Change,
    pub text: &'t str,
    /// The file ends here, without a line break.
    pub no_newline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Same,
    Del,
    Add,
}

impl Hunk<'_> {
    /// How many lines the hunk has before and after.
    pub fn counts(&self) -> (usize, usize) {
        let count = |change| {
            let other = |line: &&Line<'_>| line.change == change;
            self.lines.len() - self.lines.iter().filter(other).count()
        };
        (count(Change::Add), count(Change::Del))
    }
}

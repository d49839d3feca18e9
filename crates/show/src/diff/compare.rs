//! Comparing an original with what became of it, line by line.

use std::collections::BTreeMap;

use super::{Change, Diff, File, Hunk, Line, lcs};
use crate::{
    cut::cut,
    limits::{CONTEXT_LINES, LINE_EDITS},
};

/// What lies between two texts, and whether all of both was looked at.
pub(crate) fn compare<'t>(old: &'t str, new: &'t str) -> (Diff<'t>, bool) {
    let (old, old_whole) = cut(old);
    let (new, new_whole) = cut(new);
    let (mut old, mut new) = (Text::new(old, old_whole), Text::new(new, new_whole));
    // Where both end alike there is nothing to tell about their ends.
    if old.ends_with_newline == new.ends_with_newline {
        (old.ends_with_newline, new.ends_with_newline) = (true, true);
    }
    let lines = changes(&old, &new);
    let hunks = hunks(&lines);
    let files = match hunks.is_empty() {
        true => Vec::new(),
        false => vec![File {
            hunks,
            ..File::default()
        }],
    };
    (Diff { files }, old_whole && new_whole)
}

struct Text<'t> {
    lines: Vec<&'t str>,
    ends_with_newline: bool,
}

impl<'t> Text<'t> {
    fn new(text: &'t str, whole: bool) -> Text<'t> {
        // Where a text was cut is not where it ends.
        let ends_with_newline = text.ends_with('\n') || !whole;
        let lines = match text {
            "" => Vec::new(),
            _ => text
                .strip_suffix('\n')
                .unwrap_or(text)
                .split('\n')
                .collect(),
        };
        Text {
            lines,
            ends_with_newline,
        }
    }

    fn line(&self, at: usize, change: Change) -> Line<'t> {
        Line {
            change,
            text: self.lines[at],
            no_newline: !self.ends_with_newline && at + 1 == self.lines.len(),
        }
    }

    /// A number for each line, the same for lines that are the same, so that
    /// long lines are compared once. A last line without a break is its own.
    fn numbers(&self, known: &mut BTreeMap<(&'t str, bool), usize>) -> Vec<usize> {
        let lines = (0..self.lines.len()).map(|at| self.line(at, Change::Same));
        lines
            .map(|line| {
                let next = known.len();
                *known.entry((line.text, line.no_newline)).or_insert(next)
            })
            .collect()
    }
}

/// Every line of both, in order: deletions before the additions beside them.
fn changes<'t>(old: &Text<'t>, new: &Text<'t>) -> Vec<Line<'t>> {
    let mut known = BTreeMap::new();
    let (old_numbers, new_numbers) = (old.numbers(&mut known), new.numbers(&mut known));
    let pairs = lcs::common(&old_numbers, &new_numbers, LINE_EDITS)
        .unwrap_or_else(|| ends(&old_numbers, &new_numbers));
    let mut lines = Vec::new();
    let (mut x, mut y) = (0, 0);
    let end = (old.lines.len(), new.lines.len());
    for (next_x, next_y) in pairs.into_iter().chain([end]) {
        lines.extend((x..next_x).map(|at| old.line(at, Change::Del)));
        lines.extend((y..next_y).map(|at| new.line(at, Change::Add)));
        if next_x < end.0 {
            lines.push(old.line(next_x, Change::Same));
        }
        (x, y) = (next_x + 1, next_y + 1);
    }
    lines
}

/// Only what both begin and end with, for texts that are too different.
fn ends(old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    let shorter = old.len().min(new.len());
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let backwards = old.iter().rev().zip(new.iter().rev());
    let tail = backwards.take_while(|(a, b)| a == b).count();
    let tail = tail.min(shorter - head);
    let from = (old.len() - tail, new.len() - tail);
    let head = (0..head).map(|at| (at, at));
    head.chain((0..tail).map(|at| (from.0 + at, from.1 + at)))
        .collect()
}

/// Changes with some lines around them; what lies further away is left out.
fn hunks<'t>(lines: &[Line<'t>]) -> Vec<Hunk<'t>> {
    let mut hunks: Vec<Hunk<'t>> = Vec::new();
    let (mut old, mut new) = (1, 1);
    let mut changed_at = (0..lines.len())
        .filter(|&at| lines[at].change != Change::Same)
        .peekable();
    let mut end = 0;
    for (at, &line) in lines.iter().enumerate() {
        while changed_at
            .next_if(|&changed| changed + CONTEXT_LINES < at)
            .is_some()
        {}
        let near = changed_at
            .peek()
            .is_some_and(|&changed| changed <= at + CONTEXT_LINES);
        if near {
            if hunks.is_empty() || end < at {
                hunks.push(Hunk {
                    old_start: old,
                    new_start: new,
                    ..Hunk::default()
                });
            }
            end = at + 1;
            if let Some(hunk) = hunks.last_mut() {
                hunk.lines.push(line);
            }
        }
        old += usize::from(line.change != Change::Add);
        new += usize::from(line.change != Change::Del);
    }
    hunks
}

//! A diff as one table per file.
//!
//! Each row is one line: `old`, `line` when it was deleted; `new`, `line` when
//! it was added; `old`, `line twin`, `new`, `line` when it stayed. A style sheet
//! can lay this out side by side (old and its line in columns one and two, new
//! and its line in three and four; a deletion and the addition that replaces it
//! follow each other and so share a row) or below each other (the twin and its
//! number hidden).

use super::{
    Change, Diff, File, Hunk, Line,
    words::{Parts, Words},
};
use crate::{
    html::Html,
    limits::{LINES, TEXT_BYTES},
    link::write_address,
    tag,
};

/// Writes every file of `diff`, until too much is shown.
pub(crate) fn write(html: &mut Html, diff: &Diff<'_>) {
    let mut writer = Writer {
        html,
        words: Words::new(),
        lines: 0,
        bytes: 0,
    };
    for file in &diff.files {
        if writer.is_over() {
            writer.html.leave_out();
            return;
        }
        writer.file(file);
    }
}

struct Writer<'h> {
    html: &'h mut Html,
    words: Words,
    lines: usize,
    bytes: usize,
}

/// A line with its number and, when it was compared, its parts.
struct Row<'a, 't> {
    line: &'a Line<'t>,
    number: usize,
    parts: Option<Parts<'t>>,
}

impl Writer<'_> {
    fn is_over(&self) -> bool {
        self.lines >= LINES || self.bytes >= TEXT_BYTES || self.html.is_full()
    }

    fn file(&mut self, file: &File<'_>) {
        self.lines += 1;
        self.html.open(tag::FILE);
        self.path(file);
        for fact in &file.facts {
            self.lines += 1;
            self.html
                .within(tag::FACT, |html| write_address(html, fact));
        }
        if !file.hunks.is_empty() {
            self.html.open(tag::DIFF);
            self.html.open(tag::TBODY);
            for hunk in &file.hunks {
                self.hunk(hunk);
            }
            self.html.close();
            self.html.close();
        }
        self.html.close();
    }

    fn path(&mut self, file: &File<'_>) {
        let count = |change| {
            let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
            lines.filter(|line| line.change == change).count()
        };
        let (added, removed) = (count(Change::Add), count(Change::Del));
        self.html.within(tag::PATH, |html| {
            if file.hunks.is_empty() {
                return write_address(html, file.names);
            }
            if let (Some(old), Some(new)) = (file.old, file.new) {
                write_names(html, old, new);
                html.ours(" ");
            }
            html.within(tag::COUNT, |html| {
                html.number(added);
                html.ours(" added, ");
                html.number(removed);
                html.ours(" removed");
            });
        });
    }

    fn hunk(&mut self, hunk: &Hunk<'_>) {
        if self.is_over() {
            return self.html.leave_out();
        }
        self.hunk_row(hunk);
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        let mut rest = hunk.lines.as_slice();
        while let Some(first) = rest.first() {
            if self.is_over() {
                return self.html.leave_out();
            }
            if first.change == Change::Same {
                self.same(first, old, new);
                (old, new, rest) = (old + 1, new + 1, &rest[1..]);
                continue;
            }
            let removed = run(rest, Change::Del);
            let added = run(&rest[removed..], Change::Add);
            let (block, after) = rest.split_at(removed + added);
            self.block(&block[..removed], &block[removed..], old, new);
            (old, new, rest) = (old + removed, new + added, after);
        }
    }

    /// Deletions and the additions after them. A pair that is alike stands
    /// together with its words compared; the others keep their order.
    fn block(&mut self, removed: &[Line<'_>], added: &[Line<'_>], old: usize, new: usize) {
        let (mut from_old, mut from_new) = (0, 0);
        for (at, (before, after)) in removed.iter().zip(added).enumerate() {
            if let Some((old_parts, new_parts)) = self.words.compare(before.text, after.text) {
                self.rows(&removed[from_old..at], old + from_old);
                self.rows(&added[from_new..at], new + from_new);
                self.row(Row::new(before, old + at, Some(old_parts)));
                self.row(Row::new(after, new + at, Some(new_parts)));
                (from_old, from_new) = (at + 1, at + 1);
            }
        }
        self.rows(&removed[from_old..], old + from_old);
        self.rows(&added[from_new..], new + from_new);
    }

    fn rows(&mut self, lines: &[Line<'_>], first: usize) {
        for (at, line) in lines.iter().enumerate() {
            self.row(Row::new(line, first + at, None));
        }
    }

    fn row(&mut self, row: Row<'_, '_>) {
        if self.is_over() {
            return self.html.leave_out();
        }
        self.lines += 1;
        self.bytes += row.line.text.len();
        let (tag, number, change, word) = match row.line.change {
            Change::Add => (tag::ROW_ADD, tag::CELL_NEW, tag::INS, "added: "),
            _ => (tag::ROW_DEL, tag::CELL_OLD, tag::DEL, "removed: "),
        };
        self.html.open(tag);
        self.html.within(number, |html| html.number(row.number));
        self.html.open(tag::CELL_LINE);
        self.html.within(tag::SR, |html| html.ours(word));
        match &row.parts {
            None => self.html.text(row.line.text),
            Some(parts) => {
                for &(changed, part) in parts {
                    let tag = if changed { change } else { tag::NONE };
                    self.html.within(tag, |html| html.text(part));
                }
            }
        }
        self.end_of_file(row.line);
        self.html.close();
        self.html.close();
    }

    fn same(&mut self, line: &Line<'_>, old: usize, new: usize) {
        self.lines += 1;
        self.bytes += line.text.len();
        self.html.open(tag::ROW_SAME);
        self.html.within(tag::CELL_OLD, |html| html.number(old));
        self.html
            .within(tag::CELL_TWIN, |html| html.text(line.text));
        self.html.within(tag::CELL_NEW, |html| html.number(new));
        self.html.open(tag::CELL_LINE);
        self.html.text(line.text);
        self.end_of_file(line);
        self.html.close();
        self.html.close();
    }

    fn end_of_file(&mut self, line: &Line<'_>) {
        if line.no_newline {
            self.html.within(tag::NO_NEWLINE, |html| {
                html.ours("no line break at the end")
            });
        }
    }

    fn hunk_row(&mut self, hunk: &Hunk<'_>) {
        self.lines += 1;
        let (old, new) = hunk.counts();
        self.html.open(tag::ROW_HUNK);
        self.html.within(tag::CELL_HUNK, |html| {
            html.ours("@@ -");
            html.number(hunk.old_start);
            html.ours(",");
            html.number(old);
            html.ours(" +");
            html.number(hunk.new_start);
            html.ours(",");
            html.number(new);
            html.ours(" @@ ");
            write_address(html, hunk.section);
        });
        self.html.close();
    }
}

impl<'a, 't> Row<'a, 't> {
    fn new(line: &'a Line<'t>, number: usize, parts: Option<Parts<'t>>) -> Row<'a, 't> {
        Row {
            line,
            number,
            parts,
        }
    }
}

/// How many lines from here on are of one kind.
fn run(lines: &[Line<'_>], change: Change) -> usize {
    lines
        .iter()
        .take_while(|line| line.change == change)
        .count()
}

/// Both names, or the one when only the letters differ that git puts first.
fn write_names(html: &mut Html, old: &str, new: &str) {
    let one = match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        (Some(old), Some(new)) if old == new => Some(new),
        _ => (old == new).then_some(new),
    };
    if let Some(name) = one {
        return write_address(html, name);
    }
    write_address(html, old);
    html.ours(" → ");
    write_address(html, new);
}

//! The one place where HTML is written.
//!
//! Three things can be written: a [`Tag`] (from the list in `tag.rs`), our own
//! words (`&'static str`, so never what an agent sent), and text, which always
//! passes [`escape`]. What was opened is on a stack and is closed from it, so
//! the result is balanced whatever happens in between. There is a maximum of
//! bytes and of elements; what would be over it is not written, and a note says so.

use std::fmt::Write;

use maud::{Markup, PreEscaped};

use crate::{
    cut::clip,
    eye::{Eye, Piece},
    limits::{ELEMENTS, ELEMENTS_IN_AUTO, MARKS},
    link::Target,
    near::Here,
    tag::{self, Direction, Tag},
    unseen,
};

pub(crate) struct Html {
    out: String,
    open: Vec<Open>,
    room: usize,
    /// Elements written so far, and how many of them are marks.
    elements: usize,
    marks: usize,
    /// What to say when something was left out.
    note: &'static str,
    cut: bool,
    full: bool,
    quiet: bool,
    eye: Eye,
    here: Here,
}

/// An element that is open.
struct Open {
    /// Empty for one left out.
    name: &'static str,
    direction: Direction,
    /// Elements written inside, up to the next that has a direction of its own.
    inside: usize,
}

/// Makes text harmless in elements and in quoted attributes alike.
fn escape(text: &str, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(entity);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

impl Html {
    /// At most about `room` bytes; `note` is said at the end if that, or a
    /// limit of the caller, left something out.
    pub fn new(room: usize, note: &'static str) -> Html {
        Html {
            out: String::new(),
            open: Vec::new(),
            room,
            elements: 0,
            marks: 0,
            note,
            cut: false,
            full: false,
            quiet: false,
            eye: Eye::default(),
            here: Here::default(),
        }
    }

    /// On a page of this server.
    pub fn on(mut self, here: &Here) -> Html {
        self.here = here.clone();
        self
    }

    pub fn here(&self) -> &Here {
        &self.here
    }

    /// Opens an element, to be closed with [`Html::close`].
    pub fn open(&mut self, tag: Tag) {
        if tag.name().is_empty() || !self.begins() {
            return self.opened("", Direction::Inherited);
        }
        self.out.push('<');
        self.out.push_str(tag.name());
        self.out.push_str(tag.attributes());
        self.out.push('>');
        // A browser drops a first line break in `pre`; it shall be this one.
        if tag.name() == "pre" {
            self.out.push('\n');
        }
        self.opened(tag.name(), tag.direction());
    }

    /// Opens a link. Only a [`Target`] can be where it leads.
    pub fn open_link(&mut self, target: &Target) {
        if !self.begins() {
            return self.opened("", Direction::Inherited);
        }
        self.out.push_str("<a href=\"");
        escape(target.href(), &mut self.out);
        self.out
            .push_str("\" rel=\"noopener noreferrer nofollow\" target=\"_blank\" dir=\"auto\">");
        self.opened("a", Direction::FromContent);
    }

    /// Opens a numbered list that begins with `start`.
    pub fn open_numbered(&mut self, start: u64) {
        if !self.begins() {
            return self.opened("", Direction::Inherited);
        }
        match start {
            1 => self.out.push_str("<ol>"),
            _ => _ = write!(self.out, "<ol start=\"{start}\">"),
        }
        self.opened("ol", Direction::Inherited);
    }

    fn opened(&mut self, name: &'static str, direction: Direction) {
        self.open.push(Open {
            name,
            direction,
            inside: 0,
        });
    }

    /// Whether one more element can be written; it counts from here on.
    fn begins(&mut self) -> bool {
        if self.is_silent() {
            return false;
        }
        self.elements += 1;
        self.full = self.elements > ELEMENTS || self.is_crowded();
        !self.full
    }

    /// Counts an element where it stands; whether there are too many.
    fn is_crowded(&mut self) -> bool {
        let has_own = |open: &&mut Open| open.direction != Direction::Inherited;
        self.open
            .iter_mut()
            .rev()
            .find(has_own)
            .is_some_and(|near| {
                near.inside += 1;
                near.direction == Direction::FromContent && near.inside > ELEMENTS_IN_AUTO
            })
    }

    /// Closes what was opened last.
    pub fn close(&mut self) {
        if let Some(open) = self.open.pop().filter(|open| !open.name.is_empty()) {
            self.out.push_str("</");
            self.out.push_str(open.name);
            self.out.push('>');
        }
    }

    /// One element with what `inside` writes into it.
    pub fn within(&mut self, tag: Tag, inside: impl FnOnce(&mut Html)) {
        self.open(tag);
        inside(self);
        self.close();
    }

    pub fn line_break(&mut self) {
        self.ours("<br>");
    }

    pub fn rule(&mut self) {
        self.ours("<hr>");
    }

    /// Our own words. They are literals in this crate, written as they stand.
    pub fn ours(&mut self, words: &'static str) {
        if !self.is_silent() {
            self.out.push_str(words);
        }
    }

    pub fn number(&mut self, number: usize) {
        if !self.is_silent() {
            _ = write!(self.out, "{number}");
        }
    }

    /// What an agent wrote: escaped, and everything unseen in it marked.
    pub fn text(&mut self, text: &str) {
        let mut eye = std::mem::take(&mut self.eye);
        for piece in eye.look(text) {
            if self.is_silent() {
                break;
            }
            match piece {
                Piece::Seen(seen) => {
                    let room = self.room - self.out.len();
                    let part = clip(seen, room);
                    self.full |= part.len() < seen.len();
                    escape(part, &mut self.out);
                }
                Piece::Unseen(character, times) => self.mark(character, times),
                Piece::Piled(times) => self.pile(times),
            }
        }
        self.eye = eye;
    }

    /// Points out combining marks that are not shown.
    pub fn pile(&mut self, times: usize) {
        if self.begins_mark() {
            _ = write!(
                self.out,
                "<span class=\"unseen\" title=\"{times} more combining marks\">+{times}</span>"
            );
        }
    }

    /// Points out a character that cannot be seen.
    pub fn mark(&mut self, character: char, times: usize) {
        if !self.begins_mark() {
            return;
        }
        let code = u32::from(character);
        _ = write!(self.out, "<span class=\"unseen\" title=\"U+{code:04X} ");
        escape(&unseen::name(character), &mut self.out);
        _ = write!(self.out, "\">U+{code:04X}");
        if times > 1 {
            _ = write!(self.out, " ×{times}");
        }
        self.out.push_str("</span>");
    }

    fn begins_mark(&mut self) -> bool {
        self.marks += 1;
        self.full |= self.marks > MARKS;
        self.begins()
    }

    /// Says that something was left out here by a limit of the caller.
    pub fn leave_out(&mut self) {
        self.cut = true;
    }

    /// While quiet, nothing is written.
    pub fn quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Whether nothing was left out so far.
    pub fn is_whole(&self) -> bool {
        !self.cut && !self.full
    }

    /// Whether the room is used up, so that going on is in vain.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// How many elements are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the element opened last was really written.
    pub fn is_inside_written(&self) -> bool {
        self.open.last().is_some_and(|open| !open.name.is_empty())
    }

    fn is_silent(&mut self) -> bool {
        self.full |= self.out.len() >= self.room;
        self.full || self.quiet
    }

    /// Closes what is open and adds the note where it is due.
    pub fn finish(mut self) -> Markup {
        while !self.open.is_empty() {
            self.close();
        }
        if self.cut || self.full {
            (self.room, self.elements) = (usize::MAX, 0);
            (self.full, self.quiet) = (false, false);
            self.open(tag::CUT);
            self.ours(self.note);
            self.close();
        }
        PreEscaped(self.out)
    }
}

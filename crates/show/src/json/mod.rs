//! JSON as a tree that folds without any script.
//!
//! The text is read twice: once to see that it is JSON and how much is in each
//! object and array, once to write it. Nothing is built in between, and what is
//! written never recurses.

mod scalar;
mod string;
mod token;

pub(crate) use string::decode;

use crate::{
    html::Html,
    limits::{
        JSON_DEPTH, JSON_NODES, JSON_OPEN_LEVELS, JSON_OPEN_LEVELS_SMALL, JSON_SMALL, TEXT_BYTES,
    },
    tag,
};
use token::{NotJson, Token, Tokens};

/// A text that is JSON, and the sizes of what is in it.
pub(crate) struct Json<'t> {
    text: &'t str,
    /// Members or items of each object and array that can be shown, in order
    /// of their beginnings.
    sizes: Vec<usize>,
}

impl<'t> Json<'t> {
    /// Reads one JSON value and nothing else.
    pub fn parse(text: &'t str) -> Option<Json<'t>> {
        let sizes = measure(text).ok()?;
        Some(Json { text, sizes })
    }

    pub fn write(&self, html: &mut Html) {
        html.open(tag::JSON);
        let mut writer = Writer {
            html,
            sizes: self.sizes.iter().copied(),
            key: None,
            open: Vec::new(),
            nodes: 0,
            bytes: 0,
        };
        let mut tokens = Tokens::new(self.text);
        while let Ok(Some(token)) = tokens.token() {
            let is_over = writer.is_over() && token != Token::Close;
            if is_over || writer.html.is_full() {
                html.leave_out();
                return;
            }
            // What is inside the first level too deep is read but not shown.
            let first_too_deep =
                matches!(token, Token::Open(_)) && tokens.depth() == JSON_DEPTH + 1;
            if tokens.depth() <= JSON_DEPTH || first_too_deep {
                writer.token(token);
            }
        }
        html.close();
    }
}

fn measure(text: &str) -> Result<Vec<usize>, NotJson> {
    let mut tokens = Tokens::new(text);
    let mut sizes: Vec<usize> = Vec::new();
    // Where in `sizes` each open object or array is counted.
    let mut open: Vec<usize> = Vec::new();
    while let Some(token) = tokens.token()? {
        let is_value = !matches!(token, Token::Key(_) | Token::Close);
        if is_value
            && let Some(&at) = open.last()
            && let Some(size) = sizes.get_mut(at)
        {
            *size += 1;
        }
        match token {
            Token::Open(_) => {
                open.push(sizes.len());
                // What is deeper or later than is shown needs no size.
                match tokens.depth() <= JSON_DEPTH + 1 && sizes.len() <= JSON_NODES {
                    true => sizes.push(0),
                    false => _ = open.last_mut().map(|at| *at = usize::MAX),
                }
            }
            Token::Close => _ = open.pop(),
            _ => {}
        }
    }
    Ok(sizes)
}

/// An object or array that is being written.
struct Open {
    object: bool,
    /// Whether there is a list of members to be closed.
    has_list: bool,
    /// The place of the next item.
    index: usize,
}

struct Writer<'h, 't, S> {
    html: &'h mut Html,
    sizes: S,
    /// The name of the member that is about to come.
    key: Option<&'t str>,
    open: Vec<Open>,
    nodes: usize,
    bytes: usize,
}

impl<'t, S: Iterator<Item = usize>> Writer<'_, 't, S> {
    fn is_over(&self) -> bool {
        self.nodes >= JSON_NODES || self.bytes >= TEXT_BYTES
    }

    fn token(&mut self, token: Token<'t>) {
        match token {
            Token::Key(raw) => self.key = Some(raw),
            Token::Open(object) => self.begin(object),
            Token::Close => self.end(),
            Token::String(raw) => {
                self.begin_member();
                self.label();
                self.bytes += scalar::write_string(self.html, raw);
                self.end_member();
            }
            Token::Number(text) => {
                self.begin_member();
                self.label();
                self.bytes += scalar::write_number(self.html, text);
                self.end_member();
            }
            Token::Word(text) => {
                self.begin_member();
                self.label();
                self.html.within(tag::JSON_WORD, |html| html.text(text));
                self.end_member();
            }
        }
    }

    /// An object or array: folded out, or one line when there is nothing to see.
    fn begin(&mut self, object: bool) {
        self.begin_member();
        let size = self.sizes.next().unwrap_or_default();
        let level = self.open.len();
        let has_list = size > 0 && level < JSON_DEPTH;
        let open_levels = match size <= JSON_SMALL {
            true => JSON_OPEN_LEVELS_SMALL,
            false => JSON_OPEN_LEVELS,
        };
        if has_list {
            self.html.open(match level < open_levels {
                true => tag::UNFOLDED,
                false => tag::FOLDED,
            });
            self.html.open(tag::SUMMARY);
        }
        self.label();
        self.html
            .within(tag::SIZE, |html| write_size(html, object, size));
        if has_list {
            self.html.close();
            self.html.open(tag::MEMBERS);
        } else if size > 0 {
            self.html.leave_out();
        }
        self.open.push(Open {
            object,
            has_list,
            index: 0,
        });
    }

    fn end(&mut self) {
        if self.open.pop().is_some_and(|open| open.has_list) {
            self.html.close(); // ul
            self.html.close(); // details
        }
        self.end_member();
    }

    fn begin_member(&mut self) {
        self.nodes += 1;
        if !self.open.is_empty() {
            self.html.open(tag::MEMBER);
        }
    }

    fn end_member(&mut self) {
        if !self.open.is_empty() {
            self.html.close();
        }
    }

    /// The name or the place of the member that begins.
    fn label(&mut self) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if !open.object {
            let index = open.index;
            open.index += 1;
            self.html.within(tag::INDEX, |html| html.number(index));
        } else if let Some(raw) = self.key.take() {
            self.bytes += scalar::write_key(self.html, raw);
        }
        self.html.ours(": ");
    }
}

fn write_size(html: &mut Html, object: bool, size: usize) {
    if size == 0 {
        return html.ours(if object { "{} empty" } else { "[] empty" });
    }
    html.number(size);
    html.ours(match (object, size) {
        (true, 1) => " key",
        (true, _) => " keys",
        (false, 1) => " item",
        (false, _) => " items",
    });
}

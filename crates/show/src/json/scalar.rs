//! Names, strings and numbers of a JSON text. Each answers how many bytes of
//! text it has shown.

use super::decode;
use crate::{
    cut::{clip, first_chars},
    html::Html,
    limits::{JSON_SHORT_CHARS, JSON_STRING_BYTES},
    link::Target,
    tag::{self, Tag},
};

pub(super) fn write_key(html: &mut Html, raw: &str) -> usize {
    let (name, whole) = decode(raw, JSON_STRING_BYTES);
    let shown = beginning(&name);
    html.within(tag::KEY, |html| html.text(shown));
    if !whole || shown.len() < name.len() {
        html.ours("…");
        html.leave_out();
    }
    shown.len()
}

/// A number, exactly as it is written.
pub(super) fn write_number(html: &mut Html, text: &str) -> usize {
    if beginning(text).len() == text.len() {
        html.within(tag::JSON_NUMBER, |html| html.text(text));
        return text.len();
    }
    let shown = clip(text, JSON_STRING_BYTES);
    write_long(html, shown, shown.len() == text.len(), tag::PRE_NUMBER)
}

/// A string: a link, a line, several lines, or folded when it is long.
pub(super) fn write_string(html: &mut Html, raw: &str) -> usize {
    let (text, whole) = decode(raw, JSON_STRING_BYTES);
    if let Some(target) = Target::parse_web(&text, html.here()) {
        html.within(tag::JSON_STRING, |html| target.write_bare(html, &text));
    } else if !whole || beginning(&text).len() < text.len() {
        return write_long(html, &text, whole, tag::PRE_STRING);
    } else if text.contains('\n') {
        html.within(tag::PRE_STRING, |html| html.text(&text));
    } else {
        html.within(tag::JSON_STRING, |html| {
            html.ours("&quot;");
            html.text(&text);
            html.ours("&quot;");
        });
    }
    text.len()
}

fn write_long(html: &mut Html, text: &str, whole: bool, tag: Tag) -> usize {
    html.open(tag::LONG);
    html.within(tag::SUMMARY, |html| {
        let first_line = beginning(text).lines().next().unwrap_or_default();
        html.text(first_line);
        html.ours("… ");
        html.within(tag::SIZE, |html| {
            if !whole {
                html.ours("more than ");
            }
            html.number(text.chars().count());
            html.ours(" characters");
        });
    });
    html.within(tag, |html| html.text(text));
    html.close();
    if !whole {
        html.leave_out();
    }
    text.len()
}

/// As much of a text as fits on a line.
fn beginning(text: &str) -> &str {
    first_chars(text, JSON_SHORT_CHARS)
}

//! `details`, shown in the form the agent asked for, or in the nearest one that
//! it fits.

use maud::Markup;

use crate::{
    IN_RAW,
    cut::cut,
    diff,
    html::Html,
    json::{self, Json},
    limits::MARKUP_BYTES,
    markdown, tag, write_cut,
};

/// The forms in which content can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    Text,
    Markdown,
    Json,
    Diff,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Text, Format::Markdown, Format::Json, Format::Diff];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Diff => "diff",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// Content as it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    pub body: Markup,
    /// The form it was really shown in. What is no diff is shown as text, an
    /// object as JSON whatever was asked for.
    pub format: Format,
}

/// Shows the JSON text of a string or an object.
///
/// A string is shown in the form asked for. As JSON it is shown when what it
/// spells is an object or array of its own, as many agents send it.
pub fn details(json: &str, format: Format) -> Shown {
    let Some(inside) = string(json) else {
        return match Json::parse(json) {
            Some(tree) => shown(Format::Json, |html| tree.write(html)),
            None => as_text(json),
        };
    };
    match format {
        Format::Text => as_text(&inside),
        Format::Markdown => as_markdown(&inside).unwrap_or_else(|| as_text(&inside)),
        Format::Json => match Json::parse(&inside).filter(|_| opens(&inside)) {
            Some(tree) => shown(Format::Json, |html| tree.write(html)),
            None => as_text(&inside),
        },
        Format::Diff => match diff::parse(&inside) {
            Some(diff) => shown(Format::Diff, |html| diff::write(html, &diff)),
            None => as_text(&inside),
        },
    }
}

/// The parser of Markdown is not ours and large. A mistake in it may cost the
/// look of one text, but not the page on which a person decides about it.
fn as_markdown(text: &str) -> Option<Shown> {
    let (source, whole) = cut(text);
    let write = || {
        shown(Format::Markdown, |html| {
            markdown::write(html, source);
            if !whole {
                html.leave_out();
            }
        })
    };
    std::panic::catch_unwind(write).ok()
}

fn as_text(text: &str) -> Shown {
    shown(Format::Text, |html| {
        html.within(tag::PRE_TEXT, |html| write_cut(html, text));
    })
}

fn shown(format: Format, write: impl FnOnce(&mut Html)) -> Shown {
    let mut html = Html::new(MARKUP_BYTES, IN_RAW);
    write(&mut html);
    Shown {
        body: html.finish(),
        format,
    }
}

/// What a JSON string spells; none for anything else.
fn string(json: &str) -> Option<String> {
    let raw = json.trim().strip_prefix('"')?.strip_suffix('"')?;
    Json::parse(json)?;
    Some(json::decode(raw, usize::MAX).0)
}

/// Whether a text begins as an object or array does.
fn opens(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

//! `details`, shown in the form the agent asked for, or in the nearest one that
//! it fits.

use maud::Markup;

use crate::{
    IN_RAW,
    cut::cut,
    diff::{self, Diff},
    html::Html,
    json::{self, Json},
    limits::MARKUP_BYTES,
    markdown,
    near::Here,
    tag, write_cut,
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
    /// Whether nothing was left out of it.
    pub whole: bool,
}

/// Shows the JSON text of a string or an object, in the form asked for where it
/// fits that form.
///
/// As JSON a string is shown when what it spells is an object or array of its
/// own, as many agents send it. When no form is asked for, a string is a diff if
/// all of it is one, else Markdown.
pub fn details(json: &str, asked: impl Into<Option<Format>>) -> Shown {
    details_on(&Here::default(), json, asked)
}

/// The same on a page of this server, other ports of which are no links.
pub fn details_on(here: &Here, json: &str, asked: impl Into<Option<Format>>) -> Shown {
    let inside = string(json);
    Content::read(json, inside.as_deref(), asked.into()).show(here)
}

/// The form in which [`details`] shows the same.
pub fn format(json: &str, asked: impl Into<Option<Format>>) -> Format {
    let inside = string(json);
    Content::read(json, inside.as_deref(), asked.into()).format()
}

/// Content, read in the form in which it is shown. There is no second place
/// that decides what is a diff or JSON.
enum Content<'t> {
    Text(&'t str),
    Markdown(&'t str),
    Json(Json<'t>),
    Diff(Diff<'t>),
}

impl<'t> Content<'t> {
    /// `inside` is what `json` spells if it is a string.
    fn read(json: &'t str, inside: Option<&'t str>, asked: Option<Format>) -> Content<'t> {
        let Some(text) = inside else {
            return Json::parse(json).map_or(Content::Text(json), Content::Json);
        };
        match asked {
            None => diff::parse(text).map_or(Content::Markdown(text), Content::Diff),
            Some(Format::Text) => Content::Text(text),
            Some(Format::Markdown) => Content::Markdown(text),
            Some(Format::Json) => {
                let tree = Json::parse(text).filter(|_| opens(text));
                tree.map_or(Content::Text(text), Content::Json)
            }
            Some(Format::Diff) => diff::parse(text).map_or(Content::Text(text), Content::Diff),
        }
    }

    fn format(&self) -> Format {
        match self {
            Content::Text(_) => Format::Text,
            Content::Markdown(_) => Format::Markdown,
            Content::Json(_) => Format::Json,
            Content::Diff(_) => Format::Diff,
        }
    }

    fn show(&self, here: &Here) -> Shown {
        match self {
            Content::Text(text) => as_text(here, text),
            Content::Markdown(text) => {
                as_markdown(here, text).unwrap_or_else(|| as_text(here, text))
            }
            Content::Json(tree) => shown(here, Format::Json, |html| tree.write(html)),
            Content::Diff(diff) => shown(here, Format::Diff, |html| diff::write(html, diff)),
        }
    }
}

/// The parser of Markdown is not ours and large. A mistake in it may cost the
/// look of one text, but not the page on which a person decides about it.
fn as_markdown(here: &Here, text: &str) -> Option<Shown> {
    let (source, whole) = cut(text);
    let write = || {
        shown(here, Format::Markdown, |html| {
            markdown::write(html, source);
            if !whole {
                html.leave_out();
            }
        })
    };
    std::panic::catch_unwind(write).ok()
}

fn as_text(here: &Here, text: &str) -> Shown {
    shown(here, Format::Text, |html| {
        html.within(tag::PRE_TEXT, |html| write_cut(html, text));
    })
}

fn shown(here: &Here, format: Format, write: impl FnOnce(&mut Html)) -> Shown {
    let mut html = Html::new(MARKUP_BYTES, IN_RAW).on(here);
    write(&mut html);
    Shown {
        whole: html.is_whole(),
        body: html.finish(),
        format,
    }
}

/// What a JSON string spells; none for anything else.
pub(crate) fn string(json: &str) -> Option<String> {
    let raw = json.trim().strip_prefix('"')?.strip_suffix('"')?;
    Json::parse(json)?;
    Some(json::decode(raw, usize::MAX).0)
}

/// Whether a text begins as an object or array does.
fn opens(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

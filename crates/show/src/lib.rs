//! What an agent wrote, as a person may safely see it.
//!
//! Everything an agent sends is hostile until shown otherwise. It becomes HTML
//! that is safe by how it is made, never by cleaning afterwards: tags come from
//! the list in `tag.rs`, text passes the one `escape` in `html.rs`, and links
//! lead only where a `link::Target` can. Nothing here panics on any input, and
//! nothing takes long: see `limits.rs`.
//!
//! No I/O, no clock, no state. The same content always gives the same HTML.

mod code;
mod cut;
pub mod diff;
mod excerpt;
mod eye;
mod format;
mod html;
mod json;
mod language;
pub mod limits;
mod link;
mod markdown;
mod near;
mod place;
mod tag;
mod unseen;
mod unshown;

use maud::Markup;

use cut::{clip, cut};
use eye::{Eye, Piece};
use html::Html;

pub use excerpt::{excerpt, plain_excerpt};
pub use format::{Format, Shown, details, details_on, format};
pub use near::Here;

/// Said where something was left out of a shown form.
const IN_RAW: &str = "… the rest is in the raw form";
/// Said where even the raw form is cut; the API always answers with all of it.
const IN_API: &str = "… the rest is in the API’s answer";

/// One line of plain text, such as a headline. To be put inside an element.
pub fn text(text: &str) -> Markup {
    let mut html = Html::new(limits::MARKUP_BYTES, IN_RAW);
    write_cut(&mut html, text);
    html.finish()
}

/// Plain text of several lines: paragraphs where lines are empty, and line
/// breaks where they are.
pub fn paragraphs(text: &str) -> Markup {
    let mut html = Html::new(limits::MARKUP_BYTES, IN_RAW);
    let (shown, whole) = cut(text);
    let mut in_paragraph = false;
    for line in shown.lines() {
        match (line.trim().is_empty(), in_paragraph) {
            (true, true) => html.close(),
            (true, false) => {}
            (false, true) => {
                html.line_break();
                html.text(line);
            }
            (false, false) => {
                html.open(tag::P);
                html.text(line);
            }
        }
        in_paragraph = !line.trim().is_empty();
    }
    if !whole {
        html.leave_out();
    }
    html.finish()
}

/// The exact JSON text, escapes as they are written.
pub fn raw(json: &str) -> Markup {
    all_of(tag::PRE_RAW, json)
}

/// What a JSON string spells, all of it, one line under the other; `None` for
/// anything else.
pub fn raw_text(json: &str) -> Option<Markup> {
    Some(all_of(tag::PRE_TEXT, &format::string(json)?))
}

fn all_of(tag: tag::Tag, text: &str) -> Markup {
    let mut html = Html::new(limits::RAW_MARKUP_BYTES, IN_API);
    let shown = clip(text, limits::RAW_BYTES);
    html.within(tag, |html| html.text(shown));
    if shown.len() < text.len() {
        html.leave_out();
    }
    html.finish()
}

/// The changes from an original to what a person made of it.
pub fn text_diff(old: &str, new: &str) -> Markup {
    let mut html = Html::new(limits::MARKUP_BYTES, IN_RAW);
    let (diff, whole) = diff::compare(old, new);
    if diff.files.is_empty() && whole {
        html.within(tag::NOTE, |html| html.ours("Nothing was changed."));
    }
    diff::write(&mut html, &diff);
    if !whole {
        html.leave_out();
    }
    html.finish()
}

/// The characters of `text` that nobody can see, each with its line and name;
/// `None` if there are none. An editor shows them as if they were not there.
pub fn unseen_in(text: &str) -> Option<Markup> {
    let mut html = Html::new(limits::MARKUP_BYTES, IN_RAW);
    let (mut line, mut found) = (1, 0);
    let mut eye = Eye::default();
    html.within(tag::UL, |html| {
        for piece in eye.look(text) {
            if let Piece::Seen(seen) = piece {
                line += seen.matches('\n').count();
                continue;
            }
            found += 1;
            if found > limits::UNSEEN_LISTED {
                html.within(tag::LI, |html| html.ours("… and more"));
                break;
            }
            html.within(tag::LI, |html| {
                html.ours("Line ");
                html.number(line);
                html.ours(": ");
                match piece {
                    Piece::Unseen(character, times) => {
                        html.mark(character, times);
                        html.ours(" ");
                        html.text(&unseen::name(character));
                    }
                    Piece::Piled(times) => html.pile(times),
                    Piece::Seen(_) => {}
                }
            });
        }
    });
    (found > 0).then(|| html.finish())
}

/// Whether a browser can put the exact `text` into an editor in no time. It can
/// never do so with a null, for which it puts something else.
pub fn can_be_edited(text: &str) -> bool {
    let mut piled = 0;
    let fits = text.chars().all(|character| {
        piled = match unseen::is_combining(character) {
            true => piled + 1,
            false => 0,
        };
        piled <= limits::EDITED_COMBINING_MARKS && character != '\0'
    });
    fits && text.matches('\n').nth(limits::EDITED_LINES).is_none()
}

/// Writes as much of `text` as is shown of anything.
fn write_cut(html: &mut Html, text: &str) {
    let (shown, whole) = cut(text);
    html.text(shown);
    if !whole {
        html.leave_out();
    }
}

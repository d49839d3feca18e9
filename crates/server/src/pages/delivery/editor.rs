//! How a person changes what was delivered: the editor, what it would send, and
//! what comes back from it. A browser keeps neither all line ends nor NUL, so a
//! text is compared as an editor would show it.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    App,
    pages::{
        form::{Form, SignedForm},
        item::{Draft, FORM_BYTES, Item, PREVIEW, Shown as _, digest_of},
        layout::plain as plain_page,
    },
    path::Path,
};

use super::Delivery;

/// What `edited_as` says that an editor held.
const JSON: &str = "json";
const TEXT: &str = "text";

/// The content to be changed, as it is.
pub fn editor(delivery: &Delivery, draft: Option<&Draft>) -> Markup {
    let is_object = delivery.is_object();
    let original = delivery.original();
    if !show::can_be_edited(&original) {
        let hint = "A browser cannot edit this content exactly, or not in time. Through the API it can be changed.";
        return html! { p .hint { (hint) } };
    }
    let typed = draft.and_then(|draft| draft.edited.as_deref());
    let typed = typed.filter(|typed| show::can_be_edited(typed));
    let asked = draft.is_some_and(Draft::is_preview);
    let changed = typed.filter(|typed| asked || *typed != in_editor(&original));
    html! {
        details #redirect open[changed.is_some()] {
            summary { "Change it" }
            label for="edited" {
                @if is_object { "The content, as JSON" } @else { "The content" }
            }
            input type="hidden" name="edited_as" value=(if is_object { JSON } else { TEXT });
            input type="hidden" name="edited_from" value=(digest_of(&original));
            textarea #edited name="edited" rows="12" spellcheck="false" data-json[is_object] {
                "\n" (typed.unwrap_or(&original))
            }
            p #edited-said .hint role="status" {}
            button .ask name="status" value=(PREVIEW) formnovalidate { "Preview" }
            @if !is_object && as_sent(&in_editor(&original), &original) != original {
                p .hint { "No browser keeps all line ends and controls of this content. If you change it, they become plain line ends." }
            }
            (preview(&original, is_object, changed))
            @if asked { button name="status" value=(inbox::Verdict::Redirected.as_str()) { "Redirect" } }
        }
    }
}

/// What was changed, and what of it no editor shows.
fn preview(original: &str, is_object: bool, changed: Option<&str>) -> Markup {
    let sent = changed.map(|typed| match is_object {
        true => typed.to_owned(),
        false => as_sent(typed, original),
    });
    html! {
        div #preview {
            @if let Some(unseen) = show::unseen_in(sent.as_deref().unwrap_or(original)) {
                p .hint { "The editor does not show these:" }
                (unseen)
            }
            @if let Some(sent) = &sent {
                h3 { "What you changed" }
                (show::text_diff(original, sent))
            }
        }
    }
}

/// The same while one types.
pub async fn previewed(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { form, .. }: SignedForm<FORM_BYTES>,
) -> Result<Response, Response> {
    let found = Item::find(&app, &id).await;
    let Item::Delivery(delivery) = found.map_err(IntoResponse::into_response)?;
    let typed = in_editor(form.text("edited"));
    let shown = preview(&delivery.original(), delivery.is_object(), Some(&typed));
    Ok(plain_page(StatusCode::OK, "What you changed", shown))
}

/// Whether there was an editor, and it holds something else than at first.
pub fn is_changed(delivery: &Delivery, form: &Form) -> bool {
    !form.text("edited_as").is_empty()
        && in_editor(form.text("edited")) != in_editor(&delivery.original())
}

/// The edited content; `None` if nothing was changed, or if there was no editor.
/// JSON is the text itself, so that what arrives is what was seen.
pub fn edited(delivery: &Delivery, form: &Form) -> Result<Option<Box<RawValue>>, String> {
    if !is_changed(delivery, form) {
        return Ok(None);
    }
    let text = in_editor(form.text("edited"));
    if form.text("edited_as") != JSON {
        let sent = to_raw_value(&as_sent(&text, &delivery.original()));
        return sent.map(Some).map_err(|error| error.to_string());
    }
    trail::json::scan(text.as_bytes(), trail::json::Rules::REQUEST)
        .map_err(|fault| format!("The content is not valid JSON: {fault}."))?;
    match serde_json::from_str::<Box<RawValue>>(&text) {
        Ok(json) if json.get().starts_with('{') => Ok(Some(json)),
        _ => Err("The content must stay a JSON object.".to_owned()),
    }
}

/// What becomes of a text in a browser's editor: one kind of line end, and no NUL.
pub fn in_editor(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\0', "\u{FFFD}")
}

/// An edited text with the line ends of the original, if these are all alike.
fn as_sent(text: &str, original: &str) -> String {
    let both = original.matches("\r\n").count();
    let count = |end: char| original.matches(end).count();
    match both > 0 && count('\r') == both && count('\n') == both {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

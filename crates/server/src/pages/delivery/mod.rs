//! A delivery as an item: what an agent sent, its details, and the texts of its
//! answer. How its content is changed is in `editor.rs`.

mod around;
mod editor;

pub use around::{erase, raw, size};
pub use editor::{in_editor, previewed};

use engine::{Row, read::Content};
use inbox::{ItemId, Standing};
use maud::{Markup, html};
use serde_json::value::RawValue;
use store::Erased;
use trail::Micros;
use uuid::Uuid;

use crate::{
    App, Problem,
    api::inbox::asked,
    pages::{
        form::Form,
        here,
        item::{Draft, Shown},
        session::Signed,
        when,
    },
};

/// Characters of the provider's name that are shown: an agent may write more.
const PROVIDER_SHOWN: usize = 64;

/// A delivery with its content.
pub struct Delivery {
    row: Row,
    content: Content,
    /// Whose page shows it.
    pub here: show::Here,
}

impl Delivery {
    pub async fn find(app: &App, id: Uuid) -> Result<Delivery, Problem> {
        let shared = app.shared();
        let row = shared.delivery(id).await?.ok_or_else(Problem::not_found)?;
        Ok(Delivery {
            content: shared.content(&row.row).await?,
            row,
            here: here::of(app),
        })
    }

    fn details(&self) -> Option<&str> {
        self.content.details.as_deref().map(RawValue::get)
    }

    fn is_object(&self) -> bool {
        self.details()
            .is_some_and(|details| details.starts_with('{'))
    }

    /// What a person changed, against what was delivered.
    fn changed(&self, edited: &RawValue) -> Markup {
        match self.details() {
            Some(details) => show::text_diff(&plain(details), &plain(edited.get())),
            None => show::details_on(&self.here, edited.get(), None).body,
        }
    }
}

impl Shown for Delivery {
    fn id(&self) -> ItemId {
        self.row.item()
    }

    fn standing(&self) -> Standing {
        self.row.standing()
    }

    fn number(&self) -> u64 {
        self.row.row.no
    }

    fn headline(&self) -> &str {
        &self.row.row.headline
    }

    fn summary(&self) -> &str {
        &self.row.row.summary
    }

    fn agent_id(&self) -> &str {
        &self.row.agent_id
    }

    fn noun(&self) -> &'static str {
        "A delivery"
    }

    fn about(&self, now: Micros) -> Markup {
        let delivery = &self.row.row;
        let kind = self.row.kind().as_str();
        html! {
            span .kind .(kind) { (kind) } " from "
            bdi .agent { (show::text(&self.row.agent_id)) }
            ", which says it is "
            bdi .own title="In the agent's own words" { (show::excerpt(&delivery.provider, PROVIDER_SHOWN)) } " "
            @if delivery.test { span .mark { "test" } " " }
            (when::ago(delivery.created_at, now))
        }
    }

    fn patience(&self, now: Micros) -> Markup {
        let delivery = &self.row.row;
        html! {
            @if let Some(at) = delivery.timeout_at {
                p .hint {
                    @if delivery.timed_out && !self.is_open() { "This was answered after the agent had gone on." }
                    @else if delivery.timed_out { "The agent has gone on without an answer. It still takes one." }
                    @else if self.is_open() { "The agent goes on without an answer " (when::until(at, now)) "." }
                }
            }
        }
    }

    fn content(&self) -> Markup {
        let Some(details) = self.details() else {
            return html! {};
        };
        let shown = show::details_on(&self.here, details, asked(self.row.details_format()));
        let raw = format!("{}/raw", self.path());
        html! {
            section .content aria-labelledby="details-title" {
                div .over {
                    h2 #details-title { "Details" }
                    @if shown.format == show::Format::Json {
                        button .quiet type="button" data-unfold aria-controls="details" { "Open or close all" }
                    }
                    a .raw href=(raw) data-key="v" { "As it was sent" }
                }
                @if !shown.whole {
                    p .fault role="note" {
                        "This is long, and only the beginning of it is shown here. It has "
                        (size(details.len() as u64)) ": " a href=(raw) { "read all of it" } " before you decide."
                    }
                }
                div #details .details { (shown.body) }
            }
        }
    }

    fn answer_texts(&self) -> Markup {
        let feedback = self.content.feedback.as_ref();
        let feedback = feedback.and_then(|text| serde_json::from_str::<String>(text.get()).ok());
        html! {
            @if let Some(feedback) = feedback { div .feedback { (show::paragraphs(&feedback)) } }
            @if let Some(edited) = &self.content.edited_content {
                details open { summary { "As it was changed" } (self.changed(edited)) }
            }
        }
    }

    /// What is gone of its content, or how an owner erases it.
    fn afterwards(&self, signed: &Signed) -> Markup {
        let row = &self.row;
        let has_content = self.content.details.is_some() || row.row.answer_position.is_some();
        html! {
            @match row.row.erased {
                Erased::All => p .hint { "Its content was erased." },
                Erased::BeforeAnswer => p .hint { "Its details were erased." },
                Erased::Nothing => {}
            }
            @if has_content && row.may_be_erased() && signed.is_owner() { (around::erasure(signed, self)) }
        }
    }

    fn editor(&self, draft: Option<&Draft>) -> Markup {
        editor::editor(self, draft)
    }

    fn original(&self) -> String {
        self.details().map_or(String::new(), plain)
    }

    fn edited(&self, form: &Form) -> Result<Option<Box<RawValue>>, String> {
        editor::edited(self, form)
    }

    fn is_changed(&self, form: &Form) -> bool {
        editor::is_changed(self, form)
    }
}

/// Content as one edits it: a string as its text, an object laid out.
pub fn plain(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        Err(_) => trail::layout::indent(json),
    }
}

//! What was typed and has not become an answer: a refused form, a preview, an
//! answer that its author undid. Nobody's text is lost.

use engine::read::Entry;
use inbox::{Verdict, event::AnswerHeld};
use maud::{Markup, html};
use serde_json::value::RawValue;
use trail::Hash;

use crate::{
    App, Problem,
    pages::{
        delivery::{in_editor, plain},
        form::Form,
        session::Signed,
    },
};

use super::answer::verb;

/// What was typed and has not become an answer, and why not.
#[derive(Debug)]
pub struct Draft {
    pub feedback: String,
    /// The content as an editor left it; `None` if there was no editor.
    pub edited: Option<String>,
    pub said: Said,
}

/// What is said about a draft.
#[derive(Debug)]
pub enum Said {
    /// Why it was refused.
    Fault(String),
    /// The content was changed, and this answer would not send it.
    Changed(Verdict),
    /// Nothing: the changes were to be looked at.
    Preview,
    /// Nothing: it was an answer, and its author took it back.
    TakenBack,
}

impl Draft {
    pub fn new(form: &Form, said: Said) -> Draft {
        let has_editor = !form.text("edited_as").is_empty();
        Draft {
            feedback: form.text("feedback").to_owned(),
            edited: has_editor.then(|| in_editor(form.text("edited"))),
            said,
        }
    }

    pub fn fault(form: &Form, fault: impl Into<String>) -> Draft {
        Draft::new(form, Said::Fault(fault.into()))
    }

    /// The same without content that an editor left as it was. A form carries the
    /// digest of what its editor held at first, for whoever may not look at it.
    pub fn without_unchanged(mut self, digest: &str) -> Draft {
        self.edited = self.edited.filter(|edited| digest_of(edited) != digest);
        self
    }

    /// Whether anything was written.
    pub fn has_text(&self) -> bool {
        self.edited.is_some() || !self.feedback.trim().is_empty()
    }

    /// Whether its changes were to be looked at.
    pub fn is_preview(&self) -> bool {
        matches!(self.said, Said::Preview)
    }

    /// Said at the head of the item.
    pub fn alert(&self) -> Markup {
        html! {
            @match &self.said {
                Said::Fault(fault) => p .fault role="alert" { (show::text(fault)) },
                Said::Changed(verdict) => p .fault role="alert" {
                    "You changed the content: send your version (Redirect), or " (verb(*verdict)) " it as delivered?"
                },
                Said::Preview | Said::TakenBack => {},
            }
        }
    }

    /// What was typed, where the item takes no answer any more.
    pub fn unsent(&self, original: &str) -> Markup {
        let edited = self.edited.as_deref();
        let edited = edited.filter(|edited| *edited != in_editor(original));
        html! {
            @if edited.is_some() || !self.feedback.trim().is_empty() {
                section .unsent aria-labelledby="unsent-title" {
                    h2 #unsent-title { "Your text, not sent" }
                    (to_copy("unsent-feedback", "Feedback", &self.feedback))
                    @if let Some(edited) = edited { (to_copy("unsent-edited", "The content, as you changed it", edited)) }
                }
            }
        }
    }
}

/// The texts of the answer that this person undid, to be sent otherwise.
pub async fn taken_back(
    app: &App,
    signed: &Signed,
    history: &[Entry],
) -> Result<Option<Draft>, Problem> {
    let by_them = |entry: &&Entry| match entry.event() {
        Some(engine::Event::Inbox(inbox::Event::AnswerHeld(AnswerHeld { by, .. }))) => {
            by == signed.user.name
        }
        _ => false,
    };
    let Some(held) = history.iter().rev().find(by_them) else {
        return Ok(None);
    };
    let shared = app.shared();
    let feedback = shared.part(held.position, "feedback").await?;
    let edited = shared.part(held.position, "edited_content").await?;
    let text = |part: Box<RawValue>| in_editor(&plain(part.get()));
    Ok(Some(Draft {
        feedback: feedback.map(text).unwrap_or_default(),
        edited: edited.map(text),
        said: Said::TakenBack,
    }))
}

/// The digest of a text as an editor shows it.
pub fn digest_of(text: &str) -> String {
    Hash::of("wakeful/editor/1", &[in_editor(text).as_bytes()]).to_hex()
}

fn to_copy(id: &str, label: &str, text: &str) -> Markup {
    html! {
        @if !text.trim().is_empty() && show::can_be_edited(text) {
            label for=(id) { (label) }
            textarea #(id) rows="6" readonly { "\n" (text) }
        }
    }
}

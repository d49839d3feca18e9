//! One item, whole: what every item has around its content, whatever door it
//! came through. What a kind of item says of itself is in [`Shown`]; a further
//! kind adds a module beside `delivery`, and its arms in this file.

mod answer;
mod decider;
mod draft;
mod history;
mod many;
mod marks;

pub use answer::{FORM_BYTES, PREVIEW, answer};
pub use decider::undo;
pub use draft::{Draft, digest_of};
pub use many::{many, to_inbox, undo_many};
pub use marks::snooze;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::read::Entry;
use inbox::{ItemId, Standing};
use maud::{Markup, html};
use serde_json::value::RawValue;
use trail::Micros;

use crate::{
    App, Problem,
    pages::{
        delivery::Delivery,
        form::Form,
        here::Here,
        layout::{page, token},
        session::Signed,
        when,
    },
    path::{Path, item_id},
};

/// What a kind of item says of itself.
pub trait Shown: Send + Sync {
    fn id(&self) -> ItemId;
    fn standing(&self) -> Standing;
    /// The number under which a person's own marks of it are kept.
    fn number(&self) -> u64;
    fn headline(&self) -> &str;
    fn summary(&self) -> &str;
    /// Who asks.
    fn agent_id(&self) -> &str;
    /// What it is called where it has no headline that can be seen.
    fn noun(&self) -> &'static str;
    /// What it is, who sent it and when, in a line.
    fn about(&self, now: Micros) -> Markup;
    /// How long an answer is or was waited for.
    fn patience(&self, now: Micros) -> Markup;
    /// What is to be decided.
    fn content(&self) -> Markup;
    /// The texts of the answer that was given.
    fn answer_texts(&self) -> Markup;
    /// What can be done once nobody waits any more.
    fn afterwards(&self, signed: &Signed) -> Markup;
    /// Where the content can be changed.
    fn editor(&self, draft: Option<&Draft>) -> Markup;
    /// The content as one edits it.
    fn original(&self) -> String;
    /// The content that a form changed; `None` if it was not changed.
    fn edited(&self, form: &Form) -> Result<Option<Box<RawValue>>, String>;
    fn is_changed(&self, form: &Form) -> bool;

    fn is_open(&self) -> bool {
        self.standing() == Standing::Open
    }

    fn path(&self) -> String {
        format!("/items/{}", self.id())
    }
}

/// An item of any kind.
pub enum Item {
    Delivery(Delivery),
}

impl std::ops::Deref for Item {
    type Target = dyn Shown;

    fn deref(&self) -> &(dyn Shown + 'static) {
        match self {
            Item::Delivery(delivery) => delivery,
        }
    }
}

impl Item {
    /// The item that the variable part of an address names.
    pub async fn find(app: &App, text: &str) -> Result<Item, Problem> {
        Item::of(app, item_id(text)?).await
    }

    pub async fn of(app: &App, id: ItemId) -> Result<Item, Problem> {
        match id {
            ItemId::Delivery(id) => Delivery::find(app, id).await.map(Item::Delivery),
        }
    }

    async fn history(&self, app: &App) -> Result<Vec<Entry>, Problem> {
        match self {
            Item::Delivery(delivery) => Ok(app.shared().history(delivery.number()).await?),
        }
    }

    /// What stands beside it, with a heading `beside-title`.
    async fn beside(&self, app: &App, now: Micros) -> Result<Markup, Problem> {
        match self {
            Item::Delivery(delivery) => delivery.beside(app, now).await,
        }
    }

    fn title(&self) -> String {
        match show::plain_excerpt(self.headline(), 80) {
            blank if blank.is_empty() => self.noun().to_owned(),
            title => title,
        }
    }
}

pub async fn show(
    State(app): State<App>,
    signed: Signed,
    here: Here,
    Path(id): Path,
) -> Result<Response, Problem> {
    let mut item = Item::find(&app, &id).await?;
    match &mut item {
        Item::Delivery(delivery) => delivery.here = here.0,
    }
    marks::note_seen(&app, &signed, item.id()).await?;
    let main = whole(&app, &signed, &item, None).await?;
    Ok(page(&signed, "/", &item.title(), main))
}

/// The item with what was typed and has not become an answer.
async fn again(
    app: &App,
    signed: &Signed,
    id: &str,
    status: StatusCode,
    draft: &Draft,
) -> Result<Response, Problem> {
    let item = Item::find(app, id).await?;
    let main = whole(app, signed, &item, Some(draft)).await?;
    let mut shown = page(signed, "/", &item.title(), main);
    *shown.status_mut() = status;
    Ok(shown)
}

/// Where a form was sent to there is nothing to read: the item is.
pub async fn back_to(_: Signed, Path(id): Path) -> Result<Response, Problem> {
    let id = item_id(&id)?;
    Ok(Redirect::to(&format!("/items/{id}")).into_response())
}

async fn whole(
    app: &App,
    signed: &Signed,
    item: &Item,
    draft: Option<&Draft>,
) -> Result<Markup, Problem> {
    let now = app.shared().clock.now();
    let aside = marks::is_snoozed(app, signed, item, now).await?;
    let entries = item.history(app).await?;
    let answerable = item.is_open() && signed.may_answer();
    let taken_back = match answerable && draft.is_none() {
        true => draft::taken_back(app, signed, &entries).await?,
        false => None,
    };
    let typed = draft.or(taken_back.as_ref());
    let form = answerable.then(|| answer::form(signed, item, aside, typed));
    let has_text = taken_back.as_ref().is_some_and(Draft::has_text);
    Ok(html! {
        // With something typed on it, a page is not loaded again by itself.
        article .item data-id=(item.id()) data-open=(item.is_open() && draft.is_none())
            data-draft[draft.is_some()] data-written[has_text] {
            (heading(item, now))
            @if let Some(draft) = draft { (draft.alert()) }
            (standing(signed, item, now, draft.is_none()))
            @if let Some(draft) = draft {
                @match &form { Some(form) => (form), None => (draft.unsent(&item.original())) }
            }
            (item.content())
            @if let (Some(form), None) = (&form, draft) { (form) }
            @if item.is_open() && !signed.may_answer() { p .hint .only-read { "You can read this and not answer it." } }
            (history::list(item, &entries, now))
        }
        aside aria-labelledby="beside-title" { (item.beside(app, now).await?) }
    })
}

fn heading(item: &Item, now: Micros) -> Markup {
    html! {
        p .about {
            a .back href="/" { "Inbox" } " · "
            @if item.is_open() { (next(item)) " · " }
            (item.about(now))
        }
        h1 dir="auto" { (show::text(item.headline())) }
        p .lead dir="auto" { (show::text(item.summary())) }
        (item.patience(now))
    }
}

/// To what waits after this one: by the order of the list one came from, or,
/// without a script that knows it, by that of the inbox.
fn next(item: &Item) -> Markup {
    html! { a .next href=(format!("/next?after={}", item.id())) { "Next" } }
}

/// What was answered, or is about to be.
fn standing(signed: &Signed, item: &Item, now: Micros, live: bool) -> Markup {
    html! {
        @match item.standing() {
            Standing::Held { by, verdict, until, .. } => {
                div .standing role="status" data-until=[live.then_some(until)] {
                    p { strong { (verdict.as_str()) } " by " (by) span data-final { ", final " (when::until(until, now)) } "." }
                    (item.answer_texts())
                    p .pair {
                        @if by == signed.user.name {
                            form method="post" action=(format!("{}/undo", item.path())) { (token(signed)) button { "Undo" } }
                        }
                        (next(item))
                    }
                    (item.afterwards(signed))
                }
            }
            Standing::Answered { by, verdict, at } => {
                div .standing {
                    p { strong { (verdict.as_str()) } " by " (by) " " (when::ago(at, now)) }
                    (item.answer_texts())
                    p { (next(item)) }
                    (item.afterwards(signed))
                }
            }
            Standing::Open => (item.afterwards(signed)),
        }
    }
}

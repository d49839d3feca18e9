//! One item, whole: what it says, what can be answered, and what became of it.

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::{
    Row,
    command::Inbox,
    read::{Entry, InboxAsk},
};
use maud::{Markup, html};
use serde_json::value::RawValue;
use store::Erased;
use trail::Micros;
use uuid::Uuid;
use wake::Status;

use crate::{
    App, Problem,
    api::inbox::{self as api, asked},
    pages::{
        answer::{self, Draft},
        counted::counted,
        form::SignedForm,
        here::{self, Here},
        inbox::SNOOZED,
        layout::{page, token},
        owner::{self, OwnerForm},
        session::Signed,
        when,
    },
    path::{Path, delivery_id},
};

/// Deliveries of the same agent shown beside.
const BESIDE: usize = 8;
/// Deliveries looked at for them, of those that changed last.
const CHANGED: usize = 30;

/// Characters of the provider's name that are shown: an agent may write more.
const PROVIDER_SHOWN: usize = 64;

/// An item with its content.
pub struct Item {
    pub row: Row,
    pub details: Option<Box<RawValue>>,
    pub feedback: Option<Box<RawValue>>,
    pub edited: Option<Box<RawValue>>,
    /// Whose page shows it.
    here: show::Here,
}

impl Item {
    pub async fn find(app: &App, id: &str) -> Result<Item, Problem> {
        let id = delivery_id(id)?;
        let shared = app.shared();
        let row = shared.delivery(id).await?.ok_or_else(Problem::not_found)?;
        let content = shared.content(&row.row).await?;
        Ok(Item {
            row,
            details: content.details,
            feedback: content.feedback,
            edited: content.edited_content,
            here: here::of(app),
        })
    }

    /// The content as one edits it.
    pub fn original(&self) -> String {
        let details = self.details.as_ref();
        details.map_or(String::new(), |details| plain(details.get()))
    }

    pub fn is_object(&self) -> bool {
        let details = self.details.as_ref();
        details.is_some_and(|details| details.get().starts_with('{'))
    }

    pub fn is_open(&self) -> bool {
        self.row.status() == Status::Pending && self.row.held().is_none()
    }
}

pub async fn show(
    State(app): State<App>,
    signed: Signed,
    here: Here,
    Path(id): Path,
) -> Result<Response, Problem> {
    let mut item = Item::find(&app, &id).await?;
    item.here = here.0;
    note_seen(&app, &signed, item.row.row.id).await?;
    let main = whole(&app, &signed, &item, None).await?;
    Ok(page(&signed, "/", &title(&item), main))
}

/// The item with what was typed and has not become an answer.
pub async fn again(
    app: &App,
    signed: &Signed,
    id: &str,
    status: StatusCode,
    draft: &Draft,
) -> Result<Response, Problem> {
    let item = Item::find(app, id).await?;
    let main = whole(app, signed, &item, Some(draft)).await?;
    let mut shown = page(signed, "/", &title(&item), main);
    *shown.status_mut() = status;
    Ok(shown)
}

/// Where a form was sent to there is nothing to read: the item is.
pub async fn back_to(_: Signed, Path(id): Path) -> Result<Response, Problem> {
    let id = delivery_id(&id)?;
    Ok(Redirect::to(&format!("/items/{id}")).into_response())
}

fn title(item: &Item) -> String {
    match show::plain_excerpt(&item.row.row.headline, 80) {
        blank if blank.is_empty() => "A delivery".to_owned(),
        title => title,
    }
}

/// Noted once for each person, without JavaScript too. Nobody waits for it: an
/// item can be read while nothing can be written.
async fn note_seen(app: &App, signed: &Signed, delivery_id: Uuid) -> Result<(), Problem> {
    let name = signed.user.name.clone();
    let seen = app.shared().store.seen(&name, vec![delivery_id]).await?;
    if seen.is_empty() {
        let app = app.clone();
        let see = signed.asks(Inbox::See { name, delivery_id });
        tokio::spawn(async move {
            if let Err(refusal) = app.engine.submit(see).await {
                tracing::warn!(%refusal, "that an item was seen could not be noted");
            }
        });
    }
    Ok(())
}

async fn whole(
    app: &App,
    signed: &Signed,
    item: &Item,
    draft: Option<&Draft>,
) -> Result<Markup, Problem> {
    let now = app.shared().clock.now();
    let delivery = &item.row.row;
    let store = &app.shared().store;
    let snoozed = store.snoozed(&signed.user.name, now, SNOOZED).await?;
    let aside = snoozed.contains_key(&delivery.no);
    let entries = app.shared().history(delivery.no).await?;
    let answerable = item.is_open() && signed.may_answer();
    let taken_back = match answerable && draft.is_none() {
        true => answer::taken_back(app, signed, &entries).await?,
        false => None,
    };
    let typed = draft.or(taken_back.as_ref());
    let form = answerable.then(|| answer::form(signed, item, aside, typed));
    Ok(html! {
        // With something typed on it, a page is not loaded again by itself.
        article .item data-id=(delivery.id) data-open=(item.is_open() && draft.is_none()) data-draft[draft.is_some()] {
            (heading(item, now))
            @if let Some(draft) = draft { (draft.alert()) }
            (standing(signed, item, now, draft.is_none()))
            @if let Some(draft) = draft {
                @match &form { Some(form) => (form), None => (draft.unsent(&item.original())) }
            }
            (content(item))
            @if let (Some(form), None) = (&form, draft) { (form) }
            @if item.is_open() && !signed.may_answer() { p .hint .only-read { "You can read this and not answer it." } }
            (history(item, &entries, now))
        }
        aside aria-labelledby="beside-title" { (beside(app, item, now).await?) }
    })
}

fn heading(item: &Item, now: Micros) -> Markup {
    let delivery = &item.row.row;
    html! {
        p .about {
            a .back href="/" { "Inbox" } " · "
            @if item.is_open() { (next(item)) " · " }
            span .kind .(item.row.kind().as_str()) { (item.row.kind().as_str()) } " from "
            bdi .agent { (show::text(&item.row.agent_id)) }
            ", which says it is "
            bdi .own title="In the agent's own words" { (show::excerpt(&delivery.provider, PROVIDER_SHOWN)) } " "
            @if delivery.test { span .mark { "test" } " " }
            (when::ago(delivery.created_at, now))
        }
        h1 dir="auto" { (show::text(&delivery.headline)) }
        p .lead dir="auto" { (show::text(&delivery.summary)) }
        @if let (Some(at), true) = (delivery.timeout_at, item.is_open()) {
            p .hint {
                @if delivery.timed_out { "The agent has gone on without an answer. It still takes one." }
                @else { "The agent goes on without an answer " (when::until(at, now)) "." }
            }
        }
    }
}

/// To what waits after this one: by the order of the list one came from, or,
/// without a script that knows it, by that of the inbox.
fn next(item: &Item) -> Markup {
    html! { a .next href=(format!("/next?after={}", item.row.row.id)) { "Next" } }
}

/// What was answered, or is about to be.
fn standing(signed: &Signed, item: &Item, now: Micros, live: bool) -> Markup {
    let delivery = &item.row.row;
    let text = |part: &Option<Box<RawValue>>| {
        let text = part
            .as_ref()
            .map(|part| serde_json::from_str::<String>(part.get()));
        text.and_then(Result::ok)
    };
    let texts = html! {
        @if let Some(feedback) = text(&item.feedback) { div .feedback { (show::paragraphs(&feedback)) } }
        @if let Some(edited) = &item.edited {
            details open { summary { "As it was changed" } (changed(item, edited)) }
        }
    };
    html! {
        @if let Some((by, verdict, until)) = item.row.held() {
            div .standing role="status" data-until=[live.then_some(until)] {
                p { strong { (verdict.as_str()) } " by " (by) ", final " (when::until(until, now)) "." }
                (texts)
                p .pair {
                    @if by == signed.user.name {
                        form method="post" action=(format!("/items/{}/undo", delivery.id)) { (token(signed)) button { "Undo" } }
                    }
                    (next(item))
                }
                (erasing(signed, item))
            }
        } @else if let Some(by) = &delivery.answered_by {
            div .standing {
                p { strong { (item.row.status().as_str()) } " by " (by) " " (when::ago(delivery.changed_at, now)) }
                (texts)
                p { (next(item)) }
                (erasing(signed, item))
            }
        } @else if delivery.timed_out || delivery.erased != Erased::Nothing {
            (erasing(signed, item))
        }
    }
}

/// What is gone of its content, or how an owner erases it.
fn erasing(signed: &Signed, item: &Item) -> Markup {
    let row = &item.row;
    let has_content = item.details.is_some() || row.row.answer_position.is_some();
    html! {
        @match row.row.erased {
            Erased::All => p .hint { "Its content was erased." },
            Erased::BeforeAnswer => p .hint { "Its details were erased." },
            Erased::Nothing => {}
        }
        @if has_content && row.may_be_erased() && signed.is_owner() { (erasure(signed, row.row.id)) }
    }
}

/// For an owner, who need not wait for a rule.
fn erasure(signed: &Signed, id: Uuid) -> Markup {
    let consequence = "Details, feedback and changes go for good. That they were there, and what was decided, stays on the trail.";
    let form = html! {
        form method="post" action=(format!("/items/{id}/erase")) { (token(signed)) button { "Erase it now" } }
    };
    owner::sure("Erase its content", consequence, form)
}

pub async fn erase(
    State(app): State<App>,
    Path(id): Path,
    OwnerForm { owner, .. }: OwnerForm,
) -> Result<Response, Problem> {
    api::erase_content(&app, &owner.admin, &id).await?;
    Ok(Redirect::to(&format!("/items/{id}")).into_response())
}

/// What a person changed, against what was delivered.
fn changed(item: &Item, edited: &RawValue) -> Markup {
    match item.details.as_ref().map(|details| details.get()) {
        Some(details) => show::text_diff(&plain(details), &plain(edited.get())),
        None => show::details_on(&item.here, edited.get(), None).body,
    }
}

/// Content as one edits it: a string as its text, an object laid out.
pub fn plain(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        Err(_) => trail::layout::indent(json),
    }
}

fn content(item: &Item) -> Markup {
    let Some(details) = &item.details else {
        return html! {};
    };
    let shown = show::details_on(&item.here, details.get(), asked(item.row.details_format()));
    let raw = format!("/items/{}/raw", item.row.row.id);
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
                    (size(details.get().len() as u64)) ": " a href=(raw) { "read all of it" } " before you decide."
                }
            }
            div #details .details { (shown.body) }
        }
    }
}

/// As people say how much it is.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => counted(bytes, "byte", "bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// The whole of it: a text line under line, or exactly the JSON that came.
pub async fn raw(
    State(app): State<App>,
    signed: Signed,
    Path(id): Path,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let item = Item::find(&app, &id).await?;
    let here = format!("/items/{}", item.row.row.id);
    let as_json = query.as_deref() == Some("json");
    let text = item.details.as_ref();
    let text = text.and_then(|details| show::raw_text(details.get()));
    let main = html! {
        p .about { a .back href=(here) data-key="v" { "Back" } }
        h1 { "As it was sent" }
        @match (&item.details, text) {
            (Some(_), Some(text)) if !as_json => {
                p .hint { "The text itself. " a href=(format!("{here}/raw?json")) { "With its escapes, as JSON" } }
                (text)
            },
            (Some(details), _) => (show::raw(details.get())),
            (None, _) => p { "It has no details, or they were erased." },
        }
    };
    Ok(page(&signed, "/", "As it was sent", main))
}

fn history(item: &Item, entries: &[Entry], now: Micros) -> Markup {
    html! {
        section .history aria-labelledby="history-title" {
            h2 #history-title { "History" }
            ol .plain {
                @for entry in entries {
                    li {
                        span .event { (entry.event_type.replace('_', " ")) } " by " bdi { (show::text(&entry.actor)) }
                        " " (when::ago(entry.time, now)) " "
                        (outcome(entry))
                        a .place href=(format!("/api/v1/trail/{}/proof", entry.position)) { "entry " (entry.position) }
                    }
                }
            }
            p { a href=(format!("/api/v1/inbox/{}/receipt", item.row.row.id)) download { "Receipt" }
                span .hint { " proves this to anyone who has the log's key." } }
        }
    }
}

/// What came of an attempt to tell the agent.
fn outcome(entry: &Entry) -> Markup {
    if entry.event_type != "webhook_attempted" {
        return html! {};
    }
    let Ok(facts) = serde_json::from_str::<serde_json::Value>(entry.facts.get()) else {
        return html! {};
    };
    let outcome = facts["outcome"].as_str().unwrap_or_default();
    html! {
        span .mark { (show::text(&outcome.replace('_', " "))) } " "
        @if let Some(status) = facts["http_status"].as_u64() { "HTTP " (status) " " }
        @if let Some(error) = facts["error"].as_str() { bdi .hint { (show::text(error)) } " " }
    }
}

/// Earlier ones of the same agent: among those that changed last, and those
/// that have not changed since this one came.
async fn beside(app: &App, item: &Item, now: Micros) -> Result<Markup, Problem> {
    let this = &item.row.row;
    let ask = |before, limit| InboxAsk {
        agent_id: Some(item.row.agent_id.to_string()),
        before,
        limit,
        ..InboxAsk::default()
    };
    let changed = app.shared().inbox(ask(None, CHANGED)).await?.rows;
    let before = u64::try_from(this.created_at.0).ok();
    let unchanged = app.shared().inbox(ask(before, BESIDE)).await?.rows;
    let mut others: Vec<Row> = changed.into_iter().chain(unchanged).collect();
    others.retain(|row| row.row.no < this.no);
    others.sort_unstable_by_key(|row| std::cmp::Reverse(row.row.no));
    others.dedup_by_key(|row| row.row.no);
    others.truncate(BESIDE);
    Ok(html! {
        h2 #beside-title { "Earlier from this agent" }
        @if others.is_empty() { p .hint { "Nothing." } }
        ul .plain {
            @for row in &others {
                li {
                    a href=(format!("/items/{}", row.row.id)) { bdi { (show::excerpt(&row.row.headline, 80)) } }
                    " " span .hint { (row.status().as_str()) " " (when::ago(row.row.changed_at, now)) }
                }
            }
        }
    })
}

/// Out of one's own sight for a while.
pub async fn snooze(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let delivery_id = delivery_id(&id).map_err(IntoResponse::into_response)?;
    let now = app.shared().clock.now();
    let hours: Option<i64> = form.text("hours").parse().ok();
    let hours = hours.filter(|hours| (1..=24 * 30).contains(hours));
    let command = signed.asks(Inbox::Snooze {
        name: signed.user.name.clone(),
        delivery_id,
        until: hours.map(|hours| now.plus_seconds(hours * 3600)),
    });
    let done = app.engine.submit(command).await;
    done.map_err(|refusal| Problem::from(refusal).into_response())?;
    Ok(Redirect::to("/").into_response())
}

//! The trail: what happened, newest first, and ways to find something in it.

use account::Event as AccountEvent;
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use engine::{
    look::{Look, Looked},
    read::Entry,
};
use inbox::Event as InboxEvent;
use maud::{Markup, html};
use trail::{Micros, Stream};
use wake::Event as WakeEvent;

use crate::{
    App, Problem,
    api::trail as api,
    pages::{
        form::pairs,
        layout::{copied, page as layout, token},
        session::Signed,
        when,
    },
};

/// Entries on one page.
const ENTRIES: usize = 50;
const DAY_SECONDS: i64 = 86_400;
/// Streams to choose from; the name of any other can be typed.
const STREAMS: usize = 500;

/// What is asked for, as it stands in the address.
#[derive(Clone, Debug, Default)]
struct Filter {
    stream: String,
    event_type: String,
    actor: String,
    words: String,
    /// Days, such as 2026-01-31, the last one included.
    from: String,
    to: String,
    before: Option<u64>,
}

impl Filter {
    fn read(query: &Option<String>) -> Filter {
        let mut filter = Filter::default();
        for (name, value) in pairs(query) {
            let value: String = value.trim().chars().take(200).collect();
            match name.as_str() {
                "stream" => filter.stream = value,
                "type" => filter.event_type = value,
                "actor" => filter.actor = value,
                "q" => filter.words = value,
                "from" => filter.from = value,
                "to" => filter.to = value,
                "before" => filter.before = value.parse().ok(),
                _ => {}
            }
        }
        filter
    }

    fn fields(&self) -> [(&'static str, &str); 6] {
        [
            ("stream", &self.stream),
            ("type", &self.event_type),
            ("actor", &self.actor),
            ("q", &self.words),
            ("from", &self.from),
            ("to", &self.to),
        ]
    }

    fn narrows(&self) -> bool {
        self.fields().iter().any(|(_, value)| !value.is_empty())
    }

    /// What was given as a day and is none.
    fn no_days(&self) -> impl Iterator<Item = &str> {
        let given = [self.from.as_str(), self.to.as_str()].into_iter();
        given.filter(|day| !day.is_empty() && start_of(day).is_none())
    }

    /// The same address, further back.
    fn further(&self, before: u64) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let given = self.fields().into_iter();
        query.extend_pairs(given.filter(|(_, value)| !value.is_empty()));
        query.append_pair("before", &before.to_string());
        format!("/trail?{}", query.finish())
    }

    fn look(&self) -> Look {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Look {
            stream: given(&self.stream),
            event_type: given(&self.event_type),
            actor: given(&self.actor),
            words: given(&self.words),
            since: start_of(&self.from),
            until: start_of(&self.to).map(|day| day.plus_seconds(DAY_SECONDS)),
            at: self.before.filter(|before| *before <= i64::MAX as u64),
            limit: ENTRIES,
        }
    }
}

/// The first moment of a day, by the server's own clock, which is UTC.
fn start_of(day: &str) -> Option<Micros> {
    Micros::parse(&format!("{day}T00:00:00Z"))
}

pub async fn page(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = Filter::read(&query);
    let found = api::page(
        &app,
        Some(&signed.holder()),
        signed.is_owner(),
        &filter.look(),
    )
    .await?;
    let now = app.shared().clock.now();
    let main = html! {
        h1 { "Trail" }
        (controls(&app, &signed, &filter))
        @for day in filter.no_days() { p .fault { "“" (day) "” is not a day: write it like 2026-01-31. It was not used." } }
        p { a .hint href="#seal-title" { @if signed.is_owner() { "Verify or export it" } @else { "Check it yourself" } } }
        @if found.entries.is_empty() && found.next.is_none() { p .calm { "Nothing to show here." } }
        ol .plain { @for entry in &found.entries { (self::entry(entry, now)) } }
        (further(&filter, &found))
        (seal(&app, &signed).await?)
    };
    Ok(layout(&signed, "/trail", "Trail", main))
}

/// One request looks only so far: a page that is not full says how far.
fn further(filter: &Filter, found: &Looked) -> Markup {
    let is_full = found.entries.len() == ENTRIES;
    html! {
        @if let Some(next) = found.next {
            p {
                @if !is_full { span .hint { "Looked back to entry " (next + 1) ". " } }
                a rel="next" href=(filter.further(next)) { @if is_full { "Earlier" } @else { "Look further back" } }
            }
        }
    }
}

/// Every type of event there is, of those one may see.
fn types(signed: &Signed) -> impl Iterator<Item = &'static str> {
    let owners = signed.is_owner().then_some(AccountEvent::TYPES);
    let all = [WakeEvent::TYPES, InboxEvent::TYPES]
        .into_iter()
        .chain(owners);
    all.flatten().copied()
}

fn controls(app: &App, signed: &Signed, filter: &Filter) -> Markup {
    let accounts = app.shared().accounts();
    let agents = accounts.agents.keys().map(|agent| Stream::agent(agent));
    let people = accounts.users.keys().map(|name| Stream::account(name));
    let owners = signed
        .is_owner()
        .then_some(std::iter::once(Stream::Admin).chain(people.take(STREAMS)));
    let streams = owners.into_iter().flatten().chain(agents.take(STREAMS));
    html! {
        form .controls method="get" action="/trail" role="search" {
            label .unseen-title for="q" { "Search" }
            input #q name="q" type="search" placeholder="Delivery id or text" value=(filter.words) maxlength="200";
            label .unseen-title for="type" { "Event" }
            select #type name="type" {
                option value="" { "All events" }
                @for name in types(signed) {
                    option value=(name) selected[filter.event_type == name] { (name.replace('_', " ")) }
                }
            }
            label .unseen-title for="stream" { "Stream" }
            input #stream name="stream" list="streams" placeholder="Stream" value=(filter.stream) autocapitalize="none" spellcheck="false";
            datalist #streams { @for stream in streams { option value=(stream) {} } }
            label .unseen-title for="actor" { "By" }
            input #actor name="actor" placeholder="By whom" value=(filter.actor) autocapitalize="none" spellcheck="false";
            span .pair {
                label for="from" { "From" } input #from name="from" type="date" value=(filter.from);
                label for="to" { "to" } input #to name="to" type="date" value=(filter.to);
            }
            button { "Show" }
            @if filter.narrows() { a href="/trail" { "All" } }
        }
    }
}

/// Facts that say at a glance what happened, in the order in which they are told.
const TELLING: [&str; 15] = [
    "status",
    "outcome",
    "http_status",
    "error",
    "headline",
    "name",
    "role",
    "state",
    "agent_id",
    "key_id",
    "pattern",
    "type",
    "days",
    "reason",
    "what",
];
/// As many of them as fit on a line.
const TOLD: usize = 2;

/// What happened, in a few words, and to which delivery.
fn told(facts: &str) -> Markup {
    let facts: serde_json::Value = serde_json::from_str(facts).unwrap_or_default();
    let said = TELLING.into_iter().filter_map(|name| match &facts[name] {
        serde_json::Value::String(text) => Some(show::plain_excerpt(text, 80)),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let said: Vec<String> = said.take(TOLD).collect();
    html! {
        @for words in &said { bdi .mark { (show::text(words)) } " " }
        @if let Some(id) = facts["delivery_id"].as_str().and_then(|id| id.parse::<uuid::Uuid>().ok()) {
            a href=(format!("/items/{id}")) { "item" }
        }
    }
}

fn entry(entry: &Entry, now: Micros) -> Markup {
    html! {
        li data-position=(entry.position) {
            strong { (entry.event_type.replace('_', " ")) } " " (told(entry.facts.get())) " "
            span .about {
                "by " bdi { (show::text(&entry.actor)) } ", on " bdi { (show::text(&entry.stream)) } " " (when::ago(entry.time, now)) " · "
                a href=(format!("/api/v1/trail/{}/proof", entry.position)) { "entry " (entry.position) }
            }
            details {
                summary .hint { "Facts" }
                div .details { (show::details(entry.facts.get(), show::Format::Json).body) }
            }
        }
    }
}

/// What anyone needs to check the trail without us.
async fn seal(app: &App, signed: &Signed) -> Result<Markup, Problem> {
    let head = app.shared().store.head().await?;
    let key = app.shared().keys.log.verifier().to_string();
    Ok(html! {
        section aria-labelledby="seal-title" {
            h2 #seal-title { "To check it yourself" }
            @if signed.is_owner() {
                div .controls {
                    form method="post" action="/trail/verify" { (token(signed)) button { "Verify now" } }
                    form method="post" action="/trail/export" { (token(signed)) button { "Export all of it" } }
                    span .hint { "The export holds all content, readable, and verifies anywhere." }
                }
            }
            p .hint { "The key that signs the log. Keep it somewhere else, with a checkpoint: no entry before it can then change unnoticed." }
            (copied(&key))
            @if let Some(head) = head {
                p .hint { "The checkpoint of now" }
                (copied(&head.note))
            }
        }
    })
}

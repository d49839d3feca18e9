//! The list: what needs an answer first, then what is only to be known, and
//! on a page of its own what is done.

use std::collections::{HashMap, HashSet};

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use engine::{Row, read::InboxAsk};
use maud::{Markup, html};
use trail::Micros;
use uuid::Uuid;
use wake::{Kind, Status};

use crate::{
    App, Problem,
    pages::{
        form::pairs,
        layout::{page, token},
        session::Signed,
        when,
    },
};

/// Rows of one section, on one page.
const ROWS: usize = 50;
/// What one person has put aside, at the most, is looked at.
pub const SNOOZED: usize = 1000;

/// What is asked for, in the address.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    agent: Option<String>,
    kind: Option<Kind>,
    status: Option<Status>,
    days: Option<i64>,
    words: Option<String>,
    before: Option<u64>,
    snoozed: bool,
}

impl Filter {
    /// Whatever cannot be read is left out: an address is not a form.
    fn read(query: &Option<String>) -> Filter {
        let mut filter = Filter::default();
        for (name, value) in pairs(query) {
            match name.as_str() {
                "agent" => filter.agent = Some(value),
                "type" => filter.kind = Kind::parse(&value),
                "status" => filter.status = Status::parse(&value),
                "days" => filter.days = value.parse().ok().filter(|days| *days > 0),
                "q" => filter.words = Some(value.chars().take(200).collect()),
                "before" => filter.before = value.parse().ok(),
                "snoozed" => filter.snoozed = true,
                _ => {}
            }
        }
        filter
    }

    fn narrows(&self) -> bool {
        self.agent.is_some() || self.kind.is_some() || self.days.is_some() || self.words.is_some()
    }

    /// The same address, further down.
    fn further(&self, path: &str, before: u64) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        };
        add("agent", self.agent.as_deref());
        add("type", self.kind.map(Kind::as_str));
        add("status", self.status.map(Status::as_str));
        add("days", self.days.map(|days| days.to_string()).as_deref());
        add("q", self.words.as_deref());
        add("before", Some(&before.to_string()));
        format!("{path}?{}", query.finish())
    }

    fn ask(&self, kinds: &[Kind], statuses: &[Status]) -> InboxAsk {
        InboxAsk {
            agent_id: self.agent.clone(),
            kinds: kinds.to_vec(),
            statuses: statuses.to_vec(),
            test: None,
            search: self.words.clone(),
            before: self.before,
            limit: ROWS,
        }
    }
}

/// Rows of one section as one person sees them.
struct Section {
    rows: Vec<Row>,
    next: Option<u64>,
    seen: HashSet<Uuid>,
}

/// What a section of the list leaves out for one person.
struct Eyes<'a> {
    app: &'a App,
    name: &'a str,
    now: Micros,
    snoozed: HashMap<u64, Micros>,
}

impl<'a> Eyes<'a> {
    async fn of(app: &'a App, signed: &'a Signed) -> Result<Eyes<'a>, Problem> {
        let now = app.shared().clock.now();
        let store = &app.shared().store;
        let snoozed = store.snoozed(&signed.user.name, now, SNOOZED).await?;
        Ok(Eyes {
            app,
            name: &signed.user.name,
            now,
            snoozed,
        })
    }

    async fn section(
        &self,
        filter: &Filter,
        kinds: &[Kind],
        statuses: &[Status],
    ) -> Result<Section, Problem> {
        if filter.kind.is_some_and(|kind| !kinds.contains(&kind)) {
            return Ok(Section {
                rows: Vec::new(),
                next: None,
                seen: HashSet::new(),
            });
        }
        let kinds = filter.kind.map_or(kinds.to_vec(), |kind| vec![kind]);
        let page = self
            .app
            .shared()
            .inbox(filter.ask(&kinds, statuses))
            .await?;
        let oldest = filter
            .days
            .map(|days| self.now.plus_seconds(-days * 86_400));
        let mut rows = page.rows;
        rows.retain(|row| {
            self.snoozed.contains_key(&row.row.no) == filter.snoozed
                && oldest.is_none_or(|oldest| row.row.created_at >= oldest)
        });
        let ids = rows.iter().map(|row| row.row.id).collect();
        let seen = self.app.shared().store.seen(self.name, ids).await?;
        Ok(Section {
            rows,
            next: page.next,
            seen,
        })
    }
}

pub async fn needs_you(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = Filter::read(&query);
    let eyes = Eyes::of(&app, &signed).await?;
    let pending = [Status::Pending];
    let mut waiting = Vec::new();
    for (kind, title) in [
        (Kind::Alert, "Alerts"),
        (Kind::Question, "Questions"),
        (Kind::Output, "Work to look at"),
    ] {
        waiting.push((kind, title, eyes.section(&filter, &[kind], &pending).await?));
    }
    let updates = eyes.section(&filter, &[Kind::Update], &pending).await?;
    let quiet = waiting
        .iter()
        .all(|(_, _, section)| section.rows.is_empty());
    let list = html! {
        @if quiet {
            p .calm { @if filter.narrows() { "Nothing here matches." } @else { "Nothing needs you." } }
        }
        @for (kind, title, section) in &waiting {
            @if !section.rows.is_empty() {
                section .(kind.as_str()) aria-labelledby=(format!("{}-title", kind.as_str())) {
                    h2 #(format!("{}-title", kind.as_str())) { (title) }
                    (rows(section, &eyes, &signed))
                    (more(section, &filter, "/", *kind))
                }
            }
        }
        @if !updates.rows.is_empty() {
            details .update open[filter.kind == Some(Kind::Update)] {
                summary { h2 { "Updates" } span .hint { (updates.rows.len()) @if updates.next.is_some() { " or more" } ", no answer needed" } }
                (rows(&updates, &eyes, &signed))
                (more(&updates, &filter, "/", Kind::Update))
            }
        }
    };
    let main = html! {
        h1 .unseen-title { "Inbox" }
        (controls(&app, &filter, "/"))
        (whole(&signed, list))
        @if !eyes.snoozed.is_empty() && !filter.snoozed {
            p .hint { a href="/?snoozed=1" { (eyes.snoozed.len()) " put aside" } }
        }
    };
    Ok(page(&signed, "/", "Inbox", main))
}

pub async fn done(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = Filter::read(&query);
    let eyes = Eyes::of(&app, &signed).await?;
    let answered = [Status::Approved, Status::Rejected, Status::Redirected];
    let statuses = filter
        .status
        .map_or(answered.to_vec(), |status| vec![status]);
    let section = eyes.section(&filter, &Kind::ALL, &statuses).await?;
    let main = html! {
        h1 { "Done" }
        (controls(&app, &filter, "/done"))
        @if section.rows.is_empty() { p .calm { "Nothing here yet." } }
        (rows(&section, &eyes, &signed))
        @if let Some(next) = section.next {
            p { a rel="next" href=(filter.further("/done", next)) { "Earlier" } }
        }
    };
    Ok(page(&signed, "/done", "Done", main))
}

/// The whole list is one form, so that many can be answered together.
fn whole(signed: &Signed, list: Markup) -> Markup {
    html! {
        button #fresh type="button" hidden {}
        form #list method="post" action="/answers" {
            (token(signed))
            (list)
            @if signed.may_answer() {
                div #many .bar {
                    span .hint { "With those ticked:" }
                    button name="status" value="approved" { "Approve…" }
                    button name="status" value="rejected" { "Reject…" }
                }
            }
        }
    }
}

fn rows(section: &Section, eyes: &Eyes<'_>, signed: &Signed) -> Markup {
    html! {
        ol .rows {
            @for row in &section.rows {
                (self::row(row, section.seen.contains(&row.row.id), eyes.now, signed))
            }
        }
    }
}

fn row(row: &Row, seen: bool, now: Micros, signed: &Signed) -> Markup {
    let delivery = &row.row;
    let open = row.status() == Status::Pending && row.held().is_none();
    html! {
        li .row .new[!seen] data-id=(delivery.id) {
            @if open && signed.may_answer() {
                label .tick {
                    input type="checkbox" name="id" value=(delivery.id);
                    span .unseen-title { "Tick " (show::plain_excerpt(&delivery.headline, 80)) }
                }
            }
            a .head href=(format!("/items/{}", delivery.id)) {
                @if !seen { span .dot title="You have not opened it" { span .unseen-title { "New: " } } }
                (show::text(&delivery.headline))
            }
            span .about {
                bdi .agent { (show::text(&row.agent_id)) }
                @if delivery.test { " " span .mark { "test" } }
                @if let Some((by, verdict, _)) = row.held() { " " span .mark { (verdict.as_str()) " by " (by) ", may be undone" } }
                @if let (Some(by), false) = (&delivery.answered_by, open) { " " span .mark { (row.status().as_str()) " by " (by) } }
                @if delivery.timed_out { " " span .mark { "the agent went on" } }
                " " (when::ago(delivery.created_at, now))
            }
            p .summary { (show::text(&show::plain_excerpt(&delivery.summary, 240))) }
        }
    }
}

fn more(section: &Section, filter: &Filter, path: &str, kind: Kind) -> Markup {
    let of_kind = Filter {
        kind: Some(kind),
        ..filter.clone()
    };
    html! {
        @if let Some(next) = section.next {
            p { a rel="next" href=(of_kind.further(path, next)) { "More" } }
        }
    }
}

fn controls(app: &App, filter: &Filter, path: &str) -> Markup {
    let accounts = app.shared().accounts();
    let agents = accounts.agents.keys().take(500);
    html! {
        form .controls method="get" action=(path) role="search" {
            label .unseen-title for="q" { "Search" }
            input #q name="q" type="search" placeholder="Search" value=[filter.words.as_deref()] maxlength="200";
            label .unseen-title for="agent" { "Agent" }
            select #agent name="agent" {
                option value="" { "All agents" }
                @for agent in agents {
                    option value=(agent) selected[filter.agent.as_deref() == Some(agent)] { (show::plain_excerpt(agent, 60)) }
                }
            }
            label .unseen-title for="type" { "Type" }
            select #type name="type" {
                option value="" { "All types" }
                @for kind in Kind::ALL {
                    option value=(kind.as_str()) selected[filter.kind == Some(kind)] { (kind.as_str()) }
                }
            }
            label .unseen-title for="days" { "Age" }
            select #days name="days" {
                @for (days, text) in [("", "Any age"), ("1", "Today"), ("7", "A week"), ("30", "A month")] {
                    option value=(days) selected[filter.days.map(|days| days.to_string()).unwrap_or_default() == days] { (text) }
                }
            }
            @if path == "/done" {
                label .unseen-title for="status" { "Answer" }
                select #status name="status" {
                    option value="" { "All answers" }
                    @for status in [Status::Approved, Status::Rejected, Status::Redirected] {
                        option value=(status.as_str()) selected[filter.status == Some(status)] { (status.as_str()) }
                    }
                }
            }
            button { "Show" }
            @if filter.narrows() { a href=(path) { "All" } }
        }
    }
}

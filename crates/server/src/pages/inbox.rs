//! The list: what needs an answer first, then what is only to be known, and
//! on a page of its own what is done.

use std::collections::{HashMap, HashSet};

use ::inbox::ItemId;
use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Redirect, Response},
};
use engine::Row;
use maud::{Markup, html};
use store::Aside;
use trail::Micros;
use uuid::Uuid;
use wake::{Kind, Status};

use crate::{
    App, Problem,
    pages::{
        by_agent,
        filter::{Filter, controls},
        form::pairs,
        layout::{page, token},
        session::Signed,
        when,
    },
};

/// Rows of one section, on one page.
const ROWS: usize = 50;
/// Rows read to divide what a search found into sections.
const FOUND: usize = 8 * ROWS;
/// Pages read to fill one.
const READS: usize = 4;
/// What one person has put aside, at the most, is looked at.
const SNOOZED: usize = 1000;

/// Rows of one section as one person sees them.
#[derive(Default)]
pub struct Section {
    pub rows: Vec<Row>,
    next: Option<u64>,
    pub seen: HashSet<Uuid>,
    /// Items that were changed on the disk and are not listed.
    changed: usize,
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

    /// What is open of a type. A search goes through all types, whichever is
    /// asked for, so it is made once for all of them and divided.
    async fn open<const N: usize>(
        &self,
        filter: &Filter,
        kinds: [Kind; N],
    ) -> Result<[Section; N], Problem> {
        let mut sections = [(); N].map(|()| Section::default());
        if filter.words.is_none() {
            for (section, kind) in sections.iter_mut().zip(kinds) {
                *section = self
                    .section(filter, &[kind], &[Status::Pending], ROWS)
                    .await?;
            }
            return Ok(sections);
        }
        let found = self
            .section(filter, &kinds, &[Status::Pending], FOUND)
            .await?;
        for (section, kind) in sections.iter_mut().zip(kinds) {
            section.next = found
                .next
                .filter(|_| filter.kind.is_none_or(|only| only == kind));
            section.seen = found.seen.clone();
        }
        if let Some(first) = sections.first_mut() {
            first.changed = found.changed;
        }
        for row in found.rows {
            let Some(at) = kinds.iter().position(|kind| *kind == row.kind()) else {
                continue;
            };
            let section = &mut sections[at];
            match section.rows.last() {
                // What a search found goes by its number.
                Some(last) if section.rows.len() == ROWS => section.next = Some(last.row.no),
                _ => section.rows.push(row),
            }
        }
        Ok(sections)
    }

    async fn section(
        &self,
        filter: &Filter,
        kinds: &[Kind],
        statuses: &[Status],
        limit: usize,
    ) -> Result<Section, Problem> {
        if filter.kind.is_some_and(|kind| !kinds.contains(&kind)) {
            return Ok(Section::default());
        }
        let kinds = filter.kind.map_or(kinds.to_vec(), |kind| vec![kind]);
        let oldest = filter
            .days
            .map(|days| self.now.plus_seconds(-days * 86_400));
        let mut ask = filter.ask(&kinds, statuses, limit);
        ask.aside = Some(Aside {
            name: self.name.to_owned(),
            now: self.now,
            only: filter.snoozed,
        })
        .filter(|_| statuses.contains(&Status::Pending));
        let (mut rows, mut next, mut changed) = (Vec::new(), None, 0);
        // A page that is too short for its age is filled from the next, and nobody
        // is sent on from one with nothing on it before some were looked at.
        for _ in 0..READS {
            let page = self.app.shared().inbox(ask.clone()).await?;
            changed += page.changed;
            let too_old = |row: &Row| oldest.is_some_and(|oldest| row.row.changed_at < oldest);
            // What changed before that was also made before, and so is all after it.
            let ended = filter.words.is_none() && page.rows.last().is_some_and(too_old);
            let young = |row: &Row| oldest.is_none_or(|oldest| row.row.created_at >= oldest);
            rows.extend(page.rows.into_iter().filter(young));
            next = page.next.filter(|_| !ended);
            let enough = match oldest {
                Some(_) => rows.len() >= limit,
                None => !rows.is_empty(),
            };
            if next.is_none() || enough {
                break;
            }
            ask.before = next;
            ask.limit = limit - rows.len();
        }
        let ids = rows.iter().map(|row| row.row.id).collect();
        let seen = self.app.shared().store.seen(self.name, ids).await?;
        Ok(Section {
            rows,
            next,
            seen,
            changed,
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
    let kinds = [Kind::Alert, Kind::Question, Kind::Output, Kind::Update];
    let [alerts, questions, work, updates] = eyes.open(&filter, kinds).await?;
    let waiting = [
        (Kind::Alert, "Alerts", alerts),
        (Kind::Question, "Questions", questions),
        (Kind::Output, "Work to look at", work),
    ];
    let counted = !filter.narrows() && !filter.snoozed && filter.before.is_none();
    let title = match counted {
        true => title(waiting.iter().map(|(_, _, section)| section)),
        false => "Inbox".to_owned(),
    };
    let sections = waiting.iter().map(|(_, _, section)| section);
    let changed: usize = sections.map(|section| section.changed).sum();
    let quiet = changed == 0
        && waiting
            .iter()
            .all(|(_, _, section)| section.rows.is_empty() && section.next.is_none());
    let groups = match filter.by_agent {
        true => {
            let sections = waiting.iter().map(|(_, _, section)| section);
            Some(by_agent::groups(&app, &filter, sections, eyes.now, &signed).await?)
        }
        false => None,
    };
    let list = html! {
        @if changed > 0 {
            p .fault role="alert" {
                (changed) @if changed == 1 { " item is" } @else { " items are" }
                " not listed: something other than this server changed "
                @if changed == 1 { "it" } @else { "them" } " on the disk. Whoever runs the server: "
                code { "wakeful trail verify" } "."
            }
        }
        @if quiet {
            p .calm { @if filter.narrows() || filter.before.is_some() { "Nothing here matches." } @else if filter.snoozed { "Nothing is put aside." } @else { "Nothing needs you." } }
        }
        @if let Some(groups) = &groups {
            (groups)
            @for (kind, title, section) in &waiting { (more(section, &filter, "/", *kind, &format!("More: {}", title.to_lowercase()))) }
        } @else { (by_type(&waiting, &filter, &eyes, &signed)) }
        @if !updates.rows.is_empty() || updates.next.is_some() {
            details .update open[filter.kind == Some(Kind::Update)] {
                summary { h2 { "Updates" } span .hint { (updates.rows.len()) @if updates.next.is_some() { " or more" } ", no answer needed" } }
                (rows(&updates, &eyes, &signed))
                (more(&updates, &filter, "/", Kind::Update, "More"))
            }
        }
    };
    let main = html! {
        h1 .unseen-title { "Inbox" }
        (controls(&app, &filter, "/"))
        @if filter.by_agent { (by_agent::choice(&app, &filter).await?) }
        (whole(&signed, counted, list))
        @let back = eyes.snoozed.values().min();
        @if filter.snoozed { } @else if eyes.snoozed.is_empty() { p #aside .hint {} } @else {
            p #aside .hint data-back=[back] { a href="/?snoozed=1" { (eyes.snoozed.len()) @if eyes.snoozed.len() == SNOOZED { " or more" } " put aside" } }
        }
    };
    Ok(page(&signed, "/", &title, main))
}

/// The title counts what waits for an answer.
fn title<'a>(waiting: impl Iterator<Item = &'a Section>) -> String {
    let (mut count, mut more) = (0, "");
    for section in waiting {
        let open = section.rows.iter().filter(|row| row.held().is_none());
        count += open.count();
        if section.next.is_some() {
            more = "+";
        }
    }
    match count {
        0 => "Inbox".to_owned(),
        _ => format!("({count}{more}) Inbox"),
    }
}

/// To the next that waits, in the order of the list; to the list if none does.
pub async fn onward(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let after = pairs(&query).find(|(name, _)| name == "after");
    let after = after.and_then(|(_, id)| ItemId::parse(&id));
    let eyes = Eyes::of(&app, &signed).await?;
    let kinds = [Kind::Alert, Kind::Question, Kind::Output];
    let sections = eyes.open(&Filter::default(), kinds).await?;
    let rows = sections.iter().flat_map(|section| &section.rows);
    let waiting = rows.filter(|row| row.held().is_none() || Some(row.item()) == after);
    let waiting: Vec<ItemId> = waiting.map(Row::item).collect();
    let at = waiting.iter().position(|id| Some(*id) == after);
    let next = at.map_or(waiting.first(), |at| waiting.get(at + 1));
    let to = next.map_or("/".to_owned(), |id| format!("/items/{id}"));
    Ok(Redirect::to(&to).into_response())
}

/// What waits, under the names of its types.
fn by_type(
    waiting: &[(Kind, &str, Section)],
    filter: &Filter,
    eyes: &Eyes<'_>,
    signed: &Signed,
) -> Markup {
    html! {
        @for (kind, title, section) in waiting {
            @if !section.rows.is_empty() || section.next.is_some() {
                section .(kind.as_str()) aria-labelledby=(format!("{}-title", kind.as_str())) {
                    h2 #(format!("{}-title", kind.as_str())) { (title) }
                    (rows(section, eyes, signed))
                    (more(section, filter, "/", *kind, "More"))
                }
            }
        }
    }
}

pub async fn done(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = Filter::read(&query);
    let eyes = Eyes::of(&app, &signed).await?;
    let statuses = filter
        .status
        .map_or_else(|| Status::answers().collect(), |status| vec![status]);
    let section = eyes.section(&filter, &Kind::ALL, &statuses, ROWS).await?;
    let main = html! {
        h1 { "Done" }
        (controls(&app, &filter, "/done"))
        @if section.rows.is_empty() && section.next.is_none() {
            p .calm { @if filter.narrows() || filter.before.is_some() { "Nothing here matches." } @else { "Nothing here yet." } }
        }
        (rows(&section, &eyes, &signed))
        @if let Some(next) = section.next {
            p { a rel="next" href=(filter.further("/done", next)) { "Earlier" } }
        }
    };
    Ok(page(&signed, "/done", "Done", main))
}

/// The whole list is one form, so that many can be answered together. If it is
/// `counted` the script keeps the count in the title right.
fn whole(signed: &Signed, counted: bool, list: Markup) -> Markup {
    html! {
        button #fresh type="button" hidden {}
        form #list method="post" action="/answers" data-counted[counted] {
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
                @let agent = html! { bdi .agent { (show::text(&row.agent_id)) } };
                (self::row(row, section.seen.contains(&row.row.id), agent, eyes.now, signed))
            }
        }
    }
}

/// One row; `first` is what is said about it before all else.
pub fn row(row: &Row, seen: bool, first: Markup, now: Micros, signed: &Signed) -> Markup {
    let delivery = &row.row;
    let open = row.status() == Status::Pending && row.held().is_none();
    // What one has answered oneself is not new to one, opened or not.
    let seen = seen || delivery.answered_by.as_ref() == Some(&signed.user.name);
    let at = match open || row.held().is_some() {
        true => delivery.created_at,
        false => delivery.changed_at,
    };
    let hour = now.0..now.0 + 3600 * Micros::SECOND;
    let soon = delivery
        .timeout_at
        .filter(|at| open && !delivery.timed_out && hour.contains(&at.0));
    html! {
        li .row .new[!seen] data-id=(delivery.id) data-open=(open) {
            @if open && signed.may_answer() {
                label .tick {
                    input type="checkbox" name="id" value=(delivery.id);
                    span .unseen-title { "Tick " (show::excerpt(&delivery.headline, 80)) }
                }
            }
            a .head href=(format!("/items/{}", delivery.id)) {
                @if !seen { span .dot title="You have not opened it" { span .unseen-title { "New: " } } }
                bdi { (show::text(&delivery.headline)) }
            }
            span .about {
                (first)
                @if delivery.test { " " span .mark data-lasting { "test" } }
                @if let Some((by, verdict, _)) = row.held() { " " span .mark { (verdict.as_str()) " by " (by) ", may be undone" } }
                @if let (Some(by), false) = (&delivery.answered_by, open) { " " span .mark { (row.status().as_str()) " by " (by) } }
                @if delivery.timed_out { " " span .mark { "the agent went on" } }
                @if let Some(at) = soon { " " span .mark { "agent goes on " (when::until(at, now)) } }
                " " (when::ago(at, now))
            }
            p .summary dir="auto" { (show::excerpt(&delivery.summary, 240)) }
        }
    }
}

fn more(section: &Section, filter: &Filter, path: &str, kind: Kind, text: &str) -> Markup {
    let of_kind = Filter {
        kind: Some(kind),
        ..filter.clone()
    };
    html! {
        @if let Some(next) = section.next {
            p { a rel="next" href=(of_kind.further(path, next)) { (text) } }
        }
    }
}

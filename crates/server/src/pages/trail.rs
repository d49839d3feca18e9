//! The trail: what happened, newest first, and whether it still is what it was.

use std::time::Instant;

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use engine::{
    proof::{self, StoreReport},
    read::Entry,
};
use maud::{Markup, html};
use tokio::sync::{Semaphore, oneshot};
use trail::Micros;

use crate::{
    App, Problem,
    api::trail as api,
    pages::{
        agents::encoded,
        form::{Form, pairs},
        layout::{page as layout, token},
        owner::{FORM_BYTES, Owner},
        session::Signed,
        when,
    },
};

/// Entries on one page.
const ENTRIES: usize = 50;
/// Verifying reads the whole log with every core: one at a time is plenty.
static VERIFYING: Semaphore = Semaphore::const_new(1);

pub async fn page(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let (mut agent, mut before) = (None, None);
    for (name, value) in pairs(&query) {
        match name.as_str() {
            "agent" => agent = Some(value),
            "before" => before = value.parse().ok(),
            _ => {}
        }
    }
    show(&app, &signed, agent, before, html! {}).await
}

async fn show(
    app: &App,
    signed: &Signed,
    agent: Option<String>,
    before: Option<u64>,
    outcome: Markup,
) -> Result<Response, Problem> {
    let before = before.filter(|before| *before <= i64::MAX as u64);
    let (entries, next) = api::page(app, signed.is_owner(), agent.clone(), before, ENTRIES).await?;
    let now = app.shared().clock.now();
    let main = html! {
        h1 { "Trail" }
        (outcome)
        (filter(app, agent.as_deref()))
        @if entries.is_empty() { p .calm { "Nothing to show here." } }
        ol .plain { @for entry in &entries { (self::entry(entry, now)) } }
        @if let Some(next) = next { p { a rel="next" href=(further(agent.as_deref(), next)) { "Earlier" } } }
        (seal(app, signed).await?)
    };
    Ok(layout(signed, "/trail", "Trail", main))
}

fn further(agent: Option<&str>, before: u64) -> String {
    match agent {
        Some(agent) => format!("/trail?agent={}&before={before}", encoded(agent)),
        None => format!("/trail?before={before}"),
    }
}

fn filter(app: &App, chosen: Option<&str>) -> Markup {
    let accounts = app.shared().accounts();
    html! {
        form .controls method="get" action="/trail" role="search" {
            label .unseen-title for="agent" { "Agent" }
            select #agent name="agent" {
                option value="" { "Everything" }
                @for agent in accounts.agents.keys().take(500) {
                    option value=(agent) selected[chosen == Some(agent)] { (show::plain_excerpt(agent, 60)) }
                }
            }
            button { "Show" }
        }
    }
}

fn entry(entry: &Entry, now: Micros) -> Markup {
    html! {
        li data-position=(entry.position) {
            strong { (entry.event_type.replace('_', " ")) } " "
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
                form method="post" action="/trail/verify" { (token(signed)) button { "Verify now" } }
            }
            p .hint { "The key that signs the log. Keep it somewhere else, with a checkpoint: no entry before it can then change unnoticed." }
            pre .copy { code { (key) } }
            @if let Some(head) = head {
                p .hint { "The checkpoint of now" }
                pre .copy { code { (head.note) } }
            }
        }
    })
}

pub async fn verify(
    State(app): State<App>,
    owner: Owner,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    Form::read(&app, &owner.signed, &headers, body, FORM_BYTES).await?;
    let outcome = verified(&app).await;
    let shown = show(&app, &owner.signed, None, None, outcome).await;
    shown.map_err(IntoResponse::into_response)
}

async fn verified(app: &App) -> Markup {
    let Ok(permit) = VERIFYING.try_acquire() else {
        return said(
            false,
            html! { "It is being verified already. Ask again shortly." },
        );
    };
    let started = Instant::now();
    let (tell, told) = oneshot::channel();
    let (app, runtime) = (app.clone(), tokio::runtime::Handle::current());
    // A thread of its own: it takes as long as the log is, nobody else waits
    // for it, and neither does the end of the server.
    std::thread::spawn(move || {
        let _permit = permit;
        let shared = app.shared();
        let key = shared.keys.log.verifier();
        let store = shared.store.as_ref();
        let quiet = |_, _| {};
        let work = proof::verify(store, &shared.vault, Some(key), Vec::new(), &quiet);
        let _ = tell.send(runtime.block_on(work).map_err(|fault| fault.to_string()));
    });
    let told = told.await;
    let seconds = started.elapsed().as_secs_f64();
    match told {
        Ok(Ok(report)) => said(false, whole(&report, seconds)),
        Ok(Err(fault)) => {
            tracing::error!(fault, "the trail does not verify");
            said(
                true,
                html! { strong { "It does not verify. " } (show::text(&fault)) },
            )
        }
        Err(_) => said(
            true,
            html! { "It could not be verified to the end. The server's log says why." },
        ),
    }
}

fn whole(found: &StoreReport, seconds: f64) -> Markup {
    let report = &found.report;
    html! {
        strong { "Verified: " (report.checkpoint.size) " entries" }
        " of " (report.streams) " streams, in " (format!("{seconds:.1}")) " s. "
        @if report.erased > 0 { (report.erased) " parts were erased by rules. " }
        @if found.sealed > 0 { (found.sealed) " parts are encrypted with a key that is not here. " }
    }
}

fn said(bad: bool, text: Markup) -> Markup {
    html! { div .standing { p .fault[bad] role=(if bad { "alert" } else { "status" }) { (text) } } }
}

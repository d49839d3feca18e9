//! Agents: whose they are, when they last delivered, and their keys. What an
//! agent has as a device is in `devices`.

use std::{collections::HashMap, ops::Bound};

use ::wake::prompt::Prompt;
use account::{Key, Rate, command::Command as Ask};
use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::read::InboxAsk;
use maud::{Markup, html};
use trail::Micros;
use url::form_urlencoded::byte_serialize;

use crate::{
    App, Problem,
    api::keys::{self, Wanted},
    code::Code,
    pages::{
        connect::frameworks,
        counted::counted,
        devices,
        form::{Form, pairs},
        layout::{copied, page as layout, token},
        owner::{Owner, OwnerForm, Tried, button, fault, once, refused, sure, typed},
        session::Signed,
        when,
    },
    path::Path,
};

/// Agents on one page: for each, its newest delivery is looked up.
const AGENTS: usize = 50;
/// Keys that no longer work, shown for each agent.
const OLD_KEYS: usize = account::ENDED_KEYS;
/// An old delivery may be answered after a new one came: so many are looked at.
const CHANGED: usize = 20;

pub async fn page(
    State(app): State<App>,
    signed: Signed,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let after = pairs(&query).find(|(name, _)| name == "after");
    show(&app, &signed, after.map(|(_, after)| after), None).await
}

async fn show(
    app: &App,
    signed: &Signed,
    after: Option<String>,
    tried: Option<Tried<'_>>,
) -> Result<Response, Problem> {
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut agents = accounts.agents.range::<String, _>((from, Bound::Unbounded));
    let mut shown = Vec::new();
    for (_, agent) in agents.by_ref().take(AGENTS) {
        shown.push((agent, newest(app, &agent.agent_id).await?));
    }
    let next = agents.next().and(shown.last());
    let names = app.shared().agents();
    let streams = shown
        .iter()
        .filter_map(|(agent, _)| names.stream(&agent.agent_id));
    let deliveries = app.shared().store.deliveries(streams.collect()).await?;
    let deliveries = |agent_id: &str| deliveries.get(&names.stream(agent_id)?).copied();
    let mut keys = by_agent(
        &accounts,
        shown.iter().map(|(agent, _)| agent.agent_id.as_str()),
    );
    let main = html! {
        h1 { "Agents" }
        (fault(tried.map(|tried| tried.problem)))
        @if shown.is_empty() {
            p .calm { "No agent yet." @if signed.is_owner() { " " a href="/connect" { "Connect your first agent" } } }
        } @else if signed.is_owner() {
            p { a href="/connect" { "Connect an agent" } }
        }
        @for (agent, last) in &shown {
            section {
                h2 .agent { (show::text(&agent.agent_id)) }
                @let own = keys.remove(agent.agent_id.as_str()).unwrap_or_default();
                @let delivers = !own.is_empty() || last.is_some() || !devices::is_shown(agent, signed);
                p .about {
                    "Owned by " (agent.owner) ". "
                    // A device that only listens has nothing to deliver.
                    @if delivers {
                        @match last {
                            Some(row) => { (counted(deliveries(&agent.agent_id).unwrap_or(1), "delivery", "deliveries")) ", the last " (when::ago(row.row.created_at, now)) ". " },
                            None => "No delivery yet. ",
                        }
                        a href=(format!("/?agent={}", encoded(&agent.agent_id))) { "In the inbox" } " · "
                        a href=(format!("/agents/{}/prompt", segment(&agent.agent_id))) { "Prompt" }
                    }
                }
                (devices::device(app, agent, &own, signed, now))
                // A device that never had a key misses none.
                @if !(own.is_empty() && devices::is_shown(agent, signed)) { (keys_of(own, &accounts, signed, now)) }
            }
        }
        @if let Some((last, _)) = next {
            p { a rel="next" href=(format!("/agents?after={}", encoded(&last.agent_id))) { "More" } }
        }
        @if signed.may_answer() { (devices::how_to_add()) }
        @if shown.iter().any(|(agent, _)| devices::is_shown(agent, signed)) { (devices::what_is_seen()) }
        @if signed.is_owner() { (new_key(app, signed, tried)) }
    };
    Ok(layout(signed, "/agents", "Agents", main))
}

/// An agent's newest delivery, among those that changed last.
pub async fn newest(app: &App, agent_id: &str) -> Result<Option<engine::Row>, Problem> {
    let ask = InboxAsk {
        agent_id: Some(agent_id.to_owned()),
        limit: CHANGED,
        ..InboxAsk::default()
    };
    let rows = app.shared().inbox(ask).await?.rows;
    Ok(rows.into_iter().max_by_key(|row| row.row.no))
}

/// The keys of these agents, in one walk over all.
fn by_agent<'a>(
    accounts: &'a account::State,
    agents: impl Iterator<Item = &'a str>,
) -> HashMap<&'a str, Vec<&'a Key>> {
    let mut keys: HashMap<&str, Vec<&Key>> = agents.map(|agent| (agent, Vec::new())).collect();
    for key in accounts.keys.values() {
        if let Some(own) = keys.get_mut(key.agent_id.as_str()) {
            own.push(key);
        }
    }
    keys
}

/// As a value in an address.
pub fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// As one segment of a path, where a plus is a plus.
fn segment(text: &str) -> String {
    encoded(text).replace('+', "%20")
}

fn keys_of(mut keys: Vec<&Key>, accounts: &account::State, signed: &Signed, now: Micros) -> Markup {
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.created_at));
    let (active, old): (Vec<&Key>, Vec<&Key>) =
        keys.into_iter().partition(|key| key.is_active(now));
    html! {
        @if active.is_empty() { p .hint { "No key works." } }
        ul .plain { @for key in active { (self::key(key, accounts.rate_of(key), signed, now)) } }
        @if !old.is_empty() {
            details {
                summary .hint { (counted(old.len() as u64, "that no longer works", "that no longer work")) }
                ul .plain { @for key in old.iter().take(OLD_KEYS) { (self::key(key, accounts.rate_of(key), signed, now)) } }
            }
        }
    }
}

fn key(key: &Key, rate: Rate, signed: &Signed, now: Micros) -> Markup {
    let id = key.key_id.as_str();
    html! {
        li data-key-id=(id) {
            code { (id) } " "
            span .mark { (if key.test { "test" } else { "live" }) } " "
            span .about {
                (rate.per_hour) " an hour, " (rate.burst) " at once; made " (when::ago(key.created_at, now))
                @if let Some(at) = key.revoked_at { "; revoked " (when::ago(at, now)) }
                @else if let Some(at) = key.expires_at {
                    @if now < at { "; ends " (when::until(at, now)) } @else { "; ended " (when::ago(at, now)) }
                }
                @if !key.orchestrates.is_empty() { "; reads also for " bdi { (show::text(&key.orchestrates.join(", "))) } }
            }
            @if signed.is_owner() && key.is_active(now) {
                " "
                form method="post" action="/agents/keys/rotate" {
                    (token(signed))
                    input type="hidden" name="key_id" value=(id);
                    label .unseen-title for=(format!("overlap-{id}")) { "How long the old key works on" }
                    select #(format!("overlap-{id}")) name="overlap_seconds" {
                        option value="86400" { "old one works a day longer" }
                        option value="3600" { "an hour longer" }
                        option value="604800" { "a week longer" }
                        option value="0" { "no longer" }
                    }
                    button .quiet { "Rotate" }
                }
                (sure("Revoke", "It stops at once, for good.", button(signed, "/agents/keys/revoke", ("key_id", id), "Revoke it")))
            }
        }
    }
}

fn new_key(app: &App, signed: &Signed, tried: Option<Tried<'_>>) -> Markup {
    let agents = app.shared().accounts();
    html! {
        section aria-labelledby="key-title" {
            h2 #key-title { "A new key" }
            form .narrow method="post" action="/agents/keys" {
                (token(signed))
                label for="agent" { "Agent id " span .hint { "an agent is made if there is none of this id" } }
                input #agent name="agent_id" value=(typed(tried, "agent_id")) list="agents" maxlength="128" autocapitalize="none" spellcheck="false" required;
                label for="test" { "Kind" }
                select #test name="test" {
                    option value="no" { "live" }
                    option value="yes" selected[typed(tried, "test") == "yes"] { "test: deliveries are marked" }
                }
                label for="rate" { "Rate " span .hint { "deliveries an hour/at once, such as 500/50; empty for the usual" } }
                input #rate name="rate" value=(typed(tried, "rate")) pattern="[0-9]+/[0-9]+" inputmode="numeric";
                label for="orchestrates" { "Reads also for " span .hint { "other agents whose answers it may read, separated by commas" } }
                input #orchestrates name="orchestrates" value=(typed(tried, "orchestrates")) autocapitalize="none" spellcheck="false";
                datalist #agents { @for agent in agents.agents.keys().take(500) { option value=(agent) {} } }
                button .main { "Create the key" }
            }
        }
    }
}

pub async fn create(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let own = Some(form.text("rate")).filter(|text| !text.trim().is_empty());
    let made = match own.map(rate).transpose() {
        Ok(rate) => {
            let wanted = Wanted {
                agent_id: form.text("agent_id").trim().to_owned(),
                test: form.text("test") == "yes",
                orchestrates: names(form.text("orchestrates")),
                rate,
                ..Wanted::default()
            };
            keys::make(&app, &owner.admin, wanted).await
        }
        Err(problem) => Err(problem),
    };
    answer(&app, &owner, &form, made).await
}

/// Names separated by commas.
fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A rate as people write it.
pub fn rate(text: &str) -> Result<Rate, Problem> {
    let detail = "Write a rate as deliveries an hour/at once, such as 500/50, both at least 1.";
    let bad = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadRate, detail);
    Rate::parse(text.trim()).ok_or_else(bad)
}

/// The new key, this once.
async fn answer(
    app: &App,
    owner: &Owner,
    form: &Form,
    made: Result<keys::Created, Problem>,
) -> Result<Response, Problem> {
    let made = match made {
        Ok(made) => made,
        Err(problem) => return again(app, &owner.signed, form, &problem).await,
    };
    let mut secrets = vec![
        ("Agent", made.agent_id.as_str()),
        ("Key", made.key.as_str()),
        ("Known as", made.key_id.as_str()),
    ];
    if let Some(secret) = &made.webhook_secret {
        secrets.push(("Secret that signs its callbacks", secret));
    }
    Ok(once(&owner.signed, "/agents", "A new key", &secrets))
}

/// The page again, with why a change was refused.
pub async fn again(
    app: &App,
    signed: &Signed,
    form: &Form,
    problem: &Problem,
) -> Result<Response, Problem> {
    let shown = show(app, signed, None, Some(Tried { problem, form })).await?;
    Ok(refused(problem, shown))
}

pub async fn rotate(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let key_id = form.text("key_id").to_owned();
    // What is no number is out of bounds, and refused as that.
    let overlap = form.text("overlap_seconds").parse().unwrap_or(-1);
    let made = keys::replace(&app, &owner.admin, key_id, overlap).await;
    answer(&app, &owner, &form, made).await
}

pub async fn revoke(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let key_id = form.text("key_id").to_owned();
    match owner.admin.ask(&app, Ask::RevokeKey { key_id }).await {
        Ok(()) => Ok(Redirect::to("/agents").into_response()),
        Err(problem) => again(&app, &owner.signed, &form, &problem).await,
    }
}

/// The system prompt, to copy.
pub async fn prompt(
    State(app): State<App>,
    signed: Signed,
    Path(agent_id): Path,
) -> Result<Response, Problem> {
    if !app.shared().accounts().agents.contains_key(&agent_id) {
        return Err(account::Rejection::NoSuchAgent(agent_id).into());
    }
    let prompt = Prompt {
        address: &app.settings.address,
        agent_id: &agent_id,
    };
    let main = html! {
        p .about { a .back href="/agents" { "Agents" } }
        h1 { "Prompt for " bdi { (show::text(&agent_id)) } }
        p { "Make this the system prompt, or a part of it. It holds no secret: the key comes from the environment." }
        (copied(&prompt.text()))
        h2 { "For a framework" }
        (frameworks(&prompt))
    };
    Ok(layout(&signed, "/agents", "Prompt", main))
}

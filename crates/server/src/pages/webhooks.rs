//! Callbacks: where they may go, what became of them, sending one again, and
//! the secrets that sign them.

use ::wake::net::Cidr;
use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use store::CallbackRow;
use trail::Micros;

use crate::{
    App, Problem,
    api::{agents, webhooks},
    pages::{
        form::{Form, pairs},
        layout::{page as layout, token},
        owner::{Owner, OwnerForm, Tried, button, fault, once, refused, typed},
        session::Signed,
        when,
    },
};

/// Callbacks on one page.
const CALLBACKS: usize = 50;

pub async fn page(
    State(app): State<App>,
    owner: Owner,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let before = pairs(&query).find(|(name, _)| name == "before");
    let before = before.and_then(|(_, before)| before.parse().ok());
    show(&app, &owner.signed, before, None).await
}

async fn show(
    app: &App,
    signed: &Signed,
    before: Option<u64>,
    tried: Option<Tried<'_>>,
) -> Result<Response, Problem> {
    let before = before.filter(|before| *before <= i64::MAX as u64);
    let rows = app.shared().store.callbacks(before, CALLBACKS).await?;
    let main = html! {
        h1 { "Webhooks" }
        (fault(tried.map(|tried| tried.problem)))
        (callbacks(&rows, signed, app.shared().clock.now()))
        (allowlist(app, signed, tried))
        (secret_form(app, signed, tried))
    };
    Ok(layout(signed, "/webhooks", "Webhooks", main))
}

fn callbacks(rows: &[CallbackRow], signed: &Signed, now: Micros) -> Markup {
    let next = rows.last().filter(|_| rows.len() == CALLBACKS);
    html! {
        section aria-labelledby="callbacks-title" {
            h2 #callbacks-title { "Callbacks" }
            @if rows.is_empty() { p .hint { "None so far. An agent that names a webhook is told there what was answered." } }
            @else {
                div .scroll {
                    table {
                        thead { tr { th { "For" } th { "State" } th { "Tries" } th { "Next" } th { "Last error" } th { "" } } }
                        tbody { @for row in rows { (callback(row, signed, now)) } }
                    }
                }
            }
            @if let Some(last) = next {
                p { a rel="next" href=(format!("/webhooks?before={}", last.no)) { "Earlier" } }
            }
        }
    }
}

fn callback(row: &CallbackRow, signed: &Signed, now: Micros) -> Markup {
    let no = row.no.to_string();
    html! {
        tr data-callback=(no) {
            td { a href=(format!("/items/{}", row.delivery_id)) { "delivery" } " " code { (show::plain_excerpt(&row.delivery_id.to_string(), 9)) } }
            td { (webhooks::state_of(row).replace('_', " ")) }
            td { (row.attempts) }
            td { @if let Some(at) = row.next_at { (when::until(at, now)) } }
            td { @if let Some(error) = &row.last_error { (show::text(error)) } }
            td { (button(signed, "/webhooks/replay", ("callback", &no), "Send again")) }
        }
    }
}

fn allowlist(app: &App, signed: &Signed, tried: Option<Tried<'_>>) -> Markup {
    let accounts = app.shared().accounts();
    html! {
        section aria-labelledby="allow-title" {
            h2 #allow-title { "Where callbacks may go" }
            @if accounts.allowlist.is_empty() { p .hint { "Nowhere yet: a delivery that names a webhook is refused." } }
            ul .plain {
                @for rule in accounts.allowlist.values() {
                    @let pattern = rule.pattern.to_string();
                    @let networks: Vec<String> = rule.networks.iter().map(Cidr::to_string).collect();
                    li data-pattern=(pattern) {
                        code { (show::text(&pattern)) } " "
                        span .about {
                            @if !networks.is_empty() { "also in " (networks.join(", ")) " " }
                            @if rule.ca_pem.is_some() { "with its own authority" }
                        }
                        (button(signed, "/webhooks/remove", ("pattern", &pattern), "Remove"))
                    }
                }
            }
            form .narrow method="post" action="/webhooks/allow" {
                (token(signed))
                label for="pattern" { "Host " span .hint { "such as hooks.example.com or *.example.com:8443" } }
                input #pattern name="pattern" value=(typed(tried, "pattern")) autocapitalize="none" spellcheck="false" required;
                label for="networks" { "Private networks it may be in " span .hint { "such as 10.0.0.0/8, one or more" } }
                input #networks name="networks" value=(typed(tried, "networks")) autocapitalize="none" spellcheck="false";
                label for="ca" { "Its own authority " span .hint { "certificates in PEM form, if its own are not public" } }
                textarea #ca name="ca_pem" rows="3" spellcheck="false" { "\n" (typed(tried, "ca_pem")) }
                button .main { "Allow" }
            }
        }
    }
}

fn secret_form(app: &App, signed: &Signed, tried: Option<Tried<'_>>) -> Markup {
    let accounts = app.shared().accounts();
    html! {
        section aria-labelledby="secret-title" {
            h2 #secret-title { "A new secret" }
            p .hint { "X-Wake-Signature uses it from now on. For a day webhook-signature also carries a signature by the secret before it." }
            form .narrow method="post" action="/webhooks/secret" {
                (token(signed))
                label for="agent" { "Agent id" }
                input #agent name="agent_id" value=(typed(tried, "agent_id")) list="agents" maxlength="128" autocapitalize="none" spellcheck="false" required;
                datalist #agents { @for agent in accounts.agents.keys().take(500) { option value=(agent) {} } }
                button { "Make a new secret" }
            }
        }
    }
}

/// Back to the page, or why not.
async fn done(
    app: &App,
    owner: &Owner,
    form: &Form,
    asked: Result<(), Problem>,
) -> Result<Response, Problem> {
    let Err(problem) = asked else {
        return Ok(Redirect::to("/webhooks").into_response());
    };
    let problem = &problem;
    let shown = show(app, &owner.signed, None, Some(Tried { problem, form })).await?;
    Ok(refused(problem, shown))
}

pub async fn allow(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let networks = form.text("networks").split([',', ' ', '\n']);
    let networks: Vec<String> = networks
        .filter(|network| !network.is_empty())
        .map(str::to_owned)
        .collect();
    let ca_pem = Some(form.text("ca_pem").trim()).filter(|pem| !pem.is_empty());
    let ca_pem = ca_pem.map(|pem| format!("{pem}\n"));
    let pattern = form.text("pattern").trim();
    let asked = webhooks::permit(&app, &owner.admin, pattern, &networks, ca_pem).await;
    done(&app, &owner, &form, asked.map(drop)).await
}

pub async fn remove(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let asked = webhooks::forbid(&app, &owner.admin, form.text("pattern").to_owned()).await;
    done(&app, &owner, &form, asked).await
}

pub async fn replay(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let asked = webhooks::send_again(&app, &owner.admin, form.text("callback")).await;
    done(&app, &owner, &form, asked).await
}

pub async fn secret(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let agent_id = form.text("agent_id");
    let made = agents::secret_for(&app, &owner.admin, agent_id).await;
    let secret = match made {
        Ok(secret) => secret,
        Err(problem) => return done(&app, &owner, &form, Err(problem)).await,
    };
    let secrets = [
        ("Agent", agent_id),
        ("Secret that signs its callbacks", &secret),
    ];
    Ok(once(&owner.signed, "/webhooks", "A new secret", &secrets))
}

//! Settings: how long content is kept, how much keys may deliver, and what is
//! in force.

use ::wake::{Kind, limits};
use account::{KeyKind, command::Command as Ask, sign_in::MAX_SESSIONS};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};

use crate::{
    App, Problem, api,
    code::Code,
    pages::{
        agents,
        counted::counted,
        form::Form,
        layout::{page as layout, token},
        owner::{Owner, OwnerForm, fault, refused},
        session::Signed,
        sign_in::{LINK_SECONDS, SESSION_SECONDS},
        when,
    },
};

pub async fn page(State(app): State<App>, owner: Owner) -> Response {
    show(&app, &owner.signed, None)
}

fn show(app: &App, signed: &Signed, problem: Option<&Problem>) -> Response {
    let main = html! {
        h1 { "Settings" }
        (fault(problem))
        (retention(app, signed))
        (rates(app, signed))
        (in_force(app))
    };
    layout(signed, "/settings", "Settings", main)
}

fn retention(app: &App, signed: &Signed) -> Markup {
    let accounts = app.shared().accounts();
    html! {
        section aria-labelledby="retention-title" {
            h2 #retention-title { "How long content is kept" }
            p .hint {
                "Content is erased so many days after the answer, after the time-out of what nobody answered, "
                "or after the creation of an update. That it was there, and what was decided, stays on the trail. "
                "What waits for an answer is never erased."
            }
            (never_erased())
            ul .plain {
                @for kind in Kind::ALL {
                    @let days = accounts.retention.get(&kind);
                    @let kind = kind.as_str();
                    li data-type=(kind) {
                        form .controls method="post" action="/settings/retention" {
                            (token(signed))
                            input type="hidden" name="type" value=(kind);
                            strong { (kind) }
                            span .about {
                                @match days {
                                    Some(days) => (counted((*days).into(), "day", "days")),
                                    None => "for good",
                                }
                            }
                            label .unseen-title for=(format!("days-{kind}")) { "Days for " (kind) }
                            input #(format!("days-{kind}")) name="days" type="number" min="1" max="36500" value=[days];
                            button .quiet name="keep" value="days" { "Keep so many days" }
                            @if days.is_some() { button .quiet name="keep" value="always" { "Keep for good" } }
                        }
                    }
                }
            }
        }
    }
}

/// What neither these rules nor a body key reach, and why. Shown where retention
/// is set and where an agent gets its key.
pub fn never_erased() -> Markup {
    html! {
        p .hint {
            "Headline and summary are neither encrypted by " code { "--body-key" } " nor erased by retention. "
            "They belong to the facts of the trail, which are never erased, so that the trail can be verified "
            "and lists can be shown: keep secrets and personal data out of them."
        }
    }
}

fn rates(app: &App, signed: &Signed) -> Markup {
    let accounts = app.shared().accounts();
    html! {
        section aria-labelledby="rates-title" {
            h2 #rates-title { "How much keys may deliver" }
            p .hint {
                "Deliveries an hour/at once. For every key that was not given a rate of its own, from now on. "
                "Reading is bounded by a multiple of it."
            }
            ul .plain {
                @for keys in KeyKind::ALL {
                    @let rate = accounts.usual_rate(keys);
                    @let kind = keys.as_str();
                    li data-keys=(kind) {
                        form .controls method="post" action="/settings/rates" {
                            (token(signed))
                            input type="hidden" name="keys" value=(kind);
                            strong { (kind) " keys" }
                            span .about { (rate.per_hour) " an hour, " (rate.burst) " at once" }
                            label .unseen-title for=(format!("rate-{kind}")) { "Rate of " (kind) " keys" }
                            input #(format!("rate-{kind}")) name="rate" pattern="[0-9]+/[0-9]+" size="12"
                                value=(format!("{}/{}", rate.per_hour, rate.burst));
                            button .quiet name="set" value="rate" { "Set this rate" }
                            @if rate != keys.rate() { button .quiet name="set" value="usual" { "As WAKE has it" } }
                        }
                    }
                }
            }
        }
    }
}

fn in_force(app: &App) -> Markup {
    let rows = [
        ("Address that agents use", app.settings.address.clone()),
        (
            "Details of a delivery",
            format!("{} KiB at the most", app.settings.max_details_bytes >> 10),
        ),
        (
            "Headline, summary",
            format!("{} and {} characters", limits::HEADLINE, limits::SUMMARY),
        ),
        (
            "An agent waits",
            format!(
                "{} to {}",
                when::span(*limits::TIMEOUT_SECONDS.start()),
                when::span(*limits::TIMEOUT_SECONDS.end())
            ),
        ),
        (
            "A sign-in lasts",
            format!(
                "{}, in {MAX_SESSIONS} places at the most",
                when::span(SESSION_SECONDS)
            ),
        ),
        ("A sign-in link lasts", when::span(LINK_SECONDS)),
        (
            "Proxies that are believed",
            match app.settings.proxies.is_empty() {
                true => "none".to_owned(),
                false => app
                    .settings
                    .proxies
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            },
        ),
    ];
    html! {
        section aria-labelledby="force-title" {
            h2 #force-title { "In force" }
            p .hint { "The limits of this server. Address, details and trusted proxies are set where it is started; the others are fixed." }
            div .scroll {
                table {
                    @for (name, value) in rows { tr { th scope="row" { (name) } td { (value) } } }
                }
            }
        }
    }
}

pub async fn retain(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    let asked = match days(&form) {
        Ok(days) => {
            let kind = form.text("type");
            api::retention::keep(&app, &owner.admin, kind, days).await
        }
        Err(problem) => Err(problem),
    };
    done(&app, &owner, asked)
}

pub async fn set_rate(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    let asked = match wanted_rate(&form) {
        Ok(command) => owner.admin.ask(&app, command).await,
        Err(problem) => Err(problem),
    };
    done(&app, &owner, asked)
}

fn wanted_rate(form: &Form) -> Result<Ask, Problem> {
    let keys = KeyKind::parse(form.text("keys")).ok_or_else(Problem::not_found)?;
    let rate = match form.text("set") {
        "usual" => None,
        _ => Some(agents::rate(form.text("rate"))?),
    };
    Ok(Ask::SetRate { keys, rate })
}

/// Back to the page, or why not.
fn done(app: &App, owner: &Owner, asked: Result<(), Problem>) -> Response {
    match asked {
        Ok(()) => Redirect::to("/settings").into_response(),
        Err(problem) => refused(&problem, show(app, &owner.signed, Some(&problem))),
    }
}

/// An empty field is no way to say "for good": that must be said.
fn days(form: &Form) -> Result<Option<u32>, Problem> {
    let detail = "Write how many days, from 1 to 36500, or choose to keep it for good.";
    let bad = |_| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadRetention, detail);
    match form.text("keep") {
        "always" => Ok(None),
        _ => form.text("days").trim().parse().map(Some).map_err(bad),
    }
}

//! Devices, among the agents: whether one is connected, what passed through the
//! relay, and its token. That is the business of the person it belongs to. Who
//! administers sees that it is there and can take it away, and nothing more.
//!
//! Presence is not on the log; pages hear of it beside the log (`api/events.rs`).

use account::{Agent, Key};
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    api::{agents::Linked, devices},
    auth::{Keeper, Remover},
    link::traffic::Sums,
    pages::{
        agents,
        delivery::size,
        form::{Form, SignedForm},
        layout::notice,
        owner::{button, once, sure},
        session::Signed,
        when,
    },
};

/// Whether someone is shown that an agent is a device.
pub fn is_shown(agent: &Agent, signed: &Signed) -> bool {
    agent.link.is_some() && (is_theirs(agent, signed) || signed.is_owner())
}

fn is_theirs(agent: &Agent, signed: &Signed) -> bool {
    agent.owner == signed.user.name
}

/// What someone sees of a device, and may do with it.
pub fn device(app: &App, agent: &Agent, keys: &[&Key], signed: &Signed, now: Micros) -> Markup {
    let link = agent.link.as_ref().filter(|_| is_shown(agent, signed));
    let Some(link) = link else {
        return html! {};
    };
    let theirs = is_theirs(agent, signed).then(|| Linked::of(app, agent, link));
    html! {
        ul .plain {
            li data-device=(agent.agent_id) {
                @match &theirs {
                    Some(linked) => (connected(linked, now)),
                    None => {
                        span .mark { "device" } " "
                        span .about { "only " (agent.owner) " sees whether it is online" }
                    },
                }
                @if signed.may_answer() {
                    @if theirs.is_some() { " " (rotation(agent, signed)) }
                    " " (removal(agent, keys, signed, now))
                }
            }
        }
    }
}

fn connected(linked: &Linked, now: Micros) -> Markup {
    html! {
        code { (linked.token_id) } " "
        span .mark { "device" } " "
        span .mark data-presence { @if linked.online { span .dot {} "online" } @else { "offline" } } " "
        span .about {
            span data-seen {
                @if !linked.online {
                    @match linked.last_seen_at {
                        Some(at) => { "last seen " (when::ago(at, now)) "; " },
                        None => "never seen; ",
                    }
                }
            }
            "token made " (when::ago(linked.issued_at, now)) ". "
            (relayed(&linked.relayed))
        }
    }
}

fn relayed(sums: &Sums) -> String {
    format!(
        "Relayed: {} to it ({}), {} from it ({}), {} refused.",
        sums.to_device,
        size(sums.to_device_bytes),
        sums.from_device,
        size(sums.from_device_bytes),
        sums.refused,
    )
}

fn rotation(agent: &Agent, signed: &Signed) -> Markup {
    let field = ("agent_id", agent.agent_id.as_str());
    let form = button(signed, "/agents/devices/rotate", field, "Rotate it");
    let consequence = "The old token stops at once; the device needs the new one.";
    sure("Rotate", consequence, form)
}

/// Offered as far as it would not be refused.
fn removal(agent: &Agent, keys: &[&Key], signed: &Signed, now: Micros) -> Markup {
    if keys.iter().any(|key| key.is_active(now)) {
        return html! { span .hint { "To remove it, revoke its keys first." } };
    }
    let consequence = match keys.is_empty() {
        true => "It is cut off at once, and its name is free again.",
        false => "It is cut off at once. What it delivered stays.",
    };
    let field = ("agent_id", agent.agent_id.as_str());
    let form = button(signed, "/agents/devices/remove", field, "Remove it");
    sure("Remove", consequence, form)
}

/// Said to whoever may have one.
pub fn how_to_add() -> Markup {
    html! {
        p .hint {
            "A machine behind a router can be a device, which you command from anywhere: "
            code { "wakeful link add NAME" } ", then " code { "wakeful link pair NAME" } " on the machine."
        }
    }
}

/// Said where devices are shown.
pub fn what_is_seen() -> Markup {
    html! {
        section aria-labelledby="seen-title" {
            h2 #seen-title { "What this server sees of a device" }
            p {
                "Who talks to which device, from which address, when, and how much. "
                "The sums are counted here, and put on the trail once an hour at the most, where the owners of this server can read them."
            }
            p {
                "Never what is said: client and device seal it with a secret that this server does not have. "
                "So it sees no command, no answer, no key, and no hardware address of a machine that is woken. "
                "It keeps the device's token, which opens the relay and nothing else."
            }
            p .hint { "Whether a device is online is shown as it changes; the sums are those of when this page was loaded." }
        }
    }
}

/// A new token, shown this once.
pub async fn rotate(State(app): State<App>, SignedForm { signed, form }: SignedForm) -> Response {
    let keeper = match Keeper::at_page(&app, &signed, "POST /agents/devices/rotate".to_owned()) {
        Ok(keeper) => keeper,
        Err(problem) => return not_yours(&problem),
    };
    let agent_id = form.text("agent_id");
    match devices::renew(&app, &keeper, agent_id).await {
        Ok(token) => {
            let endpoint = devices::endpoint(&app.settings.address);
            let secrets = [
                ("Agent", agent_id),
                ("Token", token.as_str()),
                ("Connects to", &endpoint),
            ];
            once(&signed, "/agents", "A new device token", &secrets)
        }
        Err(problem) => refused(&app, &signed, &problem).await,
    }
}

pub async fn remove(State(app): State<App>, SignedForm { signed, form }: SignedForm) -> Response {
    let remover = match Remover::at_page(&app, &signed, "POST /agents/devices/remove".to_owned()) {
        Ok(remover) => remover,
        Err(problem) => return not_yours(&problem),
    };
    let agent_id = form.text("agent_id").to_owned();
    match devices::take_away(&app, remover, agent_id).await {
        Ok(()) => Redirect::to("/agents").into_response(),
        Err(problem) => refused(&app, &signed, &problem).await,
    }
}

/// Nothing was typed that could be kept.
async fn refused(app: &App, signed: &Signed, problem: &Problem) -> Response {
    let form = Form::default();
    let shown = agents::again(app, signed, &form, problem).await;
    shown.into_response()
}

fn not_yours(problem: &Problem) -> Response {
    notice(problem.status(), "Not yours to change", problem.detail())
}

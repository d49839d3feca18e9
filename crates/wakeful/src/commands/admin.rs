//! Administration: people, keys, callbacks, rates, retention.

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail};
use client::encode;
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::{Key, Place, Rate, Retention, User, Webhook},
    commands::key,
    connect::{As, connect},
    output::{counted, line, print_body, print_json, print_text, say, table},
};

/// Sends one administrative request and shows what came back.
async fn ask(
    place: &Place,
    method: &str,
    path: &str,
    body: Option<Value>,
    show: impl FnOnce(&Value),
) -> Result<Ending> {
    let who = match (method, path) {
        ("POST", "/api/v1/users") => As::Founder,
        _ => As::Operator,
    };
    let connection = connect(place, who).await?;
    let body = body.map(|body| body.to_string().into_bytes());
    let reply = connection.call(method, path, body).await;
    if let (Ok(Ok(_)), true) = (&reply, path.ends_with("/sign-in-link")) {
        connection.warn_of_address();
    }
    connection.close().await;
    match reply? {
        Err(ending) => Ok(ending),
        Ok(reply) => {
            let value = reply.json();
            match (place.json, value.is_null()) {
                (true, true) => print_json(&json!({ "done": true })),
                (true, false) => print_body(&reply.body),
                (false, _) => show(&value),
            }
            Ok(Ending::Done)
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => line(text),
        Value::Null => "-".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => line(&other.to_string()),
    }
}

/// One table row for each object of a list, with these fields.
fn list(value: &Value, name: &str, fields: &[&str]) {
    let mut rows = vec![
        fields
            .iter()
            .map(|field| field.to_uppercase())
            .collect::<Vec<_>>(),
    ];
    for item in value[name].as_array().into_iter().flatten() {
        rows.push(fields.iter().map(|field| text(&item[*field])).collect());
    }
    table(&rows);
}

/// Whether the token in use is this person's. The operator is nobody.
async fn is_oneself(place: &Place, name: &str) -> Result<bool> {
    let connection = connect(place, As::Operator).await?;
    let reply = connection.request("GET", "/api/v1/me", &[], None).await;
    connection.close().await;
    Ok(reply?.json()["name"] == name)
}

/// A role with its article.
fn a_role(role: &str) -> String {
    match role {
        "owner" => "an owner".to_owned(),
        other => format!("a {}", line(other)),
    }
}

pub async fn user(place: &Place, command: User) -> Result<Ending> {
    let show_token = |value: &Value| {
        say(&format!(
            "{} is {}. The token is shown this once:",
            text(&value["name"]),
            a_role(value["role"].as_str().unwrap_or_default())
        ));
        print_text(value["token"].as_str().unwrap_or_default());
        say("Use it as WAKEFUL_TOKEN.");
    };
    let state = |name: &str| format!("/api/v1/users/{}", encode(name));
    match command {
        User::Create { name, role } => {
            let body = json!({ "name": name, "role": role });
            ask(place, "POST", "/api/v1/users", Some(body), show_token).await
        }
        User::Token { name } => {
            // One's own everyone may renew; others' is an owner's business.
            let path = match is_oneself(place, &name).await? {
                true => "/api/v1/me/token".to_owned(),
                false => format!("{}/token", state(&name)),
            };
            ask(place, "POST", &path, None, show_token).await
        }
        User::SignInLink { name } => {
            let path = format!("{}/sign-in-link", state(&name));
            let show = |value: &Value| {
                say("Open it within a day. It works once:");
                print_text(value["url"].as_str().unwrap_or_default());
            };
            ask(place, "POST", &path, None, show).await
        }
        User::List => {
            let show =
                |value: &Value| list(value, "users", &["name", "role", "state", "created_at"]);
            ask(place, "GET", "/api/v1/users", None, show).await
        }
        User::Role { name, role } => change(place, &name, "role", &role).await,
        User::Suspend { name } => change(place, &name, "state", "suspended").await,
        User::Resume { name } => change(place, &name, "state", "active").await,
        User::Deactivate { name } => change(place, &name, "state", "deactivated").await,
    }
}

/// Changes a person's role or state, and says if it is as it was before.
async fn change(place: &Place, name: &str, field: &str, to: &str) -> Result<Ending> {
    let users = known(place, "users").await?;
    let was = users.iter().find(|user| user["name"] == name);
    let done = match was.is_some_and(|user| user[field] == to) {
        true => format!(
            "Nothing changed: the {field} of {} was {to} already.",
            line(name)
        ),
        false => "Done.".to_owned(),
    };
    let path = format!("/api/v1/users/{}", encode(name));
    ask(place, "PATCH", &path, Some(json!({ field: to })), |_| {
        say(&done)
    })
    .await
}

pub async fn key(place: &Place, command: Key) -> Result<Ending> {
    let show_key = |value: &Value| {
        let (id, agent) = (text(&value["key_id"]), text(&value["agent_id"]));
        say(&format!("Key {id} for {agent}. It is shown this once:"));
        print_text(value["key"].as_str().unwrap_or_default());
        say("Use it as WAKE_API_KEY.");
    };
    match command {
        Key::Create {
            agent,
            test,
            orchestrator,
            rate,
            owner,
            env,
        } => {
            let rate = match rate.as_deref().map(account::Rate::parse) {
                Some(None) => bail!("write --rate as PER_HOUR/BURST, such as 500/50"),
                Some(Some(rate)) => Some(rate),
                None => None,
            };
            let body = json!({
                "agent_id": agent, "test": test, "orchestrates": orchestrator,
                "rate": rate, "owner": owner
            });
            let ending = key::create(place, &body, env).await?;
            if ending == Ending::Done && !orchestrator.is_empty() {
                warn_of_unknown(place, &orchestrator).await?;
            }
            Ok(ending)
        }
        Key::List => {
            let fields = [
                "key_id",
                "agent_id",
                "test",
                "orchestrates",
                "created_at",
                "expires_at",
                "revoked_at",
            ];
            ask(place, "GET", "/api/v1/keys", None, |value| {
                list(value, "keys", &fields)
            })
            .await
        }
        Key::Revoke { key_id } => {
            let done = match was_revoked(place, &key_id).await? {
                true => format!("Nothing changed: {} was revoked already.", line(&key_id)),
                false => "Revoked.".to_owned(),
            };
            let path = format!("/api/v1/keys/{}", encode(&key_id));
            ask(place, "DELETE", &path, None, |_| say(&done)).await
        }
        Key::Rotate { key_id, overlap } => {
            let path = format!("/api/v1/keys/{}/rotate", encode(&key_id));
            let body = json!({ "overlap_seconds": overlap });
            ask(place, "POST", &path, Some(body), show_key).await
        }
    }
}

async fn was_revoked(place: &Place, key_id: &str) -> Result<bool> {
    let keys = known(place, "keys").await?;
    let was_revoked = |key: &Value| key["key_id"] == key_id && !key["revoked_at"].is_null();
    Ok(keys.iter().any(was_revoked))
}

/// What there is of a kind; nothing if the server refuses to say, as it will refuse
/// the change that is asked for next.
async fn known(place: &Place, kind: &str) -> Result<Vec<Value>> {
    let connection = connect(place, As::Operator).await?;
    let path = format!("/api/v1/{kind}");
    let reply = connection.request("GET", &path, &[], None).await;
    connection.close().await;
    let mut reply = reply?.json();
    Ok(match reply[kind].take() {
        Value::Array(all) => all,
        _ => Vec::new(),
    })
}

/// A key may name agents that are yet to come; a misspelled one is told.
async fn warn_of_unknown(place: &Place, agents: &[String]) -> Result<()> {
    let connection = connect(place, As::Operator).await?;
    let reply = connection.call("GET", "/api/v1/agents", None).await;
    connection.close().await;
    let Ok(reply) = reply? else { return Ok(()) };
    let known = reply.json();
    let known: HashSet<&str> = known["agents"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|agent| agent["agent_id"].as_str())
        .collect();
    for agent in agents {
        if !known.contains(agent.as_str()) {
            say(&format!("There is no agent {} yet.", line(agent)));
        }
    }
    Ok(())
}

pub async fn webhook(place: &Place, command: Webhook) -> Result<Ending> {
    match command {
        Webhook::Allow {
            pattern,
            network,
            ca,
        } => {
            let ca_pem = ca
                .map(std::fs::read_to_string)
                .transpose()
                .context("could not read --ca")?;
            let body = json!({ "pattern": pattern, "networks": network, "ca_pem": ca_pem });
            let refused = network.is_empty() && is_not_public(&pattern);
            let show = move |value: &Value| {
                say(&match (text(&value["pattern"]), refused) {
                    (pattern, false) => format!("Callbacks to {pattern} are allowed."),
                    (pattern, true) => format!(
                        "{pattern} is on the allowlist, but it is not a public address, so \
                         callbacks to it are refused. Remove it, then allow it with --network."
                    ),
                })
            };
            ask(
                place,
                "POST",
                "/api/v1/webhooks/allowlist",
                Some(body),
                show,
            )
            .await
        }
        Webhook::List => {
            let show =
                |value: &Value| list(value, "allowlist", &["pattern", "networks", "created_at"]);
            ask(place, "GET", "/api/v1/webhooks/allowlist", None, show).await
        }
        Webhook::Remove { pattern } => {
            let path = format!("/api/v1/webhooks/allowlist/{}", encode(&pattern));
            ask(place, "DELETE", &path, None, |_| say("Removed.")).await
        }
        Webhook::Secret { agent } => {
            let path = format!("/api/v1/agents/{}/webhook-secret", encode(&agent));
            let show = |value: &Value| {
                say(
                    "X-Wake-Signature uses it from now on; for a day webhook-signature also \
                     carries a signature by the old one. Shown this once:",
                );
                print_text(value["secret"].as_str().unwrap_or_default());
                say("Use it as WAKE_WEBHOOK_SECRET.");
            };
            ask(place, "POST", &path, None, show).await
        }
        Webhook::Attempts { limit } => {
            let fields = [
                "id",
                "delivery_id",
                "state",
                "attempts",
                "next_attempt_at",
                "last_error",
            ];
            let path = format!("/api/v1/webhooks/callbacks?limit={limit}");
            ask(place, "GET", &path, None, |value| {
                list(value, "callbacks", &fields)
            })
            .await
        }
        Webhook::Replay { id } => {
            let path = format!("/api/v1/webhooks/callbacks/{id}/replay");
            ask(place, "POST", &path, None, |_| {
                say("It will be sent again.")
            })
            .await
        }
    }
}

pub async fn rate(place: &Place, command: Rate) -> Result<Ending> {
    match command {
        Rate::Set { keys, rate } => {
            let rate = match rate.as_str() {
                "usual" => None,
                text => Some(
                    account::Rate::parse(text)
                        .context("write PER_HOUR/BURST, both at least 1, or \"usual\"")?,
                ),
            };
            let path = format!("/api/v1/rates/{}", encode(&keys));
            ask(place, "PUT", &path, Some(json!({ "rate": rate })), |_| {
                say("Done.")
            })
            .await
        }
        Rate::List => {
            let show = |value: &Value| {
                let mut rows = vec![["KEYS", "PER HOUR", "AT ONCE"].map(str::to_owned).to_vec()];
                for keys in account::KeyKind::ALL.map(account::KeyKind::as_str) {
                    let rate = &value["rates"][keys];
                    rows.push(vec![
                        keys.to_owned(),
                        text(&rate["per_hour"]),
                        text(&rate["burst"]),
                    ]);
                }
                table(&rows);
            };
            ask(place, "GET", "/api/v1/rates", None, show).await
        }
    }
}

pub async fn retention(place: &Place, command: Retention) -> Result<Ending> {
    match command {
        Retention::Set { r#type, days } => {
            let days = match days.as_str() {
                "keep" => None,
                text => Some(
                    text.parse::<u32>()
                        .context("write a number of days, or \"keep\"")?,
                ),
            };
            let path = format!("/api/v1/retention/{}", encode(&r#type));
            ask(place, "PUT", &path, Some(json!({ "days": days })), |_| {
                say("Done.")
            })
            .await
        }
        Retention::List => {
            let show = |value: &Value| {
                let mut rows = vec![vec!["TYPE".to_owned(), "DAYS".to_owned()]];
                for kind in wake::Kind::ALL {
                    let days = &value["retention_days"][kind.as_str()];
                    let days = if days.is_null() {
                        "keep".to_owned()
                    } else {
                        text(days)
                    };
                    rows.push(vec![kind.as_str().to_owned(), days]);
                }
                table(&rows);
            };
            ask(place, "GET", "/api/v1/retention", None, show).await
        }
        Retention::Run => {
            let show = |value: &Value| {
                let erased = value["erased"].as_u64().unwrap_or_default();
                let erased = counted(erased, "delivery", "deliveries");
                say(&format!("Erased the content of {erased}."))
            };
            ask(place, "POST", "/api/v1/retention/run", None, show).await
        }
    }
}

/// Whether a host of the allowlist is an address that needs its network named.
fn is_not_public(host: &str) -> bool {
    let callback = wake::webhook::CallbackUrl::parse(&format!("https://{host}/"));
    let literal = callback.ok().and_then(|callback| callback.literal());
    literal.is_some_and(|address| !wake::net::is_public(address))
}

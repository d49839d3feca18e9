//! Callbacks: where they may go, what became of them, sending one again.

use ::wake::{net::Cidr, sweep::digits, webhook::HostPattern};
use account::command::Command as Ask;
use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use engine::command::Wake;
use serde::Serialize;
use store::CallbackRow;
use trail::Micros;
use uuid::Uuid;

use crate::{
    App, Problem,
    api::Json,
    auth::{Admin, Asks as _, Reader},
    code::Code,
    fields::Unread,
    path::Path,
    query,
};

pub async fn allowlist(State(app): State<App>, _: Reader) -> Response {
    let accounts = app.shared().accounts();
    let rules: Vec<&account::AllowRule> = accounts.allowlist.values().collect();
    Json(serde_json::json!({ "allowlist": rules })).into_response()
}

pub async fn allow(
    State(app): State<App>,
    admin: Admin,
    body: Unread,
) -> Result<Response, Problem> {
    let mut fields = body.fields(&app, admin.share()).await?;
    let pattern: String = fields.required("pattern", "a string")?;
    let networks: Option<Vec<String>> = fields.optional("networks", "a list of networks")?;
    let ca_pem: Option<Option<String>> = fields.optional("ca_pem", "a string or null")?;
    fields.end()?;
    let pattern = permit(
        &app,
        &admin,
        &pattern,
        &networks.unwrap_or_default(),
        ca_pem.flatten(),
    )
    .await?;
    let accounts = app.shared().accounts();
    Ok((StatusCode::CREATED, Json(accounts.allowlist.get(&pattern))).into_response())
}

/// Puts an entry on the allowlist; gives the pattern as it stands there.
pub async fn permit(
    app: &App,
    admin: &Admin,
    pattern: &str,
    networks: &[String],
    ca_pem: Option<String>,
) -> Result<String, Problem> {
    let pattern = HostPattern::parse(pattern).map_err(|fault| {
        Problem::spelling(Code::BadAllowlistEntry, "pattern", &format!("{fault}."))
    })?;
    let networks = networks
        .iter()
        .map(|network| network.parse::<Cidr>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|fault| {
            Problem::spelling(Code::BadAllowlistEntry, "networks", &format!("{fault}."))
        })?;
    if let Some(pem) = &ca_pem {
        crate::webhook::certificates(pem).map_err(|_| {
            Problem::value(
                Code::BadAllowlistEntry,
                "ca_pem",
                "must be certificates in PEM form.",
            )
        })?;
    }
    let command = Ask::AllowWebhook {
        pattern: pattern.clone(),
        networks,
        ca_pem,
    };
    admin.ask(app, command).await?;
    Ok(pattern.to_string())
}

pub async fn remove(
    State(app): State<App>,
    admin: Admin,
    Path(pattern): Path,
) -> Result<StatusCode, Problem> {
    forbid(&app, &admin, pattern).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn forbid(app: &App, admin: &Admin, pattern: String) -> Result<(), Problem> {
    // As it was written into the list; what cannot be read is not on it.
    let pattern = match HostPattern::parse(&pattern) {
        Ok(parsed) => parsed.to_string(),
        Err(_) => pattern,
    };
    let command = Ask::RemoveWebhook { pattern };
    admin.ask(app, command).await
}

/// A callback as people read it.
#[derive(Debug, Serialize)]
struct Callback {
    id: u64,
    delivery_id: Uuid,
    webhook_id: String,
    state: &'static str,
    attempts: u32,
    next_attempt_at: Option<Micros>,
    last_error: Option<String>,
}

pub fn state_of(row: &CallbackRow) -> &'static str {
    ["owed", "delivered", "gave_up"][usize::from(row.state.min(2))]
}

pub async fn callbacks(
    State(app): State<App>,
    _: Reader,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let (mut before, mut limit) = (None, 50);
    for (name, value) in query::known(&query, &["cursor", "limit"])? {
        match name {
            "cursor" => before = Some(query::number("cursor", &value, 0..=i64::MAX as u64)?),
            "limit" => limit = query::number("limit", &value, 1..=200)?,
            _ => {}
        }
    }
    let rows = app.shared().store.callbacks(before, limit as usize).await?;
    let next_cursor = rows
        .last()
        .filter(|_| rows.len() as u64 == limit)
        .map(|row| row.no.to_string());
    let callbacks: Vec<Callback> = rows
        .into_iter()
        .map(|row| Callback {
            state: state_of(&row),
            id: row.no,
            delivery_id: row.delivery_id,
            webhook_id: row.webhook_id,
            attempts: row.attempts,
            next_attempt_at: row.next_at,
            last_error: row.last_error,
        })
        .collect();
    let page = serde_json::json!({ "callbacks": callbacks, "next_cursor": next_cursor });
    Ok(Json(page).into_response())
}

pub async fn replay(
    State(app): State<App>,
    admin: Admin,
    Path(id): Path,
) -> Result<StatusCode, Problem> {
    send_again(&app, &admin, &id).await?;
    Ok(StatusCode::ACCEPTED)
}

pub async fn send_again(app: &App, admin: &Admin, id: &str) -> Result<(), Problem> {
    let callback = digits(id).ok_or_else(Problem::not_found)?;
    let before = callback
        .checked_add(1)
        .filter(|before| *before <= i64::MAX as u64);
    let rows = app
        .shared()
        .store
        .callbacks(Some(before.ok_or_else(Problem::not_found)?), 1)
        .await?;
    let row = rows
        .into_iter()
        .find(|row| row.no == callback)
        .ok_or_else(Problem::not_found)?;
    let delivery_id = row.delivery_id;
    let command = Wake::ReplayCallback {
        actor: admin.actor(),
        callback,
        delivery_id,
    };
    app.engine.submit(admin.asks(command)).await?;
    Ok(())
}

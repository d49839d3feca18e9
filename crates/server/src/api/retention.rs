//! How long content is kept, by type of delivery.

use std::collections::BTreeMap;

use ::wake::Kind;
use account::command::Command as Ask;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{
    App, Problem,
    api::Json,
    auth::{Admin, Reader},
    code::Code,
    fields::Unread,
    path::Path,
};

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    let accounts = app.shared().accounts();
    let rules = accounts.retention.iter();
    let days: BTreeMap<&str, &u32> = rules.map(|(kind, days)| (kind.as_str(), days)).collect();
    Json(serde_json::json!({ "retention_days": days })).into_response()
}

/// `null` keeps content for good; it must be said.
pub async fn set(
    State(app): State<App>,
    admin: Admin,
    Path(kind): Path,
    body: Unread,
) -> Result<StatusCode, Problem> {
    let mut fields = body.fields(&app, admin.share()).await?;
    let days = fields.required("days", "an integer from 1 to 36500, or null")?;
    fields.end()?;
    keep(&app, &admin, &kind, days).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sets the rule of a type; `None` keeps content for good.
pub async fn keep(app: &App, admin: &Admin, kind: &str, days: Option<u32>) -> Result<(), Problem> {
    let Some(kind) = Kind::parse(kind) else {
        let detail = format!("\"type\" must be one of {}.", Kind::NAMES);
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(Problem::new(status, Code::UnknownValue, detail).field(Some("type")));
    };
    admin.ask(app, Ask::SetRetention { kind, days }).await
}

/// Erases now what the rules say, without waiting for the timer.
pub async fn run(State(app): State<App>, _: Admin) -> Result<Response, Problem> {
    let erased = app.engine.retain().await?;
    Ok(Json(serde_json::json!({ "erased": erased })).into_response())
}

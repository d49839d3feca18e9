//! How long content is kept, by type of delivery.

use account::command::Command as Ask;
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use crate::{
    App, Problem,
    api::Json,
    auth::{Admin, Reader},
    body,
    path::Path,
};

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    Json(serde_json::json!({ "retention_days": app.shared().accounts().retention })).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `null` keeps content for good.
    days: Option<u32>,
}

pub async fn set(
    State(app): State<App>,
    admin: Admin,
    Path(kind): Path,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let rule: Rule = body::read_as(&headers, body).await?;
    let command = Ask::SetRetention {
        kind,
        days: rule.days,
    };
    admin.ask(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Erases now what the rules say, without waiting for the timer.
pub async fn run(State(app): State<App>, _: Admin) -> Result<Response, Problem> {
    let erased = app.engine.retain().await?;
    Ok(Json(serde_json::json!({ "erased": erased })).into_response())
}

//! How long content is kept, by type of delivery.

use account::command::Command as Ask;
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use crate::{
    App, Problem,
    api::Json,
    auth::{Admin, Reader},
    fields::Fields,
    path::Path,
};

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    Json(serde_json::json!({ "retention_days": app.shared().accounts().retention })).into_response()
}

/// `null` keeps content for good; it must be said.
pub async fn set(
    State(app): State<App>,
    admin: Admin,
    Path(kind): Path,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let mut fields = Fields::read(&app, admin.share(), &headers, body).await?;
    let days = fields.required("days", "an integer from 1 to 36500, or null")?;
    fields.end()?;
    let command = Ask::SetRetention { kind, days };
    admin.ask(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Erases now what the rules say, without waiting for the timer.
pub async fn run(State(app): State<App>, _: Admin) -> Result<Response, Problem> {
    let erased = app.engine.retain().await?;
    Ok(Json(serde_json::json!({ "erased": erased })).into_response())
}

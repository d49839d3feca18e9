//! How much keys may deliver that have no rate of their own.

use std::collections::BTreeMap;

use account::{KeyKind, Rate, command::Command as Ask};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{
    App, Problem,
    api::{Json, keys::RATE},
    auth::{Admin, Reader},
    fields::Unread,
    path::Path,
};

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    let accounts = app.shared().accounts();
    let rates = KeyKind::ALL.map(|keys| (keys.as_str(), accounts.usual_rate(keys)));
    Json(serde_json::json!({ "rates": BTreeMap::from(rates) })).into_response()
}

/// `null` is the rate of WAKE itself; it must be said.
pub async fn set(
    State(app): State<App>,
    admin: Admin,
    Path(keys): Path,
    body: Unread,
) -> Result<StatusCode, Problem> {
    let keys = KeyKind::parse(&keys).ok_or_else(Problem::not_found)?;
    let mut fields = body.fields(&app, admin.share()).await?;
    let rate: Option<Rate> = fields.required("rate", RATE)?;
    fields.end()?;
    admin.ask(&app, Ask::SetRate { keys, rate }).await?;
    Ok(StatusCode::NO_CONTENT)
}

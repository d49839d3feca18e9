//! `GET /wake/v1/responses`: one sweep instead of many polls.

use ::wake::sweep::Sweep;
use axum::{
    extract::{RawQuery, State},
    response::Response,
};

use super::signed;
use crate::{App, Problem, auth::Agent, query};

pub async fn responses(
    State(app): State<App>,
    Agent(key): Agent,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    app.limits.take_read(&key, app.shared().clock.now())?;
    let pairs = query::known(&query, &Sweep::PARAMETERS)?;
    let sweep = Sweep::parse(pairs.iter().map(|(name, value)| (*name, value.as_str())))?;
    let _place = app.limits.place_to_sweep(&key).await?;
    let page = app.shared().sweep(&sweep, &key).await?;

    let mut body = Vec::with_capacity(128 + page.deliveries.len());
    body.extend_from_slice(b"{\"deliveries\":[");
    body.extend_from_slice(&page.deliveries);
    let next_since = page
        .next_since
        .map_or("null".to_owned(), |at| format!("\"{at}\""));
    let tail = format!(
        "],\"total\":{},\"has_more\":{},\"next_since\":{next_since}}}",
        page.total, page.has_more
    );
    body.extend_from_slice(tail.as_bytes());
    signed(&app, &key.agent_id, body).await
}

//! The trail: entries, checkpoint, proofs.

use ::wake::sweep::digits;
use axum::{
    extract::{RawQuery, State},
    http::header,
    response::{IntoResponse, Response},
};
use engine::{
    proof::{self, ProofFault},
    read::Entry,
};
use serde_json::json;
use store::EntryQuery;
use trail::Receipt;

use crate::{
    App, Problem,
    api::{Json, events::is_public},
    auth::Reader,
    path::Path,
    query,
};

impl From<ProofFault> for Problem {
    fn from(fault: ProofFault) -> Problem {
        match fault {
            ProofFault::NoSuchEntry(_) | ProofFault::Empty => Problem::not_found(),
            ProofFault::Store(error) => error.into(),
            other => {
                tracing::error!(error = %other, "a proof could not be made");
                Problem::internal()
            }
        }
    }
}

pub async fn index(
    State(app): State<App>,
    reader: Reader,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let (mut agent, mut event_type, mut cursor, mut limit) = (None, None, None, 50);
    let names = ["agent_id", "event_type", "cursor", "limit"];
    for (name, value) in query::known(&query, &names)? {
        match name {
            "agent_id" => agent = Some(value),
            "event_type" => event_type = Some(value),
            "cursor" => cursor = Some(query::number("cursor", &value, 0..=i64::MAX as u64)?),
            "limit" => limit = query::number("limit", &value, 1..=200)? as usize,
            _ => {}
        }
    }
    let (found, next) = page(&app, reader.is_owner, agent, cursor, limit).await?;
    let next_cursor = next.map(|next| next.to_string());
    let wanted = |entry: &Entry| {
        let wanted = event_type.as_ref();
        wanted.is_none_or(|wanted| *wanted == entry.event_type)
    };
    let entries: Vec<_> = found.into_iter().filter(wanted).collect();
    Ok(Json(json!({ "entries": entries, "next_cursor": next_cursor })).into_response())
}

/// What one may see of so many entries, newest first, and where the next page
/// starts.
pub async fn page(
    app: &App,
    is_owner: bool,
    agent: Option<String>,
    cursor: Option<u64>,
    limit: usize,
) -> Result<(Vec<Entry>, Option<u64>), Problem> {
    let shared = app.shared();
    let (mut found, next) = match agent {
        Some(agent_id) => match shared.agents().stream(&agent_id) {
            Some(stream) => shared.agent_entries(stream, cursor, limit).await?,
            None => (Vec::new(), None),
        },
        None => {
            let to = cursor.map(|cursor| cursor.saturating_add(1));
            let ask = EntryQuery {
                to,
                limit,
                newest_first: true,
                ..EntryQuery::default()
            };
            let found = shared.entries(ask).await?;
            let last = found.last().filter(|_| found.len() == limit);
            let next = last.and_then(|entry| entry.position.checked_sub(1));
            (found, next)
        }
    };
    found.retain(|entry| is_owner || is_public(entry));
    Ok((found, next))
}

/// Public: whoever keeps it can notice any later rewriting.
pub async fn checkpoint(State(app): State<App>) -> Result<Response, Problem> {
    let head = app
        .shared()
        .store
        .head()
        .await?
        .ok_or_else(Problem::not_found)?;
    Ok((
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        head.note,
    )
        .into_response())
}

/// Public: the key that checkpoints are verified with.
pub async fn key(State(app): State<App>) -> Response {
    let key = app.shared().keys.log.verifier().to_string();
    (
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        format!("{key}\n"),
    )
        .into_response()
}

pub async fn consistency(
    State(app): State<App>,
    _: Reader,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let size = *app.shared().size().borrow();
    let mut from = 0;
    for (name, value) in query::known(&query, &["from"])? {
        from = query::number(name, &value, 0..=size)?;
    }
    let (hashes, checkpoint) = proof::consistency(app.shared().store.as_ref(), from).await?;
    Ok(Json(json!({ "from": from, "proof": hashes, "checkpoint": checkpoint })).into_response())
}

pub async fn receipt(app: &App, position: u64) -> Result<Receipt, Problem> {
    let shared = app.shared();
    Ok(proof::receipt(shared.store.as_ref(), &shared.vault, position).await?)
}

pub async fn proof(
    State(app): State<App>,
    reader: Reader,
    Path(position): Path,
) -> Result<Response, Problem> {
    let position = digits(&position).ok_or_else(Problem::not_found)?;
    let size = *app.shared().size().borrow();
    if position >= size {
        return Err(Problem::not_found());
    }
    let query = EntryQuery {
        from: position,
        limit: 1,
        ..EntryQuery::default()
    };
    let entry = app
        .shared()
        .entries(query)
        .await?
        .pop()
        .ok_or_else(Problem::not_found)?;
    if !reader.is_owner && !is_public(&entry) {
        return Err(Problem::not_found());
    }
    let receipt = receipt(&app, position).await?;
    Ok((
        [(header::CONTENT_TYPE, "application/json")],
        receipt.to_vec(),
    )
        .into_response())
}

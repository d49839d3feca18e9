//! The trail: entries, checkpoint, proofs, verifying and exporting.

use ::wake::sweep::digits;
use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::{
    look::{Look, Looked},
    proof::{self, ProofFault},
    read::Entry,
};
use serde_json::json;
use store::EntryQuery;
use trail::{Hash, Micros, Receipt, Stream};

use crate::{
    App, Problem,
    api::{
        Json,
        events::{is_public, is_public_stream},
    },
    auth::{Admin, Reader},
    limits::Holder,
    path::Path,
    query, walk,
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
    let names = [
        "agent_id",
        "stream",
        "event_type",
        "actor",
        "q",
        "since",
        "until",
        "cursor",
        "limit",
    ];
    let mut look = Look {
        limit: 50,
        ..Look::default()
    };
    for (name, value) in query::known(&query, &names)? {
        match name {
            "agent_id" | "stream" if look.stream.is_some() => {
                return Err(query::bad("stream", "left out when \"agent_id\" is given"));
            }
            "agent_id" => look.stream = Some(Stream::Agent(value).to_string()),
            "stream" => look.stream = Some(value),
            "event_type" => look.event_type = Some(value),
            "actor" => look.actor = Some(value),
            "q" => look.words = Some(value),
            "since" => look.since = Some(moment(name, &value)?),
            "until" => look.until = Some(moment(name, &value)?),
            "cursor" => look.at = Some(query::number(name, &value, 0..=i64::MAX as u64)?),
            "limit" => look.limit = query::number(name, &value, 1..=200)? as usize,
            _ => {}
        }
    }
    let Looked { entries, next, .. } =
        page(&app, reader.holder.as_ref(), reader.is_owner, &look).await?;
    let next_cursor = next.map(|next| next.to_string());
    Ok(Json(json!({ "entries": entries, "next_cursor": next_cursor })).into_response())
}

fn moment(field: &'static str, text: &str) -> Result<Micros, Problem> {
    Micros::parse(text).ok_or_else(|| query::bad(field, "a moment such as 2026-01-31T12:00:00Z"))
}

/// What one may see of what is looked for, newest first. Who has looked at too
/// much of late waits; the operator has no share, and does not.
pub async fn page(
    app: &App,
    holder: Option<&Holder>,
    is_owner: bool,
    look: &Look,
) -> Result<Looked, Problem> {
    let hidden = |stream: &String| !is_owner && !is_public_stream(stream);
    if look.stream.as_ref().is_some_and(hidden) {
        return Ok(Looked::default());
    }
    let visible = |entry: &Entry| is_owner || is_public(entry);
    let Some(holder) = holder else {
        return Ok(app.shared().look(look, &visible).await?);
    };
    let _place = app.limits.place_to_search(holder).await?;
    let now = app.shared().clock.now();
    app.limits.may_search(holder, now)?;
    let looked = app.shared().look(look, &visible).await?;
    app.limits.searched(holder, looked.looked_at, now);
    Ok(looked)
}

/// How the last verification went, and how far one is that runs.
pub async fn verification(State(app): State<App>, _: Admin) -> Response {
    Json(app.walks.verification()).into_response()
}

pub async fn verify(State(app): State<App>, _: Admin) -> Result<Response, Problem> {
    walk::verify(&app)?;
    Ok((StatusCode::ACCEPTED, Json(app.walks.verification())).into_response())
}

/// The whole log, as it is read.
pub async fn export(State(app): State<App>, _: Admin) -> Result<Response, Problem> {
    walk::export(&app).await
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

/// Public: a signature over the asker's nonce, which only the holder of the
/// log's key can make.
pub async fn presence(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut nonce = Hash([0; 32]);
    for (name, text) in query::known(&query, &["nonce"])? {
        nonce = Hash::from_hex(&text).ok_or_else(|| query::bad(name, "64 hex digits"))?;
    }
    let proof = app
        .shared()
        .keys
        .log
        .prove_presence(&nonce.0, app.settings.proven_port());
    Ok((
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        format!("{proof}\n"),
    )
        .into_response())
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

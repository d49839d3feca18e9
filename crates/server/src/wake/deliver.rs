//! `POST /wake/v1/deliver`: 201 means that it is durable.

use ::wake::{Fault, NewDelivery, limits, response::Receipt, secret};
use account::Actor;
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::{
    Refusal, Reply,
    command::{Deliver, Wake},
};
use trail::Hash;

use crate::{
    App, Problem,
    auth::{Agent, record_denial},
    body::{self, Sender},
};

pub async fn deliver(
    State(app): State<App>,
    Agent(key): Agent,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    app.limits.take_delivery(&key, app.shared().clock.now())?;
    let max_details = app.settings.max_details_bytes;
    let limit = max_details + limits::ENVELOPE_BYTES;
    let bytes = body::read(
        &app.bodies,
        Sender::Agent(&key.key_id),
        &headers,
        body,
        limit,
    )
    .await?;
    let idempotency_key = idempotency_key(&headers)?;
    let delivery = NewDelivery::parse(&bytes, max_details)?;
    if let Some(field) = own_key(&headers).and_then(|key| secret::field_with_this(&bytes, key)) {
        return Err(Fault::ContainsKey(named(&field)).into());
    }
    let idempotency = idempotency_key.map(|name| (name, Hash::of("wakeful/body/1", &[&bytes])));
    let key_id = key.key_id;
    let command = Wake::Deliver(Deliver {
        key_id,
        delivery,
        idempotency,
    });
    match app.engine.submit(command).await {
        Ok(Reply::Received {
            delivery_id,
            created_at,
        }) => {
            let body = Receipt::new(delivery_id, created_at).to_bytes();
            answer(Receipt::STATUS, body)
        }
        Ok(Reply::Repeated { status, body }) => answer(status, body),
        Ok(_) => Err(Problem::internal()),
        Err(refusal) => {
            if let Refusal::Wake(fault @ Fault::AgentMismatch(_)) = &refusal {
                let what = "POST /wake/v1/deliver as another agent".to_owned();
                record_denial(&app, Actor::agent(&key.agent_id), what, fault.code());
            }
            Err(refusal.into())
        }
    }
}

fn answer(status: u16, body: Vec<u8>) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(status).map_err(|_| Problem::internal())?;
    let json = [(header::CONTENT_TYPE, "application/json")];
    Ok((status, json, body).into_response())
}

/// The key that this request was sent with.
fn own_key(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (_, key) = authorization.split_once(' ')?;
    Some(key.trim_start()).filter(|key| !key.is_empty())
}

/// A field by the name that we have for it; what we do not know is the body's.
fn named(field: &str) -> &'static str {
    let known = [
        "agent_id",
        "provider",
        "headline",
        "summary",
        "details",
        "callback_webhook",
    ];
    let name = known.into_iter().find(|known| *known == field);
    name.unwrap_or("body")
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let visible = value.as_bytes().iter().all(u8::is_ascii_graphic);
    let fits = (1..=limits::IDEMPOTENCY_KEY).contains(&value.len());
    match value.to_str() {
        Ok(text) if visible && fits && values.next().is_none() => Ok(Some(text.to_owned())),
        _ => Err(Fault::IdempotencyKey),
    }
}

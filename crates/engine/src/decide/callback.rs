//! What came of an attempt at a callback: done, tried again later, or given up.

use account::Actor;
use store::CallbackRow;
use uuid::Uuid;
use wake::{
    event::{Outcome, WebhookAttempted, WebhookReplayed},
    webhook::retry_delay_ms,
};

use crate::{
    command::{Attempt, Reply},
    decide::account::may_administer,
    refusal::Refusal,
    stage::Stage,
};

pub const OWED: u8 = 0;
pub const DELIVERED: u8 = 1;
pub const GAVE_UP: u8 = 2;

/// The receiver says that it is gone for good.
const GONE: u16 = 410;

/// A callback that nobody has tried to send yet.
pub fn owed(no: u64, delivery_id: Uuid, now: trail::Micros) -> CallbackRow {
    CallbackRow {
        no,
        delivery_id,
        webhook_id: format!("msg_{}", delivery_id.simple()),
        attempts: 0,
        state: OWED,
        next_at: Some(now),
        last_error: None,
    }
}

pub fn record(stage: &mut Stage<'_>, attempt: &Attempt) -> Result<Reply, Refusal> {
    let row = stage.callback(attempt.callback).cloned();
    let row = row.ok_or(Refusal::NotFound)?;
    if row.next_at.is_none() {
        return Ok(Reply::Done);
    }
    let delivery = stage.delivery(row.delivery_id).ok_or(Refusal::NotFound)?;
    let stream = stage.stream_of(delivery.stream);
    let attempts = row.attempts + 1;
    let delivered = attempt.error.is_none();
    let wait_ms = match delivered || attempt.http_status == Some(GONE) {
        true => None,
        false => retry_delay_ms(attempts, attempt.random, attempt.retry_after_seconds),
    };
    let next_at = wait_ms.map(|ms| trail::Micros(stage.now.0 + ms * 1000));
    let (state, outcome) = match (delivered, next_at) {
        (true, _) => (DELIVERED, Outcome::Delivered),
        (false, Some(_)) => (OWED, Outcome::WillRetry),
        (false, None) => (GAVE_UP, Outcome::GaveUp),
    };
    let event = WebhookAttempted {
        attempt: attempts,
        delivery_id: row.delivery_id,
        error: attempt.error.clone(),
        http_status: attempt.http_status,
        next_attempt_at: next_at,
        outcome,
        took_ms: attempt.took_ms,
        webhook_id: row.webhook_id.clone(),
    };
    stage.record(
        &stream,
        &Actor::System,
        wake::Event::from(event),
        Vec::new(),
    )?;
    stage.set_callback(CallbackRow {
        attempts,
        state,
        next_at,
        last_error: attempt.error.clone(),
        ..row
    });
    Ok(Reply::Done)
}

/// Sends a finished callback again, with the same id and a fresh set of tries.
pub fn replay(
    stage: &mut Stage<'_>,
    actor: &Actor,
    callback: u64,
    delivery_id: Uuid,
) -> Result<Reply, Refusal> {
    may_administer(stage, actor)?;
    let row = stage.callback(callback).cloned();
    let row = row.ok_or(Refusal::NotFound)?;
    let delivery = stage.delivery(delivery_id).ok_or(Refusal::NotFound)?;
    let stream = stage.stream_of(delivery.stream);
    let event = WebhookReplayed {
        delivery_id,
        webhook_id: row.webhook_id.clone(),
    };
    let next_at = Some(stage.now);
    stage.record(&stream, actor, wake::Event::from(event), Vec::new())?;
    stage.set_callback(CallbackRow {
        attempts: 0,
        state: OWED,
        next_at,
        last_error: None,
        ..row
    });
    Ok(Reply::Done)
}

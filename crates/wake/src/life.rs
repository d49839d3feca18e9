//! The life of a delivery apart from its answer: received, and perhaps timed out.

use trail::Micros;
use uuid::Uuid;

use crate::{
    Fault, NewDelivery,
    event::{DeliveryReceived, DeliveryTimedOut},
    webhook::{CallbackUrl, UrlFault},
};

/// Who delivers: the key decides, not the payload.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    pub agent_id: &'a str,
    pub key_id: &'a str,
    pub test: bool,
}

/// Decides on a delivery. Its `details` stay with the caller, who records them
/// beside the event.
pub fn receive(
    sender: Sender<'_>,
    delivery: &NewDelivery,
    delivery_id: Uuid,
    allowed: impl Fn(&CallbackUrl) -> bool,
) -> Result<DeliveryReceived, Fault> {
    if delivery.agent_id != sender.agent_id {
        return Err(Fault::AgentMismatch(sender.agent_id.to_owned()));
    }
    if delivery
        .callback_webhook
        .as_ref()
        .is_some_and(|url| !allowed(url))
    {
        return Err(UrlFault::NotAllowed.into());
    }
    Ok(delivery.received(delivery_id, sender.key_id, sender.test))
}

/// The moment at which the agent moves on, if it said so.
pub fn timeout_at(received: &DeliveryReceived, created_at: Micros) -> Option<Micros> {
    received
        .timeout_seconds
        .map(|seconds| created_at.plus_seconds(seconds))
}

/// Decides whether the agent has moved on: a delivery that is still pending
/// when its time is over, once.
pub fn time_out(
    delivery_id: Uuid,
    pending: bool,
    timeout_at: Option<Micros>,
    now: Micros,
) -> Option<DeliveryTimedOut> {
    let over = pending && timeout_at.is_some_and(|at| at <= now);
    over.then_some(DeliveryTimedOut { delivery_id })
}

//! What happens to a delivery, as facts on the stream `agent/{agent_id}`.
//!
//! Fields stand in the order of their names: see `trail::canonical`.

use serde::{Deserialize, Serialize};
use trail::Micros;
use uuid::Uuid;

use crate::{DetailsFormat, Kind};

trail::registry! {
    /// The life of a delivery apart from its answer.
    Event {
        DeliveryReceived(DeliveryReceived) = "delivery_received",
        DeliveryTimedOut(DeliveryTimedOut) = "delivery_timed_out",
        WebhookAttempted(WebhookAttempted) = "webhook_attempted",
        WebhookReplayed(WebhookReplayed) = "webhook_replayed",
    }
}

/// An agent delivered. The content of `details` is an erasable part beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryReceived {
    pub agent_id: String,
    pub callback_webhook: Option<String>,
    pub delivery_id: Uuid,
    pub details_format: Option<DetailsFormat>,
    pub headline: String,
    pub key_id: String,
    pub provider: String,
    pub summary: String,
    pub test: bool,
    pub timeout_seconds: Option<i64>,
    pub r#type: Kind,
}

/// Nobody answered in time, so the agent went on with its assumptions. The
/// status stays `pending` and a person may still answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTimedOut {
    pub delivery_id: Uuid,
}

/// One try at telling the agent its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttempted {
    pub attempt: u32,
    pub delivery_id: Uuid,
    /// What went wrong, in words, unless it succeeded.
    pub error: Option<String>,
    pub http_status: Option<u16>,
    /// When it will be tried again, unless it succeeded or was given up.
    pub next_attempt_at: Option<Micros>,
    pub outcome: Outcome,
    pub took_ms: u64,
    pub webhook_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Delivered,
    WillRetry,
    GaveUp,
}

/// A person asked for the callback to be sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReplayed {
    pub delivery_id: Uuid,
    pub webhook_id: String,
}

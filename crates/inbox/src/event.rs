//! What people do with an item, as facts on the stream of its agent.
//!
//! The texts of an answer are erasable parts named `feedback` and
//! `edited_content`, beside the event that first recorded them.

use serde::{Deserialize, Serialize};
use trail::Micros;
use uuid::Uuid;

use crate::Verdict;

trail::registry! {
    /// What people do with an item.
    Event {
        AnswerHeld(AnswerHeld) = "answer_held",
        AnswerUndone(AnswerUndone) = "answer_undone",
        ContentErased(ContentErased) = "content_erased",
        DeliveryAnswered(DeliveryAnswered) = "delivery_answered",
        DeliverySeen(DeliverySeen) = "delivery_seen",
    }
}

trail::closed! {
    /// Through which surface a person acted.
    Channel {
        Api = "api",
        Page = "page",
        Terminal = "terminal",
    }
}

/// A person answered and may still take it back; the texts are parts of this entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerHeld {
    pub by: String,
    pub channel: Channel,
    pub delivery_id: Uuid,
    pub status: Verdict,
    pub until: Micros,
}

/// The one who answered took it back in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerUndone {
    pub by: String,
    pub delivery_id: Uuid,
}

/// The answer is final. When it was held, its texts are parts of the entry
/// that held it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAnswered {
    pub by: String,
    pub channel: Channel,
    pub delivery_id: Uuid,
    pub held: bool,
    pub status: Verdict,
}

/// A person looked at it for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverySeen {
    pub by: String,
    pub delivery_id: Uuid,
}

/// A retention rule, or an owner, removed the erasable parts of these
/// deliveries, whose entries and proofs stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentErased {
    /// The owner who did not wait for a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub delivery_ids: Vec<Uuid>,
    /// The rule: so many days after the last change. 0 without one.
    pub retention_days: u32,
}

//! The JSON that the plain server takes and gives: WAKE's bodies, checked only
//! as far as serde checks them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::store::Row;

#[derive(Deserialize)]
pub struct Delivery {
    pub agent_id: String,
    pub provider: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub headline: String,
    pub summary: String,
    pub details: Option<Box<RawValue>>,
    pub callback_webhook: Option<String>,
    pub timeout_seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Update,
    Question,
    Output,
    Alert,
}

#[derive(Serialize)]
pub struct Receipt {
    pub delivery_id: Uuid,
    pub status: &'static str,
    pub created_at: Timestamp,
}

#[derive(Deserialize)]
pub struct Given {
    pub status: Status,
    pub feedback: Option<String>,
    pub edited_content: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Approved,
    Rejected,
    Redirected,
}

#[derive(Serialize)]
pub struct Standing {
    pub delivery_id: Uuid,
    pub status: String,
    pub feedback: Option<String>,
    pub edited_content: Option<Box<RawValue>>,
    pub responded_at: Option<Timestamp>,
    #[serde(skip)]
    pub changed_at: i64,
}

#[derive(Deserialize)]
pub struct SweepQuery {
    pub agent_id: String,
    pub since: Option<Timestamp>,
    pub limit: Option<u32>,
}

#[derive(Serialize)]
pub struct Swept {
    pub deliveries: Vec<Standing>,
    pub total: i64,
    pub has_more: bool,
    pub next_since: Option<Timestamp>,
}

impl Delivery {
    pub fn into_row(self, id: Uuid) -> Row {
        Row {
            id,
            agent_id: self.agent_id,
            provider: self.provider,
            kind: match self.kind {
                Kind::Update => "update",
                Kind::Question => "question",
                Kind::Output => "output",
                Kind::Alert => "alert",
            },
            headline: self.headline,
            summary: self.summary,
            details: self.details.map(|raw| raw.get().into()),
            callback_webhook: self.callback_webhook,
            timeout_seconds: self.timeout_seconds,
        }
    }
}

impl Status {
    pub fn name(&self) -> &'static str {
        match self {
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Redirected => "redirected",
        }
    }
}

impl Standing {
    pub fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let edited: Option<String> = row.get(3)?;
        let responded_at: Option<i64> = row.get(4)?;
        Ok(Standing {
            delivery_id: Uuid::from_bytes(row.get(0)?),
            status: row.get(1)?,
            feedback: row.get(2)?,
            edited_content: edited.and_then(|text| RawValue::from_string(text).ok()),
            responded_at: responded_at.and_then(|us| Timestamp::from_microsecond(us).ok()),
            changed_at: row.get(5)?,
        })
    }
}

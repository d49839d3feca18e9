//! Items as the API gives them and programs read them: one definition for both
//! ends, so that a field which the server adds is one that every reader must
//! look at.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trail::Micros;
use wake::{DetailsFormat, Kind, Status};

use crate::{ItemId, Verdict};

/// JSON as it was received.
pub type Text = Option<Box<RawValue>>;

/// One item of the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed {
    pub id: ItemId,
    pub agent_id: String,
    pub provider: String,
    pub r#type: Kind,
    pub status: Status,
    pub headline: String,
    pub summary: String,
    pub test: bool,
    pub created_at: Micros,
    pub responded_at: Option<Micros>,
    pub answered_by: Option<String>,
    /// When the agent goes on without an answer.
    pub timeout_at: Option<Micros>,
    /// It has gone on; a person may still answer.
    pub timed_out: bool,
    pub held: Option<Held>,
    pub content_erased: bool,
    /// Place in the log, for proofs.
    pub position: u64,
}

/// An answer that can still be undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    pub by: String,
    pub status: Verdict,
    pub until: Micros,
}

/// What an item has beyond its line in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Content {
    pub details: Text,
    pub details_format: Option<DetailsFormat>,
    /// How the pages show the details that are there.
    pub shown_format: Option<DetailsFormat>,
    pub callback_webhook: Option<String>,
    pub feedback: Text,
    pub edited_content: Text,
}

/// An item with its content.
#[derive(Clone, Debug, Serialize)]
pub struct Whole {
    #[serde(flatten)]
    pub listed: Listed,
    #[serde(flatten)]
    pub content: Content,
}

impl Whole {
    /// Reads both halves on their own: content is kept as the bytes it is, which
    /// serde cannot do for what is flattened.
    pub fn read(body: &[u8]) -> serde_json::Result<Whole> {
        Ok(Whole {
            listed: serde_json::from_slice(body)?,
            content: serde_json::from_slice(body)?,
        })
    }
}

/// One page of the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    pub items: Vec<Listed>,
    pub next_cursor: Option<String>,
    /// Items that were changed on the disk and are not listed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub damaged: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// What became of an answer: it is final, or it is held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The item. Its name is that of the first kind of items there was.
    #[serde(rename = "delivery_id")]
    pub item: ItemId,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responded_at: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Micros>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_item_is_read_as_it_is_written_and_keeps_the_bytes_of_its_content() {
        let text = r#"{"id":"550e8400-e29b-41d4-a716-446655440000","agent_id":"a","provider":"p","type":"question","status":"pending","headline":"h","summary":"s","test":false,"created_at":"2026-11-15T22:00:00.000000Z","responded_at":null,"answered_by":null,"timeout_at":null,"timed_out":false,"held":{"by":"bob","status":"approved","until":"2026-11-15T22:00:30.000000Z"},"content_erased":false,"position":7,"details":{ "n": 1.10 },"details_format":"json","shown_format":"json","callback_webhook":null,"feedback":null,"edited_content":null}"#;
        let whole = Whole::read(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&whole).unwrap(), text);
    }
}

//! What the agent gets back. One function writes the bytes, for the poll, the
//! sweep and the webhook alike, so that a callback body is the GET body.

use serde::Serialize;
use serde_json::value::RawValue;
use trail::Micros;
use uuid::Uuid;

use crate::Status;

/// The answer to one delivery as it stands now.
#[derive(Debug, Serialize)]
pub struct Response<'a> {
    pub delivery_id: Uuid,
    pub status: Status,
    pub feedback: Option<&'a RawValue>,
    pub edited_content: Option<&'a RawValue>,
    pub responded_at: Option<Micros>,
    /// The answer stands, but its text was erased under a retention rule.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub content_erased: bool,
}

impl Response<'_> {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(192);
        self.write(&mut bytes);
        bytes
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        serde_json::to_writer(bytes, self).expect("writing to memory cannot fail");
    }
}

/// The answer to a delivery: 201.
#[derive(Debug, Serialize)]
pub struct Receipt {
    pub delivery_id: Uuid,
    pub status: &'static str,
    pub created_at: Micros,
}

impl Receipt {
    pub fn new(delivery_id: Uuid, created_at: Micros) -> Receipt {
        Receipt {
            delivery_id,
            status: "received",
            created_at,
        }
    }
}

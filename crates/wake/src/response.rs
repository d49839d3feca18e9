//! What the agent gets back. One function writes the bytes, for the poll, the
//! sweep and the webhook alike, so that a callback body is the GET body.

use std::io::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;
use trail::Micros;
use uuid::Uuid;

use crate::Status;

/// The answer to one delivery as it stands now.
#[derive(Debug)]
pub struct Response<'a> {
    pub delivery_id: Uuid,
    pub status: Status,
    pub feedback: Option<&'a RawValue>,
    pub edited_content: Option<&'a RawValue>,
    pub responded_at: Option<Micros>,
    /// The texts of the answer, or of a delivery that nobody answered, were erased.
    pub content_erased: bool,
}

impl Response<'_> {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(192);
        self.write(&mut bytes);
        bytes
    }

    /// By hand: a sweep writes two hundred of them.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let text = |bytes: &mut Vec<u8>, raw: Option<&RawValue>| {
            bytes.extend_from_slice(raw.map_or("null", RawValue::get).as_bytes());
        };
        bytes.extend_from_slice(b"{\"delivery_id\":\"");
        let mut id = [0; uuid::fmt::Hyphenated::LENGTH];
        bytes.extend_from_slice(
            self.delivery_id
                .hyphenated()
                .encode_lower(&mut id)
                .as_bytes(),
        );
        bytes.extend_from_slice(b"\",\"status\":\"");
        bytes.extend_from_slice(self.status.as_str().as_bytes());
        bytes.extend_from_slice(b"\",\"feedback\":");
        text(bytes, self.feedback);
        bytes.extend_from_slice(b",\"edited_content\":");
        text(bytes, self.edited_content);
        bytes.extend_from_slice(b",\"responded_at\":");
        match self.responded_at {
            None => bytes.extend_from_slice(b"null"),
            Some(at) => write!(bytes, "\"{at}\"").expect("writing to memory cannot fail"),
        }
        if self.content_erased {
            bytes.extend_from_slice(b",\"content_erased\":true");
        }
        bytes.push(b'}');
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
    /// The HTTP status that it is sent with.
    pub const STATUS: u16 = 201;

    pub fn new(delivery_id: Uuid, created_at: Micros) -> Receipt {
        Receipt {
            delivery_id,
            status: "received",
            created_at,
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an id and a time can be written as JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_written_as_the_protocol_shows_it() {
        let feedback = RawValue::from_string(r#""Great \"work\".""#.to_owned()).unwrap();
        let edited = RawValue::from_string(r#"{ "n": 1.10 }"#.to_owned()).unwrap();
        let mut response = Response {
            delivery_id: Uuid::from_u128(0x550e8400_e29b_41d4_a716_446655440000),
            status: Status::Redirected,
            feedback: Some(&feedback),
            edited_content: Some(&edited),
            responded_at: Some(Micros(1_772_874_862_000_000)),
            content_erased: false,
        };
        assert_eq!(
            String::from_utf8(response.to_bytes()).unwrap(),
            r#"{"delivery_id":"550e8400-e29b-41d4-a716-446655440000","status":"redirected","feedback":"Great \"work\".","edited_content":{ "n": 1.10 },"responded_at":"2026-03-07T09:14:22.000000Z"}"#
        );
        response.status = Status::Pending;
        (
            response.feedback,
            response.edited_content,
            response.responded_at,
        ) = (None, None, None);
        response.content_erased = true;
        assert_eq!(
            String::from_utf8(response.to_bytes()).unwrap(),
            r#"{"delivery_id":"550e8400-e29b-41d4-a716-446655440000","status":"pending","feedback":null,"edited_content":null,"responded_at":null,"content_erased":true}"#
        );
    }
}

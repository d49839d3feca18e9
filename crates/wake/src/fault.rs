//! Why a request to this door is refused: a closed list with stable codes.
//!
//! 400 means that the body could not be read as a delivery, 422 that a field
//! is there and its value is not acceptable.

use trail::KeyName;

/// What is wrong with a request, worded for the one who must mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("The body is {0}. Send one JSON object.")]
    NotJson(trail::json::Fault),
    #[error("The body repeats the key {0}. Send each key once.")]
    DuplicateKey(KeyName),
    #[error("The body is JSON but not an object. Send one JSON object.")]
    NotAnObject,
    #[error("The required field \"{0}\" is missing. Add it.")]
    Missing(&'static str),
    #[error("\"{field}\" must be {expected}.")]
    WrongType {
        field: &'static str,
        expected: &'static str,
    },
    #[error("\"{field}\" must be one of {expected}.")]
    NotOneOf {
        field: &'static str,
        expected: &'static str,
    },
    #[error("\"{field}\" must be one of {expected}, separated by commas.")]
    NotAllOf {
        field: &'static str,
        expected: &'static str,
    },
    #[error("\"{0}\" is empty. Write at least one character that is no blank.")]
    Empty(&'static str),
    #[error("\"{field}\" has {length} characters; shorten it to at most {max}.")]
    TooLong {
        field: &'static str,
        length: usize,
        max: usize,
    },
    #[error("\"details\" has {length} bytes; send at most {max}, or a link to the rest.")]
    DetailsTooLarge { length: usize, max: usize },
    #[error("\"callback_webhook\" {0}")]
    Webhook(#[from] crate::webhook::UrlFault),
    #[error("\"timeout_seconds\" must be an integer from 60 to 604800, or null.")]
    Timeout,
    #[error(
        "This key delivers as \"{0}\" only. Use that \"agent_id\", or the other agent's own key."
    )]
    AgentMismatch(String),
    #[error("\"since\" must be an ISO 8601 moment, such as \"next_since\" of the last sweep.")]
    Since,
    #[error(
        "\"{0}\" contains the key that this request was sent with. Leave it out, and have the key rotated if anyone has seen it."
    )]
    ContainsKey(&'static str),
    #[error("\"limit\" must be an integer from 1 to 200.")]
    Limit,
    #[error("\"wait\" must be an integer from 0 to 60.")]
    Wait,
    #[error(
        "\"Idempotency-Key\" must have 1 to 255 visible ASCII characters, without blanks, and be sent once."
    )]
    IdempotencyKey,
}

impl Fault {
    /// Whether the body could not be read at all (400) or was read and refused (422).
    pub fn is_malformed(&self) -> bool {
        matches!(
            self,
            Fault::NotJson(_) | Fault::DuplicateKey(_) | Fault::NotAnObject | Fault::Missing(_)
        )
    }

    pub fn code(&self) -> &'static str {
        match self {
            Fault::NotJson(_) => "not_json",
            Fault::DuplicateKey(_) => "duplicate_key",
            Fault::NotAnObject => "not_an_object",
            Fault::Missing(_) => "missing_field",
            Fault::WrongType { .. } => "wrong_type",
            Fault::NotOneOf { .. } | Fault::NotAllOf { .. } => "unknown_value",
            Fault::Empty(_) => "empty_field",
            Fault::TooLong { .. } => "too_long",
            Fault::DetailsTooLarge { .. } => "details_too_large",
            Fault::Webhook(fault) => fault.code(),
            Fault::Timeout => "timeout_out_of_range",
            Fault::AgentMismatch(_) => "agent_id_mismatch",
            Fault::ContainsKey(_) => "contains_key",
            Fault::Since => "bad_since",
            Fault::Limit => "limit_out_of_range",
            Fault::Wait => "wait_out_of_range",
            Fault::IdempotencyKey => "bad_idempotency_key",
        }
    }

    pub fn field(&self) -> Option<&'static str> {
        match self {
            Fault::NotJson(_) | Fault::DuplicateKey(_) | Fault::NotAnObject => None,
            Fault::Missing(field) | Fault::Empty(field) => Some(field),
            Fault::WrongType { field, .. }
            | Fault::NotOneOf { field, .. }
            | Fault::NotAllOf { field, .. }
            | Fault::TooLong { field, .. } => Some(field),
            Fault::DetailsTooLarge { .. } => Some("details"),
            Fault::Webhook(_) => Some("callback_webhook"),
            Fault::Timeout => Some("timeout_seconds"),
            Fault::AgentMismatch(_) => Some("agent_id"),
            Fault::ContainsKey(field) => Some(field),
            Fault::Since => Some("since"),
            Fault::Limit => Some("limit"),
            Fault::Wait => Some("wait"),
            Fault::IdempotencyKey => Some("Idempotency-Key"),
        }
    }
}

impl From<trail::json::Fault> for Fault {
    fn from(fault: trail::json::Fault) -> Fault {
        match fault {
            trail::json::Fault::DuplicateKey { key, .. } => Fault::DuplicateKey(key),
            other => Fault::NotJson(other),
        }
    }
}

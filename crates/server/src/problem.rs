//! Every refusal is an RFC 9457 problem: a stable code, the field it is about,
//! and one sentence that says what to do. A failure of ours tells nothing.
//!
//! The optional member `status` is left out. The samples in both WAKE documents
//! take whatever has a `status` other than `pending` for the human's answer: a
//! body with `"status": 404` would be handed to the agent as one.

use std::collections::BTreeMap;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::Refusal;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::code::Code;

#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    /// The same where a label names the field already.
    in_form: Option<Box<str>>,
    field: Option<&'static str>,
    retry_after_seconds: Option<u64>,
    /// Whether a 401 says that a token was sent and is not valid (RFC 6750 §3.1).
    is_token_invalid: bool,
    more: BTreeMap<&'static str, Box<RawValue>>,
}

/// Beside the answer that a problem became: its sentence, for a page.
#[derive(Clone, Debug)]
pub struct Told(pub String);

/// What goes over the wire.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'a str,
    title: &'a str,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(flatten)]
    more: &'a BTreeMap<&'static str, Box<RawValue>>,
}

impl Problem {
    pub fn new(status: StatusCode, code: Code, detail: impl Into<String>) -> Problem {
        Problem::by_rule(status, code.as_str(), detail.into())
    }

    /// A refusal by a rule, which has a code of its own.
    fn by_rule(status: StatusCode, code: &'static str, detail: String) -> Problem {
        Problem {
            status,
            code,
            detail,
            in_form: None,
            field: None,
            retry_after_seconds: None,
            is_token_invalid: false,
            more: BTreeMap::new(),
        }
    }

    /// A value that is not acceptable for what it is: `fault` follows the name of
    /// the field, or "It" where a label names it.
    pub fn value(code: Code, field: &'static str, fault: &str) -> Problem {
        let detail = format!("\"{field}\" {fault}");
        Problem {
            in_form: Some(format!("It {fault}").into()),
            ..Problem::unacceptable(code, field, detail)
        }
    }

    /// A value that cannot be read: `advice` says how to write it.
    pub fn spelling(code: Code, field: &'static str, advice: &str) -> Problem {
        let mut letters = advice.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let detail = format!("In \"{field}\", {advice}");
        Problem {
            in_form: Some(first.into_iter().chain(letters).collect::<String>().into()),
            ..Problem::unacceptable(code, field, detail)
        }
    }

    fn unacceptable(code: Code, field: &'static str, detail: String) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail).field(Some(field))
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What is wrong, for a form that has a label for each field.
    pub fn in_form(&self) -> &str {
        self.in_form.as_deref().unwrap_or(&self.detail)
    }

    /// The same refusal in other words.
    pub fn with_detail(mut self, detail: String) -> Problem {
        (self.detail, self.in_form) = (detail, None);
        self
    }

    pub fn field(mut self, field: Option<&'static str>) -> Problem {
        self.field = field;
        self
    }

    pub fn retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Adds a member; content goes in as the bytes it is.
    pub fn with(mut self, name: &'static str, value: impl Serialize) -> Problem {
        self.more
            .extend(to_raw_value(&value).map(|raw| (name, raw)));
        self
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The same words whether a key is unknown, malformed or revoked.
    pub fn unauthenticated() -> Problem {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            Code::Unauthenticated,
            "Send a valid key or token as Authorization: Bearer. Ask your human for a new one if this one stopped working.",
        )
    }

    /// The same to whoever sent a token.
    pub fn invalid_token() -> Problem {
        Problem {
            is_token_invalid: true,
            ..Problem::unauthenticated()
        }
    }

    pub fn not_found() -> Problem {
        Problem::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "There is nothing here. Check the address and the id.",
        )
    }

    pub fn unavailable() -> Problem {
        let detail = "Nothing was recorded, because storage is not available. Try again shortly.";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, detail).retry_after(5)
    }

    /// Trying again would not help, and what was changed is shown to nobody.
    pub fn damaged() -> Problem {
        let detail = "This is not as the server wrote it, so it is not shown. Whoever runs the server finds in its log how to repair it.";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Damaged, detail)
    }

    pub fn internal() -> Problem {
        let detail = "The server failed. Its log says why; try again later.";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            code: self.code,
            detail: &self.detail,
            field: self.field,
            more: &self.more,
        };
        let content = HeaderValue::from_static("application/problem+json");
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        response.extensions_mut().insert(Told(self.detail));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = match self.is_token_invalid {
                true => "Bearer error=\"invalid_token\"",
                false => "Bearer",
            };
            let challenge = HeaderValue::from_static(challenge);
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn malformed_or_invalid(malformed: bool) -> StatusCode {
    if malformed {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    }
}

impl From<::wake::Fault> for Problem {
    fn from(fault: ::wake::Fault) -> Problem {
        let status = malformed_or_invalid(fault.is_malformed());
        Problem::by_rule(status, fault.code(), fault.to_string()).field(fault.field())
    }
}

impl From<inbox::Fault> for Problem {
    fn from(fault: inbox::Fault) -> Problem {
        let status = malformed_or_invalid(fault.is_malformed());
        Problem::by_rule(status, fault.code(), fault.to_string()).field(fault.field())
    }
}

impl From<inbox::Rejection> for Problem {
    fn from(rejection: inbox::Rejection) -> Problem {
        let problem = Problem::by_rule(
            StatusCode::CONFLICT,
            rejection.code(),
            rejection.to_string(),
        );
        match rejection {
            inbox::Rejection::AlreadyAnswered { by, verdict, at } => problem
                .with("answered_by", by)
                .with("status_given", verdict.as_str())
                .with("responded_at", at.to_string()),
            inbox::Rejection::HeldByAnother { by, verdict, until } => problem
                .with("held_by", by)
                .with("status_given", verdict.as_str())
                .with("held_until", until.to_string()),
            inbox::Rejection::HeldByYou { verdict, until } => problem
                .with("status_given", verdict.as_str())
                .with("held_until", until.to_string()),
            inbox::Rejection::NothingHeld | inbox::Rejection::StillOpen => problem,
        }
    }
}

impl From<account::Rejection> for Problem {
    fn from(rejection: account::Rejection) -> Problem {
        use account::Rejection as R;
        let status = match &rejection {
            absent if absent.is_absence() => StatusCode::NOT_FOUND,
            R::UserExists(_)
            | R::AgentExists(_)
            | R::AgentHasKeys(_)
            | R::AlreadyAllowed(_)
            | R::LastOwner(_)
            | R::Deactivated(_)
            | R::KeyRevoked(_)
            | R::KeyEndsSooner(_)
            | R::NotADevice(_)
            | R::TooMany { .. }
            | R::NoOwner => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Problem::by_rule(status, rejection.code(), rejection.to_string()).field(rejection.field())
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::Wake(fault) => fault.into(),
            Refusal::Inbox(rejection) => rejection.into(),
            Refusal::Account(rejection) => rejection.into(),
            Refusal::KeyGone | Refusal::PersonGone => Problem::invalid_token(),
            Refusal::RateLimited { retry_after_seconds } => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                Code::RateLimited,
                "Too many deliveries. Wait as long as Retry-After says, try once more, and raise one alert if that fails.",
            )
            .retry_after(retry_after_seconds),
            Refusal::IdempotencyMismatch => Problem::new(
                StatusCode::CONFLICT,
                Code::IdempotencyMismatch,
                "This Idempotency-Key came with another body within the last day. Use a new key for a new delivery.",
            )
            .field(Some("Idempotency-Key")),
            Refusal::NotFound => Problem::not_found(),
            Refusal::Unavailable => Problem::unavailable(),
            Refusal::Busy => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, "Too many requests are waiting. Try again shortly.")
                    .retry_after(1)
            }
            Refusal::Stopping => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Stopping, "The server is stopping. Try again shortly.")
                    .retry_after(5)
            }
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Problem {
        tracing::error!(%error, "a read failed");
        match error {
            store::Error::Unavailable(_) | store::Error::Conflict => Problem::unavailable(),
            store::Error::Damaged(_) => Problem::damaged(),
            store::Error::OtherSeal | store::Error::Broken(_) | store::Error::TooNew { .. } => {
                Problem::internal()
            }
        }
    }
}

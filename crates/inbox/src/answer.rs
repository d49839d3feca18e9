//! The three answers: raw bytes become a [`Request`] that cannot be wrong.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use trail::{KeyName, json};

/// Feedback is a line or a page, not a file.
pub const FEEDBACK_CHARS: usize = 20_000;
pub const EDITED_BYTES: usize = 1 << 20;
pub const HOLD_SECONDS: std::ops::RangeInclusive<i64> = 0..=30;

trail::closed! {
    /// The three answers.
    Verdict {
        Approved = "approved",
        Rejected = "rejected",
        Redirected = "redirected",
    }
}

impl Verdict {
    /// Whether the content may be changed with it.
    pub fn may_edit(self) -> bool {
        match self {
            Verdict::Redirected => true,
            Verdict::Approved | Verdict::Rejected => false,
        }
    }

    /// Whether it tells an agent nothing unless something is written with it.
    pub fn needs_text(self) -> bool {
        match self {
            Verdict::Redirected => true,
            Verdict::Approved | Verdict::Rejected => false,
        }
    }
}

/// What a person says to an item. The texts are the exact JSON bytes received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    pub feedback: Option<Vec<u8>>,
    pub edited_content: Option<Vec<u8>>,
}

/// An answer as one gives it: what a program sends as a body, and a page by a
/// form. [`Request::new`] says whether it can be taken.
#[derive(Clone, Debug, Serialize)]
pub struct Given {
    pub status: Verdict,
    pub feedback: Option<String>,
    pub edited_content: Option<Box<RawValue>>,
    pub hold_seconds: i64,
}

/// An answer and how long it may be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub answer: Answer,
    pub hold_seconds: i64,
}

/// Why an answer is refused before it is looked at against the item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("The body is {0}. Send one JSON object.")]
    NotJson(json::Fault),
    #[error("The body repeats the key {0}. Send each key once.")]
    DuplicateKey(KeyName),
    #[error("The body is JSON but not an object. Send one JSON object.")]
    NotAnObject,
    #[error("The required field \"status\" is missing. Send approved, rejected or redirected.")]
    MissingStatus,
    #[error("\"status\" must be one of {}.", Verdict::NAMES)]
    Status,
    #[error("\"feedback\" must be a string of at most 20000 characters, or null.")]
    Feedback,
    #[error("\"edited_content\" must be an object, a string or null, of at most 1 MiB.")]
    Edited,
    #[error("\"edited_content\" goes only with redirected. Leave it out, or redirect.")]
    EditedWithoutRedirect,
    #[error("redirected needs \"feedback\" or \"edited_content\": say what to do instead.")]
    EmptyRedirect,
    #[error("\"hold_seconds\" must be an integer from 0 to 30.")]
    Hold,
}

impl Fault {
    pub fn is_malformed(&self) -> bool {
        matches!(
            self,
            Fault::NotJson(_) | Fault::DuplicateKey(_) | Fault::NotAnObject | Fault::MissingStatus
        )
    }

    pub fn code(&self) -> &'static str {
        match self {
            Fault::NotJson(_) => "not_json",
            Fault::DuplicateKey(_) => "duplicate_key",
            Fault::NotAnObject => "not_an_object",
            Fault::MissingStatus => "missing_field",
            Fault::Status => "unknown_value",
            Fault::Feedback => "bad_feedback",
            Fault::Edited => "bad_edited_content",
            Fault::EditedWithoutRedirect => "edited_without_redirect",
            Fault::EmptyRedirect => "empty_redirect",
            Fault::Hold => "hold_out_of_range",
        }
    }

    pub fn field(&self) -> Option<&'static str> {
        match self {
            Fault::NotJson(_) | Fault::DuplicateKey(_) | Fault::NotAnObject => None,
            Fault::MissingStatus | Fault::Status => Some("status"),
            Fault::Feedback => Some("feedback"),
            Fault::Edited | Fault::EditedWithoutRedirect | Fault::EmptyRedirect => {
                Some("edited_content")
            }
            Fault::Hold => Some("hold_seconds"),
        }
    }
}

impl From<json::Fault> for Fault {
    fn from(fault: json::Fault) -> Fault {
        match fault {
            json::Fault::DuplicateKey { key, .. } => Fault::DuplicateKey(key),
            other => Fault::NotJson(other),
        }
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    status: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    feedback: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    edited_content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    hold_seconds: Option<&'a RawValue>,
}

impl Request {
    pub fn parse(body: &[u8]) -> Result<Request, Fault> {
        json::scan(body, json::Rules::REQUEST)?;
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(Fault::NotAnObject);
        }
        let raw: Raw<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotAnObject)?;
        let status = raw.status.ok_or(Fault::MissingStatus)?;
        let verdict = serde_json::from_str(status.get()).map_err(|_| Fault::Status)?;
        let answer = Answer {
            verdict,
            feedback: given(raw.feedback).map(feedback).transpose()?.flatten(),
            edited_content: given(raw.edited_content).map(edited).transpose()?,
        };
        let hold_seconds = given(raw.hold_seconds).map(hold).transpose()?.unwrap_or(0);
        Request::of(answer, hold_seconds)
    }

    /// The same for an answer that no JSON object was made of.
    pub fn new(given: Given) -> Result<Request, Fault> {
        let Given {
            status,
            feedback: text,
            edited_content,
            hold_seconds,
        } = given;
        let text = text.map(|text| to_raw_value(&text)).transpose();
        let text = text.map_err(|_| Fault::Feedback)?;
        if let Some(json) = &edited_content {
            // In a body it would lie one level deeper.
            let mut rules = json::Rules::REQUEST;
            rules.max_depth -= 1;
            json::scan(json.get().as_bytes(), rules)?;
        }
        if !HOLD_SECONDS.contains(&hold_seconds) {
            return Err(Fault::Hold);
        }
        let answer = Answer {
            verdict: status,
            feedback: text.as_deref().map(feedback).transpose()?.flatten(),
            edited_content: edited_content.as_deref().map(edited).transpose()?,
        };
        Request::of(answer, hold_seconds)
    }

    /// Refuses what does not go together.
    fn of(answer: Answer, hold_seconds: i64) -> Result<Request, Fault> {
        let (verdict, edited) = (answer.verdict, answer.edited_content.as_deref());
        // An empty string alone tells an agent no more than nothing would.
        let says_nothing = answer.feedback.is_none() && edited.is_none_or(|json| json == b"\"\"");
        match () {
            () if verdict.needs_text() && says_nothing => Err(Fault::EmptyRedirect),
            () if !verdict.may_edit() && edited.is_some() => Err(Fault::EditedWithoutRedirect),
            () => Ok(Request {
                answer,
                hold_seconds,
            }),
        }
    }
}

fn given(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

/// An empty string says nothing, so it counts as no feedback.
fn feedback(raw: &RawValue) -> Result<Option<Vec<u8>>, Fault> {
    let text: String = serde_json::from_str(raw.get()).map_err(|_| Fault::Feedback)?;
    match text.chars().count() {
        0 => Ok(None),
        1..=FEEDBACK_CHARS => Ok(Some(raw.get().as_bytes().to_vec())),
        _ => Err(Fault::Feedback),
    }
}

fn edited(raw: &RawValue) -> Result<Vec<u8>, Fault> {
    let bytes = raw.get().as_bytes();
    match bytes.first() {
        Some(b'{' | b'"') if bytes.len() <= EDITED_BYTES => Ok(bytes.to_vec()),
        _ => Err(Fault::Edited),
    }
}

fn hold(raw: &RawValue) -> Result<i64, Fault> {
    let number: f64 = serde_json::from_str(raw.get()).map_err(|_| Fault::Hold)?;
    let seconds = number as i64;
    match number.fract() == 0.0 && HOLD_SECONDS.contains(&seconds) {
        true => Ok(seconds),
        false => Err(Fault::Hold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Request, Fault> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn redirected_needs_feedback_or_edited_content() {
        assert_eq!(
            parse(r#"{"status":"redirected"}"#),
            Err(Fault::EmptyRedirect)
        );
        assert_eq!(
            parse(r#"{"status":"redirected","feedback":""}"#),
            Err(Fault::EmptyRedirect)
        );
        assert_eq!(
            parse(r#"{"status":"redirected","feedback":"","edited_content":""}"#),
            Err(Fault::EmptyRedirect)
        );
        assert!(parse(r#"{"status":"redirected","feedback":"b"}"#).is_ok());
        assert!(parse(r#"{"status":"redirected","edited_content":{"a":1}}"#).is_ok());
    }

    #[test]
    fn a_repeated_key_is_named() {
        let fault = parse(r#"{"status":"approved","status":"rejected"}"#).unwrap_err();
        assert_eq!((fault.code(), fault.field()), ("duplicate_key", None));
        assert_eq!(
            fault.to_string(),
            "The body repeats the key \"status\". Send each key once."
        );
    }

    #[test]
    fn edited_content_goes_only_with_redirected() {
        for status in ["approved", "rejected"] {
            let body = format!(r#"{{"status":"{status}","edited_content":"x"}}"#);
            assert_eq!(parse(&body), Err(Fault::EditedWithoutRedirect));
            let null = format!(r#"{{"status":"{status}","edited_content":null}}"#);
            assert!(parse(&null).is_ok());
        }
        for value in ["1", "true", "[1]"] {
            let body = format!(r#"{{"status":"redirected","edited_content":{value}}}"#);
            assert_eq!(parse(&body), Err(Fault::Edited));
        }
    }

    #[test]
    fn edited_content_keeps_its_exact_bytes() {
        let request = parse(
            r#"{"status":"redirected","edited_content":{ "n": 1.10e400, "n2":9007199254740993 }}"#,
        );
        assert_eq!(
            request.unwrap().answer.edited_content.unwrap(),
            br#"{ "n": 1.10e400, "n2":9007199254740993 }"#
        );
    }

    #[test]
    fn a_form_and_a_body_that_say_the_same_are_the_same_request() {
        let edited = r#"{ "n": 1.10e400 }"#;
        let given = |status, edited: Option<&str>, hold_seconds| Given {
            status,
            feedback: Some("as \"said\"".to_owned()),
            edited_content: edited.map(|json| serde_json::from_str(json).unwrap()),
            hold_seconds,
        };
        for given in [
            given(Verdict::Approved, None, 5),
            given(Verdict::Redirected, Some(edited), 0),
            given(Verdict::Approved, Some(edited), 0),
            given(Verdict::Redirected, Some("[1]"), 0),
            given(Verdict::Redirected, None, 31),
        ] {
            let body = serde_json::to_string(&given).unwrap();
            assert_eq!(Request::new(given), parse(&body), "{body}");
        }
        let twice = given(Verdict::Redirected, Some(r#"{"a":1,"a":2}"#), 0);
        assert_eq!(Request::new(twice).unwrap_err().code(), "duplicate_key");
    }

    #[test]
    fn pending_and_other_words_are_no_answer_and_a_hold_is_short() {
        for body in [
            r#"{"status":"pending"}"#,
            r#"{"status":"ok"}"#,
            r#"{"status":1}"#,
        ] {
            assert_eq!(parse(body), Err(Fault::Status));
        }
        assert_eq!(parse("{}"), Err(Fault::MissingStatus));
        for hold in ["31", "-1", "1.5", "\"5\"", "1e99"] {
            let body = format!(r#"{{"status":"approved","hold_seconds":{hold}}}"#);
            assert_eq!(parse(&body), Err(Fault::Hold), "{hold}");
        }
        assert_eq!(
            parse(r#"{"status":"approved","hold_seconds":5}"#)
                .unwrap()
                .hold_seconds,
            5
        );
    }
}

//! What an agent delivers: raw bytes become a [`NewDelivery`] that cannot be
//! wrong, or a [`Fault`].
//!
//! `details` is kept as the exact bytes received. Unknown fields are ignored,
//! so that an agent written for a later minor version still works.

use serde::Deserialize;
use serde_json::value::RawValue;
use trail::json;

use crate::{Fault, limits, webhook::CallbackUrl};

trail::closed! {
    /// Why the agent surfaces this work.
    Kind {
        Update = "update",
        Question = "question",
        Output = "output",
        Alert = "alert",
    }
}

trail::closed! {
    /// How `details` wants to be shown; our one optional extension of the payload.
    DetailsFormat {
        Text = "text",
        Markdown = "markdown",
        Json = "json",
        Diff = "diff",
    }
}

/// A delivery whose every field is acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    pub agent_id: String,
    pub provider: String,
    pub kind: Kind,
    pub headline: String,
    pub summary: String,
    /// The exact JSON bytes of an object or a string.
    pub details: Option<Vec<u8>>,
    pub details_format: Option<DetailsFormat>,
    pub callback_webhook: Option<CallbackUrl>,
    pub timeout_seconds: Option<i64>,
}

/// The fields as they stand in the body, unread.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default, deserialize_with = "json::present")]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    provider: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    r#type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    headline: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    details: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    details_format: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    callback_webhook: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "json::present")]
    timeout_seconds: Option<&'a RawValue>,
}

impl NewDelivery {
    /// Reads a request body. `max_details` is the operator's limit in bytes.
    pub fn parse(body: &[u8], max_details: usize) -> Result<NewDelivery, Fault> {
        json::scan(body, json::Rules::REQUEST)?;
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(Fault::NotAnObject);
        }
        let raw: Raw<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotAnObject)?;

        // Everything that must be there is asked for before any value is judged.
        let agent_id = raw.agent_id.ok_or(Fault::Missing("agent_id"))?;
        let provider = raw.provider.ok_or(Fault::Missing("provider"))?;
        let kind = raw.r#type.ok_or(Fault::Missing("type"))?;
        let headline = raw.headline.ok_or(Fault::Missing("headline"))?;
        let summary = raw.summary.ok_or(Fault::Missing("summary"))?;

        Ok(NewDelivery {
            agent_id: text(agent_id, "agent_id", limits::AGENT_ID)?,
            provider: text(provider, "provider", limits::PROVIDER)?,
            kind: Kind::parse(&string(kind, "type", "a string")?).ok_or(Fault::NotOneOf {
                field: "type",
                expected: "update, question, output, alert",
            })?,
            headline: text(headline, "headline", limits::HEADLINE)?,
            summary: text(summary, "summary", limits::SUMMARY)?,
            details: raw
                .details
                .map(|raw| details(raw, max_details))
                .transpose()?
                .flatten(),
            details_format: some(raw.details_format).map(details_format).transpose()?,
            callback_webhook: some(raw.callback_webhook)
                .map(|raw| {
                    let url = string(raw, "callback_webhook", "a string or null")?;
                    Ok::<_, Fault>(CallbackUrl::parse(&url)?)
                })
                .transpose()?,
            timeout_seconds: some(raw.timeout_seconds).map(timeout).transpose()?,
        })
    }
}

/// An optional field: `null` counts as absent.
fn some(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

fn string(raw: &RawValue, field: &'static str, expected: &'static str) -> Result<String, Fault> {
    serde_json::from_str(raw.get()).map_err(|_| Fault::WrongType { field, expected })
}

fn text(raw: &RawValue, field: &'static str, max: usize) -> Result<String, Fault> {
    let text = string(raw, field, "a string")?;
    let length = text.chars().count();
    match length {
        // Nobody could see, or click on, a headline of blanks.
        _ if text.trim().is_empty() => Err(Fault::Empty(field)),
        _ if length > max => Err(Fault::TooLong { field, length, max }),
        _ => Ok(text),
    }
}

fn details(raw: &RawValue, max: usize) -> Result<Option<Vec<u8>>, Fault> {
    let bytes = raw.get().as_bytes();
    match bytes.first() {
        Some(b'n') => Ok(None),
        Some(b'{' | b'"') if bytes.len() > max => Err(Fault::DetailsTooLarge {
            length: bytes.len(),
            max,
        }),
        Some(b'{' | b'"') => Ok(Some(bytes.to_vec())),
        _ => Err(Fault::WrongType {
            field: "details",
            expected: "an object, a string or null",
        }),
    }
}

fn details_format(raw: &RawValue) -> Result<DetailsFormat, Fault> {
    let name = string(raw, "details_format", "a string or null")?;
    DetailsFormat::parse(&name).ok_or(Fault::NotOneOf {
        field: "details_format",
        expected: "text, markdown, json, diff",
    })
}

/// JSON has no integers, only numbers: `60.0` is sixty.
fn timeout(raw: &RawValue) -> Result<i64, Fault> {
    if !raw
        .get()
        .starts_with(|c: char| c == '-' || c.is_ascii_digit())
    {
        return Err(Fault::WrongType {
            field: "timeout_seconds",
            expected: "an integer or null",
        });
    }
    let number: f64 = serde_json::from_str(raw.get()).map_err(|_| Fault::Timeout)?;
    let seconds = number as i64;
    match number.fract() == 0.0 && limits::TIMEOUT_SECONDS.contains(&seconds) {
        true => Ok(seconds),
        false => Err(Fault::Timeout),
    }
}

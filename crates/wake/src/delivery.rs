//! What an agent delivers: raw bytes become a [`NewDelivery`] that cannot be
//! wrong, or a [`Fault`].
//!
//! `details` is kept as the exact bytes received. Unknown fields are ignored,
//! so that an agent written for a later minor version still works.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trail::json;
use uuid::Uuid;

use crate::{Fault, event::DeliveryReceived, limits, webhook::CallbackUrl};

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

/// A delivery as it is sent, by whomever. The one list of its fields for every
/// program that delivers.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    pub r#type: Kind,
    pub headline: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details_format: Option<DetailsFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_webhook: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
}

impl Delivery {
    /// One with nothing but what it must have.
    pub fn new(kind: Kind, headline: impl Into<String>, summary: impl Into<String>) -> Delivery {
        Delivery {
            r#type: kind,
            headline: headline.into(),
            summary: summary.into(),
            details: None,
            details_format: None,
            callback_webhook: None,
            timeout_seconds: None,
        }
    }
}

/// The body of a delivery, with who sends it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Body<'a> {
    pub agent_id: &'a str,
    pub provider: &'a str,
    #[serde(flatten)]
    pub delivery: &'a Delivery,
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
    /// One with nothing but what it must have, whose texts the caller vouches for.
    pub fn new(agent_id: &str, kind: Kind, headline: &str, summary: &str) -> NewDelivery {
        NewDelivery {
            agent_id: agent_id.to_owned(),
            provider: "none".to_owned(),
            kind,
            headline: headline.to_owned(),
            summary: summary.to_owned(),
            details: None,
            details_format: None,
            callback_webhook: None,
            timeout_seconds: None,
        }
    }

    /// The facts of it. `details` are not among them: they can be erased, and
    /// stand beside.
    pub fn received(&self, delivery_id: Uuid, key_id: &str, test: bool) -> DeliveryReceived {
        let NewDelivery {
            agent_id,
            provider,
            kind,
            headline,
            summary,
            details: _,
            details_format,
            callback_webhook,
            timeout_seconds,
        } = self;
        DeliveryReceived {
            agent_id: agent_id.clone(),
            callback_webhook: callback_webhook.as_ref().map(|url| url.as_str().to_owned()),
            delivery_id,
            details_format: *details_format,
            headline: headline.clone(),
            key_id: key_id.to_owned(),
            provider: provider.clone(),
            summary: summary.clone(),
            test,
            timeout_seconds: *timeout_seconds,
            r#type: *kind,
        }
    }

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
                expected: Kind::NAMES,
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
        expected: DetailsFormat::NAMES,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn full() -> Delivery {
        Delivery {
            r#type: Kind::Question,
            headline: "h".to_owned(),
            summary: "s".to_owned(),
            details: RawValue::from_string(r#"{ "n": 1.10 }"#.to_owned()).ok(),
            details_format: Some(DetailsFormat::Json),
            callback_webhook: Some("https://hooks.example/x".to_owned()),
            timeout_seconds: Some(60),
        }
    }

    fn body(delivery: &Delivery) -> Vec<u8> {
        let (agent_id, provider) = ("a", "p");
        let body = Body {
            agent_id,
            provider,
            delivery,
        };
        serde_json::to_vec(&body).unwrap()
    }

    #[test]
    fn every_field_that_is_sent_is_read_and_is_in_the_schema() {
        let sent = body(&full());
        let read = NewDelivery::parse(&sent, limits::DETAILS_BYTES).unwrap();
        let NewDelivery {
            agent_id,
            provider,
            kind,
            headline,
            summary,
            details,
            details_format,
            callback_webhook,
            timeout_seconds,
        } = read;
        assert_eq!((agent_id.as_str(), provider.as_str()), ("a", "p"));
        assert_eq!((headline.as_str(), summary.as_str()), ("h", "s"));
        assert_eq!((kind, timeout_seconds), (Kind::Question, Some(60)));
        assert_eq!(details.unwrap(), br#"{ "n": 1.10 }"#);
        assert_eq!(details_format, Some(DetailsFormat::Json));
        assert_eq!(
            callback_webhook.unwrap().as_str(),
            "https://hooks.example/x"
        );

        let keys = |json: &serde_json::Value| -> BTreeSet<String> {
            json.as_object().unwrap().keys().cloned().collect()
        };
        let schema: serde_json::Value = serde_json::from_str(crate::SCHEMA).unwrap();
        let fields = &schema["$defs"]["delivery"]["properties"];
        assert_eq!(keys(fields), keys(&serde_json::from_slice(&sent).unwrap()));
    }

    #[test]
    fn the_schema_lists_the_words_that_are_read() {
        let schema: serde_json::Value = serde_json::from_str(crate::SCHEMA).unwrap();
        let listed = |of: &str, field: &str| {
            let words = schema["$defs"][of]["properties"][field]["enum"].as_array();
            let words = words.unwrap().iter().filter_map(|word| word.as_str());
            words.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(listed("delivery", "type"), Kind::NAMES);
        assert_eq!(listed("delivery", "details_format"), DetailsFormat::NAMES);
        assert_eq!(listed("response", "status"), crate::Status::NAMES);
    }

    #[test]
    fn a_delivery_with_nothing_more_is_read_as_it_is_made() {
        let (kind, least) = (Kind::Alert, Delivery::new(Kind::Alert, "h", "s"));
        let mut made = NewDelivery::new("a", kind, "h", "s");
        made.provider = "p".to_owned();
        assert_eq!(NewDelivery::parse(&body(&least), 0), Ok(made));
    }
}

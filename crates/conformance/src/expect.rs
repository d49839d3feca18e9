//! Whether what happened is what the file says.

use serde_json::Value;
use trail::Micros;
use wacp::{Entry, Event, Run, content::Content};

use crate::{
    Outcome,
    file::{Table, duration},
    order::{Names, artifact_hash},
    play::BEGINS,
    words,
};

/// The facts of an event as JSON.
pub fn facts(event: &Event) -> Value {
    serde_json::from_slice(&event.facts()).unwrap_or(Value::Null)
}

/// Whether an entry is one the pattern describes.
pub fn is_like(pattern: &Table, entry: &Entry, run: &Run, names: &Names) -> Outcome<bool> {
    let kind = words::event_type(pattern)?;
    if entry.event.event_type() != kind {
        return Ok(false);
    }
    let facts = facts(&entry.event);
    for (key, expected) in pattern {
        let fits = match (key.as_str(), expected) {
            ("event", _) => true,
            ("actor", Value::String(actor)) => run.actor_name(entry.actor) == actor,
            ("on", Value::String(place)) => {
                let on = entry.workspace.map(|id| id.to_string());
                on.as_ref() == names.get(place) && (on.is_some() || place == "none")
            }
            // How long after the run began, to the millisecond.
            ("at", Value::String(text)) => {
                let since = entry.time.0 - BEGINS;
                duration(text).is_some_and(|us| since / 1_000 == us as i64 / 1_000)
            }
            _ => has(key, expected, &facts, names, entry.time.0),
        };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a table has the key with the expected value. Lengths of time stand
/// under the key with `_us`, moments under `_at` as the time until then.
pub fn has(key: &str, expected: &Value, actual: &Value, names: &Names, now: i64) -> bool {
    if let Some(us) = expected.as_str().and_then(duration) {
        if let Some(actual) = actual.get(format!("{key}_us")) {
            return actual.as_u64() == Some(us);
        }
        let at = actual.get(key).cloned().unwrap_or_default();
        if let Ok(Micros(at)) = serde_json::from_value(at) {
            return at - now == us as i64;
        }
    }
    match actual.get(key) {
        Some(actual) => matches(expected, actual, names, now),
        None => false,
    }
}

pub fn matches(expected: &Value, actual: &Value, names: &Names, now: i64) -> bool {
    match (expected, actual) {
        (Value::String(word), _) if word == "none" => {
            actual.is_null() || actual.as_str() == Some("none")
        }
        (Value::String(word), _) if word == "some" => !actual.is_null(),
        (Value::String(word), Value::String(actual)) => match names.get(word) {
            // A task's name is a word as well; an id's spelling never is.
            Some(spelled) => spelled == actual || (word == actual && !is_id(actual)),
            None => word == actual || artifact_hash(word).to_hex() == *actual,
        },
        // A content stands as its hash.
        (Value::String(word), Value::Object(table)) => {
            let hash = Content::markdown(word).hash.to_hex();
            table.get("hash").and_then(Value::as_str) == Some(&hash)
        }
        (Value::Object(table), Value::Object(_)) => table
            .iter()
            .all(|(key, expected)| has(key, expected, actual, names, now)),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(expected, actual)| matches(expected, actual, names, now))
        }
        _ => expected == actual,
    }
}

pub fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix(|c: char| c.is_ascii_lowercase());
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

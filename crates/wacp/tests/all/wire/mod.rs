//! The wire: what it reads, who may send it, and a run played by it alone.

mod access;
mod contents;
mod door;
mod play;
mod reading;
mod starting;

use serde_json::{Map, Value, json};
use wacp::wire::kind::{Key, Kind, Thing};

/// A value of a kind.
pub fn sample(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!("words"),
        Kind::Flag => json!(true),
        Kind::Number | Kind::Amount => json!(7),
        Kind::Length => json!("90s"),
        Kind::Word(words) | Kind::WordOr(words, _) => json!(words[0]),
        Kind::Id(Thing::Person) => json!("ann"),
        Kind::Id(thing) => json!(format!("{}0", thing.prefix())),
        Kind::Content => json!({"format": "json", "text": "{}"}),
        Kind::Sha256 => json!("0".repeat(64)),
        Kind::List(of) => json!([sample(of)]),
        Kind::Table(keys) => Value::Object(least(keys)),
    }
}

/// A value of another kind.
pub fn wrong(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::Word(_) | Kind::Id(_) | Kind::Sha256 => json!(["nonsense"]),
        Kind::Flag | Kind::Number | Kind::Amount | Kind::Content => json!([7]),
        Kind::Length => json!(90),
        Kind::List(_) | Kind::Table(_) | Kind::WordOr(..) => json!("nonsense"),
    }
}

/// An object with what is needed and no more.
pub fn least(keys: &[Key]) -> Map<String, Value> {
    let needed = keys.iter().filter(|key| key.required);
    let mut least: Map<_, _> = needed
        .map(|key| (key.name.to_owned(), sample(&key.kind)))
        .collect();
    // What was said stands under one of three keys.
    if keys.iter().any(|key| key.name == "base64") {
        least.insert("text".into(), json!("words"));
    }
    if keys.iter().any(|key| key.name == "resolution") {
        least.insert("content".into(), json!("words"));
    }
    least
}

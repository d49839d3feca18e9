//! What a file says in words of its own, in the wire's.

use serde_json::{Value, json};

use super::{names::artifact_hash, setting, shelf::Shelf, tables};
use crate::{Outcome, broken, file::Table};

const NONE: &str = "none";

pub fn to_wire(name: &str, order: &mut Table, shelf: &mut Shelf) -> Outcome<()> {
    match name {
        "start_run" => setting::to_wire(order),
        "create_workspace" => none_is_null(order, "owner"),
        "create_checkpoint" => {
            none_is_null(order, "parent");
            if order.get("parent") == Some(&json!("head")) {
                order.remove("parent");
            }
        }
        "send" | "inject" => {
            if let Some(bytes) = order.remove("bytes") {
                shelf.weigh("/payload", &bytes)?;
            }
        }
        _ => {}
    }
    for key in ["artifacts", "synthesis"] {
        for (number, artifact) in tables(order, key).enumerate() {
            if let Some(content) = artifact.remove("content") {
                artifact.insert("text".to_owned(), content);
            }
            if let Some(bytes) = artifact.remove("bytes") {
                shelf.weigh(&format!("/{key}/{number}"), &bytes)?;
            }
            // What it was made from is named by its content.
            match artifact.get_mut("base") {
                None => {}
                Some(Value::String(content)) => *content = artifact_hash(content).to_hex(),
                Some(_) => return broken("`base` must be a text"),
            }
        }
    }
    for change in tables(order, "modify") {
        let kind = change.get("kind").and_then(Value::as_str);
        let key = kind.filter(|kind| matches!(*kind, "payload" | "resolution"));
        if let Some(key) = key.map(str::to_owned) {
            let content = change.remove("content").unwrap_or(json!(""));
            change.insert(key, content);
        }
    }
    Ok(())
}

/// A word where the wire has null.
pub fn none_is_null(table: &mut Table, key: &str) {
    if let Some(value) = table.get_mut(key)
        && *value == json!(NONE)
    {
        *value = Value::Null;
    }
}

//! The schemas of `/openapi.json`. What WAKE defines comes from its own schema,
//! and a closed set of words from the enum that reads it; the rest is in
//! `schemas.json`.

use account::{Role, UserState};
use inbox::Verdict;
use serde_json::{Map, Value, json};
use wake::{DetailsFormat, Kind, Status};

/// Where a schema of this document is found.
pub fn place(schema: &str) -> String {
    format!("#/components/schemas/{schema}")
}

/// All schemas, by name.
pub fn all() -> Map<String, Value> {
    let mut schemas: Map<String, Value> = serde_json::from_str(include_str!("schemas.json"))
        .expect("schemas.json is part of this program and is an object");
    let words = |words: &[&str]| json!({ "type": "string", "enum": words });
    // Null is one more word and not an alternative to all of them: a program that
    // makes up examples would choose null every second time.
    let or_null = |words: &[&str]| {
        let words = words.iter().map(|word| json!(word));
        let words: Vec<Value> = words.chain([Value::Null]).collect();
        json!({ "type": ["string", "null"], "enum": words })
    };
    schemas.extend([
        ("Type".to_owned(), words(&Kind::ALL.map(Kind::as_str))),
        ("Status".to_owned(), words(&Status::ALL.map(Status::as_str))),
        (
            "Verdict".to_owned(),
            words(&Verdict::ALL.map(Verdict::as_str)),
        ),
        (
            "DetailsFormat".to_owned(),
            words(&DetailsFormat::ALL.map(DetailsFormat::as_str)),
        ),
        ("Role".to_owned(), words(&Role::ALL.map(Role::as_str))),
        (
            "UserState".to_owned(),
            words(&UserState::ALL.map(UserState::as_str)),
        ),
        (
            "RoleOrNull".to_owned(),
            or_null(&Role::ALL.map(Role::as_str)),
        ),
        (
            "UserStateOrNull".to_owned(),
            or_null(&UserState::ALL.map(UserState::as_str)),
        ),
    ]);
    schemas.extend(of_wake());
    schemas
}

/// WAKE's own, whose `$defs` are schemas of this document. Ours of an answer is
/// narrower than WAKE's, since the server sends nothing more.
fn of_wake() -> impl Iterator<Item = (String, Value)> {
    let whole: Value =
        serde_json::from_str(wake::SCHEMA).expect("WAKE's schema is part of this program");
    let defined = whole["$defs"].as_object().cloned().unwrap_or_default();
    defined.into_iter().map(|(name, mut schema)| {
        refer_here(&mut schema);
        if name != "delivery" {
            schema["additionalProperties"] = json!(false);
        }
        (here(&name), schema)
    })
}

/// The name in this document of what WAKE's schema defines.
fn here(definition: &str) -> String {
    let mut letters = definition.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Has references lead to this document. A `format` beside a `pattern` is left
/// out, since programs that draw examples take one or the other.
fn refer_here(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                let definition = reference.strip_prefix("#/$defs/").unwrap_or(reference);
                *reference = place(&here(definition));
            }
            if members.contains_key("pattern") {
                members.remove("format");
            }
            members.values_mut().for_each(refer_here);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_here),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use inbox::{
        ItemId,
        view::{Answered, Content, Held, Listed, Page, Whole},
    };
    use trail::Micros;

    use super::*;

    fn listed() -> Listed {
        Listed {
            id: ItemId::Delivery(uuid::Uuid::nil()),
            agent_id: String::new(),
            provider: String::new(),
            r#type: Kind::Update,
            status: Status::Pending,
            headline: String::new(),
            summary: String::new(),
            test: false,
            created_at: Micros(0),
            responded_at: None,
            answered_by: None,
            timeout_at: None,
            timed_out: false,
            held: None,
            content_erased: false,
            position: 0,
        }
    }

    fn keys(value: impl serde::Serialize) -> BTreeSet<String> {
        match serde_json::to_value(value).unwrap() {
            Value::Object(members) => members.into_iter().map(|(name, _)| name).collect(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_sent_of_an_item_is_what_its_schemas_say() {
        let schemas = all();
        let fields = |schema: &Value| keys(&schema["properties"]);
        assert_eq!(keys(listed()), fields(&schemas["InboxEntry"]));
        let held = Held {
            by: String::new(),
            status: Verdict::Approved,
            until: Micros(0),
        };
        let of_entry = &schemas["InboxEntry"]["properties"];
        assert_eq!(keys(held), fields(&of_entry["held"]));
        let content = Content {
            details: None,
            details_format: None,
            shown_format: None,
            callback_webhook: None,
            feedback: None,
            edited_content: None,
        };
        let of_item = &schemas["InboxItem"]["allOf"][1];
        assert_eq!(keys(&content), fields(of_item));
        let whole = Whole {
            listed: listed(),
            content,
        };
        let both = fields(&schemas["InboxEntry"]).into_iter();
        let both: BTreeSet<String> = both.chain(fields(of_item)).collect();
        assert_eq!(keys(whole), both);
        let page = Page {
            items: Vec::new(),
            next_cursor: None,
            damaged: 1,
        };
        assert_eq!(keys(page), fields(&schemas["InboxPage"]));
        let answered = Answered {
            item: listed().id,
            status: Status::Approved,
            responded_at: Some(Micros(0)),
            held_until: Some(Micros(0)),
        };
        assert_eq!(keys(answered), fields(&schemas["Answered"]));
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => {
                    found.extend(
                        members
                            .get("$ref")
                            .and_then(Value::as_str)
                            .map(str::to_owned),
                    );
                    members.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let schemas = all();
        let known: BTreeSet<String> = schemas.keys().map(|name| place(name)).collect();
        let mut found = Vec::new();
        schemas
            .values()
            .for_each(|schema| references(schema, &mut found));
        assert!(!found.is_empty());
        for reference in found {
            assert!(known.contains(&reference), "{reference}");
        }
    }
}

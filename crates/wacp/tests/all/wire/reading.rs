//! Every order, by the table of its own keys: what is missing, unknown or of
//! another kind is found, and said with its name and place.

use serde_json::{Map, Value, json};
use wacp::{
    Command, Principal,
    wire::{
        Fault,
        access::{ACCESS, Access, Way},
        content::prepare,
        fault::Why,
        kind::{Key, Kind},
        order::{self, MAX_ORDERS},
    },
};

use super::{least, sample, wrong};

fn read(name: &str, keys: &Map<String, Value>) -> Result<(), Fault> {
    let mut order = keys.clone();
    order.insert("do".into(), json!(name));
    prepare(&mut order, Principal::Coordinator).map(|_| ())
}

fn with(keys: &Map<String, Value>, key: &str, value: Value) -> Map<String, Value> {
    let mut keys = keys.clone();
    keys.insert(key.to_owned(), value);
    keys
}

/// The keys of the objects that a key holds.
fn inside(kind: &Kind) -> Option<&[Key]> {
    match kind {
        Kind::Table(keys) => Some(keys),
        Kind::List(of) => inside(of),
        _ => None,
    }
}

#[test]
fn every_order_of_the_table_is_read_and_no_other_command_is() {
    for access in ACCESS {
        let keys = order::keys(access.name);
        let result = read(access.name, &least(&keys));
        match access.way {
            Way::Order => assert_eq!(result, Ok(()), "{}", access.name),
            way => {
                let fault = result.unwrap_err();
                assert_eq!(fault.why, Why::NotAnOrderOfTheWire(way), "{}", access.name);
            }
        }
    }
    let names = ACCESS.iter().map(|access| access.name);
    assert!(names.eq(Command::NAMES.iter().copied()));
    assert_eq!(
        read("bless", &Map::new()).unwrap_err().code(),
        "unknown_order"
    );
}

#[test]
fn a_command_that_was_read_is_called_like_its_order() {
    assert_eq!(Access::of("bless"), None);
    for name in order::names() {
        assert_eq!(Access::of(name).map(|access| access.name), Some(name));
    }
}

#[test]
fn a_key_that_is_needed_and_missing_is_named() {
    for name in order::names() {
        let least = least(&order::keys(name));
        for key in least.keys() {
            let mut without = least.clone();
            without.remove(key);
            let fault = read(name, &without).unwrap_err();
            let Why::MissingKey(missing) = fault.why else {
                panic!("{name} without {key}: {fault}");
            };
            assert_eq!((missing, &*fault.place), (&**key, ""), "{name}");
        }
    }
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    let unknown = |fault: Fault| match fault.why {
        Why::UnknownKey(key) => (key.text().unwrap().to_owned(), fault.place),
        _ => panic!("{fault}"),
    };
    for name in order::names() {
        let keys = order::keys(name);
        let least = least(&keys);
        let found = unknown(read(name, &with(&least, "bogus", json!(1))).unwrap_err());
        assert_eq!(found, ("bogus".to_owned(), String::new()), "{name}");
        for key in &keys {
            let Some(held) = inside(&key.kind) else {
                continue;
            };
            let object = Value::Object(with(&super::least(held), "bogus", json!(1)));
            let (value, place) = match key.kind {
                Kind::List(_) => (json!([object]), format!("{}/0", key.name)),
                _ => (object, key.name.to_owned()),
            };
            let fault = read(name, &with(&least, key.name, value)).unwrap_err();
            assert_eq!(unknown(fault), ("bogus".to_owned(), place), "{name}");
        }
    }
}

#[test]
fn a_value_of_another_kind_is_found_where_it_stands() {
    for name in order::names() {
        let keys = order::keys(name);
        let least = least(&keys);
        for key in &keys {
            let place = |value| {
                let fault = read(name, &with(&least, key.name, value)).unwrap_err();
                let is_kind = matches!(fault.why, Why::WrongKind(_) | Why::UnknownWord(_));
                assert!(is_kind, "{name} with {}: {fault}", key.name);
                fault.place
            };
            assert_eq!(place(wrong(&key.kind)), key.name, "{name}");
            if let Kind::List(of) = &key.kind {
                let place = place(json!([wrong(of)]));
                assert_eq!(place, format!("{}/0", key.name), "{name}");
            }
            for held in inside(&key.kind).into_iter().flatten() {
                let object = with(
                    &super::least(inside(&key.kind).unwrap()),
                    held.name,
                    wrong(&held.kind),
                );
                let (value, begins) = match key.kind {
                    Kind::List(_) => (json!([object]), format!("{}/0/{}", key.name, held.name)),
                    _ => (json!(object), format!("{}/{}", key.name, held.name)),
                };
                assert_eq!(place(value), begins, "{name}");
            }
        }
    }
}

#[test]
fn what_may_be_left_out_may_be_given_and_may_be_null() {
    for name in order::names() {
        let keys = order::keys(name);
        let least = least(&keys);
        for key in keys.iter().filter(|key| !key.required) {
            let given = with(&least, key.name, sample(&key.kind));
            assert_eq!(read(name, &given), Ok(()), "{name} with {}", key.name);
            if !least.contains_key(key.name) {
                let null = with(&least, key.name, Value::Null);
                assert_eq!(read(name, &null), Ok(()), "{name} with {}", key.name);
            }
        }
    }
}

#[test]
fn a_body_is_one_order_or_a_list_of_them() {
    let one = json!({"do": "resume", "workspace": "w1", "as": "a"});
    let read = order::list(one.clone()).unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].name.as_deref(), Some("a"));
    assert!(!read[0].order.contains_key("as"));
    let many = json!({"orders": [one, {"do": "shut_down"}]});
    assert_eq!(order::list(many).unwrap().len(), 2);

    let code = |body: Value| {
        let fault = order::list(body).unwrap_err();
        assert!(fault.to_string().ends_with('.'), "{fault}");
        (fault.index, fault.code())
    };
    assert_eq!(code(json!([one])), (None, "not_an_order"));
    assert_eq!(code(json!({"orders": one})), (None, "not_an_order"));
    assert_eq!(code(json!({"orders": []})), (None, "no_orders"));
    assert_eq!(code(json!({"orders": [one, 1]})), (Some(1), "not_an_order"));
    assert_eq!(
        code(json!({"orders": [one], "do": "x"})),
        (None, "unknown_key")
    );
    assert_eq!(code(json!({"orders": [one, one]})), (Some(1), "name_taken"));
    assert_eq!(code(json!({"do": "x", "as": 1})), (None, "wrong_kind"));
    let many = vec![json!({"do": "shut_down"}); MAX_ORDERS + 1];
    assert_eq!(code(json!({ "orders": many })), (None, "too_many_orders"));
}

#[test]
fn keys_that_exclude_each_other_are_not_given_together() {
    let code = |order: Value| {
        let Value::Object(order) = order else {
            panic!("an object");
        };
        let name = order["do"].as_str().unwrap();
        read(name, &order).unwrap_err().code()
    };
    let (c, e, w) = ("c1", "e1", "w1");
    for order in [
        json!({"do": "emit", "signal": "ready", "checkpoint": c, "envelope": e}),
        json!({"do": "emit", "signal": "ready", "checkpoint": c, "workspace": w}),
        json!({"do": "emit", "signal": "ready", "envelope": e, "workspace": w}),
        json!({"do": "resolve_conflict", "workspace": w, "conflict": "k0",
            "resolution": "agent_rework", "content": "x"}),
    ] {
        assert_eq!(code(order), "key_not_allowed");
    }
    let artifact = |held: Value| json!({"do": "create_checkpoint", "status": "final", "intent": "x", "artifacts": [held]});
    for held in [
        json!({"resource": "a"}),
        json!({"resource": "a", "text": "x", "base64": "eA=="}),
    ] {
        assert_eq!(code(artifact(held)), "not_one_content");
    }
    let letters = artifact(json!({"resource": "a", "base64": "?"}));
    assert_eq!(code(letters), "wrong_kind");
}

//! The scenarios that lie beside the register.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, path::PathBuf, sync::OnceLock};

use conformance::{evidence::Evidence, file::Scenario, play::play};
use serde_json::{Value, json};

/// What lies in the tree, played once.
fn gather() -> &'static Evidence {
    static REAL: OnceLock<Evidence> = OnceLock::new();
    REAL.get_or_init(|| {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Evidence::gather(&here.join("../wacp/conformance")).unwrap_or_else(|why| panic!("{why}"))
    })
}

#[test]
fn every_scenario_passes() {
    let failing: Vec<_> = gather()
        .results
        .iter()
        .filter_map(|(scenario, trouble)| {
            let trouble = trouble.as_ref()?;
            Some(format!("{}: {trouble}", scenario.name))
        })
        .collect();
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn every_number_that_is_cited_exists_and_no_scenario_proves_nothing() {
    let evidence = gather();
    let mut titles = BTreeSet::new();
    for (scenario, _) in evidence.results.iter().chain(&evidence.disputed) {
        let name = &scenario.name;
        assert!(!scenario.proves.is_empty(), "{name} cites nothing");
        let says = !scenario.then.says_nothing()
            || scenario.when.iter().any(|order| order.contains_key("then"));
        assert!(says, "{name} expects nothing");
        assert!(titles.insert(&scenario.title), "{name} has a title twice");
        let mut cited = BTreeSet::new();
        for id in &scenario.proves {
            assert!(evidence.register.find(id).is_some(), "{name} cites {id}");
            assert!(cited.insert(id), "{name} cites {id} twice");
        }
    }
    for deviation in &evidence.deviations.deviation {
        for id in &deviation.statements {
            assert!(
                evidence.register.find(id).is_some(),
                "a deviation cites {id}"
            );
        }
    }
}

#[test]
fn what_is_disputed_does_not_pass_or_else_it_belongs_to_the_scenarios() {
    for (scenario, trouble) in &gather().disputed {
        assert!(trouble.is_some(), "{} passes: move it", scenario.name);
    }
}

/// A value that is not this one.
fn another(value: &Value) -> Value {
    match value {
        Value::Bool(is) => json!(!is),
        Value::Number(number) => json!(number.as_u64().map_or(7, |number| number + 1)),
        _ => json!("nonsense"),
    }
}

/// A list of tables with each of their values another in turn.
fn each_field(list: &Value) -> Vec<Value> {
    let tables = list.as_array().into_iter().flatten().enumerate();
    let fields = tables.flat_map(|(at, table)| {
        let keys = table.as_object().into_iter().flatten();
        keys.map(move |(key, value)| (at, key.clone(), another(value)))
    });
    let spoilt = fields.map(|(at, key, value)| {
        let mut copy = list.clone();
        copy[at][key] = value;
        copy
    });
    spoilt.collect()
}

/// One expectation with each of its parts made impossible in turn.
fn spoilt_part(key: &str, value: &Value) -> Vec<(String, Value)> {
    let same = |values: Vec<Value>| values.into_iter().map(|v| (key.to_owned(), v)).collect();
    let other = |key: &str| vec![(key.to_owned(), value.clone())];
    let each_item = |change: &dyn Fn(&mut Value)| {
        let items = value.as_array().map_or(0, Vec::len);
        let spoilt = (0..items).map(|at| {
            let mut copy = value.clone();
            change(&mut copy[at]);
            copy
        });
        spoilt.collect::<Vec<_>>()
    };
    let each_value = |change: &dyn Fn(&Value) -> Value| {
        let keys = value.as_object().into_iter().flat_map(|table| table.keys());
        let spoilt = keys.map(|key| {
            let mut copy = value.clone();
            copy[key] = change(&value[key]);
            copy
        });
        spoilt.collect::<Vec<_>>()
    };
    match key {
        "refused" => same(vec![json!("nonsense")]),
        "only" | "gates" => same(vec![json!(["nonsense"])]),
        // What must not be found must at least be spelt in words that exist.
        "never" | "never_tells" => same(each_item(&|item| item["nonsense"] = json!("nonsense"))),
        "holdings" => same(each_value(&|table| {
            let mut table = table.clone();
            table["nonsense"] = json!("nonsense");
            table
        })),
        "events" | "tells" => {
            let mut all = each_item(&|item| item["nonsense"] = json!("nonsense"));
            all.extend(each_field(value));
            same(all)
        }
        "workspaces" | "tasks" | "people" | "components" | "artifacts" => {
            same(each_value(&|_| json!("nonsense")))
        }
        "count" => same(each_value(&|count| json!(count.as_u64().unwrap_or(0) + 1))),
        "inbox" => same(each_value(&|list| {
            let mut list = list.clone();
            list.as_array_mut().unwrap().push(json!("nonsense"));
            list
        })),
        "holds" => other("lacks"),
        "lacks" => other("holds"),
        "due" => other("not_due"),
        "not_due" => other("due"),
        "stays" => other("moves"),
        "moves" => other("stays"),
        "next_due" => same(vec![json!("1us")]),
        "payloads" => same(each_item(&|item| {
            let (open, closed) = (item["open_to"].take(), item["closed_to"].take());
            let list = |value: Value| if value.is_null() { json!([]) } else { value };
            (item["open_to"], item["closed_to"]) = (list(closed), list(open));
        })),
        "queries" => same(each_item(&|item| {
            for answer in ["finds", "count", "gives"] {
                if item.get(answer).is_some() {
                    item[answer] = json!("nonsense");
                }
            }
        })),
        "compared" => same(vec![json!({"nonsense": true})]),
        "registry" | "closed" => same(each_value(&|_| json!([]))),
        "rebuilt" => same(vec![json!("nonsense")]),
        "distinct" => same(vec![json!([value[0], value[0]])]),
        "running" => same(vec![json!(!value.as_bool().unwrap())]),
        // Whoever writes these chooses what must not be, or asks for all of it.
        _ => vec![],
    }
}

/// Every expectation, made impossible one at a time.
fn spoilt(scenario: &Scenario) -> Vec<Scenario> {
    fn then(then: &Value) -> Vec<Value> {
        let says = then.as_object().into_iter().flatten();
        let spoilt = says
            .filter(|(_, value)| !value.is_null() && **value != json!([]) && **value != json!({}));
        let spoilt = spoilt.flat_map(|(key, value)| {
            let changed = spoilt_part(key, value).into_iter();
            changed.map(|(changed, value)| {
                let mut copy = then.clone();
                copy.as_object_mut().unwrap().remove(key);
                copy[changed] = value;
                copy
            })
        });
        spoilt.collect()
    }
    let mut all = Vec::new();
    for changed in then(&json!(scenario.then)) {
        let mut copy = scenario.clone();
        copy.then = serde_json::from_value(changed).expect("a spoilt `then` still reads");
        all.push(copy);
    }
    // An order's own expectation, or those of the orders in it.
    fn order(table: &Value) -> Vec<Value> {
        let spoilt = then(&table["then"]).into_iter().map(|changed| {
            let mut copy = table.clone();
            copy["then"] = changed;
            copy
        });
        let inner = table["orders"].as_array().into_iter().flatten().enumerate();
        let inner = inner.flat_map(|(at, one)| {
            order(one).into_iter().map(move |changed| {
                let mut copy = table.clone();
                copy["orders"][at] = changed;
                copy
            })
        });
        spoilt.chain(inner).collect()
    }
    let table = |value: Value| value.as_object().cloned().expect("an order is a table");
    for (at, one) in scenario.when.iter().enumerate() {
        for changed in order(&json!(one)) {
            let mut copy = scenario.clone();
            copy.when[at] = table(changed);
            all.push(copy);
        }
    }
    for (at, one) in scenario.given.orders.iter().enumerate() {
        for changed in order(&json!(one)) {
            let mut copy = scenario.clone();
            copy.given.orders[at] = table(changed);
            all.push(copy);
        }
    }
    all
}

#[test]
fn a_scenario_whose_expectation_is_spoilt_fails() {
    let mut count = 0;
    for (scenario, _) in &gather().results {
        for changed in spoilt(scenario) {
            count += 1;
            let name = &scenario.name;
            assert!(
                play(&changed).is_err(),
                "{name} passes with {:?}",
                changed.then
            );
        }
    }
    assert!(count > 3_000, "{count}");
}

//! The scenarios that lie beside the register.

use std::{collections::BTreeSet, path::PathBuf};

use conformance::{file::Scenario, play::play, report::Evidence};
use serde_json::{Value, json};

fn gather() -> Evidence {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match Evidence::gather(&here.join("../wacp/conformance")) {
        Ok(evidence) => evidence,
        Err(trouble) => panic!("{trouble}"),
    }
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

/// Every expectation, made impossible one at a time.
fn spoilt(scenario: &Scenario) -> Vec<Scenario> {
    fn then(then: &mut Value) -> Vec<Value> {
        let mut spoilt = Vec::new();
        let Some(keys) = then.as_object().map(|then| then.keys().cloned()) else {
            return spoilt;
        };
        for key in keys.collect::<Vec<_>>() {
            let mut changed = then.clone();
            match (key.as_str(), &mut changed[&key]) {
                ("refused", code) => *code = json!("nonsense"),
                ("events", Value::Array(patterns)) => {
                    for at in 0..patterns.len() {
                        let mut one = then.clone();
                        one["events"][at]["nonsense"] = json!("nonsense");
                        spoilt.push(one);
                    }
                    continue;
                }
                ("workspaces" | "tasks", Value::Object(table)) => {
                    for value in table.values_mut() {
                        *value = json!("nonsense");
                    }
                }
                ("only", types) => *types = json!(["nonsense"]),
                _ => continue,
            }
            spoilt.push(changed);
        }
        spoilt
    }
    let mut all = Vec::new();
    let mut whole = json!({});
    let expected = &scenario.then;
    if let Some(code) = &expected.refused {
        whole["refused"] = json!(code);
    }
    for (key, table) in [
        ("workspaces", &expected.workspaces),
        ("tasks", &expected.tasks),
    ] {
        if !table.is_empty() {
            whole[key] = json!(table);
        }
    }
    if !expected.events.is_empty() {
        whole["events"] = json!(expected.events);
    }
    for changed in then(&mut whole) {
        let mut copy = scenario.clone();
        copy.then = serde_json::from_value(changed).expect("a spoilt `then` still reads");
        all.push(copy);
    }
    for (at, order) in scenario.when.iter().enumerate() {
        let mut inner = order.get("then").cloned().unwrap_or(Value::Null);
        for changed in then(&mut inner) {
            let mut copy = scenario.clone();
            copy.when[at].insert("then".into(), changed);
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
            assert!(play(&changed).is_err(), "{} passes spoilt", scenario.name);
        }
    }
    assert!(count > 300, "{count}");
}

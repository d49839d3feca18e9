//! The scenarios that lie beside the register.

use std::{collections::BTreeSet, path::PathBuf};

use conformance::report::Evidence;

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

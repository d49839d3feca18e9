//! The README beside the scenarios explains everything they may say.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use conformance::{
    file::{Given, Scenario, Table, Then},
    order::{self, Names},
    shape::words,
};
use serde_json::{Value, json};
use wacp::{Command, Principal, Run, workspace::Deadline};

fn read(path: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn readme() -> String {
    read("../wacp/conformance/README.md")
}

/// Every order that the player knows.
fn orders() -> impl Iterator<Item = String> {
    Command::NAMES.iter().map(|name| (*name).to_owned())
}

#[test]
fn every_key_and_every_order_is_explained() {
    let readme = readme();
    let keys = [
        words::<Scenario>(),
        words::<Given>(),
        words::<Then>(),
        words::<Deadline>(),
    ];
    // A scenario's name is its file's.
    let keys = keys.into_iter().flatten().filter(|key| *key != "name");
    let missing = keys.filter(|word| !readme.contains(&format!("`{word}`")));
    assert_eq!(Vec::from_iter(missing), Vec::<&str>::new());
    let documented = documented();
    let missing = orders().filter(|order| !documented.contains_key(order));
    assert_eq!(Vec::from_iter(missing), Vec::<String>::new());
}

/// What the README says of an order.
#[derive(Clone, Debug)]
struct Keys {
    all: BTreeSet<String>,
    needed: BTreeSet<String>,
    /// What is as good as leaving the key out.
    defaults: Table,
}

/// What stands in backticks.
fn spelt(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn documented() -> BTreeMap<String, Keys> {
    let readme = readme();
    let tables = readme.split_once("Keys in bold").unwrap().1;
    let tables = tables.split_once("Some keys hold").unwrap().0;
    let mut found = BTreeMap::new();
    for row in tables.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [names, keys, defaults] = cells[..] else {
            panic!("{row}");
        };
        // What is said of a key in parentheses or after a colon is no key.
        let mut keys = keys.replace("totals so far:", "").replace(':', " (") + ")";
        while let Some((before, rest)) = keys.split_once('(') {
            let after = rest.split_once(')').unwrap_or_default().1;
            keys = format!("{before}{after}");
        }
        let bold = keys.split("**").skip(1).step_by(2);
        let mut said = Keys {
            all: spelt(&keys).map(str::to_owned).collect(),
            needed: bold.flat_map(spelt).map(str::to_owned).collect(),
            defaults: Table::new(),
        };
        for default in spelt(defaults).filter(|text| text.contains(" = ")) {
            let table: Table = toml::from_str(default).unwrap_or_else(|_| panic!("{default}"));
            said.defaults.extend(table);
        }
        for name in spelt(names) {
            found.insert(name.to_owned(), said.clone());
        }
    }
    found
}

/// Something that can stand for a key that an order needs.
fn value(order: &str, key: &str) -> Value {
    match (order, key) {
        ("emit", "signal") => json!("ready"),
        ("resolve_gate", "answer") => json!("approve"),
        ("answer_escalation", "answer") => json!("envelope"),
        (_, "priority") => json!("normal"),
        (_, "dimension") => json!("tokens"),
        (_, "limit") => json!(1),
        (_, "kind") => json!("send"),
        (_, "resolution") => json!("coordinator_resolve"),
        (_, "change") => json!("suspend"),
        (_, "capability") => json!("abort_own"),
        // A name, or a thing that does not exist.
        _ => json!("unknown"),
    }
}

/// The order as the player reads it.
fn command(name: &str, table: &Table) -> Result<String, String> {
    let names = [("root", "w0"), ("ann", "u0"), ("bob", "u1")];
    let names: Names = names.map(|(name, id)| (name.into(), id.into())).into();
    order::command(&Run::default(), Principal::Coordinator, name, table, &names)
        .map(|command| format!("{command:?}"))
        .map_err(|trouble| trouble.to_string())
}

#[test]
fn every_order_has_the_keys_the_needs_and_the_defaults_that_the_readme_says() {
    let documented = documented();
    let mut defaults = 0;
    for name in orders() {
        let said = &documented[&name];
        let needed = said.needed.iter();
        let least: Table = needed.map(|key| (key.clone(), value(&name, key))).collect();
        let plain = command(&name, &least).unwrap_or_else(|why| panic!("{name}: {why}"));
        let keys = order::keys(&name).into_iter().map(str::to_owned);
        assert_eq!(BTreeSet::from_iter(keys), said.all, "the keys of {name}");
        for key in order::defaults(&name).keys() {
            assert!(said.defaults.contains_key(key), "{name} assumes {key}");
        }
        for key in &said.needed {
            let mut without = least.clone();
            without.remove(key);
            assert!(command(&name, &without).is_err(), "{name} without {key}");
        }
        for (key, value) in &said.defaults {
            let mut with = least.clone();
            with.insert(key.clone(), value.clone());
            let same = command(&name, &with).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(same, plain, "{name} with {key} = {value}");
            defaults += 1;
        }
    }
    assert!(defaults > 60, "{defaults}");
}

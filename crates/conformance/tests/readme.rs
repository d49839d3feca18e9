//! The README beside the scenarios explains everything they may say.
#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use conformance::{
    file::{Given, Scenario, Then},
    shape::words,
};

fn read(path: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_key_and_every_order_is_explained() {
    let readme = read("../wacp/conformance/README.md");
    let mut missing = Vec::new();
    let mut look = |word: &str| {
        if !readme.contains(&format!("`{word}`")) {
            missing.push(word.to_owned());
        }
    };
    let keys = [words::<Scenario>(), words::<Given>(), words::<Then>()];
    // A scenario's name is its file's.
    for key in keys.into_iter().flatten().filter(|key| *key != "name") {
        look(key);
    }
    let orders = read("src/order/mod.rs");
    let names = orders.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("        \"")?.split_once('"')?;
        rest.starts_with(" => ").then_some(name)
    });
    let names: Vec<_> = names.collect();
    assert!(names.len() > 50, "{}", names.len());
    names.into_iter().for_each(&mut look);
    assert!(missing.is_empty(), "{missing:?}");
}

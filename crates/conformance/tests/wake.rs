//! The table of what WAKE and WakeLink state, and of the tests that prove it.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use conformance::{
    listing::{self, Listing},
    statements::{self, Document},
    table,
};

/// As many statements as the documents hold when they are counted coarsely.
const LEAST: usize = 209;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<Document> {
    let directory = root().join("crates/conformance/statements");
    statements::read(&directory).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn the_table_holds_every_document_and_at_least_as_many_statements_as_were_counted() {
    let documents = documents();
    let rows: usize = documents.iter().map(|it| it.statement.len()).sum();
    assert!(rows >= LEAST, "{rows} rows");
    let seeds: Vec<_> = documents.iter().map(|it| it.seed).collect();
    assert_eq!(seeds, ["000", "001", "004"]);
}

#[test]
fn every_statement_has_tests_that_check_something_or_a_reason() {
    let faults = statements::faults(&root(), &documents());
    let count = faults.len();
    assert!(faults.is_empty(), "{count} faults:\n{}", faults.join("\n"));
}

#[test]
fn the_test_runner_lists_every_test_that_a_statement_names() {
    let documents = documents();
    let tests = statements::tests(&documents);
    let packages: BTreeSet<&str> = tests.iter().filter_map(|it| listing::package(it)).collect();
    let listing = Listing::find(&root(), &packages).unwrap_or_else(|why| panic!("{why}"));
    let unlisted: Vec<&str> = tests.into_iter().filter(|it| !listing.has(it)).collect();
    assert!(unlisted.is_empty(), "not listed:\n{}", unlisted.join("\n"));
}

#[test]
fn the_committed_table_is_the_one_that_is_made_now() {
    let committed = fs::read_to_string(root().join("docs/conformance-wake.md")).unwrap();
    assert!(
        committed == table::markdown(&documents()),
        "run cargo xtask conformance --write"
    );
}

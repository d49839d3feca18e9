//! What the WAKE and WakeLink documents state, each with the tests that prove it
//! here: the files in `statements`. Checked by source alone; whether the test
//! runner knows the tests is in `listing`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde::Deserialize;

use crate::{Outcome, Trouble, proof};

/// The files, in the order of the seeds, and the number of each one's seed.
pub const FILES: [(&str, &str); 3] = [
    ("wake-spec.toml", "000"),
    ("wake-paper.toml", "001"),
    ("wakelink.toml", "004"),
];

/// The statements of one document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub title: String,
    /// The number of its seed.
    #[serde(skip)]
    pub seed: &'static str,
    pub statement: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub id: String,
    pub section: String,
    pub says: String,
    /// Tests that prove it, each as `path/of/file.rs::name`.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why it is not there yet.
    pub later: Option<String>,
    /// What we do instead, and why.
    pub deviation: Option<String>,
    /// Why it could not be otherwise, so that there is nothing to test.
    pub construction: Option<String>,
    /// The test that has to be written. No row may keep it.
    pub missing: Option<String>,
}

/// What is said about a row. A row stands under the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowStanding {
    Later,
    Deviation,
    Construction,
    Proven,
    /// Nothing is said: the table is not finished.
    Open,
}

impl Row {
    pub fn standing(&self) -> RowStanding {
        if self.later.is_some() {
            RowStanding::Later
        } else if self.deviation.is_some() {
            RowStanding::Deviation
        } else if self.construction.is_some() {
            RowStanding::Construction
        } else if !self.tests.is_empty() {
            RowStanding::Proven
        } else {
            RowStanding::Open
        }
    }
}

/// Reads the three documents from this directory.
pub fn read(directory: &Path) -> Outcome<Vec<Document>> {
    let documents = FILES.iter().map(|(name, seed)| {
        let path = directory.join(name);
        let text = fs::read_to_string(&path)
            .map_err(|error| Trouble::Broken(format!("{}: {error}", path.display())))?;
        let document: Document =
            toml::from_str(&text).map_err(|error| Trouble::Broken(format!("{name}: {error}")))?;
        Ok(Document { seed, ..document })
    });
    documents.collect()
}

/// Every test that a row names, once.
pub fn tests(documents: &[Document]) -> BTreeSet<&str> {
    let rows = documents.iter().flat_map(|document| &document.statement);
    rows.flat_map(|row| row.tests.iter().map(String::as_str))
        .collect()
}

/// Everything that is wrong with the rows, a line each: a number that occurs
/// twice, a row without proof or excuse, a test that proves nothing.
pub fn faults(root: &Path, documents: &[Document]) -> Vec<String> {
    let unfit: BTreeMap<&str, proof::Unfit> = tests(documents)
        .into_iter()
        .filter_map(|test| Some((test, proof::unfit(root, test)?)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for row in documents.iter().flat_map(|document| &document.statement) {
        let id = &row.id;
        if !seen.insert(id) {
            faults.push(format!("{id}: another row has this number"));
        }
        match (&row.missing, row.standing()) {
            (Some(missing), RowStanding::Open) => faults.push(format!(
                "{id}: names no test and no reason; missing: {missing}"
            )),
            (None, RowStanding::Open) => faults.push(format!("{id}: names no test and no reason")),
            (Some(_), _) => faults.push(format!("{id}: still says what is missing")),
            (None, _) => {}
        }
        for test in &row.tests {
            if let Some(unfit) = unfit.get(test.as_str()) {
                faults.push(format!("{id}: {test} {unfit}"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(rows: &str) -> Document {
        toml::from_str(&format!("title = \"A document\"\n{rows}")).expect("rows")
    }

    fn row(id: &str, more: &str) -> String {
        format!("[[statement]]\nid = \"{id}\"\nsection = \"1\"\nsays = \"So it is.\"\n{more}\n")
    }

    #[test]
    fn a_row_needs_a_test_or_a_reason_and_all_that_lack_both_are_told_at_once() {
        let rows = [
            row("a-1", ""),
            row("a-2", "tests = []\nmissing = \"a test of it\""),
            row("a-3", "later = \"next year\""),
            row("a-4", "deviation = \"we do not\""),
            row("a-5", "construction = \"it is the first\""),
            row("a-3", "construction = \"twice\""),
            row("a-6", "later = \"next year\"\nmissing = \"a test\""),
            row("a-7", "tests = [\"crates/nowhere.rs::nothing\"]"),
        ];
        let found = faults(Path::new("/nowhere"), &[document(&rows.concat())]);
        let expected = [
            "a-1: names no test and no reason",
            "a-2: names no test and no reason; missing: a test of it",
            "a-3: another row has this number",
            "a-6: still says what is missing",
            "a-7: crates/nowhere.rs::nothing does not exist as a test that is run",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_key_that_nobody_reads_is_refused() {
        let text = format!("title = \"A\"\n{}", row("a-1", "test = [\"x\"]"));
        assert!(toml::from_str::<Document>(&text).is_err());
    }
}

//! The statements of the WAKE and WakeLink documents as a document of ours:
//! the sums, then every row with what proves it.

use std::fmt::Write as _;

use crate::statements::{Document, Row, RowStanding};

/// What the document says before its sums.
const INTRODUCTION: &str = "\
# Conformance with WAKE and WakeLink

Made by `cargo xtask conformance --write` from `crates/conformance/statements`: what the documents
state, in our words, and the tests that prove it here. A test of the crate `conformance` fails if a
row has neither test nor reason, or if a test that a row names does not exist, is ignored, contains
`return` or is not listed by the test runner. `cargo xtask samples DIR` runs the documents' own
code, which is not part of this repository.

*Proven* rows are proven by the tests they name. Where a *deviation* is, we do something else than
the document says, and the tests show what. What comes *later* is not there yet. What is so *by
construction* leaves nothing to test.

";

pub fn markdown(documents: &[Document]) -> String {
    let mut out = INTRODUCTION.to_owned();
    sums(&mut out, documents);
    for document in documents {
        let _ = writeln!(out, "\n## {} (seed {})\n", document.title, document.seed);
        out.push_str("| number | section | it says | standing | tests |\n");
        out.push_str("| --- | --- | --- | --- | --- |\n");
        for row in &document.statement {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                row.id,
                cell(&row.section),
                cell(&row.says),
                cell(&standing(row)),
                tests(row)
            );
        }
    }
    out
}

/// The sums alone, for a terminal as well.
pub fn sums(out: &mut String, documents: &[Document]) {
    out.push_str(
        "| seed | document | rows | proven | deviations | later | by construction | open |\n",
    );
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    let everything: Vec<&Row> = documents.iter().flat_map(|it| &it.statement).collect();
    for document in documents {
        let rows: Vec<&Row> = document.statement.iter().collect();
        let counts = counts(&rows);
        let _ = writeln!(out, "| {} | {} | {counts} |", document.seed, document.title);
    }
    let _ = writeln!(out, "| | all | {} |", counts(&everything));
}

fn counts(rows: &[&Row]) -> String {
    let count = |standing| rows.iter().filter(|row| row.standing() == standing).count();
    let standings = [
        RowStanding::Proven,
        RowStanding::Deviation,
        RowStanding::Later,
        RowStanding::Construction,
        RowStanding::Open,
    ];
    let counts: Vec<String> = standings.map(|it| count(it).to_string()).into();
    format!("{} | {}", rows.len(), counts.join(" | "))
}

fn standing(row: &Row) -> String {
    let (word, why) = match row.standing() {
        RowStanding::Later => ("later", &row.later),
        RowStanding::Deviation => ("deviation", &row.deviation),
        RowStanding::Construction => ("by construction", &row.construction),
        RowStanding::Proven => ("proven", &None),
        RowStanding::Open => ("open", &row.missing),
    };
    match why {
        Some(why) => format!("{word}: {why}"),
        None => word.to_owned(),
    }
}

/// Without `crates/`, which all have in common.
fn tests(row: &Row) -> String {
    let tests = row.tests.iter().map(|test| {
        let short = test.strip_prefix("crates/").unwrap_or(test);
        format!("`{short}`")
    });
    tests.collect::<Vec<_>>().join("<br>")
}

/// Text that cannot end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

//! Every combination there is, each expectation written as a table that a
//! person can hold against the specification, each driven through `decide`.

mod capabilities;
mod commands;
mod reserved;
mod rights;
mod signals;
mod transitions;

/// The rows of a table: its cells, without the empty lines.
fn rows(table: &'static str) -> Vec<Vec<&'static str>> {
    let lines = table.lines().map(|line| line.split_whitespace().collect());
    lines.filter(|row: &Vec<&str>| !row.is_empty()).collect()
}

/// The spelling of a word of the protocol.
fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

//! A test waits for what it waits for, and not for a while: pauses stand in the
//! few places that are listed here, each with its reason.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What calls a pause in Rust, Node and Python.
const PAUSES: [&str; 6] = [
    "sleep(",
    "sleep_until(",
    "park_timeout(",
    "setTimeout(",
    "setInterval(",
    "waitForTimeout(",
];

/// A limit on a wait, as it is called after `let _ = ` or `drop(`.
const LIMITS: [&str; 3] = ["timeout(", "time::timeout(", "tokio::time::timeout("];

/// Where pauses are, how many, and why.
const ALLOWED: [(&str, usize, &str); 9] = [
    (
        "server/src/turns.rs",
        1,
        "how many get a turn in one second",
    ),
    (
        "wakeful/tests/harness/mod.rs",
        2,
        "`at_random`, when a crash comes, and `until`, for what nothing tells",
    ),
    (
        "wakeful/tests/browser/flows/browser.mjs",
        2,
        "`eventually`, for what no event of a browser tells, and the limit on a whole flow",
    ),
    (
        "wakeful/tests/browser/flows/firefox.mjs",
        1,
        "the limit on one command",
    ),
    (
        "wakeful/tests/browser/flows/window.mjs",
        1,
        "a page that leads nowhere else says nothing: it stays as it is for a while",
    ),
    (
        "wakeful/tests/clients/lines.py",
        1,
        "a client rests as the server told it to, for some seconds",
    ),
    (
        "wakeful/tests/clients/from_document.py",
        1,
        "the documents' code rests as the server told it to, for some seconds",
    ),
    (
        "wakeful/tests/clients/pasted.py",
        1,
        "takes the place of Python's own and does not rest",
    ),
    (
        "xtask/frameworks/scripted.py",
        1,
        "a person who answers after the agent has asked and found nothing",
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file below a directory.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The part of a file that is a test, by its name in the tree.
fn tested(path: &Path) -> Option<(String, String)> {
    let name = path.strip_prefix(crates()).ok()?.to_str()?.to_owned();
    let is_test = name.contains("/tests/") || name.starts_with("xtask/frameworks/");
    if !["rs", "mjs", "js", "py", "sh"].contains(&path.extension()?.to_str()?) {
        return None;
    }
    let text = fs::read_to_string(path).unwrap();
    match text.find("#[cfg(test)]") {
        _ if is_test => Some((name, text)),
        Some(at) => Some((name, text[at..].to_owned())),
        None => None,
    }
}

/// How often a text pauses. In a shell a pause is a command.
fn pauses(name: &str, text: &str) -> usize {
    match name.ends_with(".sh") {
        true => text.split_whitespace().filter(|it| *it == "sleep").count(),
        false => {
            let called = PAUSES.iter().map(|pause| text.matches(pause).count());
            called.sum::<usize>() + ignored_limits(text)
        }
    }
}

/// How often a text waits up to some limit and does not look whether it was
/// reached, which is a pause by another name.
fn ignored_limits(text: &str) -> usize {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let begins = |start: &str| LIMITS.map(|limit| format!("{start}{limit}"));
    let starts = [begins("let _ = "), begins("drop(")].concat();
    let found = starts.iter().flat_map(|start| text.match_indices(start));
    found
        .filter(|(at, _)| {
            let statement = text[*at..].split(';').next().unwrap_or_default();
            !statement.contains(".unwrap") && !statement.contains(".expect(")
        })
        .count()
}

#[test]
fn a_pause_is_found_however_it_is_written() {
    assert_eq!(pauses("a.sh", "until ready; do sleep 1; done"), 1);
    assert_eq!(pauses("a.rs", "tokio::time::sleep(SECOND).await;"), 1);
    assert_eq!(
        pauses(
            "a.rs",
            "let _ =\n    tokio::time::timeout(SECOND, it).await;"
        ),
        1
    );
    assert_eq!(pauses("a.rs", "drop(timeout(SECOND, it).await);"), 1);
    assert_eq!(
        pauses("a.rs", "drop(timeout(SECOND, it).await.unwrap());"),
        0
    );
    assert_eq!(
        pauses("a.rs", "let it = timeout(SECOND, it).await.unwrap();"),
        0
    );
}

#[test]
fn no_test_sleeps_where_it_could_wait_for_what_happens() {
    let mut all = Vec::new();
    files(&crates(), &mut all);
    let mut found = Vec::new();
    for (name, text) in all.iter().filter_map(|path| tested(path)) {
        // This file only names them.
        if name == "conformance/tests/waiting.rs" {
            continue;
        }
        match pauses(&name, &text) {
            0 => {}
            count => found.push((name, count)),
        }
    }
    found.sort();
    let mut allowed: Vec<(String, usize)> = ALLOWED
        .iter()
        .map(|(name, count, _)| ((*name).to_owned(), *count))
        .collect();
    allowed.sort();
    assert_eq!(found, allowed);
}

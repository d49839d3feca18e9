//! ARCHITECTURE.md and CONTRIBUTING.md promise nothing that nobody keeps: what
//! they name exists, and what can be read off the tree is so.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use conformance::proof;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {}", path.display()))
}

fn toml(path: &str) -> toml::Table {
    read(path).parse().unwrap()
}

/// The files below a directory whose names end like this.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path, ending)),
            false if path.to_str().is_some_and(|name| name.ends_with(ending)) => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// Our crates, by their directories.
fn crates() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// What stands between a heading and the next one.
fn section(document: &str, heading: &str) -> String {
    let text = read(document);
    let begins = format!("\n## {heading}\n");
    let (_, after) = text
        .split_once(&begins)
        .unwrap_or_else(|| panic!("{heading} is not in {document}"));
    after.split("\n## ").next().unwrap().to_owned()
}

/// What is between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The rows of the tables in a section, as cells, without their heads.
fn rows(section: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match cells[0].starts_with("---") {
            // What stood above it is the head.
            true => drop(rows.pop()),
            false => rows.push(cells),
        }
    }
    rows
}

/// Where a name of the documents leads: `engine/writer.rs` is a source,
/// `wakeful/tests/trail.rs::name` a test, `deny.toml` a file of the root. `None`
/// if it is no such name.
fn place(name: &str) -> Option<Result<(), String>> {
    if name.contains(' ') || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let (path, test) = match name.split_once("::") {
        Some((path, test)) => (path, Some(test)),
        None => (name, None),
    };
    if path.ends_with(".toml") && !path.contains('/') {
        let there = root().join(path).is_file();
        return Some(there.then_some(()).ok_or(format!("{name} is not there")));
    }
    if !path.contains('/') && !path.ends_with(".rs") {
        return None;
    }
    Some(match (find(path), test) {
        (None, _) => Err(format!("{name} is not there")),
        (Some(_), None) => Ok(()),
        (Some(file), Some(test)) => match proof::exists(&root(), &format!("{file}::{test}")) {
            true => Ok(()),
            false => Err(format!("{name} is no test")),
        },
    })
}

/// The file or directory that a path of the documents means, from the root.
fn find(path: &str) -> Option<String> {
    let (first, rest) = path.split_once('/').unwrap_or(("", path));
    let candidates = [
        format!("crates/{first}/src/{rest}"),
        format!("crates/{first}/{rest}"),
        path.to_owned(),
    ];
    candidates.into_iter().find(|it| root().join(it).exists())
}

/// What is wrong with a promise: it names nothing, or what is not there.
fn faults(promise: &str, kept_by: &str) -> Vec<String> {
    let places: Vec<_> = quoted(kept_by).into_iter().filter_map(place).collect();
    let mut faults: Vec<String> = places.iter().filter_map(|it| it.clone().err()).collect();
    if places.is_empty() {
        faults.push("nothing is named that keeps it".to_owned());
    }
    let faults = faults.into_iter();
    faults.map(|fault| format!("{promise}: {fault}")).collect()
}

#[test]
fn every_invariant_names_what_holds_it() {
    let section = section("ARCHITECTURE.md", "Invariants, and what holds each");
    let rows = rows(&section);
    assert!(rows.len() > 45, "{} rows", rows.len());
    let faults: Vec<String> = rows
        .iter()
        .flat_map(|cells| faults(cells[0], cells[1]))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_rule_and_every_absence_names_what_keeps_it() {
    for (document, heading, least) in [
        ("CONTRIBUTING.md", "Rules", 10),
        ("ARCHITECTURE.md", "Deliberately absent", 4),
    ] {
        let section = section(document, heading);
        let bullets: Vec<&str> = section
            .lines()
            .filter_map(|it| it.strip_prefix("- "))
            .collect();
        assert!(bullets.len() >= least, "{document}: {bullets:?}");
        let faults: Vec<String> = bullets.iter().flat_map(|it| faults(it, it)).collect();
        assert!(faults.is_empty(), "{document}: {}", faults.join("\n"));
    }
}

/// Whether a path begins at a crate or at the root.
fn is_whole(path: &str) -> bool {
    let first = path.split_once('/').map(|(first, _)| first);
    first.is_some_and(|first| crates().contains(first) || ["crates", "docs"].contains(&first))
}

#[test]
fn every_path_that_a_document_names_is_there() {
    let sources = files(&root().join("crates"), ".rs");
    for (document, least) in [("ARCHITECTURE.md", 100), ("CONTRIBUTING.md", 40)] {
        let text = read(document);
        let (mut count, mut faults) = (0, Vec::new());
        for name in quoted(&text) {
            // A word in capitals stands for any name, and `account/{name}` is a stream.
            let name = name.trim_end_matches("::NAME");
            let name = name.trim_end_matches("/NOUN.rs");
            let is_end = name.ends_with(".rs") && !is_whole(name);
            let fault = match is_end {
                // The text says of which crate it is the end of a path.
                true if sources.iter().any(|file| file.ends_with(name)) => None,
                true => Some(format!("{name} is not there")),
                false if is_whole(name) && !name.contains('{') => place(name).and_then(Result::err),
                false => continue,
            };
            count += 1;
            faults.extend(fault);
        }
        assert!(count >= least, "{document}: {count}");
        assert!(faults.is_empty(), "{document}: {}", faults.join("\n"));
    }
}

/// The keys of a table of a crate's manifest.
fn dependencies(of: &str, table: &str) -> BTreeSet<String> {
    let manifest = toml(&format!("crates/{of}/Cargo.toml"));
    let table = manifest.get(table).and_then(|table| table.as_table());
    table
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

#[test]
fn a_crate_uses_the_crates_that_the_architecture_says_and_no_other() {
    let ours = crates();
    let section = section("ARCHITECTURE.md", "The rooms");
    let said: BTreeMap<String, BTreeSet<String>> = rows(&section)
        .iter()
        .map(|cells| {
            let uses = quoted(cells[1]).into_iter().map(str::to_owned);
            (quoted(cells[0])[0].to_owned(), uses.collect())
        })
        .collect();
    let used = ours.iter().map(|name| {
        let mut used = dependencies(name, "dependencies");
        used.extend(dependencies(name, "build-dependencies"));
        used.extend(dependencies(name, "dev-dependencies"));
        used.retain(|other| ours.contains(other));
        (name.clone(), used)
    });
    assert_eq!(said, used.collect());
}

/// The crates that the architecture calls pure.
fn pure() -> Vec<String> {
    let section = section("ARCHITECTURE.md", "The rooms");
    let line = section
        .lines()
        .find_map(|it| it.strip_prefix("pure, no I/O"));
    let pure: Vec<String> = line
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    assert!(pure.len() >= 7, "{pure:?}");
    pure
}

#[test]
fn clippy_reads_the_list_for_pure_crates_in_each_of_them() {
    let list = read("clippy-pure.toml");
    for name in pure() {
        let own = root().join("crates").join(&name).join("clippy.toml");
        assert!(own.is_symlink(), "{name} has no link to clippy-pure.toml");
        assert_eq!(fs::read_to_string(own).unwrap(), list, "{name}");
    }
    let usual = toml("clippy.toml");
    let list: toml::Table = list.parse().unwrap();
    for (name, value) in usual {
        assert_eq!(list.get(&name), Some(&value), "{name} is not as elsewhere");
    }
    for name in ["disallowed-methods", "disallowed-types"] {
        let banned = list[name].as_array().unwrap();
        assert!(banned.len() > 10, "{name}: {}", banned.len());
        // A path that names nothing bans nothing, and clippy says so only without this.
        assert!(banned.iter().all(|it| it.get("allow-invalid").is_none()));
    }
}

#[test]
fn pure_crates_have_no_runtime_no_async_and_nothing_that_reaches_the_world() {
    let worldly = [
        "async-trait",
        "axum",
        "futures-util",
        "getrandom",
        "hyper",
        "hyper-util",
        "reqwest",
        "rusqlite",
        "rustls",
        "tempfile",
        "tokio",
        "tracing",
    ];
    for name in pure() {
        let used = dependencies(&name, "dependencies");
        let used: Vec<_> = worldly.iter().filter(|it| used.contains(**it)).collect();
        assert!(used.is_empty(), "{name} uses {used:?}");
        for file in files(&root().join("crates").join(&name).join("src"), ".rs") {
            let text = fs::read_to_string(&file).unwrap();
            let is_async = text.contains("async fn ") || text.contains(".await");
            assert!(!is_async, "{}", file.display());
        }
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace_which_forbid_unsafe_and_unwrap() {
    let lints = &toml("Cargo.toml")["workspace"]["lints"];
    assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("forbid"));
    assert_eq!(lints["clippy"]["unwrap_used"].as_str(), Some("warn"));
    for name in crates() {
        let manifest = toml(&format!("crates/{name}/Cargo.toml"));
        let inherits = manifest["lints"]["workspace"].as_bool();
        assert_eq!(inherits, Some(true), "{name}");
    }
    // A warning fails `cargo xtask test`.
    assert!(read("crates/xtask/src/commands/test.rs").contains("\"warnings\""));
}

#[test]
fn no_crate_that_is_refused_is_in_the_tree() {
    let refused = &toml("deny.toml")["bans"]["deny"];
    let refused: BTreeSet<&str> = refused
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    for name in ["openssl", "native-tls", "aws-lc-rs"] {
        assert!(
            refused.contains(name),
            "CONTRIBUTING.md says that {name} is refused"
        );
    }
    let locked = toml("Cargo.lock");
    let mut packages = locked["package"].as_array().unwrap().iter();
    let found = packages.find(|it| refused.contains(it["name"].as_str().unwrap()));
    assert!(found.is_none(), "{found:?}");
}

#[test]
fn only_the_store_names_a_database() {
    // The benchmarks compare with raw SQLite.
    let may = ["store", "bench"];
    for name in crates().iter().filter(|name| !may.contains(&name.as_str())) {
        assert!(
            !dependencies(name, "dependencies").contains("rusqlite"),
            "{name}"
        );
        for file in files(&root().join("crates").join(name).join("src"), ".rs") {
            let text = fs::read_to_string(&file).unwrap();
            for words in [
                "SELECT ",
                "INSERT INTO ",
                "DELETE FROM ",
                "PRAGMA ",
                "rusqlite",
            ] {
                assert!(!text.contains(words), "{words}in {}", file.display());
            }
        }
    }
}

#[test]
fn only_show_makes_html_of_text_unescaped() {
    let raw = ["Pre", "Escaped"].concat();
    for file in files(&root().join("crates"), ".rs") {
        let is_show = file.components().any(|part| part.as_os_str() == "show");
        let makes = fs::read_to_string(&file).unwrap().contains(&raw);
        assert!(is_show || !makes, "{}", file.display());
    }
}

#[test]
fn every_file_says_what_lives_in_it() {
    let files = files(&root().join("crates"), ".rs").into_iter();
    let silent = files.filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!"));
    assert_eq!(silent.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn no_test_is_ignored() {
    let ignored = ["#[", "ignore"].concat();
    let files = files(&root().join("crates"), ".rs").into_iter();
    let resting = files.filter(|file| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().any(|line| line.trim().starts_with(&ignored))
    });
    assert_eq!(resting.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

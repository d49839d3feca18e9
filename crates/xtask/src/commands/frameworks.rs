//! `cargo xtask frameworks`: what `wakeful prompt --for NAME` prints, run with the
//! real package of each framework.
//!
//! It installs from PyPI, so it is no part of the tests. The scripts are in
//! `crates/xtask/frameworks`; what each does is said in `scripted.py`.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::Path,
    process,
};

use super::{Command, misused};
use crate::{
    failure::{Failure, Result},
    place,
    step::{run as run_program, step},
    tools,
};

pub const COMMAND: Command = Command {
    name: "frameworks",
    usage: "[NAME…]",
    about: "install agent frameworks and run what `wakeful prompt --for` prints with each",
    run,
};

const NAMES: [&str; 6] = [
    "claude",
    "openai",
    "gemini",
    "langgraph",
    "crewai",
    "autogen",
];

/// How it went with one framework.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// What the script printed.
    Passed(String),
    /// What the script said before it failed.
    Failed(String),
    /// Why there is nothing to run.
    NotInstalled(String),
}

fn run(arguments: &[OsString]) -> Result<()> {
    let names = chosen(arguments)?;
    let build = ["build", "--locked", "-p", "wakeful"];
    step("cargo build", || run_program(&mut place::cargo(&build)))?;
    let wakeful = place::target()?.join("debug").join("wakeful");
    let mut failed = 0;
    let mut list = String::new();
    for name in names {
        let outcome = match step(&format!("install {name}"), || tools::ensure_framework(name)) {
            Ok(python) => play(name, &python, &wakeful)?,
            Err(failure) => {
                Outcome::NotInstalled(failure.text().unwrap_or_default().trim().to_owned())
            }
        };
        failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        list.push_str(&line(name, &outcome));
    }
    io::stdout()
        .write_all(list.as_bytes())
        .map_err(|error| Failure::Step(format!("stdout: {error}")))?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Step(format!("{failed} of them failed"))),
    }
}

/// The frameworks that were named, or all.
fn chosen(arguments: &[OsString]) -> Result<Vec<&'static str>> {
    let known = |argument: &OsString| NAMES.into_iter().find(|name| argument == name);
    match arguments.iter().map(known).collect::<Option<Vec<_>>>() {
        Some(named) if named.is_empty() => Ok(NAMES.to_vec()),
        Some(named) => Ok(named),
        None => {
            let why = format!("name one of {}", NAMES.join(", "));
            Err(misused(&COMMAND, &why))
        }
    }
}

fn play(name: &str, python: &Path, wakeful: &Path) -> Result<Outcome> {
    let script = place::root().join(format!("crates/xtask/frameworks/{name}.py"));
    eprintln!("==> run {name}");
    let mut command = process::Command::new(python);
    command
        .arg(&script)
        .env("WAKEFUL", wakeful)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(process::Stdio::null());
    let output = command
        .output()
        .map_err(|error| Failure::Step(format!("{} did not run: {error}", script.display())))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(match output.status.success() {
        true => Outcome::Passed(text(&output.stdout)),
        false => Outcome::Failed(text(&output.stderr)),
    })
}

fn line(name: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(printed) => format!("{name:<10} passed  {printed}\n"),
        Outcome::Failed(said) => format!("{name:<10} FAILED  {said}\n"),
        Outcome::NotInstalled(why) => format!("{name:<10} could not be installed: {why}\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn without_a_name_all_are_run_and_an_unknown_name_is_refused() {
        assert_eq!(chosen(&[]), Ok(NAMES.to_vec()));
        assert_eq!(chosen(&["gemini".into()]), Ok(vec!["gemini"]));
        let refused = chosen(&["gemini".into(), "llama".into()]);
        assert!(matches!(refused, Err(Failure::Usage(text)) if text.contains("claude, openai")));
    }

    #[test]
    fn each_framework_has_a_script_a_list_of_packages_and_a_program_to_print() {
        let root = place::root();
        for name in NAMES {
            for file in [
                format!("crates/xtask/frameworks/{name}.py"),
                format!("crates/xtask/frameworks/{name}.txt"),
                format!("crates/xtask/frameworks/{name}-constraints.txt"),
                format!("crates/wake/src/framework/{name}.py"),
            ] {
                assert!(fs::exists(root.join(&file)).unwrap(), "{file}");
            }
        }
    }

    #[test]
    fn a_framework_that_is_not_there_is_told_apart_from_one_that_fails() {
        let said = |outcome| line("crewai", &outcome);
        assert!(
            said(Outcome::NotInstalled("no network".into()))
                .contains("could not be installed: no network")
        );
        assert!(said(Outcome::Failed("1.2: no prompt".into())).contains("FAILED  1.2: no prompt"));
        assert!(said(Outcome::Passed("{}".into())).contains("passed  {}"));
    }
}

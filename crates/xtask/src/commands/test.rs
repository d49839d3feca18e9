//! `cargo xtask test`: everything, from a bare machine to the last test.
//!
//! The last line on stdout is the sum over all crates, and nothing follows it.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::Path,
};

use super::{Command, misused};
use crate::{
    failure::{Failure, Result},
    place,
    step::{run as run_program, run_tests, step},
    tally::Tally,
    tools::{self, Tools},
};

pub const COMMAND: Command = Command {
    name: "test",
    usage: "[--full] [FILTER]",
    about: "install what tests need, then format, lint, build and test everything",
    run,
};

#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Also what takes minutes.
    full: bool,
    /// Only tests whose name contains this.
    filter: Option<String>,
}

impl Plan {
    /// What builds the tests that only the full run has: any other run neither
    /// lists nor counts them.
    fn features(&self) -> &'static [&'static str] {
        match self.full {
            true => &["--features", "wakeful/full"],
            false => &[],
        }
    }
}

fn run(arguments: &[OsString]) -> Result<()> {
    let plan = plan(arguments)?;
    let tools = tools::ensure()?;
    for (name, arguments) in CHECKS {
        step(name, || run_program(&mut place::cargo(arguments)))?;
    }
    let list = place::target()?.join("test-list.txt");
    step("list of tests", || list_tests(&plan, &list))?;
    let mut tally = Tally::default();
    let result = step("cargo test", || {
        let result;
        (tally, result) = run_tests(&mut tests(&plan, &tools, &list));
        result
    });
    if let Err(Failure::Step(text)) = &result {
        eprintln!("xtask: {text}");
    }
    say_last(&tally);
    result.map_err(|_| Failure::Told)
}

const CHECKS: &[(&str, &[&str])] = &[
    ("cargo fmt", &["fmt", "--all", "--check"]),
    (
        "cargo clippy",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            // Tests that only `cargo xtask samples` or a full run has lint like all.
            "--features",
            "wakeful/samples,wakeful/full",
            "--",
            "-D",
            "warnings",
        ],
    ),
    // Tests start the real programs, which `cargo test` alone would not build.
    // With the tests in the same build nothing is compiled twice: alone, the
    // programs would be built with other features of what both stand on.
    (
        "cargo build",
        &["build", "--workspace", "--all-targets", "--locked"],
    ),
];

/// Writes down which tests there are, with cargo's lines that say whose. Both of
/// its streams go into one file, in the order in which they are written.
fn list_tests(plan: &Plan, list: &Path) -> Result<()> {
    let failed = |error: io::Error| Failure::Step(format!("{}: {error}", list.display()));
    let file = fs::File::create(list).map_err(failed)?;
    // All test programs; rustdoc would take longer than they do together.
    let mut command = place::cargo(&["test", "--workspace", "--locked", "--tests"]);
    command
        .args(plan.features())
        .args(["--", "--list"])
        // Cargo's lines are read as they are by default.
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "false")
        .env("CARGO_TERM_VERBOSE", "false")
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file);
    run_program(&mut command)
        .map_err(|_| Failure::Step(format!("cargo lists no tests; see {}", list.display())))
}

fn tests(plan: &Plan, tools: &Tools, list: &Path) -> std::process::Command {
    // All crates are run even if one fails, or the sum would not be one.
    let mut command = place::cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    command
        .args(plan.features())
        .args(&plan.filter)
        .env("WAKEFUL_TEST_PYTHON", &tools.python)
        .env("WAKEFUL_TEST_SCHEMATHESIS", &tools.schemathesis)
        .env("WAKEFUL_TEST_NODE", &tools.node)
        .env("WAKEFUL_TEST_LIST", list);
    if plan.full {
        command.env("WAKEFUL_TEST_FULL", "1");
    }
    command
}

fn plan(arguments: &[OsString]) -> Result<Plan> {
    let mut plan = Plan::default();
    for argument in arguments {
        match argument.to_str() {
            Some("--full") => plan.full = true,
            Some(filter) if !filter.starts_with('-') && plan.filter.is_none() => {
                plan.filter = Some(filter.to_owned());
            }
            _ => {
                let why = format!("\"{}\" is one argument too many", argument.display());
                return Err(misused(&COMMAND, &why));
            }
        }
    }
    Ok(plan)
}

fn say_last(tally: &Tally) {
    let first = if tally.ends_mid_line() { "\n" } else { "" };
    // The exit code tells the rest if nobody listens.
    let _ = writeln!(io::stdout(), "{first}{tally}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(arguments: &[&str]) -> Result<Plan> {
        plan(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_filter_may_stand_before_or_after_the_option() {
        let expected = Plan {
            full: true,
            filter: Some("trail".to_owned()),
        };
        assert_eq!(planned(&["--full", "trail"]).as_ref(), Ok(&expected));
        assert_eq!(planned(&["trail", "--full"]).as_ref(), Ok(&expected));
        assert_eq!(planned(&[]), Ok(Plan::default()));
    }

    #[test]
    fn two_filters_and_unknown_options_are_refused() {
        for arguments in [["a", "b"], ["--ful", "a"], ["a", "--nocapture"]] {
            assert!(matches!(planned(&arguments), Err(Failure::Usage(_))));
        }
    }
}

//! `cargo xtask bench SUITE`: the release build, measured.

use std::{ffi::OsString, process};

use super::{Command, misused};
use crate::{failure::Result, place, step::run as run_program, tools};

pub const COMMAND: Command = Command {
    name: "bench",
    usage: "wake|pages|relay|watchers|wacp [ARGUMENT…]",
    about: "measure the release build; arguments go to the bench (try --help)",
    run,
};

/// What is measured with a server and a disk.
const SERVED: &[&str] = &["wake", "pages", RELAY, "watchers"];
/// Is compared with a relay on Node.
const RELAY: &str = "relay";
/// What is measured in memory, without either.
const WACP: &str = "wacp";

fn run(arguments: &[OsString]) -> Result<()> {
    let suite = arguments.first().and_then(|suite| suite.to_str());
    match suite {
        Some(WACP) => return run_wacp(&arguments[1..]),
        Some(suite) if SERVED.contains(&suite) => {}
        _ => {
            let why = format!("name what to measure: {}, {WACP}", SERVED.join(", "));
            return Err(misused(&COMMAND, &why));
        }
    }
    let mut bench = process::Command::new(place::bench()?);
    if suite == Some(RELAY) {
        bench.env("WAKEFUL_TEST_NODE", tools::ensure_node()?);
    }
    run_program(bench.args(arguments))
}

fn run_wacp(arguments: &[OsString]) -> Result<()> {
    let run = "run --quiet --release --locked -p sim --bin pace --";
    let run: Vec<&str> = run.split(' ').collect();
    run_program(place::cargo(&run).args(arguments))
}

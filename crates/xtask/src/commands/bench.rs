//! `cargo xtask bench SUITE`: the release build of the server, measured.

use std::{ffi::OsString, process};

use super::{Command, misused};
use crate::{
    failure::Result,
    place,
    step::{run as run_program, step},
};

pub const COMMAND: Command = Command {
    name: "bench",
    usage: "wake|pages [ARGUMENT…]",
    about: "measure the release build; arguments go to the bench (try --help)",
    run,
};

/// What the bench can measure.
const SUITES: &[&str] = &["wake", "pages"];

fn run(arguments: &[OsString]) -> Result<()> {
    let suite = arguments.first().and_then(|suite| suite.to_str());
    if !suite.is_some_and(|suite| SUITES.contains(&suite)) {
        let why = format!("name what to measure: {}", SUITES.join(", "));
        return Err(misused(&COMMAND, &why));
    }
    let build = [
        "build",
        "--release",
        "--locked",
        "-p",
        "wakeful",
        "-p",
        "bench",
    ];
    step("cargo build --release", || {
        run_program(&mut place::cargo(&build))
    })?;
    let bench = place::target()?.join("release").join("bench");
    run_program(process::Command::new(bench).args(arguments))
}

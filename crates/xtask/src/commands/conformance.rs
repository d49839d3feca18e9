//! `cargo xtask conformance`: which scenario or test proves which statement of
//! WACP, WAKE and WakeLink.

use std::ffi::OsString;

use super::{Command, misused};
use crate::{failure::Result, place, step::run as run_program};

pub const COMMAND: Command = Command {
    name: "conformance",
    usage: "[--write]",
    about: "what proves each statement of the protocols; --write also writes docs/conformance-*.md",
    run,
};

fn run(arguments: &[OsString]) -> Result<()> {
    let mut cargo = place::cargo(&["run", "--quiet", "--locked", "-p", "conformance", "--"]);
    cargo.arg(place::root());
    match arguments {
        [] => {}
        [flag] if flag == "--write" => {
            cargo.arg("--write");
        }
        _ => return Err(misused(&COMMAND, "it knows --write alone")),
    }
    run_program(&mut cargo)
}

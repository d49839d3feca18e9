//! `cargo xtask conformance`: which scenario proves which statement of WACP.

use std::ffi::OsString;

use super::{Command, misused};
use crate::{failure::Result, place, step::run as run_program};

pub const COMMAND: Command = Command {
    name: "conformance",
    usage: "[--write]",
    about: "play the WACP scenarios and report; --write also writes docs/conformance-wacp.md",
    run,
};

fn run(arguments: &[OsString]) -> Result<()> {
    let root = place::root();
    let mut cargo = place::cargo(&["run", "--quiet", "--locked", "-p", "conformance", "--"]);
    cargo.arg(root.join("crates/wacp/conformance"));
    match arguments {
        [] => {}
        [flag] if flag == "--write" => {
            cargo
                .arg("--write")
                .arg(root.join("docs/conformance-wacp.md"));
        }
        _ => return Err(misused(&COMMAND, "it knows --write alone")),
    }
    run_program(&mut cargo)
}

//! `cargo xtask deny`: which crates, licences and sources are in the tree, held
//! against `deny.toml`. Advisories need a network and are left to whoever has one.

use std::ffi::OsString;

use super::Command;
use crate::{
    failure::{Failure, Result},
    place,
    step::{run as run_program, run_quietly, step},
};

pub const COMMAND: Command = Command {
    name: "deny",
    usage: "",
    about: "check dependencies, their licences and sources against deny.toml",
    run,
};

const INSTALL: &str =
    "cargo-deny is not installed: run `cargo install --locked cargo-deny@0.20.2`, then this again";

fn run(arguments: &[OsString]) -> Result<()> {
    if !arguments.is_empty() {
        return Err(super::misused(&COMMAND, "it takes no arguments"));
    }
    if run_quietly(&mut place::cargo(&["deny", "--version"])).is_err() {
        return Err(Failure::Step(INSTALL.to_owned()));
    }
    let check = ["deny", "check", "bans", "licenses", "sources"];
    step("cargo deny check", || {
        run_program(&mut place::cargo(&check))
    })
}

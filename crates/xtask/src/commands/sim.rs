//! `cargo xtask sim`: WACP through years of faults in seconds.

use std::ffi::OsString;

use super::Command;
use crate::{failure::Result, place, step::run as run_program};

pub const COMMAND: Command = Command {
    name: "sim",
    usage: "[--model] [--seed N] [--steps M]",
    about: "play WACP with faults and check it; one seed, or many until M orders are given",
    run,
};

fn run(arguments: &[OsString]) -> Result<()> {
    let build = ["run", "--quiet", "--release", "--locked", "-p", "sim", "--"];
    run_program(place::cargo(&build).args(arguments))
}

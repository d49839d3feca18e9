//! `cargo xtask sim`: WACP, or the engine, through years of faults in seconds.

use std::ffi::OsString;

use super::Command;
use crate::{failure::Result, place, step::run as run_program};

pub const COMMAND: Command = Command {
    name: "sim",
    usage: "[--model | --engine] [--break NAME] [--seed N] [--steps M]",
    about: "play WACP, or the engine, with faults and check it; one seed, or many until M steps",
    run,
};

fn run(arguments: &[OsString]) -> Result<()> {
    let build = ["run", "--quiet", "--release", "--locked", "-p", "sim", "--"];
    run_program(place::cargo(&build).args(arguments))
}

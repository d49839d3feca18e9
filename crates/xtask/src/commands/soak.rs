//! `cargo xtask soak attack`: the release build under all resource attacks at
//! once, whose generators share one processor.

use std::{ffi::OsString, fs, process};

use super::{Command, misused};
use crate::{failure::Result, place, step::run as run_program};

pub const COMMAND: Command = Command {
    name: "soak",
    usage: "attack [--minutes N]",
    about: "attack the release build for ten minutes, while people answer and agents deliver",
    run,
};

const ATTACK: &str = "attack";

fn run(arguments: &[OsString]) -> Result<()> {
    if arguments.first().and_then(|suite| suite.to_str()) != Some(ATTACK) {
        return Err(misused(&COMMAND, &format!("name what to do: {ATTACK}")));
    }
    let bench = place::bench()?;
    // As the system lists them, such as "0-7"; the generators have the last.
    let all = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let all = all.trim();
    let last = all.rsplit(['-', ',']).next().unwrap_or_default();
    let mut command = match last.is_empty() {
        true => process::Command::new(bench),
        false => {
            let mut pinned = process::Command::new("taskset");
            pinned.args(["-c", last]).arg(bench);
            pinned
        }
    };
    command.args(arguments);
    if !last.is_empty() {
        command.args(["--processors", all]);
    }
    run_program(&mut command)
}

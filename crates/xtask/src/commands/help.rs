//! `cargo xtask help`: what there is.

use std::{
    ffi::OsString,
    io::{self, Write as _},
};

use super::{ALL, Command};
use crate::failure::{Failure, Result};

pub const COMMAND: Command = Command {
    name: "help",
    usage: "",
    about: "this list",
    run,
};

fn run(_: &[OsString]) -> Result<()> {
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for Command {
        name, usage, about, ..
    } in ALL
    {
        let call = format!("{name} {usage}");
        text.push_str(&format!("  {call:<28} {about}\n"));
    }
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Step(format!("stdout: {error}")))
}

//! Our own chores, as `cargo xtask COMMAND`.
//!
//! Standard library only: this must compile in seconds on a machine where
//! nothing else has been built yet. One file per command in `commands/`.
//!
//! Exit codes: 0 done, 1 a step failed, 2 asked wrongly.

mod commands;
mod failure;
mod place;
mod step;
mod tally;
mod tools;

use std::{env, ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match commands::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                eprintln!("xtask: {text}");
            }
            failure.exit_code()
        }
    }
}

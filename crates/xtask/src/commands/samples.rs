//! `cargo xtask samples DIR`: the documents' own code against the real server.
//!
//! The documents are not part of this repository, so `cargo xtask test` runs
//! only programs of ours that make the same calls.

use std::{ffi::OsString, fs};

use super::{Command, misused};
use crate::{
    failure::Result,
    place,
    step::{run as run_program, step},
    tools,
};

pub const COMMAND: Command = Command {
    name: "samples",
    usage: "DIR",
    about: "run the code in the documents of DIR over TLS, and list what it is given",
    run,
};

const TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--locked",
    "--features",
    "wakeful/samples",
    "--test",
    "samples",
    "--",
    // One after the other, so that what each is given stands beside it.
    "--test-threads=1",
    "--nocapture",
];

fn run(arguments: &[OsString]) -> Result<()> {
    let [directory] = arguments else {
        return Err(misused(&COMMAND, "name the directory with the documents"));
    };
    let directory = fs::canonicalize(directory).map_err(|error| {
        let why = format!("{}: {error}", directory.display());
        misused(&COMMAND, &why)
    })?;
    let (python, express) = tools::ensure_for_agents()?;
    step("samples", || {
        run_program(
            place::cargo(TESTS)
                .env("WAKEFUL_TEST_SEEDS", directory)
                .env("WAKEFUL_TEST_PYTHON", python)
                .env("WAKEFUL_TEST_EXPRESS", express),
        )
    })
}

//! A virtual environment with fixed versions of what tests import.
//!
//! A stamp, written last, holds the list it was made from: an environment
//! without it, or with another list, is made anew.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::debian;
use crate::{
    failure::{Failure, Result},
    place,
    step::{run, run_quietly},
};

pub const PACKAGES: [&str; 2] = ["python3", "python3-venv"];

const REQUIREMENTS: &str = include_str!("../../python/requirements.txt");
const CONSTRAINTS: &str = include_str!("../../python/constraints.txt");

/// Gives the interpreter and Schemathesis.
pub fn ensure(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let venv = directory.join("venv");
    let stamp = venv.join("made-from");
    let list = format!("{REQUIREMENTS}\n{CONSTRAINTS}");
    let (python, schemathesis) = (venv.join("bin/python"), venv.join("bin/st"));
    let made = fs::read_to_string(&stamp).is_ok_and(|text| text == list);
    if made && runs(&python) && schemathesis.is_file() {
        return Ok((python, schemathesis));
    }
    fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    create(&venv)?;
    let files = place::root().join("crates/xtask/python");
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .arg("--requirement")
        .arg(files.join("requirements.txt"))
        .arg("--constraint")
        .arg(files.join("constraints.txt")))?;
    fs::write(&stamp, list).map_err(|error| unwritable(&stamp, &error))?;
    Ok((python, schemathesis))
}

/// An interpreter that was upgraded or removed leaves an environment that does not start.
fn runs(python: &Path) -> bool {
    run_quietly(Command::new(python).args(["-c", ""])).is_ok()
}

/// Whether a Python can make environments is known only by making one: Debian
/// ships the module without what it needs, other Pythons come complete.
fn create(venv: &Path) -> Result<()> {
    let mut found = vec![PathBuf::from("python3")];
    let debians = PathBuf::from("/usr/bin/python3");
    if place::find("python3").as_ref() != Some(&debians) && debians.is_file() {
        found.push(debians.clone());
    }
    if found.iter().any(|python| create_with(python, venv).is_ok()) {
        return Ok(());
    }
    debian::install(&PACKAGES)?;
    create_with(&debians, venv)
}

fn create_with(python: &Path, venv: &Path) -> Result<()> {
    match fs::remove_dir_all(venv) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unwritable(venv, &error));
        }
        _ => {}
    }
    run_quietly(Command::new(python).args(["-m", "venv"]).arg(venv))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Step(format!("{}: {error}", path.display()))
}

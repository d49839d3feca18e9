//! Virtual environments with fixed versions: one for what tests import, and one
//! for each agent framework, since those contradict each other.
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
    step::run_quietly,
};

pub const PACKAGES: [&str; 2] = ["python3", "python3-venv"];

/// Gives the interpreter and Schemathesis.
pub fn ensure(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let venv = directory.join("venv");
    let files = place::root().join("crates/xtask/python");
    let (requirements, constraints) = (
        files.join("requirements.txt"),
        files.join("constraints.txt"),
    );
    let schemathesis = venv.join("bin/st");
    if !schemathesis.is_file() {
        // Whatever else is there, it is not what the list asks for.
        forget(&venv)?;
    }
    let python = environment(&venv, &requirements, &constraints)?;
    Ok((python, schemathesis))
}

/// Makes the environment of one framework; gives its interpreter.
pub fn ensure_framework(directory: &Path, name: &str) -> Result<PathBuf> {
    let files = place::root().join("crates/xtask/frameworks");
    environment(
        &directory.join("frameworks").join(name),
        &files.join(format!("{name}.txt")),
        &files.join(format!("{name}-constraints.txt")),
    )
}

/// An environment with what the two files list; gives its interpreter.
fn environment(venv: &Path, requirements: &Path, constraints: &Path) -> Result<PathBuf> {
    let stamp = venv.join("made-from");
    let list = format!("{}\n{}", read(requirements)?, read(constraints)?);
    let python = venv.join("bin/python");
    let made = fs::read_to_string(&stamp).is_ok_and(|text| text == list);
    if made && runs(&python) {
        return Ok(python);
    }
    if let Some(parent) = venv.parent() {
        fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
    }
    create(venv)?;
    run_quietly(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--requirement")
            .arg(requirements)
            .arg("--constraint")
            .arg(constraints),
    )?;
    fs::write(&stamp, list).map_err(|error| unwritable(&stamp, &error))?;
    Ok(python)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::Step(format!("{}: {error}", path.display())))
}

/// Has an environment made anew.
fn forget(venv: &Path) -> Result<()> {
    let stamp = venv.join("made-from");
    match fs::remove_file(&stamp) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unwritable(&stamp, &error))
        }
        _ => Ok(()),
    }
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

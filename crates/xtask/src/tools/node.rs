//! Packages that browser tests and the relay's bench import, with fixed versions.
//!
//! A stamp, written last, holds the list they were made from, as with Python's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Failure, Result},
    place,
    step::run,
};

const LIST: &str = include_str!("../../node/package-lock.json");

/// Gives the directory whose `node_modules` has them.
pub fn ensure(directory: &Path) -> Result<PathBuf> {
    let packages = directory.join("node");
    let stamp = packages.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == LIST) {
        return Ok(packages);
    }
    let failed = |error: std::io::Error| Failure::Step(format!("{}: {error}", packages.display()));
    fs::create_dir_all(&packages).map_err(failed)?;
    for name in ["package.json", "package-lock.json"] {
        let from = place::root().join("crates/xtask/node").join(name);
        fs::copy(from, packages.join(name)).map_err(failed)?;
    }
    run(Command::new("npm")
        .args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
        ])
        .current_dir(&packages))?;
    fs::write(&stamp, LIST).map_err(failed)?;
    Ok(packages)
}

//! Packages for Node with fixed versions: what browser tests and the relay's bench
//! import, and what the documents' samples do.
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

/// Packages that are installed together.
pub struct Packages {
    /// The folder with their list, here and in the target directory.
    folder: &'static str,
    list: &'static str,
}

pub const TESTS: Packages = Packages {
    folder: "node",
    list: include_str!("../../node/package-lock.json"),
};
pub const EXPRESS: Packages = Packages {
    folder: "express",
    list: include_str!("../../express/package-lock.json"),
};

/// Gives the directory whose `node_modules` has them.
pub fn ensure(directory: &Path, wanted: &Packages) -> Result<PathBuf> {
    let packages = directory.join(wanted.folder);
    let stamp = packages.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted.list) {
        return Ok(packages);
    }
    let failed = |error: std::io::Error| Failure::Step(format!("{}: {error}", packages.display()));
    fs::create_dir_all(&packages).map_err(failed)?;
    for name in ["package.json", "package-lock.json"] {
        let lists = place::root().join("crates/xtask").join(wanted.folder);
        let from = lists.join(name);
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
    fs::write(&stamp, wanted.list).map_err(failed)?;
    Ok(packages)
}

//! Where things are: the workspace, the target directory, cargo itself.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Failure, Result},
    step::{run, step},
};

/// The workspace's directory.
pub fn root() -> PathBuf {
    // Cargo names the package's directory as it is now; the one compiled in may have moved.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.ancestors().nth(2).map(Path::to_owned);
    root.unwrap_or(package)
}

/// The target directory, wherever it was configured to be: this program lies in it.
pub fn target() -> Result<PathBuf> {
    let program = env::current_exe()
        .map_err(|error| Failure::Step(format!("this program's own place is unknown: {error}")))?;
    let target = program.ancestors().nth(2).map(Path::to_owned);
    target.ok_or_else(|| {
        Failure::Step(format!(
            "{} is not in a target directory",
            program.display()
        ))
    })
}

/// The cargo that runs us, in the workspace's directory.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Builds the release of the server and of what measures it, and says where the
/// latter is.
pub fn bench() -> Result<PathBuf> {
    let build = "build --release --locked -p wakeful -p bench";
    let build: Vec<&str> = build.split(' ').collect();
    step("cargo build --release", || run(&mut cargo(&build)))?;
    Ok(target()?.join("release").join("bench"))
}

/// Where a program is, if it can be run by its name alone.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

//! What tests and benches need and cargo cannot bring: programs of the machine, and
//! packages for Python and Node in the target directory.
//!
//! Looked for before anything is installed, so that a second run fetches
//! nothing. Proxies and package indexes are the environment's business: child
//! processes inherit it as it is.

mod debian;
mod node;
mod python;

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{failure::Result, place, step::step};

/// What tests are told.
#[derive(Debug)]
pub struct Tools {
    pub python: PathBuf,
    pub schemathesis: PathBuf,
    /// Where Node finds what tests and benches import.
    pub node: PathBuf,
}

pub fn ensure() -> Result<Tools> {
    step("Debian packages", || debian::install(&missing()))?;
    let directory = place::target()?.join("test-tools");
    let (python, schemathesis) = step("Python packages", || python::ensure(&directory))?;
    let node = step("Node packages", || node::ensure(&directory, &node::TESTS))?;
    Ok(Tools {
        python,
        schemathesis,
        node,
    })
}

/// The same for what needs Node alone.
pub fn ensure_node() -> Result<PathBuf> {
    step("Debian packages", || debian::install(&missing_for_node()))?;
    let directory = place::target()?.join("test-tools");
    step("Node packages", || node::ensure(&directory, &node::TESTS))
}

/// The same for agents in Python, Node and a shell: the Python, and where Node
/// finds Express.
pub fn ensure_for_agents() -> Result<(PathBuf, PathBuf)> {
    step("Debian packages", || debian::install(&missing_for_agents()))?;
    let directory = place::target()?.join("test-tools");
    let (python, _) = step("Python packages", || python::ensure(&directory))?;
    let ensure_express = || node::ensure(&directory, &node::EXPRESS);
    let express = step("Node packages", ensure_express)?;
    Ok((python, express))
}

/// The interpreter with one agent framework.
pub fn ensure_framework(name: &str) -> Result<PathBuf> {
    let directory = place::target()?.join("test-tools");
    python::ensure_framework(&directory, name)
}

/// Packages whose programs are not here.
fn missing() -> Vec<&'static str> {
    let mut packages = missing_for_agents();
    if !compiles_c() {
        packages.extend(["gcc", "libc6-dev"]);
    }
    for (program, package) in [("nginx", "nginx-light"), ("haproxy", "haproxy")] {
        // Debian keeps them where only an administrator's shell looks.
        let there = std::path::Path::new("/usr/sbin").join(program);
        if place::find(program).is_none() && !there.is_file() {
            packages.push(package);
        }
    }
    if place::find("chromium-headless-shell").is_none() {
        packages.extend(["chromium-headless-shell", "fonts-dejavu-core"]);
    }
    if place::find("firefox-esr").is_none() {
        packages.push("firefox-esr");
    }
    packages
}

fn missing_for_agents() -> Vec<&'static str> {
    let mut packages = missing_for_node();
    if place::find("python3").is_none() {
        packages.extend(python::PACKAGES);
    }
    if place::find("curl").is_none() {
        packages.push("curl");
    }
    packages
}

fn missing_for_node() -> Vec<&'static str> {
    [("node", "nodejs"), ("npm", "npm")]
        .into_iter()
        .filter(|(program, _)| place::find(program).is_none())
        .map(|(_, package)| package)
        .collect()
}

/// Whether there is a C compiler, and headers for it: Debian has them apart.
fn compiles_c() -> bool {
    let preprocess = || {
        let mut cc = Command::new("cc")
            .args(["-E", "-x", "c", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut source) = cc.stdin.take() {
            source.write_all(b"#include <stdlib.h>\n")?;
        }
        cc.wait()
    };
    preprocess().is_ok_and(|status| status.success())
}

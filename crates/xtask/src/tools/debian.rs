//! Packages of the machine, by `apt-get`, as root or through `sudo`.

use std::{env, process::Command};

use crate::{
    failure::{Failure, Result},
    place,
    step::run,
};

/// Settings that `sudo` drops and `apt-get` needs to reach its mirrors.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

pub fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let by_hand = |why: &str| Failure::Step(format!("{why}; install by hand: {list}"));
    if place::find("apt-get").is_none() {
        return Err(by_hand("these are missing and there is no apt-get here"));
    }
    let root = is_root();
    if !root && place::find("sudo").is_none() {
        return Err(by_hand(
            "these are missing, this is not root and there is no sudo",
        ));
    }
    eprintln!("    installing {list}");
    let install = ["install", "-y", "--no-install-recommends"];
    // A mirror that fails need not be the one that matters.
    if run(&mut apt_get(root, &["update"])).is_err() {
        eprintln!("    apt-get update failed; trying with the lists that are here");
    }
    // What went wrong is on the screen; the command itself may hold a proxy's password.
    run(apt_get(root, &install).args(packages))
        .map_err(|_| by_hand("apt-get could not install these"))
}

fn apt_get(root: bool, arguments: &[&str]) -> Command {
    let mut command = Command::new(if root { "env" } else { "sudo" });
    if !root {
        command.arg("env");
        let given = PROXIES
            .iter()
            .filter_map(|name| Some((name, env::var(name).ok()?)));
        command.args(given.map(|(name, value)| format!("{name}={value}")));
    }
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .args(arguments);
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

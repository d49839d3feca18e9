//! What a device is told of itself: a file, and flags that come before it.
//! Paths in the file start where the file lies.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use runner::{Hands, Mac, Network, Target};
use serde::Deserialize;

use crate::{
    cli::Place,
    link::{cli::Device, private},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    server: Option<String>,
    server_ca: Option<PathBuf>,
    agent: String,
    token_file: Option<PathBuf>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    target: Vec<Machine>,
    #[serde(default)]
    network: Vec<Reach>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    name: String,
    mac: String,
    password: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reach {
    interface: Option<String>,
    broadcast: Option<IpAddr>,
    port: Option<u16>,
}

/// All of it, read and checked; files with secrets are named and not read yet.
#[derive(Debug)]
pub struct Config {
    pub server: String,
    pub server_ca: Option<PathBuf>,
    pub agent_id: String,
    pub token_file: PathBuf,
    pub secret_file: PathBuf,
    pub hands: Hands,
}

pub fn read(place: &Place, given: &Device) -> Result<Config> {
    let path = &given.config;
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read {}", path.display()))?;
    let file: File = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    if file.target.iter().any(|target| target.password.is_some()) {
        private::read(path)?;
    }
    let beside = |named: PathBuf| match path.parent() {
        Some(directory) => directory.join(named),
        None => named,
    };
    let Some(server) = place.server.clone().or(file.server) else {
        bail!(
            "name the server, as server = \"https://…\" in {} or with --server",
            path.display()
        );
    };
    let Some(token_file) = given.token_file.clone().or(file.token_file.map(beside)) else {
        bail!(
            "name the file with the device's token, as token-file in {} or with --token-file",
            path.display()
        );
    };
    let secret_file = given.secret_file.clone().or(file.secret_file.map(beside));
    let targets = file.target.into_iter().map(target);
    let targets = targets
        .collect::<Result<Vec<_>>>()
        .with_context(|| format!("in {}", path.display()))?;
    if file.network.iter().any(|network| network.port == Some(0)) {
        bail!("in {}: a network's port is 1 to 65535", path.display());
    }
    let networks = file.network.into_iter().map(network).collect();
    let hands = Hands::new(&file.agent, targets, networks)
        .with_context(|| format!("in {}", path.display()))?;
    Ok(Config {
        server,
        server_ca: place.server_ca.clone().or(file.server_ca.map(beside)),
        secret_file: private::secret_file(&file.agent, secret_file.as_deref())?,
        agent_id: file.agent,
        token_file,
        hands,
    })
}

fn target(written: Machine) -> Result<Target> {
    let what = || format!("target {:?}", written.name);
    let mac: Mac = written.mac.parse().with_context(what)?;
    // A password has the form of an address: six bytes.
    let password = written.password.as_deref().map(str::parse::<Mac>);
    let password = password
        .transpose()
        .ok()
        .with_context(|| format!("{}: write its password as 01:02:03:04:05:06", what()))?;
    Ok(Target {
        mac,
        password: password.map(|password| password.0),
        name: written.name,
    })
}

fn network(written: Reach) -> Network {
    let usual = Network::default();
    Network {
        interface: written.interface,
        broadcast: written.broadcast.unwrap_or(usual.broadcast),
        port: written.port.unwrap_or(usual.port),
    }
}

/// Where a file is, for a service that starts elsewhere.
pub fn absolute(file: &Path) -> Result<PathBuf> {
    std::path::absolute(file).with_context(|| format!("where is {}?", file.display()))
}

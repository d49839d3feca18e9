//! How Wakeful is driven from outside: the commands that make a store, fill it
//! and verify it. Whatever they print is read as JSON and nothing is guessed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{report::Verified, work::AGENT};

/// So high that the bucket never empties: the bench measures the server, not its limits.
const RATE: &str = "1000000000/1000000000";
const UNLIMITED: &str = "[people]
answers-at-once = 1000000000
answers-per-hour = 1000000000
writes-at-once = 1000000000
writes-per-hour = 1000000000
searched-at-once = 1000000000
searched-per-second = 1000000000
reads = 10000
streams = 10000
connections = 10000
";
const ANSWERED_PERCENT: &str = "50";

#[derive(Debug, Clone)]
pub struct Wakeful {
    pub program: PathBuf,
}

/// Whom the server knows: an owner and an agent.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub owner_token: String,
    pub agent_key: String,
}

impl Wakeful {
    pub fn create(&self, data: &Path) -> Result<Credentials> {
        let user = ["user", "create", "bench", "--role", "owner", "--json"];
        let key = ["key", "create", "--agent", AGENT, "--rate", RATE, "--json"];
        Ok(Credentials {
            owner_token: text(&self.json(data, &user)?, "token")?,
            agent_key: text(&self.json(data, &key)?, "key")?,
        })
    }

    /// Delivers so many, half of which the owner answers.
    pub fn preload(&self, data: &Path, owner_token: &str, count: u64) -> Result<()> {
        let count = count.to_string();
        let arguments = ["__preload", "--agent", AGENT, "--count", &count];
        let answered = ["--answered-percent", ANSWERED_PERCENT];
        let mut command = self.command(data, &[&arguments[..], &answered].concat());
        output(command.env("WAKEFUL_TOKEN", owner_token)).map(drop)
    }

    /// Another person; gives the token.
    pub fn person(&self, data: &Path, name: &str, role: &str) -> Result<String> {
        let user = ["user", "create", name, "--role", role, "--json"];
        text(&self.json(data, &user)?, "token")
    }

    /// Another agent; gives its key.
    pub fn key(&self, data: &Path, agent: &str) -> Result<String> {
        let key = ["key", "create", "--agent", agent, "--rate", RATE, "--json"];
        text(&self.json(data, &key)?, "key")
    }

    /// The server without limits for people: one of them does what thousands do.
    pub fn serve(&self, data: &Path, listen: SocketAddr) -> Result<Command> {
        self.serve_with(data, listen, "")
    }

    /// The same, with more in its configuration file.
    pub fn serve_with(&self, data: &Path, listen: SocketAddr, more: &str) -> Result<Command> {
        let config = data.join("bench.toml");
        std::fs::write(&config, UNLIMITED)?;
        // A program of before knows no limits for people, and has none.
        let known = if self.takes(&config)? { UNLIMITED } else { "" };
        std::fs::write(&config, format!("{known}{more}"))?;
        let mut command = self.serve_limited(data, listen);
        command.arg("--config").arg(config);
        Ok(command)
    }

    /// Whether the program knows all that is set there.
    fn takes(&self, config: &Path) -> Result<bool> {
        let mut command = Command::new(&self.program);
        // Plain HTTP for other machines ends it before it does anything.
        command.args(["serve", "--listen", "192.0.2.1:1", "--data", "/nonexistent"]);
        let output = command.arg("--config").arg(config).output()?;
        Ok(!String::from_utf8_lossy(&output.stderr).contains("unknown field"))
    }

    /// The server as it is when nothing is set.
    pub fn serve_limited(&self, data: &Path, listen: SocketAddr) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--listen", &listen.to_string(), "--data"])
            .arg(data);
        command
    }

    /// Verifies the trail and everything beside it.
    pub fn verify(&self, data: &Path) -> Result<Verified> {
        let began = Instant::now();
        let said = self.json(data, &["trail", "verify", "--json"])?;
        let took = began.elapsed();
        let entries = said["entries"].as_u64();
        let entries = entries.context("`trail verify` names no entries")?;
        let log = said["log_seconds"].as_f64();
        let log = log.context("`trail verify` does not say how long the log took")?;
        Ok(Verified::new(entries, log, took.as_secs_f64()))
    }

    pub fn sign_in_link(&self, data: &Path) -> Result<String> {
        let link = self.json(data, &["user", "sign-in-link", "bench", "--json"])?;
        text(&link, "url")
    }

    fn json(&self, data: &Path, arguments: &[&str]) -> Result<Value> {
        serde_json::from_slice(&output(&mut self.command(data, arguments))?)
            .with_context(|| format!("`wakeful {}` did not print JSON", arguments.join(" ")))
    }

    fn command(&self, data: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--data").arg(data);
        command
    }
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output();
    let output = output.with_context(|| format!("run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{:?} failed with {}: {}",
        command.get_args().collect::<Vec<_>>(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

fn text(value: &Value, name: &str) -> Result<String> {
    let found = value[name].as_str().map(str::to_owned);
    found.with_context(|| format!("no `{name}` in {value}"))
}

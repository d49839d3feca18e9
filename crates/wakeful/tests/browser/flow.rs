//! A script that drives Chromium. It prints one line for each sentence it has
//! proven, may ask the test for something by a line `ask WHAT`, and ends with
//! an error and a screenshot if a sentence does not hold.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    guest::Guest,
    harness::{House, WAKEFUL},
};

pub struct Flow {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// Sentences proven so far.
    proven: usize,
}

/// What Node imports from, as `cargo xtask test` has it.
pub fn packages() -> PathBuf {
    match std::env::var_os("WAKEFUL_TEST_NODE") {
        Some(path) if Path::new(&path).join("node_modules").is_dir() => path.into(),
        _ => panic!("WAKEFUL_TEST_NODE names no directory with node_modules: run cargo xtask test"),
    }
}

impl Flow {
    /// Starts `flows/NAME.mjs`, with the server, the people and what it needs besides.
    pub fn start(name: &'static str, house: &House, people: &[&Guest], more: Value) -> Flow {
        let mut given = json!({
            "address": house.address(), "data": house.data(), "wakeful": WAKEFUL,
            "shots": env!("CARGO_TARGET_TMPDIR"),
            "people": {},
        });
        for guest in people {
            given["people"][&guest.name] = guest.given();
        }
        for (name, value) in more.as_object().unwrap() {
            given[name] = value.clone();
        }
        let authority = given["tls"]["file"].as_str().map(str::to_owned);
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/browser/flows")
            .join(format!("{name}.mjs"));
        let mut command = Command::new("node");
        // A proxy of this machine has no part in this.
        for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
            command
                .env_remove(proxy)
                .env_remove(proxy.to_ascii_uppercase());
        }
        let mut child = command
            .arg(script)
            .env("WAKEFUL_TEST_NODE", packages())
            .env("WAKEFUL_FLOW", given.to_string())
            .envs(authority.map(|file| ("NODE_EXTRA_CA_CERTS", file)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node does not start: run cargo xtask test");
        Flow {
            name,
            input: child.stdin.take().unwrap(),
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            proven: 0,
        }
    }

    /// Lets it go on until it asks for something, or ends.
    pub fn asked(&mut self) -> Option<String> {
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            println!("{line}");
            self.proven += usize::from(line.starts_with("holds: "));
            if let Some(what) = line.strip_prefix("ask ") {
                return Some(what.to_owned());
            }
        }
        None
    }

    /// Lets it go on until it asks for this.
    pub fn until_asked(&mut self, what: &str) {
        while let Some(asked) = self.asked() {
            if asked == what {
                return;
            }
        }
        panic!("{} ended and never asked to {what}", self.name);
    }

    /// What it asked for is done.
    pub fn done(&mut self) {
        self.tell(&Value::Null);
    }

    /// The same, and it is told what came of it.
    pub fn tell(&mut self, value: &Value) {
        writeln!(self.input, "{value}").unwrap();
    }

    /// Everything must hold, and something must have been proven.
    pub fn finish(mut self) {
        while self.asked().is_some() {}
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}: see above", self.name);
        assert!(self.proven > 0, "{} proved nothing", self.name);
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A real server in a throw-away directory, and the means to talk to it.
//!
//! Every test program of this crate uses this module and none uses all of it.
#![allow(dead_code, clippy::unwrap_used, clippy::zombie_processes)]

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const WAKEFUL: &str = env!("CARGO_BIN_EXE_wakeful");

/// A data directory, and the server on it while it runs.
pub struct House {
    pub directory: TempDir,
    server: Option<Running>,
    pub http: Client,
    /// What a shell does before it becomes the server, if it must.
    pub prelude: Option<&'static str>,
    flags: Vec<String>,
}

struct Running {
    child: Child,
    address: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// `wakeful ARGS --data DIR`, with these environment variables.
pub fn wakeful(data: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(WAKEFUL);
    command.args(arguments).arg("--data").arg(data);
    for name in [
        "WAKEFUL_TOKEN",
        "WAKE_API_KEY",
        "WAKEFUL_SERVER",
        "WAKEFUL_DATA",
    ] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Copies a data directory on which no server runs.
pub fn copy_data(from: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
            if kind.is_dir() {
                std::fs::create_dir(&target).unwrap();
                copy(&entry.path(), &target);
            } else if kind.is_file() {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let to = tempfile::tempdir().unwrap();
    copy(from, to.path());
    to
}

/// Numbers that look random and come again with the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// One provider for TLS in the whole test program.
pub fn install_tls() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

impl House {
    /// A directory without a server.
    pub fn empty() -> House {
        install_tls();
        House {
            directory: tempfile::tempdir().unwrap(),
            server: None,
            http: Client::builder().no_proxy().build().unwrap(),
            prelude: None,
            flags: Vec::new(),
        }
    }

    /// A running server with the owner `ann`.
    pub async fn start() -> (House, String) {
        House::start_with(&[]).await
    }

    /// The same, with more flags for `serve`.
    pub async fn start_with(flags: &[&str]) -> (House, String) {
        let mut house = House::empty();
        let token = house.user("ann", "owner");
        house.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        house.serve().await;
        (house, token)
    }

    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// `wakeful ARGS --data DIR`, with these environment variables.
    pub fn command(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        wakeful(self.data(), arguments, environment)
    }

    /// The same, which must succeed, with `--json`.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let output = self.command(&with_json, &[]);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Creates a person; gives the token.
    pub fn user(&self, name: &str, role: &str) -> String {
        let created = self.json(&["user", "create", name, "--role", role]);
        created["token"].as_str().unwrap().to_owned()
    }

    /// Creates a key that is not slowed down; gives it.
    pub fn key(&self, agent: &str) -> String {
        self.key_with(agent, &["--rate", "100000000/1000000"])
    }

    pub fn key_with(&self, agent: &str, more: &[&str]) -> String {
        let mut arguments = vec!["key", "create", "--agent", agent];
        arguments.extend(more);
        self.json(&arguments)["key"].as_str().unwrap().to_owned()
    }

    /// Starts the server and waits until it says where it listens.
    pub async fn serve(&mut self) {
        let flags = self.flags.clone();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        self.try_serve(&flags)
            .await
            .expect("the server did not start");
    }

    /// Starts the server; gives what it said if it ended at once.
    pub async fn try_serve(&mut self, flags: &[&str]) -> Result<(), String> {
        assert!(self.server.is_none(), "a server runs already");
        let mut command = match self.prelude {
            None => Command::new(WAKEFUL),
            Some(prelude) => {
                let mut shell = Command::new("sh");
                shell
                    .arg("-c")
                    .arg(format!("{prelude}; exec \"$0\" \"$@\""));
                shell.arg(WAKEFUL);
                shell
            }
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(self.data())
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if log.read_line(&mut line).unwrap() == 0 {
                child.wait().unwrap();
                return Err(said);
            }
            said.push_str(&line);
            let entry: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            if entry["message"] == "listening" {
                let address = entry["address"].as_str().unwrap().to_owned();
                // Read on, so that the server never waits for us.
                let path = self.log_file();
                std::thread::spawn(move || {
                    let mut file = std::fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(path)
                        .unwrap();
                    let _ = std::io::copy(&mut log, &mut file);
                });
                self.server = Some(Running { child, address });
                return Ok(());
            }
        }
    }

    /// Where the server's log goes once it listens: beside the data directory.
    pub fn log_file(&self) -> PathBuf {
        self.data().with_extension("log")
    }

    pub fn address(&self) -> String {
        self.server
            .as_ref()
            .expect("no server runs")
            .address
            .clone()
    }

    pub fn process_id(&self) -> u32 {
        self.server.as_ref().expect("no server runs").child.id()
    }

    /// SIGKILL: no warning, no clean-up.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        }
    }

    /// SIGTERM, and how long it took to end.
    pub fn stop(&mut self) -> Duration {
        let mut server = self.server.take().expect("no server runs");
        let started = Instant::now();
        let signalled = Command::new("kill")
            .args(["-TERM", &server.child.id().to_string()])
            .status()
            .unwrap();
        assert!(signalled.success());
        let status = server.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
        started.elapsed()
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Answer {
        self.try_send(method, path, token, body)
            .await
            .expect("no answer")
    }

    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Result<Answer, reqwest::Error> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.address()));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await?;
        Ok(Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await?.to_vec(),
        })
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, Some(token), None).await
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.send("POST", path, Some(token), Some(body)).await
    }

    /// Delivers something ordinary; gives the id.
    pub async fn deliver(&self, key: &str, agent: &str, more: Value) -> String {
        let answer = self
            .post("/wake/v1/deliver", key, delivery(agent, more))
            .await;
        assert_eq!(answer.status, 201, "{:?}", answer.json());
        answer.json()["delivery_id"].as_str().unwrap().to_owned()
    }

    pub async fn respond(&self, token: &str, id: &str, body: Value) -> Answer {
        self.post(&format!("/api/v1/inbox/{id}/respond"), token, body)
            .await
    }

    pub async fn response(&self, key: &str, id: &str) -> Value {
        let answer = self.get(&format!("/wake/v1/response/{id}"), key).await;
        assert_eq!(answer.status, 200);
        answer.json()
    }

    /// What the trail says about a delivery: event types, oldest first.
    pub async fn history(&self, token: &str, id: &str) -> Vec<String> {
        let answer = self
            .get(&format!("/api/v1/inbox/{id}/history"), token)
            .await;
        let entries = answer.json()["entries"].as_array().unwrap().clone();
        entries
            .iter()
            .map(|entry| entry["event_type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// `wakeful trail verify` on the data directory.
    pub fn verify(&self) -> Value {
        self.json(&["trail", "verify"])
    }
}

/// Ends what runs, and checks that what it leaves behind verifies.
impl Drop for House {
    fn drop(&mut self) {
        self.kill();
        if !std::thread::panicking() && self.data().join("wakeful.db").exists() {
            let output = self.command(&["trail", "verify"], &[]);
            assert!(
                output.status.success(),
                "the trail left behind does not verify: {output:?}"
            );
        }
        let _ = std::fs::remove_file(self.log_file());
    }
}

/// A delivery with every required field, and more or other ones.
pub fn delivery(agent: &str, more: Value) -> Value {
    let mut body = json!({
        "agent_id": agent, "provider": "claude", "type": "output",
        "headline": "Report ready", "summary": "All ten competitors were compared."
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Waits until something holds, looking often; fails after ten seconds.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(Instant::now() < deadline, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

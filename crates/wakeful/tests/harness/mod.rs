//! A real server in a throw-away directory, and the means to talk to it.
//!
//! Every test program of this crate uses this module and none uses all of it.
#![allow(dead_code, clippy::unwrap_used)]
// A server that listens is waited for when it is stopped or killed.
#![allow(clippy::zombie_processes)]

pub mod front;
pub mod peer;
pub mod receiver;
pub mod terminal;
pub mod verifying;
pub mod way;

use std::{
    cell::Cell,
    io::{BufRead as _, BufReader, Write as _},
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
    /// Where the server listens: on a port of its choice, unless it must be one.
    listen: String,
    /// For the server's `WAKEFUL_LOG`.
    pub log_level: Option<&'static str>,
    /// Whether requests of this house prove that they come from its proxy.
    behind_proxy: bool,
    /// The proxy through which it is reached.
    front: Option<front::Front>,
    /// The certificate that the server shows, as PEM.
    trusted: Option<String>,
}

/// What a proxy of these tests proves itself with, and the header it does so in.
pub const PROXY_SECRET: &str = "only-the-proxy-of-this-test-knows-these-words";
pub const PROXY_SECRET_HEADER: &str = "wakeful-proxy-secret";

struct Running {
    child: Child,
    address: String,
    /// Copies the server's log to a file until the server ends.
    reader: std::thread::JoinHandle<()>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn read(response: reqwest::Response) -> Answer {
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response
                .bytes()
                .await
                .expect("the body ended early")
                .to_vec(),
        }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Checks that this is an RFC 9457 problem with this status and code.
    #[track_caller]
    pub fn is_problem(&self, status: u16, code: &str, field: Option<&str>) {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{body}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{body}"
        );
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(
            problem.get("field").and_then(Value::as_str),
            field,
            "{problem}"
        );
        assert_eq!(problem.get("status"), None, "{problem}");
        assert!(problem["type"].is_string() && problem["title"].is_string());
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.ends_with('.'), "no sentence: {detail:?}");
    }

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
        "WAKE_ENDPOINT",
        "WAKE_AGENT_ID",
        "WAKEFUL_SERVER",
        "WAKEFUL_DATA",
        "WAKE_LOG",
    ] {
        command.env_remove(name);
    }
    command.env("XDG_STATE_HOME", state(data));
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Where programs of this house note things for themselves: beside the data directory.
pub fn state(data: &Path) -> PathBuf {
    data.with_extension("state")
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
    let _ = server::tls::provider().install_default();
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
            listen: "127.0.0.1:0".to_owned(),
            log_level: None,
            behind_proxy: false,
            front: None,
            trusted: None,
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

    /// A running server with the owner `ann`, behind proxies of these networks,
    /// loopback among them: what this house sends proves that it is the proxy.
    pub async fn start_behind(networks: &[&str]) -> (House, String) {
        let mut house = House::empty();
        let token = house.user("ann", "owner");
        house.go_behind(networks);
        house.serve().await;
        (house, token)
    }

    /// Flags by which the server takes the proxies of these networks, loopback
    /// among them, at their word.
    pub fn go_behind(&mut self, networks: &[&str]) -> Vec<String> {
        let file = self.data().join("proxy-secret");
        std::fs::write(&file, PROXY_SECRET).unwrap();
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, owner_only).unwrap();
        self.behind_proxy = true;
        let file = file.to_str().unwrap();
        let mut flags = vec!["--proxy-secret-file", file];
        for network in networks {
            flags.extend(["--behind-proxy", network]);
        }
        self.flags = flags.into_iter().map(str::to_owned).collect();
        self.flags.clone()
    }

    /// Listens here, at a port of the server's choice if it ends in `:0`.
    pub fn listen_on(&mut self, address: &str) {
        self.listen = address.to_owned();
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

    /// Stops the server; the next one listens where this one did.
    pub fn stop_for_a_while(&mut self) {
        self.listen_here_again();
        self.stop();
    }

    /// The same without warning.
    pub fn kill_for_a_while(&mut self) {
        self.listen_here_again();
        self.kill();
    }

    fn listen_here_again(&mut self) {
        let address = self.address();
        let (_, listen) = address.split_once("://").unwrap();
        self.listen = listen.to_owned();
    }

    /// Starts the server; gives what it said if it ended at once.
    pub async fn try_serve(&mut self, flags: &[&str]) -> Result<(), String> {
        assert!(self.server.is_none(), "a server runs already");
        let mut child = self.serving(flags).spawn().unwrap();
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
                let reader = std::thread::spawn(move || {
                    let mut file = std::fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(path)
                        .unwrap();
                    file.write_all(said.as_bytes()).unwrap();
                    let _ = std::io::copy(&mut log, &mut file);
                });
                self.server = Some(Running {
                    child,
                    address,
                    reader,
                });
                return Ok(());
            }
        }
    }

    /// Starts the server and kills it so long afterwards, ready or not.
    pub async fn kill_while_starting(&self, after: Duration) {
        let mut child = self.serving(&self.flags).spawn().unwrap();
        let mut log = child.stderr.take().unwrap();
        // Read on, so that the server never waits for us.
        let reader = std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        at_random(Instant::now() + after).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = reader.join();
    }

    /// The server's command line.
    fn serving<S: AsRef<std::ffi::OsStr>>(&self, flags: &[S]) -> Command {
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
        command
            .args(["serve", "--listen", &self.listen, "--data"])
            .arg(self.data())
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .env_remove("WAKEFUL_LOG")
            .envs(self.log_level.map(|level| ("WAKEFUL_LOG", level)));
        command
    }

    /// Where the server's log goes once it listens: beside the data directory.
    pub fn log_file(&self) -> PathBuf {
        self.data().with_extension("log")
    }

    /// Where it is reached.
    pub fn address(&self) -> String {
        if let Some(front) = &self.front {
            return format!("https://localhost:{}", front.https.port());
        }
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
            let _ = server.reader.join();
        }
    }

    /// SIGTERM, without waiting for the end.
    pub fn terminate(&self) {
        let signalled = Command::new("kill")
            .args(["-TERM", &self.process_id().to_string()])
            .status()
            .unwrap();
        assert!(signalled.success());
    }

    /// SIGTERM, and how long it took to end.
    pub fn stop(&mut self) -> Duration {
        let started = Instant::now();
        self.terminate();
        let mut server = self.server.take().expect("no server runs");
        let status = server.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
        let took = started.elapsed();
        let _ = server.reader.join();
        took
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
        Ok(Answer::read(request.send().await?).await)
    }

    /// A request of which every header and byte is said.
    pub async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if self.behind_proxy && headers.iter().all(|(name, _)| *name != PROXY_SECRET_HEADER) {
            request = request.header(PROXY_SECRET_HEADER, PROXY_SECRET);
        }
        Answer::read(request.body(body).send().await.expect("no answer")).await
    }

    /// JSON text, byte for byte, with a key or token.
    pub async fn post_text(&self, path: &str, token: &str, body: impl Into<String>) -> Answer {
        let authorization = format!("Bearer {token}");
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/json"),
        ];
        self.raw("POST", path, &headers, body.into()).await
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

    /// Puts a receiver on the allowlist, with the networks of this machine.
    pub fn allow(&self, receiver: &receiver::Receiver) {
        let host = format!("localhost:{}", receiver.port);
        self.allow_host(&host, &["127.0.0.0/8", "::1/128"], Some(&receiver.identity));
    }

    pub fn allow_host(
        &self,
        pattern: &str,
        networks: &[&str],
        trusted: Option<&receiver::Identity>,
    ) {
        let mut arguments = vec!["webhook", "allow", pattern];
        networks
            .iter()
            .for_each(|network| arguments.extend(["--network", network]));
        let file = trusted.map(receiver::Identity::certificate_file);
        if let Some(file) = &file {
            arguments.extend(["--ca", file.to_str().unwrap()]);
        }
        self.json(&arguments);
    }

    /// What the trail says about tries at the callback of a delivery, oldest
    /// first, each with the moment at which it was recorded.
    pub async fn attempts(&self, token: &str, id: &str) -> Vec<Value> {
        let path = format!("/api/v1/inbox/{id}/history");
        let entries = self.get(&path, token).await.json();
        let entries = entries["entries"].as_array().unwrap().iter();
        entries
            .filter(|entry| entry["event_type"] == "webhook_attempted")
            .map(|entry| {
                let mut facts = entry["facts"].clone();
                facts["recorded_at"] = entry["time"].clone();
                facts
            })
            .collect()
    }

    /// Waits until something holds that an entry of the trail makes true: looks
    /// again whenever one is appended. The token is an owner's, who hears of all.
    pub async fn heard<F: Future<Output = bool>>(
        &self,
        token: &str,
        what: &str,
        mut holds: impl FnMut() -> F,
    ) {
        let url = format!("{}/api/v1/events", self.address());
        in_time(what, async {
            let mut events = self.http.get(url).bearer_auth(token).send().await.unwrap();
            assert_eq!(events.status(), 200);
            while !holds().await {
                let told = events.chunk().await.unwrap();
                assert!(told.is_some(), "the stream of events ended");
            }
        })
        .await;
    }

    /// Waits until so many tries are recorded; gives them.
    pub async fn attempted(&self, token: &str, id: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} attempts are on the trail");
        self.heard(token, &what, || async {
            self.attempts(token, id).await.len() >= count
        })
        .await;
        self.attempts(token, id).await
    }

    /// The callback of a delivery, as people see it.
    pub async fn callback(&self, token: &str, id: &str) -> Value {
        let page = self
            .get("/api/v1/webhooks/callbacks?limit=200", token)
            .await;
        let callbacks = page.json()["callbacks"].as_array().unwrap().clone();
        let of_this = callbacks.into_iter().find(|row| row["delivery_id"] == id);
        of_this.expect("the delivery has no callback")
    }

    pub async fn respond(&self, token: &str, id: &str, body: Value) -> Answer {
        self.post(&format!("/api/v1/inbox/{id}/respond"), token, body)
            .await
    }

    /// The response once it is there: no longer than ten seconds.
    pub async fn answer(&self, key: &str, id: &str) -> Value {
        let answer = self
            .get(&format!("/wake/v1/response/{id}?wait=10"), key)
            .await;
        assert_eq!(answer.status, 200);
        answer.json()
    }

    /// Entries of the trail of one type, newest first, as an owner reads them.
    pub async fn entries(&self, token: &str, event_type: &str) -> Vec<Value> {
        let path = format!("/api/v1/trail?limit=200&event_type={event_type}");
        let answer = self.get(&path, token).await;
        assert_eq!(answer.status, 200);
        answer.json()["entries"].as_array().unwrap().clone()
    }

    /// Waits until a denial with this code is on the trail; gives its facts.
    pub async fn denial(&self, token: &str, code: &str) -> Value {
        let found = Cell::new(None);
        let what = format!("a denial {code} is on the trail");
        self.heard(token, &what, || async {
            let mut entries = self.entries(token, "access_denied").await.into_iter();
            let entry = entries.find(|entry| entry["facts"]["code"] == code);
            let is_there = entry.is_some();
            found.set(entry);
            is_there
        })
        .await;
        found.take().unwrap()["facts"].clone()
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
        let _ = std::fs::remove_dir_all(state(self.data()));
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

/// How long anything may take that a test waits for, unless it says otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for an event; fails if it does not come.
pub async fn in_time<T>(what: &str, event: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(PATIENCE, event).await;
    came.unwrap_or_else(|_| panic!("it never came true that {what}"))
}

/// Waits for a moment that dice have chosen: a crash comes at any time, and not
/// when something has happened.
pub async fn at_random(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}

/// Waits until something holds that nothing tells a test of, looking often: the
/// search index has followed the log, the server or the system has taken back a
/// socket, memory or the pages of a file, another program listens, or the time
/// is over that the server makes somebody wait. What an entry of the trail
/// makes true is [heard](House::heard) of.
pub async fn until<F: Future<Output = bool>>(what: &str, holds: impl FnMut() -> F) {
    until_within(Duration::from_secs(10), what, holds).await;
}

/// The same, for what takes longer.
pub async fn until_within<F: Future<Output = bool>>(
    time: Duration,
    what: &str,
    mut holds: impl FnMut() -> F,
) {
    let deadline = Instant::now() + time;
    while !holds().await {
        assert!(Instant::now() < deadline, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

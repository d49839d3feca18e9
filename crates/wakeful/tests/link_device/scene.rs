//! A server, a device that is a process of its own, and a client elsewhere.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::UdpSocket,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{House, WAKEFUL};

pub const AGENT: &str = "WL35080814";
pub const MAC: &str = "02:4e:a7:93:5c:d1";
/// What a test waits for comes long before.
const LIMIT: Duration = Duration::from_secs(20);

pub struct Scene {
    pub house: House,
    pub ann: String,
    /// What the device has, and what the client has.
    pub device_side: TempDir,
    pub client_side: TempDir,
    /// Where the device's magic packets go.
    pub sleeper: UdpSocket,
}

/// A program that runs, whose lines can be waited for.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(mut command: Command, errors: bool) -> Running {
        command.stdin(Stdio::null());
        match errors {
            true => command.stderr(Stdio::piped()).stdout(Stdio::null()),
            false => command.stdout(Stdio::piped()).stderr(Stdio::null()),
        };
        let mut child = command.spawn().unwrap();
        let stdout = child
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn std::io::Read + Send>);
        let stderr = child
            .stderr
            .take()
            .map(|err| Box::new(err) as Box<dyn std::io::Read + Send>);
        let output = BufReader::new(stdout.or(stderr).unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Running { child, lines }
    }

    /// The next line, as JSON.
    pub fn line(&self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).expect("no further line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    /// Waits for a line that says this.
    pub fn until(&self, message: &str) -> Value {
        loop {
            let line = self.line();
            let said = line["message"].as_str().unwrap_or_default();
            if said.starts_with(message) {
                return line;
            }
        }
    }

    /// SIGTERM; gives the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status();
        assert!(killed.unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Scene {
    /// A server with the owner `ann`, and a device that is known and paired
    /// and does not run yet.
    pub async fn start() -> Scene {
        let (house, ann) = House::start().await;
        Scene::in_house(house, ann, "")
    }

    /// The same in a house that stands, with more in the device's settings.
    pub fn in_house(house: House, ann: String, more: &str) -> Scene {
        let sleeper = UdpSocket::bind("0.0.0.0:0").unwrap();
        sleeper.set_read_timeout(Some(LIMIT)).unwrap();
        let scene = Scene {
            house,
            ann,
            device_side: tempfile::tempdir().unwrap(),
            client_side: tempfile::tempdir().unwrap(),
            sleeper,
        };
        let token_file = scene.device_side.path().join("token");
        scene.done(&["link", "add", AGENT, "--token-file", utf8(&token_file)]);
        let code = scene.on_device(&["link", "pair", AGENT, "--secret-file", "secret"]);
        scene.pair(&code);
        scene.write_config(more);
        scene
    }

    fn write_config(&self, more: &str) {
        let port = self.sleeper.local_addr().unwrap().port();
        let server = self.house.address().replace("127.0.0.1", "localhost");
        let config = format!(
            "server = \"{server}\"\nagent = \"{AGENT}\"\n\
             token-file = \"token\"\nsecret-file = \"secret\"\n{more}\n\
             [[target]]\nname = \"nas\"\nmac = \"{MAC}\"\n\
             [[network]]\nbroadcast = \"127.255.255.255\"\nport = {port}\n"
        );
        std::fs::write(self.config(), config).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.device_side.path().join("device.toml")
    }

    /// A command on the device's machine; gives what it printed.
    fn on_device(&self, arguments: &[&str]) -> String {
        let output = Command::new(WAKEFUL)
            .args(arguments)
            .current_dir(self.device_side.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The client takes a code.
    pub fn pair(&self, code: &str) {
        let mut child = self
            .command(&["link", "pair", AGENT, "--accept", "--replace"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(code.as_bytes()).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success());
    }

    /// `wakeful …` as the client runs it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(WAKEFUL);
        command
            .args(arguments)
            .env("XDG_STATE_HOME", self.client_side.path())
            .env("WAKEFUL_TOKEN", &self.ann)
            .env("WAKEFUL_DATA", self.house.data())
            .env_remove("WAKEFUL_SERVER");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        serde_json::from_str(&self.done(&with_json)).unwrap()
    }

    /// Must end with this code, say why, and print nothing.
    pub fn ends(&self, code: i32, arguments: &[&str], because: &str) {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(output.stdout, b"", "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(because), "{arguments:?}: {said}");
    }

    /// The device, which is online.
    pub fn device(&self) -> Running {
        let device = self.device_that_starts();
        device.until("online");
        device
    }

    pub fn device_that_starts(&self) -> Running {
        let mut command = Command::new(WAKEFUL);
        command
            .args(["link", "device", "--config", utf8(&self.config())])
            .env_remove("WAKEFUL_SERVER")
            .env_remove("WAKEFUL_LOG");
        Running::start(command, true)
    }

    pub fn watch(&self) -> Running {
        Running::start(self.command(&["link", "watch", "--json"]), false)
    }

    /// The next magic packet.
    pub fn woken(&self) -> Vec<u8> {
        let mut bytes = vec![0; 2048];
        let length = self.sleeper.recv(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes
    }
}

fn utf8(path: &Path) -> &str {
    path.to_str().unwrap()
}

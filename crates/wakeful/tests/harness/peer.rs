//! A program in another language that talks to the server under test, and to
//! the test by lines: a word and a JSON value.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use serde_json::Value;

/// A peer that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

/// The Python with what the scripts import.
pub fn python() -> PathBuf {
    tool("WAKEFUL_TEST_PYTHON")
}

/// A program that the machine does not come with.
pub fn tool(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) if Path::new(&path).is_file() => path.into(),
        _ => panic!("{variable} names no program: run cargo xtask test"),
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

impl Peer {
    /// Starts one of our scripts, by the language that its name shows.
    pub fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Peer {
        let program = match name.ends_with(".py") {
            true => python(),
            false => "node".into(),
        };
        let mut command = Command::new(&program);
        // A proxy of this machine has no part in this.
        for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
            command
                .env_remove(proxy)
                .env_remove(proxy.to_ascii_uppercase());
        }
        let child = command
            .arg(script(name))
            .args(arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!(
                "{} does not start ({error}): run cargo xtask test",
                program.display()
            )
        });
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Peer {
            input: child.stdin.take(),
            child,
            lines,
        }
    }

    /// The next thing it tells: a word and a value.
    pub fn hear(&mut self) -> (String, Value) {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.expect("the peer says nothing; its standard error is above");
        let (word, value) = line.split_once(' ').unwrap_or((&line, "null"));
        let value = serde_json::from_str(value);
        let value = value.unwrap_or_else(|error| panic!("{error} in {line:?}"));
        (word.to_owned(), value)
    }

    /// The value of the next thing it tells, which must have this word.
    pub fn expect(&mut self, word: &str) -> Value {
        let (heard, value) = self.hear();
        assert_eq!(heard, word, "{value}");
        value
    }

    /// Tells it something.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends a rest.
    pub fn go_on(&mut self) {
        self.say("go");
    }

    /// Ends a rest, and asks it to end.
    pub fn stop(&mut self) {
        self.say("stop");
    }

    /// It must end by itself and be content.
    pub fn finish(mut self) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
        assert_eq!(self.lines.recv().ok(), None, "it had more to say");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

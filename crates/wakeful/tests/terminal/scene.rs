//! A server with the owner `ann` and an agent `a`, and commands in their names.

use std::process::Output;

use serde_json::Value;

use crate::harness::House;

pub struct Scene {
    pub house: House,
    pub ann: String,
    pub key: String,
}

impl Scene {
    pub async fn start() -> Scene {
        let (house, ann) = House::start().await;
        let key = house.key("a");
        Scene { house, ann, key }
    }

    /// Runs a command with the token and the key in its environment.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let environment = [
            ("WAKEFUL_TOKEN", self.ann.as_str()),
            ("WAKE_API_KEY", self.key.as_str()),
        ];
        self.house.command(arguments, &environment)
    }

    /// Runs a command that must succeed; returns standard output and error.
    #[track_caller]
    pub fn done(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        (text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let (printed, said) = self.done(&[arguments, &["--json"]].concat());
        assert_eq!(said, "", "{arguments:?}");
        serde_json::from_str(&printed).unwrap()
    }

    /// Runs a command that must end with this code and print nothing; returns
    /// what it said.
    #[track_caller]
    pub fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(text(output.stdout), "", "{arguments:?}");
        text(output.stderr)
    }

    /// Delivers from the shell; returns the id.
    pub fn deliver(&self, more: &[&str]) -> String {
        let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "All of it."];
        let (id, _) = self.done(&[&deliver, more].concat());
        id.trim().to_owned()
    }
}

pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

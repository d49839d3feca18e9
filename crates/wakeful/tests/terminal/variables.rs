//! An agent's four variables: `key create` prints them as lines of a `.env` file,
//! and the agent's commands need nothing else.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    harness::{House, WAKEFUL},
    scene::{Scene, text},
};

const NAMES: [&str; 4] = [
    "WAKE_ENDPOINT",
    "WAKE_API_KEY",
    "WAKE_WEBHOOK_SECRET",
    "WAKE_AGENT_ID",
];

/// A home directory in which nothing is, and a `.env` file in it.
struct Home(tempfile::TempDir);

impl Home {
    fn with(lines: &str) -> Home {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".env"), lines).unwrap();
        Home(home)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join(".env")
    }

    /// Runs a command with the file's variables, these, and no others.
    fn run(&self, arguments: &[&str], more: &[(&str, &str)]) -> Output {
        Command::new("sh")
            .args(["-c", r#"set -a; . "$0"; set +a; exec "$@""#])
            .arg(self.file())
            .arg(WAKEFUL)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.0.path())
            .envs(more.iter().copied())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, &[]);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        text(output.stdout)
    }

    #[track_caller]
    fn deliver(&self) -> String {
        let deliver = ["deliver", "-H", "Done", "-s", "All of it."];
        self.done(&deliver).trim().to_owned()
    }

    /// The ids that a sweep lists, in the order of their letters.
    #[track_caller]
    fn swept(&self, more: &[&str]) -> Vec<String> {
        let printed = self.done(&[&["responses", "--json"], more].concat());
        let page: Value = serde_json::from_str(&printed).unwrap();
        let listed = page["deliveries"].as_array().unwrap().iter();
        let ids = listed.map(|one| one["delivery_id"].as_str().unwrap().to_owned());
        sorted(ids.collect())
    }
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

fn names(lines: &str) -> Vec<&str> {
    let named = lines.lines().map(|line| line.split_once('=').unwrap().0);
    named.collect()
}

/// Standard output and error of a command that must succeed.
#[track_caller]
fn made(house: &House, arguments: &[&str]) -> (String, String) {
    let output = house.command(&[&["key", "create", "--agent"], arguments].concat(), &[]);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    (text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn a_file_with_the_four_lines_is_all_that_the_agent_s_commands_need() {
    let (house, ann) = House::start().await;
    for agent in ["research-01", "it's \"me\" \\ $(x) `y`"] {
        let (lines, _) = made(&house, &[agent, "--env"]);
        assert_eq!(names(&lines), NAMES, "{lines}");
        // The specification's endpoint ends in /wake/v1, the white paper's does not.
        let door = format!("WAKE_ENDPOINT={}/wake/v1\n", house.address());
        assert!(lines.starts_with(&door), "{lines}");
        let bare = format!("WAKE_ENDPOINT={}\n", house.address());
        let mut delivered = Vec::new();
        for endpoint in [&door, &bare] {
            let home = Home::with(&lines.replace(&door, endpoint));
            let id = home.deliver();
            assert_eq!(home.done(&["response", &id]), "pending\n");
            let item = house.get(&format!("/api/v1/inbox/{id}"), &ann).await.json();
            assert_eq!(item["agent_id"], agent, "{item}");
            delivered.push(id);
            assert_eq!(home.swept(&[]), sorted(delivered.clone()));
        }
    }
}

#[tokio::test]
async fn the_lines_are_words_beside_the_key_and_with_env_they_alone_are_printed() {
    let (house, _) = House::start().await;
    let (key, said) = made(&house, &["a"]);
    assert!(key.starts_with("wk_live_") && key.lines().count() == 1);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains('=')).collect();
    assert_eq!(names(&lines.join("\n")), NAMES, "{said}");
    assert_eq!(lines[1], format!("WAKE_API_KEY={}", key.trim()));
    assert!(lines[2].starts_with("WAKE_WEBHOOK_SECRET=whsec_"));
    assert_eq!(lines[3], "WAKE_AGENT_ID=a");

    // The secret is shown once: with the first key.
    let (lines, said) = made(&house, &["a", "--env"]);
    assert_eq!(names(&lines), [NAMES[0], NAMES[1], NAMES[3]], "{lines}");
    assert!(said.contains("WAKE_WEBHOOK_SECRET was shown"), "{said}");

    let before = house.json(&["key", "list"]);
    let both = ["key", "create", "--agent", "a", "--env", "--json"];
    let output = house.command(&both, &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(output.stderr).contains("--env and --json"));
    assert_eq!(house.json(&["key", "list"]), before);
}

#[tokio::test]
async fn with_json_a_new_key_is_what_the_server_sent_and_nothing_is_said() {
    let (house, _) = House::start().await;
    let (printed, said) = made(&house, &["a", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mut fields: Vec<&String> = printed.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["agent_id", "key", "key_id", "webhook_secret"]);
    assert_eq!(said, "");
}

#[tokio::test]
async fn the_endpoint_is_the_address_that_agents_use_and_a_guess_is_said_to_be_one() {
    let address = "https://wake.example.com/wake/v1";
    let (mut house, _) = House::start_with(&["--address", address]).await;
    let (lines, said) = made(&house, &["a", "--env"]);
    let first = format!("WAKE_ENDPOINT={address}\n");
    assert!(lines.starts_with(&first), "{lines}");
    assert!(!said.contains("stands for its address"), "{said}");
    house.stop();
    let (lines, said) = made(&house, &["b", "--env"]);
    let first = "WAKE_ENDPOINT=http://127.0.0.1:7377/wake/v1\n";
    assert!(lines.starts_with(first), "{lines}");
    assert!(said.contains("stands for its address"), "{said}");
}

#[tokio::test]
async fn flags_and_variables_of_ours_win_and_only_an_agent_s_commands_read_the_endpoint() {
    let scene = Scene::start().await;
    let nowhere = "WAKE_ENDPOINT=http://127.0.0.1:9/wake/v1";
    let lines = format!("{nowhere}\nWAKE_API_KEY={}\nWAKE_AGENT_ID=a\n", scene.key);
    let home = Home::with(&lines);
    let output = home.run(&["responses"], &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(output.stderr).contains("http://127.0.0.1:9 could not be reached"));
    let address = scene.house.address();
    let data = scene.house.data().to_str().unwrap().to_owned();
    for (flags, environment) in [
        (&["--server", &address][..], &[][..]),
        (&["--data", &data][..], &[][..]),
        (&[][..], &[("WAKEFUL_SERVER", address.as_str())][..]),
        (&[][..], &[("WAKEFUL_DATA", data.as_str())][..]),
    ] {
        let output = home.run(&[&["responses"], flags].concat(), environment);
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
    }
    // An empty variable is not set, and people's commands do not look at it.
    for (command, environment) in [
        ("responses", [("WAKE_ENDPOINT", ""), ("WAKE_API_KEY", "x")]),
        (
            "inbox",
            [("WAKE_ENDPOINT", address.as_str()), ("WAKEFUL_TOKEN", "x")],
        ),
    ] {
        let output = Home::with("").run(&[command], &environment);
        assert_eq!(output.status.code(), Some(2), "{command}: {output:?}");
        let said = text(output.stderr);
        assert!(said.contains("there is no data in"), "{command}: {said}");
    }
}

#[tokio::test]
async fn a_sweep_is_of_the_agent_in_the_variable_unless_another_is_named() {
    let (house, _) = House::start().await;
    let (lines, _) = made(&house, &["a", "--env"]);
    let theirs = Home::with(&lines).deliver();
    let (lines, _) = made(&house, &["lead", "--orchestrator", "a", "--env"]);
    let lead = Home::with(&lines);
    let own = lead.deliver();
    assert_eq!(lead.swept(&[]), [own.as_str()]);
    assert_eq!(lead.swept(&["--agent", "a"]), [theirs.as_str()]);
    // Without one it is of all that the key may read.
    let all = Home::with(&format!("{lines}WAKE_AGENT_ID=\n"));
    assert_eq!(all.swept(&[]), sorted(vec![own, theirs]));
}

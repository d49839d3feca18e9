//! The command line as scripts and people use it: what is on which stream, the
//! exit codes, and that nothing an agent wrote steers a terminal.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use harness::{
    House, WAKEFUL,
    terminal::{HOSTILE, Terminal, steers},
};
use serde_json::{Value, json};

struct Scene {
    house: House,
    ann: String,
    key: String,
}

impl Scene {
    async fn start() -> Scene {
        let (house, ann) = House::start().await;
        let key = house.key("a");
        Scene { house, ann, key }
    }

    /// With the key and the token in the environment.
    fn run(&self, arguments: &[&str]) -> Output {
        let environment = [
            ("WAKEFUL_TOKEN", self.ann.as_str()),
            ("WAKE_API_KEY", self.key.as_str()),
        ];
        self.house.command(arguments, &environment)
    }

    /// Must succeed; gives what is on standard output.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Must succeed with one JSON value on standard output and silence beside it.
    fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let output = self.run(&with_json);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error} in {output:?}"))
    }

    /// Must end with this code, say why, and put nothing on standard output.
    fn ends(&self, code: i32, arguments: &[&str], because: &str) {
        let output = self.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(because), "{arguments:?}: {said}");
    }

    /// The agent's log, where it is kept unless told otherwise.
    fn log(&self) -> PathBuf {
        harness::state(self.house.data()).join("wakeful/agent.log")
    }

    fn deliver(&self, more: &[&str]) -> String {
        let mut arguments = vec!["deliver", "--agent", "a", "-H", "Done", "-s", "All of it."];
        arguments.extend(more);
        self.done(&arguments).trim().to_owned()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn work_goes_from_deliver_to_inbox_to_respond_to_response_in_a_shell() {
    let scene = Scene::start().await;
    let id = scene.deliver(&["-t", "question", "-d", r#"{"n":1}"#, "--timeout", "3600"]);
    assert_eq!(uuid::Uuid::try_parse(&id).unwrap().get_version_num(), 4);
    assert_eq!(scene.done(&["response", &id]), "pending\n");
    let inbox = scene.done(&["inbox"]);
    assert!(inbox.contains(&id) && inbox.contains("question") && inbox.contains("Done"));
    let item = scene.done(&["inbox", &id]);
    assert!(item.contains("All of it.") && item.contains("\"n\": 1"));

    let edited = r#"{"brief":"shorter"}"#;
    let respond = [
        "respond",
        &id,
        "redirected",
        "--feedback",
        "Cut it.",
        "--edited",
        edited,
    ];
    scene.done(&respond);
    assert_eq!(
        scene.done(&["response", &id]),
        format!("redirected\nfeedback: Cut it.\nedited: {edited}\n")
    );
    let swept = scene.done(&["responses", "--agent", "a", "--status", "redirected"]);
    assert!(swept.contains(&id) && swept.contains("Cut it."));
    assert_eq!(scene.done(&["inbox"]), "");
    assert!(scene.done(&["inbox", "--all"]).contains(&id));
    // Who answered, and where.
    let history = scene.json(&["trail", "show", &id]);
    let answered = history["entries"].as_array().unwrap().iter();
    let mut answered = answered.filter(|entry| entry["event_type"] == "delivery_answered");
    let answered = answered.next().unwrap();
    assert_eq!(answered["actor"], "ann");
    assert_eq!(answered["facts"]["channel"], "terminal");
}

#[tokio::test]
async fn details_are_read_from_standard_input() {
    let scene = Scene::start().await;
    let mut child = Command::new(WAKEFUL)
        .args([
            "deliver", "--agent", "a", "-H", "Log", "-s", "The log.", "-d", "-", "--data",
        ])
        .arg(scene.house.data())
        .env("WAKE_API_KEY", &scene.key)
        .env("XDG_STATE_HOME", harness::state(scene.house.data()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all("line 1\nline 2 – ü\n".as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let item = scene.json(&["inbox", text(&output.stdout).trim()]);
    assert_eq!(item["details"], "line 1\nline 2 – ü\n");
}

#[tokio::test]
async fn with_json_standard_output_is_json_and_nothing_else() {
    let scene = Scene::start().await;
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "All of it."];
    let received = scene.json(&deliver);
    assert_eq!(received["status"], "received");
    let id = received["delivery_id"].as_str().unwrap();
    assert_eq!(scene.json(&["response", id])["status"], "pending");
    assert_eq!(scene.json(&["responses"])["total"], 1);
    assert_eq!(scene.json(&["inbox"])["items"][0]["id"], id);
    assert_eq!(scene.json(&["inbox", id])["headline"], "Done");
    let held = scene.json(&["respond", id, "approved", "--hold", "30"]);
    assert!(held["held_until"].is_string());
    assert_eq!(scene.json(&["undo", id]), json!({ "done": true }));
    let answered = scene.json(&["respond", id, "approved"]);
    assert_eq!(answered["status"], "approved");
    assert_eq!(scene.json(&["inbox"])["items"], json!([]));
    assert!(scene.json(&["trail", "show"])["entries"].is_array());
    assert!(scene.json(&["user", "list"])["users"].is_array());
    assert!(scene.json(&["key", "list"])["keys"].is_array());
    assert!(scene.json(&["webhook", "list"])["allowlist"].is_array());
    assert!(scene.json(&["webhook", "attempts"])["callbacks"].is_array());
    assert!(scene.json(&["rate", "list"])["rates"].is_object());
    assert!(scene.json(&["retention", "list"])["retention_days"].is_object());
    let prompt = scene.json(&["prompt", "--agent", "a"]);
    assert!(prompt["prompt"].as_str().unwrap().contains("WAKE"));
    let prompt = scene.json(&["prompt", "--agent", "a", "--address", "https://w.example"]);
    assert!(
        prompt["prompt"]
            .as_str()
            .unwrap()
            .contains("https://w.example/wake/v1")
    );
}

#[tokio::test]
async fn a_wait_ends_with_the_answer() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    let mut waiting = Command::new(WAKEFUL);
    waiting
        .args(["response", &id, "--wait", "60", "--json", "--data"])
        .arg(scene.house.data())
        .env("WAKE_API_KEY", &scene.key)
        .env("XDG_STATE_HOME", harness::state(scene.house.data()))
        .stdout(Stdio::piped());
    let waiting = waiting.spawn().unwrap();
    scene.done(&["respond", &id, "rejected", "--feedback", "No."]);
    let output = waiting.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["status"], "rejected");
}

#[tokio::test]
async fn a_refusal_ends_with_1_and_says_why() {
    let scene = Scene::start().await;
    let nowhere = "550e8400-e29b-41d4-a716-446655440000";
    for arguments in [
        vec!["response", nowhere],
        vec!["response", "not-an-id"],
        vec!["inbox", nowhere],
        vec!["respond", nowhere, "approved"],
        vec!["undo", nowhere],
        vec!["response", nowhere, "--json"],
    ] {
        scene.ends(1, &arguments, "There is nothing here");
    }
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "s"];
    let with = |more: &[&'static str]| [&deliver[..], more].concat();
    scene.ends(1, &with(&["-t", "poem"]), "type");
    scene.ends(1, &with(&["--timeout", "5"]), "timeout_seconds");
    scene.ends(1, &with(&["--webhook", "https://x.example/"]), "allowlist");
    let as_another = ["deliver", "--agent", "b", "-H", "Done", "-s", "s"];
    scene.ends(1, &as_another, "agent");
    scene.ends(1, &["responses", "--limit", "0"], "limit");

    let id = scene.deliver(&[]);
    scene.ends(1, &["respond", &id, "redirected"], "feedback");
    scene.done(&["respond", &id, "approved"]);
    scene.ends(1, &["respond", &id, "rejected"], "ann");
    scene.ends(1, &["webhook", "allow", "*"], "write a host");
    scene.ends(1, &["user", "create", "ann"], "ann");
    scene.ends(1, &["prompt", "--agent", "nobody"], "nobody");
    let wrong = [
        ("WAKE_API_KEY", "wk_live_wrong"),
        ("WAKEFUL_TOKEN", "wl_wrong"),
    ];
    for arguments in [vec!["response", id.as_str()], vec!["inbox"]] {
        let output = scene.house.command(&arguments, &wrong);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[tokio::test]
async fn a_misuse_or_a_failure_ends_with_2_and_says_why() {
    let scene = Scene::start().await;
    scene.ends(2, &["respond", "x", "maybe"], "maybe");
    scene.ends(2, &["deliver", "--agent", "a"], "--headline");
    scene.ends(2, &["fly"], "fly");
    scene.ends(
        2,
        &["key", "create", "--agent", "b", "--rate", "many"],
        "PER_HOUR/BURST",
    );
    let id = scene.deliver(&[]);
    let edited = ["respond", &id, "redirected", "--edited", "{oops"];
    scene.ends(2, &edited, "--edited is not valid JSON");
    for (arguments, variable) in [
        (vec!["inbox"], "WAKEFUL_TOKEN"),
        (vec!["respond", &id, "approved"], "WAKEFUL_TOKEN"),
        (vec!["response", &id], "WAKE_API_KEY"),
        (vec!["responses"], "WAKE_API_KEY"),
    ] {
        let output = scene.house.command(&arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(variable), "{output:?}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[tokio::test]
async fn a_server_elsewhere_is_reached_by_its_address_and_only_over_https() {
    let scene = Scene::start().await;
    let elsewhere = |server: &str, arguments: &[&str]| {
        Command::new(WAKEFUL)
            .args(arguments)
            .args(["--server", server])
            .env_remove("WAKEFUL_DATA")
            .env("WAKE_LOG", scene.house.data().join("agent/elsewhere.log"))
            .env("WAKEFUL_TOKEN", &scene.ann)
            .env("WAKE_API_KEY", &scene.key)
            .output()
            .unwrap()
    };
    let address = scene.house.address();
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "All of it."];
    for base in [
        address.clone(),
        format!("{address}/"),
        format!("{address}/wake/v1"),
    ] {
        let output = elsewhere(&base, &deliver);
        assert_eq!(output.status.code(), Some(0), "{base}: {output:?}");
    }
    assert!(text(&elsewhere(&address, &["user", "list"]).stdout).contains("ann"));
    let insecure = elsewhere("http://wake.example.com", &["inbox"]);
    assert_eq!(insecure.status.code(), Some(2));
    assert!(text(&insecure.stderr).contains("is not HTTPS"));
    let nobody = elsewhere("http://127.0.0.1:9", &["inbox"]);
    assert_eq!(nobody.status.code(), Some(2));
    let said = text(&nobody.stderr);
    assert!(said.starts_with("wakeful: http://127.0.0.1:9 could not be reached: "));
    assert_eq!(said.matches("127.0.0.1:9").count(), 1, "{said}");
}

/// Numbers that no float holds, and keys that are not in order.
const EXACT: &str = r#"{"z":12345678901234567890123,"a":[1e400,-0.0]}"#;

#[tokio::test]
async fn json_is_sent_and_shown_as_it_was_written() {
    let scene = Scene::start().await;
    let id = scene.deliver(&["-d", EXACT]);
    let laid_out = trail::layout::indent(EXACT);
    assert!(scene.done(&["inbox", &id]).contains(&laid_out));
    assert!(scene.done(&["inbox", &id, "--json"]).contains(EXACT));
    let seen = on_a_terminal(&scene, &["inbox", &id, "--json"]);
    assert!(trail::layout::compact(&seen).contains(EXACT), "{seen}");

    scene.done(&["respond", &id, "redirected", "--edited", EXACT]);
    let sent = format!("/wake/v1/response/{id}");
    let sent = scene.house.get(&sent, &scene.key).await;
    assert!(sent.text().contains(EXACT));
    let shown = scene.done(&["response", &id]);
    assert_eq!(shown, format!("redirected\nedited: {EXACT}\n"));
    assert!(scene.done(&["responses"]).contains("redirected"));
    let kept = std::fs::read_to_string(scene.log()).unwrap();
    assert_eq!(kept.matches(EXACT).count(), 2, "{kept}");
}

#[tokio::test]
async fn json_that_could_only_be_guessed_at_is_not_sent() {
    let scene = Scene::start().await;
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "s", "-d"];
    let twice = [&deliver[..], &[r#"{"dup":1,"dup":2}"#]].concat();
    scene.ends(2, &twice, "the key \"dup\" appears twice");
    scene.ends(2, &[&deliver[..], &["{1"]].concat(), "not valid JSON");
    assert_eq!(scene.done(&["inbox"]), "");
    let id = scene.deliver(&["-d", "[draft] as text"]);
    assert_eq!(scene.json(&["inbox", &id])["details"], "[draft] as text");
    let edited = ["respond", &id, "redirected", "--edited", "[1,2]"];
    scene.ends(2, &edited, "JSON array");
}

#[tokio::test]
async fn an_agent_keeps_its_log_beside_the_server_s_data_and_for_itself() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::start().await;
    let id = scene.deliver(&["-d", "a secret plan"]);
    let log = scene.log();
    let mode = std::fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(log).unwrap();
    assert!(kept.contains(&id) && kept.contains("a secret plan"));
    assert!(!scene.house.data().join("agent.log").exists());
    // No log, no delivery.
    let nowhere = [("WAKE_LOG", "/dev/null/log"), ("WAKE_API_KEY", &scene.key)];
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "s"];
    let output = scene.house.command(&deliver, &nowhere);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("WAKE_LOG"));
    assert_eq!(scene.json(&["responses"])["total"], 1);
}

#[tokio::test]
async fn a_sweep_notes_answers_once_and_marks_what_was_not_delivered_from_here() {
    let scene = Scene::start().await;
    let own = scene.deliver(&[]);
    let foreign = scene.house.deliver(&scene.key, "a", json!({})).await;
    for id in [&own, &foreign] {
        scene.done(&["respond", id, "approved"]);
    }
    for _ in 0..2 {
        let output = scene.run(&["responses"]);
        assert_eq!(output.status.code(), Some(0));
        let line = |id: &str| text(&output.stdout).lines().find(|line| line.contains(id));
        assert!(
            line(&foreign)
                .unwrap()
                .contains("approved (not in your log)")
        );
        assert!(!line(&own).unwrap().contains("not in your log"));
        let said = text(&output.stderr);
        assert!(said.contains("1 of 2 not in "), "{said}");
    }
    let kept = std::fs::read_to_string(scene.log()).unwrap();
    let answered = kept
        .lines()
        .filter(|line| line.starts_with("{\"answered\":"));
    assert_eq!(answered.count(), 1, "{kept}");
    assert!(!kept.contains(&foreign));
}

/// What the log notes of time that is over: each note's assumption.
fn time_outs(scene: &Scene, id: &str) -> Vec<Value> {
    let kept = std::fs::read_to_string(scene.log()).unwrap();
    let lines = kept.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["timed_out"] == id)
        .map(|mut line| line["assumption"].take())
        .collect()
}

/// Delivers with a time for the answer, and moves that time into the past.
fn delivered_long_ago(scene: &Scene) -> String {
    let id = scene.deliver(&["--timeout", "60"]);
    let kept = std::fs::read_to_string(scene.log()).unwrap();
    let at = kept.rfind("\"created_at\":\"").unwrap() + 14;
    let older = format!("{}2001{}", &kept[..at], &kept[at + 4..]);
    std::fs::write(scene.log(), older).unwrap();
    id
}

#[tokio::test]
async fn a_wait_that_ends_before_the_time_for_an_answer_notes_nothing_and_is_no_approval() {
    let scene = Scene::start().await;
    let deliver = ["deliver", "--agent", "a", "-H", "Done", "-s", "s"];
    for assume in [&[][..], &["--assume", "the old prices"]] {
        let waiting = ["--timeout", "60", "--wait", "1"];
        let output = scene.run(&[&deliver[..], &waiting, assume].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut printed = text(&output.stdout).lines();
        let id = printed.next().unwrap();
        assert_eq!(printed.next(), Some("pending"));
        let said = text(&output.stderr);
        assert!(
            said.contains("not over") && said.contains("no approval"),
            "{said}"
        );
        assert!(time_outs(&scene, id).is_empty());
    }
    // Where no time was said, the wait is the time.
    let output = scene.run(&[&deliver[..], &["--wait", "1"]].concat());
    let id = text(&output.stdout).lines().next().unwrap();
    assert!(text(&output.stderr).contains("document them"));
    assert_eq!(time_outs(&scene, id), [Value::Null]);
}

#[tokio::test]
async fn waiting_ends_when_the_delivery_said_and_the_assumption_is_noted() {
    let scene = Scene::start().await;
    let id = delivered_long_ago(&scene);
    let started = std::time::Instant::now();
    let waiting = ["--wait", "30", "--assume", "- the old prices"];
    let output = scene.run(&[&["response", &id][..], &waiting].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    assert!(text(&output.stderr).contains("no approval"), "{output:?}");
    assert_eq!(time_outs(&scene, &id), ["- the old prices"]);
}

#[tokio::test]
async fn the_log_says_that_no_assumption_was_given_and_takes_one_later() {
    let scene = Scene::start().await;
    for look in [
        &["responses"][..],
        &["response"],
        &["response", "--wait", "30"],
    ] {
        let id = delivered_long_ago(&scene);
        let mut look = look.to_vec();
        if look[0] == "response" {
            look.insert(1, &id);
        }
        assert!(scene.done(&look).contains("pending"));
        assert_eq!(time_outs(&scene, &id), [Value::Null], "{look:?}");
        scene.done(&["response", &id, "--wait", "30", "--assume", "X"]);
        assert_eq!(time_outs(&scene, &id), [Value::Null, json!("X")]);
    }
}

#[tokio::test]
async fn a_delivery_with_a_secret_in_it_is_not_sent() {
    let scene = Scene::start().await;
    for (flag, field) in [("-s", "summary"), ("-d", "details")] {
        for prefix in ["wk_live_", "wk_test_", "wl_", "wld_", "wls_", "whsec_"] {
            let secret = format!("see {prefix}{}", "aB3-_xYz".repeat(6));
            let mut deliver = vec!["deliver", "--agent", "a", "-H", "Done", flag, &secret];
            if flag != "-s" {
                deliver.extend(["-s", "s"]);
            }
            let output = scene.run(&deliver);
            assert_eq!(output.status.code(), Some(1), "{prefix}: {output:?}");
            let said = text(&output.stderr);
            assert!(said.contains(field) && !said.contains("aB3-_xYz"), "{said}");
        }
    }
    assert_eq!(
        scene
            .house
            .entries(&scene.ann, "delivery_received")
            .await
            .len(),
        0
    );
}

#[tokio::test]
async fn an_item_says_whether_it_is_a_test_and_who_holds_it() {
    let scene = Scene::start().await;
    let test_key = scene.house.key_with("a", &["--test"]);
    let test = scene.house.deliver(&test_key, "a", json!({})).await;
    let live = scene.deliver(&[]);
    assert!(scene.done(&["inbox", &test]).contains("output (test)"));
    assert!(!scene.done(&["inbox", &live]).contains("(test)"));
    let listed = scene.done(&["inbox", "--test"]);
    assert!(listed.contains(&test) && !listed.contains(&live));
    let listed = scene.done(&["inbox", "--test=false"]);
    assert!(listed.contains(&live) && !listed.contains(&test));
    let hold = [
        "respond",
        &live,
        "approved",
        "--feedback",
        "Go.",
        "--hold",
        "30",
    ];
    scene.done(&hold);
    let shown = scene.done(&["inbox", &live]);
    assert!(shown.contains("pending: ann answers approved, which can be undone until 20"));
    assert!(scene.done(&["inbox"]).contains("held by ann"));
}

#[tokio::test]
async fn the_list_begins_with_the_age_and_ends_with_the_id() {
    let scene = Scene::start().await;
    let id = scene.deliver(&["-t", "question"]);
    let list = scene.done(&["inbox"]);
    assert_eq!(list, format!("now  question  a  Done  {id}\n"));
}

#[tokio::test]
async fn an_agent_that_an_orchestrator_names_and_nobody_made_is_told() {
    let scene = Scene::start().await;
    let create = [
        "key",
        "create",
        "--agent",
        "lead",
        "--orchestrator",
        "a,nosuch",
    ];
    let output = scene.run(&create);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("There is no agent nosuch yet."), "{said}");
    assert!(!said.contains("no agent a "), "{said}");
}

#[tokio::test]
async fn details_may_not_be_allowed_to_grow_beyond_what_the_log_can_carry() {
    let mut house = House::empty();
    let refused = house.try_serve(&["--max-details", "16777217"]).await;
    assert!(refused.unwrap_err().contains("at most 16777216 bytes"));
    house
        .try_serve(&["--max-details", "16777216"])
        .await
        .unwrap();
}

#[tokio::test]
async fn an_address_that_agents_may_not_use_is_refused() {
    let scene = Scene::start().await;
    let prompt = |address| ["prompt", "--agent", "a", "--address", address];
    scene.ends(2, &prompt("http://wake.example.com"), "is not HTTPS");
    scene.ends(2, &prompt("wake.example.com"), "is not an address");
    let text = scene.done(&prompt("https://h/wake/v1"));
    assert!(text.contains("POST https://h/wake/v1/deliver"));
    let unknown = ["prompt", "--agent", "nobody", "--address", "https://h"];
    scene.ends(1, &unknown, "nobody");
    let mut house = House::empty();
    let address = ["--address", "http://wake.example.com"];
    let refused = house.try_serve(&address).await.unwrap_err();
    assert!(refused.contains("is not HTTPS"), "{refused}");
}

#[test]
fn common_options_that_a_command_has_no_use_for_are_refused() {
    let house = House::empty();
    for (arguments, because) in [
        (vec!["demo"], "demo has no use for --data"),
        (vec!["man"], "man has no use for --data"),
        (vec!["serve", "--json"], "serve has no use for --json"),
    ] {
        let output = house.command(&arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(because), "{output:?}");
    }
}

#[tokio::test]
async fn a_demo_that_is_stopped_ends_without_a_complaint() {
    let mut demo = Command::new(WAKEFUL)
        .args(["demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut export = String::new();
    let mut printed = BufReader::new(demo.stdout.take().unwrap());
    printed.read_line(&mut export).unwrap();
    let set: Vec<(&str, &str)> = export
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .collect();
    // All three agents work by now, two of them in the middle of a request.
    harness::until("the crew has delivered", || async {
        let inbox = Command::new(WAKEFUL)
            .arg("inbox")
            .envs(set.clone())
            .output();
        text(&inbox.unwrap().stdout).lines().count() == 4
    })
    .await;
    let id = demo.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = demo.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    assert!(!said.contains("stopped"), "{said}");
}

async fn hostile() -> (Scene, String) {
    let scene = Scene::start().await;
    let more = json!({
        "headline": HOSTILE, "summary": HOSTILE, "provider": HOSTILE,
        "details": format!("{HOSTILE}\n{HOSTILE}")
    });
    let id = scene.house.deliver(&scene.key, "a", more).await;
    (scene, id)
}

#[tokio::test]
async fn nothing_an_agent_or_a_person_wrote_steers_a_terminal() {
    let (scene, id) = hostile().await;
    let second = scene
        .house
        .deliver(&scene.key, "a", json!({ "details": { HOSTILE: HOSTILE } }))
        .await;
    let answer = json!({ "status": "redirected", "feedback": HOSTILE, "edited_content": { HOSTILE: HOSTILE } });
    let answered = scene.house.respond(&scene.ann, &second, answer).await;
    assert_eq!(answered.status, 200);
    for arguments in [
        vec!["inbox"],
        vec!["inbox", "--all"],
        vec!["inbox", &id],
        vec!["inbox", &second],
        vec!["response", &second],
        vec!["responses"],
        vec!["trail", "show"],
        vec!["trail", "show", &id],
        vec!["trail", "show", &second],
    ] {
        let output = scene.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for stream in [&output.stdout, &output.stderr] {
            let bad: String = text(stream).chars().filter(|c| steers(*c)).collect();
            assert_eq!(bad, "", "{arguments:?}");
        }
    }
    let shown = scene.done(&["inbox", &id]);
    assert!(
        shown.contains("\\u{1b}[31mred") && shown.contains("\\u{202e}live"),
        "{shown}"
    );
}

/// What a person sees.
fn on_a_terminal(scene: &Scene, arguments: &[&str]) -> String {
    let mut terminal = Terminal::open(&[("WAKEFUL_TOKEN", &scene.ann)]);
    let data = scene.house.data().to_str().unwrap();
    let (code, shown) = terminal.run(&[arguments, &["--data", data]].concat());
    assert_eq!(code, 0, "{shown}");
    shown
}

#[tokio::test]
async fn json_for_a_terminal_is_escaped_and_json_for_a_program_is_exact() {
    let (scene, id) = hostile().await;
    assert_eq!(scene.json(&["inbox", &id])["headline"], HOSTILE);
    let seen = on_a_terminal(&scene, &["inbox", &id, "--json"]);
    let bad: String = seen.chars().filter(|c| steers(*c)).collect();
    assert_eq!(bad, "", "{seen}");
    assert!(seen.contains("\"headline\": "), "{seen}");
    let read: Value = serde_json::from_str(&seen).expect("what a terminal shows is JSON still");
    assert_eq!(read["headline"], HOSTILE);
}

#[tokio::test]
async fn the_prompt_tells_an_agent_all_it_must_know() {
    let scene = Scene::start().await;
    let text = scene.done(&["prompt", "--agent", "a"]);
    let address = scene.house.address();
    let needed = [
        format!("POST {address}/wake/v1/deliver"),
        format!("GET {address}/wake/v1/response/"),
        format!("GET {address}/wake/v1/responses"),
        format!("Talk to {address} only"),
    ];
    let words = [
        "Authorization: Bearer $WAKE_API_KEY",
        "WAKE_WEBHOOK_SECRET",
        "\"agent_id\": \"a\"",
        "every 60 seconds",
        "approved",
        "rejected",
        "redirected",
        "timeout_seconds",
        "document",
        "sha256=HMAC_SHA256(WAKE_WEBHOOK_SECRET, raw request body)",
        "X-Wake-Signature",
        "constant time",
        "401: stop",
        "429: wait",
        "Retry-After",
        "delivery_id is one that you submitted",
        "credentials",
        "personal data",
        "One delivery for each thing",
        "accomplished",
        "must begin with https://",
    ];
    for needed in needed.iter().map(String::as_str).chain(words) {
        assert!(text.contains(needed), "{needed} in {text}");
    }
    // The key itself is nowhere in it.
    assert!(!text.contains("wk_live_") && !text.contains("whsec_"));
    let elsewhere = [
        "prompt",
        "--agent",
        "a",
        "--address",
        "https://wake.example.com/",
    ];
    let text = scene.done(&elsewhere);
    assert!(text.contains("POST https://wake.example.com/wake/v1/deliver"));
    assert!(text.contains("Use HTTPS for everything"));
}

#[test]
fn completions_the_manual_and_help_are_printed_without_a_server() {
    let run = |arguments: &[&str]| Command::new(WAKEFUL).args(arguments).output().unwrap();
    for (shell, marks) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef wakeful"),
        ("fish", "complete -c wakeful"),
    ] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        assert!(
            script.contains(marks) && script.contains("respond"),
            "{shell}"
        );
        assert!(
            !script.contains("__preload"),
            "{shell} offers what is hidden"
        );
    }
    let page = run(&["man"]);
    assert!(text(&page.stdout).starts_with(".ie") || text(&page.stdout).starts_with(".TH"));
    assert!(text(&page.stdout).contains("wakeful"));
    let help = run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for command in ["serve", "deliver", "inbox", "respond", "trail", "prompt"] {
        assert!(text(&help.stdout).contains(command), "{command}");
    }
    let version = run(&["--version"]);
    assert!(text(&version.stdout).starts_with("wakeful "));
}

#[tokio::test]
async fn a_change_that_changes_nothing_is_said_to_be_none() {
    let scene = Scene::start().await;
    scene.house.user("vic", "viewer");
    for (change, said) in [
        (
            &["user", "resume", "vic"][..],
            "Nothing changed: the state of vic was active",
        ),
        (
            &["user", "role", "vic", "viewer"],
            "Nothing changed: the role of vic was viewer",
        ),
        (&["user", "suspend", "vic"], "Done."),
        (&["user", "resume", "vic"], "Done."),
    ] {
        let output = scene.house.command(change, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stderr).contains(said), "{output:?}");
    }
    let made = scene
        .house
        .command(&["user", "create", "olga", "--role", "owner"], &[]);
    assert!(text(&made.stderr).contains("olga is an owner."), "{made:?}");
}

#[test]
fn a_key_that_is_refused_for_want_of_data_makes_none() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut command = std::process::Command::new(WAKEFUL);
    command
        .args(["key", "create", "--agent", "x", "--data"])
        .arg(&data);
    let output = command.env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("there is no data"),
        "{output:?}"
    );
    assert!(!data.exists());
}

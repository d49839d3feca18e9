//! The single requests in Python, Node and curl.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    documents::{FIRST_CURL, FIRST_NODE, FIRST_PYTHON},
    refused::DEAD_KEY,
    scene::{AGENT, ONE_AN_HOUR, Scene},
};

/// All three get this status. Only `received` has what a delivery's answer has.
async fn get(scene: &Scene, key: &str, status: u16) {
    for sample in [FIRST_PYTHON, FIRST_NODE] {
        let mut agent = scene.run_at(&sample, &scene.versioned(), key, &["run"]);
        assert_eq!(agent.expect("status"), json!(["POST", status]));
        agent.finish();
    }
    let said = curl(scene, key);
    match status {
        201 => {
            assert_eq!(said["status"], "received");
            let id = said["delivery_id"].as_str().unwrap();
            assert_eq!(scene.house.response(key, id).await["status"], "pending");
        }
        _ => {
            assert!(said["code"].is_string(), "{said}");
            assert_eq!(said.get("status"), None, "{said}");
            assert_eq!(said.get("delivery_id"), None, "{said}");
        }
    }
}

/// Runs the line with another host and key, and with the fields that it leaves
/// out; gives what it prints.
fn curl(scene: &Scene, key: &str) -> Value {
    let text = std::fs::read_to_string(FIRST_CURL.file()).unwrap();
    let from = text.find(&format!("\n{}", FIRST_CURL.start)).unwrap() + 1;
    let mut line = String::new();
    for part in text[from..].lines() {
        line.push_str(part);
        line.push('\n');
        if !part.ends_with('\\') {
            break;
        }
    }
    let between = |line: &str, before: &str, after: &str| {
        let from = line.find(before).unwrap() + before.len();
        let to = from + line[from..].find(after).unwrap();
        line[from..to].to_owned()
    };
    let host = between(&line, "https://", "/");
    let (_, here) = scene.bare().split_once("://").map(own).unwrap();
    let line = line.replacen(&host, &here, 1);
    let shown = between(&line, "Bearer ", "\"");
    let line = line.replacen(&shown, key, 1);
    let mut fields = crate::harness::delivery(AGENT, json!({}));
    fields.as_object_mut().unwrap().remove("agent_id");
    let fields = fields.to_string();
    let line = line.replacen("...", fields.trim_matches(['{', '}']), 1);
    FIRST_CURL.is_supplied_with(&[
        "the host in the address",
        "the key",
        "the fields behind ...",
        "trust in the server's certificate",
    ]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line])
        .env("CURL_CA_BUNDLE", scene.identity().certificate_file())
        .env("NO_PROXY", "*");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn own((scheme, rest): (&str, &str)) -> (String, String) {
    (scheme.to_owned(), rest.to_owned())
}

#[tokio::test]
async fn the_requests_of_the_specification_deliver() {
    let scene = Scene::start().await;
    get(&scene, &scene.key, 201).await;
}

#[tokio::test]
async fn the_requests_of_the_specification_learn_that_a_key_is_refused() {
    let scene = Scene::start().await;
    get(&scene, DEAD_KEY, 401).await;
}

#[tokio::test]
async fn the_requests_of_the_specification_learn_that_they_are_too_many() {
    let scene = Scene::limited(&ONE_AN_HOUR).await;
    scene.house.deliver(&scene.key, AGENT, json!({})).await;
    get(&scene, &scene.key, 429).await;
}

#[tokio::test]
async fn the_requests_of_the_specification_learn_that_there_is_no_room() {
    let scene = Scene::narrow().await;
    let others = ["b", "c", "d"].map(|agent| scene.house.key(agent));
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let _open = scene.crowd(&others, 503).await;
    get(&scene, &scene.key, 503).await;
}

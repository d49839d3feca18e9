//! What can be written as the value of an option.

use std::process::Command;

use serde_json::json;

use crate::{
    harness::{House, WAKEFUL, until},
    scene::{Scene, text},
};

#[tokio::test]
async fn text_may_begin_with_a_hyphen() {
    let scene = Scene::start().await;
    let list = "- first\n- second";
    let deliver = ["deliver", "--agent", "a", "-t", "question"];
    let texts = ["-H", "- head", "-s", "-- sum", "-d", list];
    let provider = ["--provider", "-p", "--idempotency-key", "-1"];
    let (id, _) = scene.done(&[&deliver[..], &texts, &provider].concat());
    let id = id.trim();
    let item = scene.json(&["inbox", id]);
    assert_eq!(item["headline"], "- head");
    assert_eq!(item["summary"], "-- sum");
    assert_eq!(item["details"], list);
    assert_eq!(item["provider"], "-p");
    // The search index lags a little.
    until("it is found", || async {
        scene.done(&["inbox", "-q", "- head"]).0.contains(id)
    })
    .await;

    let answer = ["respond", id, "redirected", "--feedback", "- first"];
    let edited = ["--edited", "- one\n- two"];
    scene.done(&[&answer[..], &edited].concat());
    let item = scene.json(&["inbox", id]);
    assert_eq!(item["feedback"], "- first");
    assert_eq!(item["edited_content"], "- one\n- two");
}

#[tokio::test]
async fn a_refusal_shows_the_answer_that_stands_as_it_was_written() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    let edited = r#"{"b":12345678901234567890.10,"a":1e400}"#;
    scene.done(&["respond", &id, "redirected", "--edited", edited]);
    for again in [&["undo", id.as_str()][..], &["respond", &id, "approved"]] {
        let said = scene.ends(1, again);
        assert!(said.contains(&format!("edited: {edited}")), "{said}");
    }
}

#[tokio::test]
async fn an_option_is_not_taken_for_the_text_of_the_one_before_it() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    for next in ["--json", "--hold", "--hold=5", "-h", "--edited"] {
        let said = scene.ends(2, &["respond", &id, "approved", "--feedback", next]);
        assert!(said.contains("--feedback has no text"), "{said}");
        assert!(said.contains(&format!("--feedback={next}")), "{said}");
    }
    assert_eq!(scene.json(&["inbox", &id])["status"], "pending");
    scene.done(&["respond", &id, "approved", "--feedback=--json"]);
    assert_eq!(scene.json(&["inbox", &id])["feedback"], "--json");
}

#[tokio::test]
async fn several_networks_may_be_named_with_commas() {
    let scene = Scene::start().await;
    let allow = ["webhook", "allow", "hooks.internal"];
    let networks = ["--network", "10.0.0.0/8,192.168.0.0/16"];
    let further = ["--network", "fd00::/8"];
    scene.done(&[&allow[..], &networks, &further].concat());
    let listed = scene.json(&["webhook", "list"]);
    let networks = json!(["10.0.0.0/8", "192.168.0.0/16", "fd00::/8"]);
    assert_eq!(listed["allowlist"][0]["networks"], networks);
}

#[tokio::test]
async fn how_details_want_to_be_shown_can_be_said() {
    let scene = Scene::start().await;
    for format in ["text", "markdown", "json", "diff"] {
        let details = ["-d", "*x*", "--details-format", format];
        let id = scene.deliver(&details);
        assert_eq!(scene.json(&["inbox", &id])["details_format"], format);
    }
    let id = scene.deliver(&["-d", "*x*"]);
    assert!(scene.json(&["inbox", &id])["details_format"].is_null());
    let deliver = ["deliver", "--agent", "a", "-H", "x", "-s", "y"];
    let said = scene.ends(2, &[&deliver[..], &["--details-format", "html"]].concat());
    assert!(said.contains("markdown"), "{said}");
}

#[tokio::test]
async fn a_token_file_that_is_there_is_not_overwritten_by_another_device() {
    let scene = Scene::start().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let there = file.to_str().unwrap();
    scene.done(&["link", "add", "WL1", "--token-file", there]);
    let first = std::fs::read_to_string(&file).unwrap();
    let said = scene.ends(2, &["link", "add", "WL2", "--token-file", there]);
    assert!(said.contains("exists"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    // Nothing was made whose token nobody has.
    let said = scene.ends(1, &["link", "status", "WL2"]);
    assert!(said.contains("no device WL2"), "{said}");
    // A link that leads nowhere is there, too.
    let dangling = directory.path().join("dangling");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    let dangling = dangling.to_str().unwrap();
    scene.ends(2, &["link", "add", "WL2", "--token-file", dangling]);
    // A device's own token may be written to its file again.
    scene.done(&["link", "token", "WL1", "--renew", "--token-file", there]);
    assert_ne!(std::fs::read_to_string(&file).unwrap(), first);
}

#[tokio::test]
async fn the_prompt_says_what_a_dead_key_cannot_and_names_what_agents_forget() {
    let scene = Scene::start().await;
    let (prompt, _) = scene.done(&["prompt", "--agent", "a"]);
    let address = scene.house.address();
    for needed in [
        format!("GET {address}/wake/v1/response/{{delivery_id}}?wait=60"),
        "\"details_format\": \"text\" | \"markdown\" | \"json\" | \"diff\"".to_owned(),
        "Idempotency-Key:".to_owned(),
        "401: stop, and ask your human to rotate the key".to_owned(),
        "a dead key cannot deliver".to_owned(),
        "in your own output".to_owned(),
    ] {
        let flat = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&needed), "{needed} in {prompt}");
    }
}

#[test]
fn a_hidden_option_is_refused_as_ever() {
    let house = House::empty();
    let output = Command::new(WAKEFUL)
        .args(["man", "--data"])
        .arg(house.data())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(output.stderr).contains("man has no use for --data"));
}

//! Connecting the first agent.

use std::process::{Command, Stdio};

use serde_json::json;
use wake::{Framework, prompt::Prompt};

use crate::{
    browser::{Browser, secret},
    harness::{House, peer::python},
};

#[tokio::test]
async fn a_fresh_test_key_comes_with_lines_to_paste_and_the_first_delivery_is_seen() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    assert!(
        ann.page("/connect")
            .await
            .contains("Connect your first agent")
    );
    let page = ann.shown("/connect", &[("agent_id", "it's me")]).await;
    let key = secret(&page, "wk_test_");
    assert!(page.contains("data-waiting-for=\"it's me\""), "{page}");
    assert!(page.contains("Has it arrived?"));
    for needed in [
        &format!("export WAKE_API_KEY='{key}'"),
        &format!("curl '{}/wake/v1/deliver'", house.address()),
        "import os, httpx",
        "await fetch(",
        "CLAUDE.md",
        "OpenAI",
        "You work on your own, on behalf of a person",
    ] {
        assert!(
            page.replace("&quot;", "\"").contains(needed),
            "{needed} in {page}"
        );
    }
    let listed = house.get("/api/v1/keys", &token).await.json();
    assert_eq!(listed["keys"][0]["test"], true);

    let waiting = ann.page("/connect?agent=it%27s+me").await;
    assert!(waiting.contains("Nothing has arrived yet"));
    assert!(!waiting.contains(&key));
    house
        .deliver(&key, "it's me", json!({ "headline": "Here <b>I</b> am" }))
        .await;
    let arrived = ann.page("/connect?agent=it%27s+me").await;
    assert!(arrived.contains("It has arrived"), "{arrived}");
    assert!(
        arrived.contains("Here &lt;b&gt;I&lt;/b&gt; am"),
        "{arrived}"
    );
    ann.refused("/connect", &[("agent_id", "")], 422, "1 to 128 characters")
        .await;
}

#[tokio::test]
async fn both_pages_give_each_framework_its_prompt_and_its_code() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let connected = ann.shown("/connect", &[("agent_id", "a")]).await;
    let prompted = ann.page("/agents/a/prompt").await;
    let address = house.address();
    let prompt = Prompt {
        address: &address,
        agent_id: "a",
    };
    for page in [connected, prompted] {
        let page = page.replace("&quot;", "\"").replace("&lt;", "<");
        let page = page.replace("&gt;", ">").replace("&amp;", "&");
        for framework in Framework::ALL {
            for needed in [
                framework.prompt_file(),
                framework.place(),
                &framework.prompt(&prompt),
                &framework.delivering(),
                framework.agent(),
            ] {
                assert!(page.contains(needed), "{needed} in {page}");
            }
        }
    }
}

#[tokio::test]
async fn what_the_page_exports_is_what_the_code_for_frameworks_reads() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann.shown("/connect", &[("agent_id", "it's me")]).await;
    let endpoint = format!("export WAKE_ENDPOINT='{}/wake/v1'\n", house.address());
    assert!(page.contains(&endpoint), "{page}");
    assert!(
        page.contains(r"export WAKE_AGENT_ID='it'\''s me'"),
        "{page}"
    );
}

#[tokio::test]
async fn the_page_says_how_much_its_test_key_may_deliver() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann.shown("/connect", &[("agent_id", "a")]).await;
    let said = "This key allows 5 deliveries at once and 20 an hour";
    assert!(page.contains(said), "{page}");
    // The rate that is in force, not the one that is usual.
    house.json(&["rate", "set", "test", "7/1"]);
    let page = ann.shown("/connect", &[("agent_id", "b")]).await;
    let said = "This key allows 1 delivery at once and 7 an hour";
    assert!(page.contains(said), "{page}");
}

/// The text of the block that starts so, as a person would copy it.
fn block(page: &str, start: &str) -> String {
    let blocks = page.split("<pre class=\"copy\"><code>").skip(1);
    let mut blocks = blocks.map(|rest| rest.split("</code>").next().unwrap());
    let found = blocks.find(|text| text.starts_with(start)).unwrap();
    let plain = found
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    plain.replace("&#39;", "'").replace("&amp;", "&")
}

/// What a shell has in its environment after it read these lines as a file.
fn read_by_a_shell(lines: &str) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines).unwrap();
    let script = r#"set -a; . "$0"; set +a
        for name in WAKE_ENDPOINT WAKE_API_KEY WAKE_WEBHOOK_SECRET WAKE_AGENT_ID; do
            printenv "$name" || echo unset
        done"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(file.path()).env_clear();
    let output = shell
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output();
    let read = String::from_utf8(output.unwrap().stdout).unwrap();
    read.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_four_variables_are_one_block_for_a_file_and_can_be_copied() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let endpoint = format!("{}/wake/v1", house.address());
    for name in ["research-01", "a \"b\" \\ $(c) 'd'"] {
        let page = ann.shown("/connect", &[("agent_id", name)]).await;
        let lines = block(&page, "WAKE_ENDPOINT=");
        assert_eq!(lines.lines().count(), 4, "{lines}");
        let (key, secret) = (secret(&page, "wk_test_"), secret(&page, "whsec_"));
        let read = read_by_a_shell(&lines);
        assert_eq!(read, [endpoint.as_str(), &key, &secret, name]);
        let shown = page.split("WAKE_ENDPOINT=").nth(1).unwrap();
        let after = shown.split_once("</code></pre>").unwrap().1;
        assert!(after.starts_with("<button class=\"quiet\" type=\"button\" data-copy>Copy"));
        // The secret is shown once: with the first key.
        let page = ann.shown("/connect", &[("agent_id", name)]).await;
        let read = read_by_a_shell(&block(&page, "WAKE_ENDPOINT="));
        assert_eq!((&read[0], &*read[2], &*read[3]), (&endpoint, "unset", name));
        let said = "was shown with this agent's first key";
        assert!(page.contains(said), "{page}");
    }
}

#[tokio::test]
async fn whoever_connects_an_agent_is_told_what_is_never_encrypted_nor_erased_and_why() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let before = ann.page("/connect").await;
    let with_key = ann.shown("/connect", &[("agent_id", "a")]).await;
    for page in [before, with_key] {
        says_what_stays(&page);
    }
}

/// Checks that a page says what neither a body key nor retention reaches.
#[track_caller]
pub fn says_what_stays(page: &str) {
    for said in [
        "Headline and summary are neither encrypted by <code>--body-key</code> nor erased by retention.",
        "facts of the trail, which are never erased, so that the trail can be verified and lists can be shown",
    ] {
        assert!(page.contains(said), "{said} in {page}");
    }
}

/// Runs the block that starts so, as what `program` reads, after the key was
/// exported; answers what it delivers.
async fn follow(start: &str, program: &str, said: &str) {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let name = "a \"b\" \\ $(c) 'd'";
    let page = ann.shown("/connect", &[("agent_id", name)]).await;
    let script = format!("{}\nexec {program} \"$1\"", block(&page, "export"));
    let mut shell = Command::new("sh");
    for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
        shell
            .env_remove(proxy)
            .env_remove(proxy.to_ascii_uppercase());
    }
    let shell = shell.args(["-c", &script, "sh", &block(&page, start)]);
    let agent = shell.stdout(Stdio::piped()).spawn().unwrap();
    let deliveries = || async { house.get("/api/v1/inbox", &token).await.json()["items"].clone() };
    house
        .heard(&token, "the delivery is there", || async {
            !deliveries().await.as_array().unwrap().is_empty()
        })
        .await;
    let item = &deliveries().await[0];
    assert_eq!(
        (&item["agent_id"], &item["test"]),
        (&json!(name), &json!(true))
    );
    let id = item["id"].as_str().unwrap();
    let answer = json!({ "status": "approved", "feedback": "Good" });
    house.respond(&token, id, answer).await;
    let output = agent.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&output.stdout);
    assert!(output.contains(said), "{output}");
}

#[tokio::test]
async fn the_lines_for_node_work_as_they_are() {
    follow("// node", "node --input-type=module -e", "approved Good").await;
}

#[tokio::test]
async fn the_lines_for_python_work_as_they_are() {
    let python = format!("'{}' -c", python().display());
    follow("# pip install httpx", &python, "approved Good").await;
}

#[tokio::test]
async fn the_lines_for_curl_work_as_they_are() {
    follow("curl", "sh -c", "delivery_id").await;
}

//! Agents and their keys.

use serde_json::{Value, json};

use crate::{
    browser::{Browser, secret},
    harness::{House, delivery},
};

async fn keys(house: &House, token: &str) -> Vec<Value> {
    let keys = house.get("/api/v1/keys", token).await.json();
    keys["keys"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_owner_creates_rotates_and_revokes_a_key_which_is_shown_once() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    assert!(
        ann.page("/agents")
            .await
            .contains("Connect your first agent")
    );
    let fields = [("agent_id", "a"), ("test", "yes"), ("rate", "700/30")];
    let made = ann.shown("/agents/keys", &fields).await;
    let (key, hook) = (secret(&made, "wk_test_"), secret(&made, "whsec_"));
    let key_id = secret(&made, "key_");
    let listed = &keys(&house, &token).await[0];
    assert_eq!(listed["key_id"], key_id.as_str());
    assert_eq!(listed["rate"], json!({ "per_hour": 700, "burst": 30 }));
    assert_eq!(listed["test"], true);
    house.deliver(&key, "a", json!({})).await;

    let fields = [("key_id", key_id.as_str()), ("overlap_seconds", "3600")];
    let rotated = ann.shown("/agents/keys/rotate", &fields).await;
    let (next, next_id) = (secret(&rotated, "wk_test_"), secret(&rotated, "key_"));
    house.deliver(&next, "a", json!({})).await;
    house.deliver(&key, "a", json!({})).await;
    let old = keys(&house, &token).await;
    let old = old.iter().find(|key| key["key_id"] == key_id.as_str());
    assert!(old.unwrap()["expires_at"].is_string());

    ann.done("/agents/keys/revoke", &[("key_id", &next_id)], "/agents")
        .await;
    let refused = house
        .post("/wake/v1/deliver", &next, delivery("a", json!({})))
        .await;
    assert_eq!(refused.status, 401);

    let page = ann.page("/agents").await;
    for shown in [
        &key_id,
        &next_id,
        "700 an hour, 30 at once",
        "Owned by ann",
        "3 deliveries, the last ",
        "/?agent=a",
        "revoked",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    for gone in [&key, &next, &hook] {
        assert!(!page.contains(gone.as_str()), "{page}");
    }
    assert_eq!(
        house.entries(&token, "key_created").await[0]["actor"],
        "ann"
    );
}

#[tokio::test]
async fn what_cannot_be_is_refused_on_the_page_and_changes_nothing() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let long = "x".repeat(129);
    for (fields, words) in [
        ([("agent_id", "a"), ("rate", "0/1")], "at least 1"),
        ([("agent_id", "a"), ("rate", "many")], "such as 500/50"),
        ([("agent_id", ""), ("rate", "")], "1 to 128 characters"),
        ([("agent_id", &long), ("rate", "")], "1 to 128 characters"),
    ] {
        ann.refused("/agents/keys", &fields, 422, words).await;
    }
    let rotate = [("key_id", "key_0"), ("overlap_seconds", "60")];
    ann.refused("/agents/keys/rotate", &rotate, 404, "There is no key")
        .await;
    let rotate = [("key_id", "key_0"), ("overlap_seconds", "soon")];
    ann.refused("/agents/keys/rotate", &rotate, 422, "It must be from 0 to")
        .await;
    ann.refused(
        "/agents/keys/revoke",
        &[("key_id", "<b>")],
        404,
        "&lt;b&gt;",
    )
    .await;
    assert!(keys(&house, &token).await.is_empty());
}

#[tokio::test]
async fn many_agents_come_in_pages_and_any_name_has_its_prompt() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    for n in 0..51 {
        let made = ann
            .post(
                "/agents/keys",
                &[("agent_id", &format!("agent {n:02}/<i>"))],
            )
            .await;
        assert_eq!(made.status, 200);
    }
    let first = ann.page("/agents").await;
    assert_eq!(first.matches(">Prompt</a>").count(), 50);
    assert!(!first.contains("<i>"), "{first}");
    let (_, rest) = first.split_once("rel=\"next\" href=\"").unwrap();
    let second = ann.page(rest.split('"').next().unwrap()).await;
    assert_eq!(second.matches(">Prompt</a>").count(), 1);
    assert!(!second.contains("rel=\"next\""));
    let (_, rest) = second.split_once("href=\"/agents/").unwrap();
    let prompt = ann
        .page(&format!("/agents/{}", rest.split('"').next().unwrap()))
        .await;
    assert!(prompt.contains("Agent id   agent 50/&lt;i&gt;"), "{prompt}");
    assert!(prompt.contains(&format!("{}/wake/v1/deliver", house.address())));
    assert_eq!(ann.get("/agents/nobody/prompt").await.status, 404);
}

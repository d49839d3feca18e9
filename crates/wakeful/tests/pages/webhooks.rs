//! Callbacks, the allowlist, and secrets.

use serde_json::{Value, json};

use crate::{
    browser::{Browser, secret},
    harness::{House, receiver::Receiver},
};

async fn allowlist(house: &House, token: &str) -> Vec<Value> {
    let list = house.get("/api/v1/webhooks/allowlist", token).await.json();
    list["allowlist"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_owner_says_where_callbacks_may_go() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    assert!(ann.page("/webhooks").await.contains("Nowhere yet"));
    let receiver = Receiver::start(200).await;
    let pem = std::fs::read_to_string(receiver.identity.certificate_file()).unwrap();
    let host = format!("localhost:{}", receiver.port);
    let fields = [
        ("pattern", host.as_str()),
        ("networks", "127.0.0.0/8, ::1/128"),
        ("ca_pem", pem.as_str()),
    ];
    ann.done("/webhooks/allow", &fields, "/webhooks").await;
    let rule = &allowlist(&house, &token).await[0];
    assert_eq!(rule["networks"], json!(["127.0.0.0/8", "::1/128"]));
    assert!(rule["ca_pem"].is_string());
    let page = ann.page("/webhooks").await;
    for shown in [
        host.as_str(),
        "also in 127.0.0.0/8, ::1/128",
        "with its own authority",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    for (fields, status) in [
        ([("pattern", host.as_str()), ("networks", "")], 409),
        ([("pattern", "http://x"), ("networks", "")], 422),
        ([("pattern", "b.example"), ("networks", "home")], 422),
    ] {
        ann.refused("/webhooks/allow", &fields, status, "").await;
    }
    let fields = [("pattern", "b.example"), ("ca_pem", "no certificate")];
    ann.refused("/webhooks/allow", &fields, 422, "PEM").await;
    assert_eq!(allowlist(&house, &token).await.len(), 1);
    ann.done("/webhooks/remove", &[("pattern", &host)], "/webhooks")
        .await;
    assert!(allowlist(&house, &token).await.is_empty());
    ann.refused(
        "/webhooks/remove",
        &[("pattern", &host)],
        404,
        "not on the allowlist",
    )
    .await;
}

#[tokio::test]
async fn an_owner_sees_what_became_of_a_callback_and_sends_it_again() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let key = house.key("a");
    let mut receiver = Receiver::start(410).await;
    house.allow(&receiver);
    let id = house
        .deliver(
            &key,
            "a",
            json!({ "callback_webhook": receiver.url("/hook") }),
        )
        .await;
    house
        .respond(&token, &id, json!({ "status": "approved" }))
        .await;
    receiver.next().await;
    house.attempted(&token, &id, 1).await;
    let page = ann.page("/webhooks").await;
    assert!(
        page.contains("gave up") && page.contains(&format!("/items/{id}")),
        "{page}"
    );
    let item = ann.page(&format!("/items/{id}")).await;
    let (_, history) = item.split_once("webhook attempted").unwrap();
    assert!(
        history.contains(">gave up<") && history.contains("HTTP 410"),
        "{history}"
    );
    let callback = house.callback(&token, &id).await["id"].to_string();
    assert!(page.contains(&format!("data-callback=\"{callback}\"")));
    ann.done("/webhooks/replay", &[("callback", &callback)], "/webhooks")
        .await;
    receiver.next().await;
    house.attempted(&token, &id, 2).await;
    for unknown in ["999999", "-1", "x", "18446744073709551615"] {
        ann.refused(
            "/webhooks/replay",
            &[("callback", unknown)],
            404,
            "nothing here",
        )
        .await;
    }
    let replayed = house.entries(&token, "webhook_replayed").await;
    assert_eq!((replayed.len(), &replayed[0]["actor"]), (1, &json!("ann")));
}

#[tokio::test]
async fn a_new_secret_is_shown_once() {
    let (house, token) = House::start().await;
    house.key("a");
    let ann = Browser::of(&house, "ann").await;
    let secret = secret(
        &ann.shown("/webhooks/secret", &[("agent_id", "a")]).await,
        "whsec_",
    );
    assert!(!ann.page("/webhooks").await.contains(&secret));
    assert_eq!(
        house.entries(&token, "webhook_secret_set").await[0]["actor"],
        "ann"
    );
    ann.refused("/webhooks/secret", &[("agent_id", "<i>")], 404, "no agent")
        .await;
}

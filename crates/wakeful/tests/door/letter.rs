//! An agent that was written from one of the WAKE documents, by the letter: what
//! it meets when something is wrong.

use serde_json::{Value, json};

use crate::harness::{House, delivery};

/// Both documents wait for as long as `status` is `pending`, and take anything
/// else that has one for the answer.
fn is_taken_for_an_answer(body: &Value) -> bool {
    body.get("status").is_some_and(|status| status != "pending")
}

#[tokio::test]
async fn no_error_can_be_taken_for_an_answer() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    for (path, token) in [
        (format!("/wake/v1/response/{id}"), "wk_live_unknown"),
        ("/wake/v1/response/6f1c".to_owned(), key.as_str()),
        (format!("/response/{id}"), key.as_str()),
        (format!("/wake/v1/wake/v1/response/{id}"), key.as_str()),
        (format!("/wake/v1/response/{id}?wait=x"), key.as_str()),
    ] {
        let answer = house.get(&path, token).await;
        assert!(!answer.status.is_success(), "{path}");
        assert!(
            !is_taken_for_an_answer(&answer.json()),
            "{path}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn whoever_has_the_other_documents_base_is_told_the_right_address() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let body = delivery("a", json!({}));
    for base in ["", "/wake/v1/wake/v1", "/wake/v1/"] {
        for (method, path, address) in [
            ("POST", "/deliver", "/wake/v1/deliver"),
            ("GET", "/responses?limit=5", "/wake/v1/responses"),
            ("GET", "/response/6f1c", "/wake/v1/response/{delivery_id}"),
        ] {
            let sent = (method == "POST").then(|| body.clone());
            let path = format!("{base}{path}");
            let answer = house.send(method, &path, Some(&key), sent).await;
            answer.is_problem(404, "wrong_address", None);
            assert_eq!(answer.json()["address"], address, "{path}");
        }
    }
}

#[tokio::test]
async fn a_delivery_that_contains_its_own_key_is_refused_and_the_key_is_not_repeated() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let other = house.key("b");
    let escaped = key.replacen('w', "\\u0077", 1);
    for (field, more) in [
        (
            "headline",
            json!({ "headline": format!("My key is {key}") }),
        ),
        (
            "details",
            json!({ "details": { "env": [{ "WAKE_API_KEY": key }] } }),
        ),
    ] {
        let refused = house
            .post("/wake/v1/deliver", &key, delivery("a", more))
            .await;
        refused.is_problem(422, "contains_key", Some(field));
        assert!(!refused.text().contains(&key));
    }
    let hidden = delivery("a", json!({ "summary": "?" })).to_string();
    let hidden = hidden.replace("\"?\"", &format!("\"{escaped}\""));
    let refused = house.post_text("/wake/v1/deliver", &key, hidden).await;
    refused.is_problem(422, "contains_key", Some("summary"));
    // The server knows only this one.
    let more = json!({ "summary": other });
    let taken = house
        .post("/wake/v1/deliver", &key, delivery("a", more))
        .await;
    assert_eq!(taken.status, 201);
}

#[tokio::test]
async fn a_bad_token_is_told_apart_from_none() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let none = house.send("GET", "/wake/v1/responses", None, None).await;
    none.is_problem(401, "unauthenticated", None);
    assert_eq!(none.header("www-authenticate"), Some("Bearer"));
    for token in ["wk_live_unknown", "", ann.as_str()] {
        let bad = house.get("/wake/v1/responses", token).await;
        bad.is_problem(401, "unauthenticated", None);
        let said = Some("Bearer error=\"invalid_token\"");
        assert_eq!(bad.header("www-authenticate"), said, "{token}");
        assert_eq!(bad.body, none.body);
    }
    assert_eq!(house.get("/wake/v1/responses", &key).await.status, 200);
}

#[tokio::test]
async fn since_and_provider_are_as_long_and_as_various_as_the_documents_allow() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let provider = "p".repeat(256);
    house
        .deliver(&key, "a", json!({ "provider": provider }))
        .await;
    let longer = delivery("a", json!({ "provider": format!("{provider}p") }));
    let refused = house.post("/wake/v1/deliver", &key, longer).await;
    refused.is_problem(422, "too_long", Some("provider"));
    for since in [
        "2026-01-01T00:00:00Z",
        "2026-01-01",
        "20260101T0000",
        "2026-01-01%2000:00:00,5",
        "2026-01-01T02:00:00+02",
        "2026-01-01T02:00:00%2B0200",
    ] {
        let path = format!("/wake/v1/responses?since={since}");
        let swept = house.get(&path, &key).await;
        assert_eq!(swept.status, 200, "{since}: {}", swept.text());
        assert_eq!(swept.json()["total"], 1, "{since}");
    }
    let bad = house.get("/wake/v1/responses?since=monday", &key).await;
    bad.is_problem(422, "bad_since", Some("since"));
}

/// The secret that an agent got with its first key, and that key.
fn key_and_secret(house: &House, agent: &str, more: &[&str]) -> (String, String) {
    let made = house.json(&[&["key", "create", "--agent", agent], more].concat());
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("key"), text("webhook_secret"))
}

#[tokio::test]
async fn polls_and_sweeps_are_signed_with_the_secret_of_whoever_asks() {
    let (house, ann) = House::start().await;
    let (key, secret) = key_and_secret(&house, "a", &[]);
    let (chief, chiefs) = key_and_secret(&house, "chief", &["--orchestrator", "a"]);
    let id = house.deliver(&key, "a", json!({})).await;
    let poll = format!("/wake/v1/response/{id}");
    for answered in [false, true] {
        for (token, secret) in [(&key, &secret), (&chief, &chiefs)] {
            for path in [poll.as_str(), "/wake/v1/responses?agent_id=a"] {
                let answer = house.get(path, token).await;
                assert_eq!(answer.status, 200);
                let signature = wake::signature::wake(secret, &answer.body);
                let given = answer.header("x-wake-signature");
                assert_eq!(given, Some(signature.as_str()), "{path}");
            }
        }
        if !answered {
            let answer = json!({"status": "approved", "feedback": "Gut – weiter!"});
            assert_eq!(house.respond(&ann, &id, answer).await.status, 200);
        }
    }
    // A new secret signs at once.
    let made = house.json(&["webhook", "secret", "--agent", "a"]);
    let secret = made["secret"].as_str().unwrap();
    let answer = house.get(&poll, &key).await;
    let signature = wake::signature::wake(secret, &answer.body);
    let given = answer.header("x-wake-signature");
    assert_eq!(given, Some(signature.as_str()));
}

#[tokio::test]
async fn an_agents_own_key_gets_the_proof_of_its_answer_and_nothing_of_a_held_one() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let (chief, _) = key_and_secret(&house, "chief", &["--orchestrator", "a"]);
    let id = house.deliver(&key, "a", json!({})).await;
    let path = format!("/wake/v1/response/{id}/receipt");
    let answer = json!({"status": "approved", "feedback": "Hidden words", "hold_seconds": 30});
    assert_eq!(house.respond(&ann, &id, answer).await.status, 200);
    let held = house.get(&path, &key).await;
    assert_eq!(held.status, 200);
    assert!(!held.text().contains("answer_held"), "{}", held.text());
    let content = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        "\"Hidden words\"",
    );
    assert!(!held.text().contains(&content), "{}", held.text());
    assert!(held.text().contains("delivery_received"));
    let undo = format!("/api/v1/inbox/{id}/undo");
    let undone = house.send("POST", &undo, Some(&ann), None).await;
    assert!(undone.status.is_success());
    let answer = json!({"status": "rejected"});
    assert_eq!(house.respond(&ann, &id, answer).await.status, 200);
    let receipt = house.get(&path, &key).await;
    assert!(receipt.text().contains("delivery_answered"));
    let file = house.data().join("receipt.json");
    std::fs::write(&file, &receipt.body).unwrap();
    let log_key = house.send("GET", "/checkpoint/key", None, None).await;
    let (file, log_key) = (file.to_str().unwrap(), log_key.text().trim());
    let verified = house.command(&["trail", "verify", file, "--key", log_key], &[]);
    assert!(verified.status.success(), "{verified:?}");
    for other in [&chief, &house.key("b")] {
        house
            .get(&path, other)
            .await
            .is_problem(404, "not_found", None);
    }
}

//! Agents' keys as an owner handles them.

use serde_json::{Value, json};

use crate::harness::{Answer, House, delivery};

async fn create(house: &House, token: &str, body: Value) -> Value {
    let answer = house.post("/api/v1/keys", token, body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_key_is_shown_once_and_listed_without_its_secret() {
    let (house, ann) = House::start().await;
    let made = create(&house, &ann, json!({ "agent_id": "a", "test": true, "orchestrates": ["b"], "rate": { "per_hour": 7, "burst": 3 } })).await;
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("wk_test_"));
    assert!(
        made["webhook_secret"]
            .as_str()
            .unwrap()
            .starts_with("whsec_")
    );
    let listed = house.get("/api/v1/keys", &ann).await;
    assert!(
        !listed.text().contains(key) && !listed.text().contains("hash"),
        "{}",
        listed.text()
    );
    let listed = &listed.json()["keys"][0];
    assert_eq!(listed["key_id"], made["key_id"]);
    assert_eq!(listed["orchestrates"], json!(["b"]));
    assert_eq!(listed["rate"], json!({ "per_hour": 7, "burst": 3 }));
    assert_eq!(
        (&listed["test"], &listed["revoked_at"]),
        (&json!(true), &Value::Null)
    );
    // A second key of the agent does not make a second webhook secret.
    let second = create(&house, &ann, json!({ "agent_id": "a" })).await;
    assert!(second["key"].as_str().unwrap().starts_with("wk_live_"));
    assert!(second.get("webhook_secret").is_none());
    assert_eq!(
        house.get("/api/v1/agents", &ann).await.json()["agents"][0]["owner"],
        "ann"
    );
}

#[tokio::test]
async fn a_revoked_key_stops_at_once_and_its_answers_stay_readable_with_another() {
    let (house, ann) = House::start().await;
    let made = create(&house, &ann, json!({ "agent_id": "a" })).await;
    let (old, new) = (made["key"].as_str().unwrap(), house.key("a"));
    let id = house.deliver(old, "a", json!({})).await;
    let path = format!("/api/v1/keys/{}", made["key_id"].as_str().unwrap());
    for _ in 0..2 {
        assert_eq!(
            house.send("DELETE", &path, Some(&ann), None).await.status,
            204
        );
    }
    assert_eq!(house.entries(&ann, "key_revoked").await.len(), 1);
    let refused = house
        .post("/wake/v1/deliver", old, delivery("a", json!({})))
        .await;
    refused.is_problem(401, "unauthenticated", None);
    assert_eq!(house.response(&new, &id).await["status"], "pending");
    let rotate = house.post(&format!("{path}/rotate"), &ann, json!({})).await;
    rotate.is_problem(409, "key_revoked", None);
}

#[tokio::test]
async fn a_rotated_key_overlaps_its_successor() {
    let (house, ann) = House::start().await;
    let made = create(
        &house,
        &ann,
        json!({ "agent_id": "a", "test": true, "orchestrates": ["b"] }),
    )
    .await;
    let old = made["key"].as_str().unwrap();
    let path = format!("/api/v1/keys/{}/rotate", made["key_id"].as_str().unwrap());
    let successor = house.post(&path, &ann, json!({})).await;
    assert_eq!(successor.status, 201);
    let new = successor.json()["key"].as_str().unwrap().to_owned();
    assert!(new.starts_with("wk_test_"), "a test key stays one");
    for key in [old, &new] {
        house.deliver(key, "a", json!({})).await;
    }
    let keys = house.get("/api/v1/keys", &ann).await.json();
    assert_eq!(keys["keys"][1]["orchestrates"], json!(["b"]));
    assert!(keys["keys"][0]["expires_at"].is_string());
    // Without an overlap the old one ends at once.
    let path = format!(
        "/api/v1/keys/{}/rotate",
        successor.json()["key_id"].as_str().unwrap()
    );
    assert_eq!(
        house
            .post(&path, &ann, json!({ "overlap_seconds": 0 }))
            .await
            .status,
        201
    );
    house
        .get("/wake/v1/responses", &new)
        .await
        .is_problem(401, "unauthenticated", None);
    for bad in [-1, 2_592_001] {
        let answer = house
            .post(&path, &ann, json!({ "overlap_seconds": bad }))
            .await;
        answer.is_problem(422, "bad_overlap", Some("overlap_seconds"));
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_is_refused() {
    let (house, ann) = House::start().await;
    let many: Vec<String> = (0..65).map(|n| format!("agent-{n}")).collect();
    let with = |name: &str, value: Value| {
        let mut body = json!({ "agent_id": "a" });
        body[name] = value;
        body
    };
    for (code, field, value) in [
        ("bad_agent_id", "agent_id", json!("")),
        ("bad_agent_id", "agent_id", json!("x".repeat(129))),
        ("bad_agent_id", "agent_id", json!("a\nb")),
        ("bad_agent_id", "agent_id", json!(" \u{a0}")),
        ("wrong_type", "agent_id", json!(1)),
        ("bad_agent_id", "orchestrates", json!(["b", ""])),
        ("too_many_agents", "orchestrates", json!(many)),
        ("wrong_type", "orchestrates", json!("b")),
        ("wrong_type", "test", json!("yes")),
        ("bad_rate", "rate", json!({ "per_hour": 0, "burst": 1 })),
        ("bad_rate", "rate", json!({ "per_hour": 1, "burst": 0 })),
        ("wrong_type", "rate", json!({ "per_hour": 1 })),
        ("unknown_field", "colour", json!("blue")),
    ] {
        house
            .post("/api/v1/keys", &ann, with(field, value))
            .await
            .is_problem(422, code, Some(field));
    }
    house
        .post("/api/v1/keys", &ann, json!({}))
        .await
        .is_problem(400, "missing_field", Some("agent_id"));
    let answer = house
        .post(
            "/api/v1/keys",
            &ann,
            json!({ "agent_id": "a", "owner": "zoe" }),
        )
        .await;
    answer.is_problem(404, "no_such_user", None);
    assert_eq!(
        house.get("/api/v1/keys", &ann).await.json()["keys"],
        json!([])
    );
}

#[tokio::test]
async fn a_key_revoked_while_it_waits_does_not_get_the_answer() {
    let (house, ann) = House::start().await;
    let made = create(&house, &ann, json!({ "agent_id": "a" })).await;
    let key = made["key"].as_str().unwrap();
    let id = house.deliver(key, "a", json!({})).await;
    let url = format!("{}/wake/v1/response/{id}?wait=20", house.address());
    let waiting = tokio::spawn(house.http.get(url).bearer_auth(key).send());
    // By the time of this delivery the other request waits.
    house.deliver(key, "a", json!({})).await;
    let path = format!("/api/v1/keys/{}", made["key_id"].as_str().unwrap());
    let revoked = house.send("DELETE", &path, Some(&ann), None).await;
    assert_eq!(revoked.status, 204);
    house
        .respond(&ann, &id, json!({ "status": "approved" }))
        .await;
    let answer = Answer::read(waiting.await.unwrap().unwrap()).await;
    answer.is_problem(401, "unauthenticated", None);
}

#[tokio::test]
async fn an_agent_is_shown_with_the_keys_that_work() {
    let (house, ann) = House::start().await;
    let old = create(&house, &ann, json!({ "agent_id": "a" })).await;
    let new = create(&house, &ann, json!({ "agent_id": "a", "test": true })).await;
    create(&house, &ann, json!({ "agent_id": "b" })).await;
    let path = format!("/api/v1/keys/{}", old["key_id"].as_str().unwrap());
    assert_eq!(
        house.send("DELETE", &path, Some(&ann), None).await.status,
        204
    );
    let agents = house.get("/api/v1/agents", &ann).await;
    assert!(!agents.text().contains("hash"));
    let agents = agents.json();
    let keys = agents["agents"][0]["wake"]["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 1, "{agents}");
    assert_eq!(keys[0]["key_id"], new["key_id"]);
    assert_eq!(keys[0]["test"], true);
    assert_eq!(agents["agents"][1]["agent_id"], "b");
}

//! Owner, reviewer, viewer, agent key, socket: what each may do.

use serde_json::{Value, json};

use crate::harness::House;

/// Method, path and body of something only an owner may do.
fn administration() -> Vec<(&'static str, String, Option<Value>)> {
    vec![
        (
            "POST",
            "/api/v1/users".into(),
            Some(json!({ "name": "eve" })),
        ),
        (
            "PATCH",
            "/api/v1/users/ann".into(),
            Some(json!({ "role": "viewer" })),
        ),
        ("POST", "/api/v1/users/ann/token".into(), None),
        (
            "POST",
            "/api/v1/keys".into(),
            Some(json!({ "agent_id": "eve" })),
        ),
        ("DELETE", "/api/v1/keys/key_0".into(), None),
        ("POST", "/api/v1/keys/key_0/rotate".into(), Some(json!({}))),
        ("POST", "/api/v1/agents/a/webhook-secret".into(), None),
        (
            "POST",
            "/api/v1/webhooks/allowlist".into(),
            Some(json!({ "pattern": "a.example" })),
        ),
        (
            "DELETE",
            "/api/v1/webhooks/allowlist/a.example".into(),
            None,
        ),
        ("POST", "/api/v1/webhooks/callbacks/1/replay".into(), None),
        (
            "PUT",
            "/api/v1/retention/update".into(),
            Some(json!({ "days": 1 })),
        ),
        ("POST", "/api/v1/retention/run".into(), None),
        (
            "PUT",
            "/api/v1/rates/live".into(),
            Some(json!({ "rate": null })),
        ),
        ("GET", "/api/v1/trail/verification".into(), None),
        ("POST", "/api/v1/trail/verification".into(), None),
        ("POST", "/api/v1/trail/export".into(), None),
        (
            "DELETE",
            "/api/v1/inbox/00000000-0000-4000-8000-000000000000/content".into(),
            None,
        ),
    ]
}

/// Paths that everyone signed in may read.
fn reading(id: &str) -> Vec<String> {
    let item = format!("/api/v1/inbox/{id}");
    vec![
        "/api/v1/me".into(),
        "/api/v1/inbox".into(),
        item.clone(),
        format!("{item}/history"),
        format!("{item}/receipt"),
        "/api/v1/users".into(),
        "/api/v1/agents".into(),
        "/api/v1/agents/a/prompt".into(),
        "/api/v1/keys".into(),
        "/api/v1/webhooks/allowlist".into(),
        "/api/v1/webhooks/callbacks".into(),
        "/api/v1/retention".into(),
        "/api/v1/rates".into(),
        "/api/v1/trail".into(),
        "/api/v1/trail/consistency?from=1".into(),
    ]
}

#[tokio::test]
async fn a_viewer_reads_a_reviewer_answers_an_owner_administers() {
    let (house, ann) = House::start().await;
    let (viewer, reviewer) = (house.user("vic", "viewer"), house.user("rob", "reviewer"));
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    for token in [&viewer, &reviewer, &ann] {
        for path in reading(&id) {
            let answer = house.get(&path, token).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        }
    }
    for token in [&viewer, &reviewer] {
        for (method, path, body) in administration() {
            house
                .send(method, &path, Some(token), body)
                .await
                .is_problem(403, "role_refused", None);
        }
    }
    let approve = json!({ "status": "approved" });
    house
        .respond(&viewer, &id, approve.clone())
        .await
        .is_problem(403, "role_refused", None);
    let undo = format!("/api/v1/inbox/{id}/undo");
    house
        .send("POST", &undo, Some(&viewer), None)
        .await
        .is_problem(403, "role_refused", None);
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    assert_eq!(
        house.respond(&reviewer, &id, approve.clone()).await.status,
        200
    );
    let other = house.deliver(&key, "a", json!({})).await;
    assert_eq!(house.respond(&ann, &other, approve).await.status, 200);
    // A viewer may say that he has seen it; he decides nothing by that.
    let seen = house
        .send(
            "POST",
            &format!("/api/v1/inbox/{id}/seen"),
            Some(&viewer),
            None,
        )
        .await;
    assert_eq!(seen.status, 204);
    let denial = house.denial(&ann, "role_refused").await;
    assert!(
        ["vic", "rob"].contains(&denial["who"].as_str().unwrap()),
        "{denial}"
    );
}

#[tokio::test]
async fn an_agents_key_reaches_nothing_of_people_and_trying_is_on_the_trail() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let own = house
        .respond(&key, &id, json!({ "status": "approved" }))
        .await;
    own.is_problem(403, "agent_key_refused", None);
    let denial = house.denial(&ann, "agent_key_refused").await;
    assert_eq!(denial["who"], "agent/a");
    assert_eq!(denial["what"], format!("POST /api/v1/inbox/{id}/respond"));

    let posts = ["undo", "seen"].map(|verb| ("POST", format!("/api/v1/inbox/{id}/{verb}"), None));
    let gets = reading(&id)
        .into_iter()
        .chain(["/api/v1/events".into(), "/api/v1/trail/0/proof".into()]);
    let gets = gets.map(|path| ("GET", path, None));
    for (method, path, body) in administration().into_iter().chain(posts).chain(gets) {
        house
            .send(method, &path, Some(&key), body)
            .await
            .is_problem(403, "agent_key_refused", None);
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    assert_eq!(house.history(&ann, &id).await, ["delivery_received"]);
}

#[tokio::test]
async fn a_persons_token_opens_no_door_of_agents_and_trying_is_on_the_trail() {
    let (house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    house
        .get("/wake/v1/responses", &bob)
        .await
        .is_problem(401, "unauthenticated", None);
    let denial = house.denial(&ann, "person_token_refused").await;
    assert_eq!(denial["who"], "bob");
    assert_eq!(denial["what"], "GET /wake/v1/responses");
    assert_eq!(denial["stream"], "account/bob");
    // It is a denial of someone known, not a failure of a stranger.
    let body = crate::harness::delivery("a", json!({}));
    house
        .post("/wake/v1/deliver", &bob, body)
        .await
        .is_problem(401, "unauthenticated", None);
    assert!(house.entries(&ann, "access_failed").await.is_empty());
}

#[tokio::test]
async fn nobody_reaches_the_api_without_a_token() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let gets = reading(&id).into_iter().map(|path| ("GET", path, None));
    let unknown = format!("wl_{}", "A".repeat(43));
    for (method, path, body) in administration().into_iter().chain(gets) {
        for token in [None, Some(unknown.as_str())] {
            let answer = house.send(method, &path, token, body.clone()).await;
            answer.is_problem(401, "unauthenticated", None);
        }
    }
    assert_eq!(house.get("/api/v1/me", &ann).await.json()["name"], "ann");
}

#[tokio::test]
async fn the_socket_administers_but_cannot_answer_or_see_for_someone() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let socket = reqwest::Client::builder()
        .unix_socket(house.data().join("wakeful.sock"))
        .build()
        .unwrap();
    for (path, body) in [
        ("respond", r#"{"status":"approved"}"#),
        ("undo", ""),
        ("seen", ""),
    ] {
        let request = socket.post(format!("http://localhost/api/v1/inbox/{id}/{path}"));
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let answer = crate::harness::Answer::read(request.send().await.unwrap()).await;
        answer.is_problem(403, "person_required", None);
    }
    // Nor does it deliver or read as an agent.
    let answer = socket
        .get(format!("http://localhost/wake/v1/response/{id}"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 401);
    assert_eq!(house.history(&ann, &id).await, ["delivery_received"]);
    // The command line without a token goes through it, and says what is missing.
    let output = house.command(&["respond", &id, "approved"], &[]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("WAKEFUL_TOKEN"));
    let answer = socket
        .get("http://localhost/api/v1/inbox")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn one_caller_cannot_fill_the_trail_with_denials() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    for _ in 0..60 {
        house
            .get("/api/v1/inbox", &key)
            .await
            .is_problem(403, "agent_key_refused", None);
    }
    let house = &house;
    let ann = &ann;
    let what = "twenty denials are on the trail";
    house
        .heard(ann, what, || async move {
            house.entries(ann, "access_denied").await.len() >= 20
        })
        .await;
    assert!(house.entries(ann, "access_denied").await.len() <= 22);
}

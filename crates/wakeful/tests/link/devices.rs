//! Devices over the API: made, seen, exported, renewed and removed by the one
//! they belong to.

use serde_json::{Value, json};

use crate::scene::{Scene, as_device, by_session};

#[tokio::test]
async fn a_device_is_made_seen_and_exported_by_its_owner_alone() {
    let scene = Scene::start().await;
    let house = &scene.house;
    let bob = house.user("bob", "reviewer");
    let made = house
        .post("/api/v1/agents", &bob, json!({ "agent_id": "WL35080814" }))
        .await;
    assert_eq!(made.status, 201);
    let made = made.json();
    let token = made["token"].as_str().unwrap();
    assert!(token.starts_with("wld_"));
    let host = house.address().replace("https://", "");
    assert_eq!(made["endpoint"], format!("wss://{host}/wss"));
    // A name that is left out is made up.
    let unnamed = house.post("/api/v1/agents", &bob, json!({})).await.json();
    let name = unnamed["agent_id"].as_str().unwrap();
    assert!(name.starts_with("WL") && name.len() == 10, "{name}");
    // Its owner reads the token again, and that is on the trail.
    let exported = house.get("/api/v1/agents/WL35080814/export", &bob).await;
    assert_eq!(exported.status, 200);
    assert_eq!(exported.json(), made);
    let entries = house.entries(&scene.ann, "device_token_exported").await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["actor"], "bob");
    assert_eq!(entries[0]["facts"]["agent_id"], "WL35080814");
    assert_eq!(entries[0]["stream"], "account/bob");
    // Even an owner of the server sees only that there is an agent.
    let shown = house.get("/api/v1/agents/WL35080814", &bob).await.json();
    assert_eq!(
        (&shown["owner"], &shown["link"]["online"]),
        (&json!("bob"), &json!(false))
    );
    let theirs = house
        .get("/api/v1/agents/WL35080814", &scene.ann)
        .await
        .json();
    assert_eq!(theirs["link"], Value::Null);
    for (method, path) in [
        ("GET", "/api/v1/agents/WL35080814/export"),
        ("POST", "/api/v1/agents/WL35080814/rotate-token"),
        ("GET", "/api/v1/agents/nobody/export"),
        ("POST", "/api/v1/agents/nobody/rotate-token"),
        ("GET", "/api/v1/agents/nobody"),
        ("DELETE", "/api/v1/agents/nobody"),
    ] {
        let answer = house.send(method, path, Some(&scene.ann), None).await;
        answer.is_problem(404, "no_such_agent", None);
    }
    let all = house.get("/api/v1/agents", &scene.ann).await;
    assert!(!all.text().contains("wld_") && !all.text().contains("hash"));
}

#[tokio::test]
async fn what_cannot_be_a_device_is_refused() {
    let scene = Scene::start().await;
    let house = &scene.house;
    scene.device(&scene.ann, "lamp").await;
    for (body, status, code) in [
        (json!({ "agent_id": "lamp" }), 409, "agent_exists"),
        (json!({ "agent_id": "" }), 422, "bad_agent_id"),
        (json!({ "agent_id": "x".repeat(129) }), 422, "bad_agent_id"),
        (json!({ "agent_id": "a\u{0}b" }), 422, "bad_agent_id"),
    ] {
        let answer = house.post("/api/v1/agents", &scene.ann, body).await;
        answer.is_problem(status, code, Some("agent_id"));
    }
    let answer = house
        .post("/api/v1/agents", &scene.ann, json!({ "agent_id": 7 }))
        .await;
    answer.is_problem(422, "wrong_type", Some("agent_id"));
    // A viewer has none, and takes none away; who tries is on the trail.
    let eve = house.user("eve", "viewer");
    let answer = house.post("/api/v1/agents", &eve, json!({})).await;
    answer.is_problem(403, "role_refused", None);
    let answer = house
        .send("DELETE", "/api/v1/agents/lamp", Some(&eve), None)
        .await;
    answer.is_problem(403, "role_refused", None);
    assert_eq!(house.denial(&scene.ann, "role_refused").await["who"], "eve");
    let bob = house.user("bob", "reviewer");
    let answer = house
        .send("DELETE", "/api/v1/agents/lamp", Some(&bob), None)
        .await;
    answer.is_problem(404, "no_such_agent", None);
}

#[tokio::test]
async fn an_agent_that_delivers_can_be_a_device_too() {
    let scene = Scene::start().await;
    let house = &scene.house;
    let key = house.key("crew");
    let none = house.get("/api/v1/agents/crew/export", &scene.ann).await;
    none.is_problem(404, "no_device_token", None);
    let rotated = house
        .post("/api/v1/agents/crew/rotate-token", &scene.ann, json!(null))
        .await;
    assert_eq!(rotated.status, 201);
    let token = rotated.json()["token"].as_str().unwrap().to_owned();
    let device = crate::scene::Device {
        agent_id: "crew".to_owned(),
        token,
    };
    assert_eq!(
        scene.enter(as_device(&device)).await.1["status"],
        "authenticated"
    );
    let id = house.deliver(&key, "crew", json!({})).await;
    let shown = house.get("/api/v1/agents/crew", &scene.ann).await.json();
    assert_eq!(shown["wake"]["keys"].as_array().unwrap().len(), 1);
    assert!(
        shown["link"]["token_id"]
            .as_str()
            .unwrap()
            .starts_with("dev_")
    );
    // While it can deliver it stays; then only its device token goes.
    let remove = || house.send("DELETE", "/api/v1/agents/crew", Some(&scene.ann), None);
    remove().await.is_problem(409, "agent_has_keys", None);
    let key_id = shown["wake"]["keys"][0]["key_id"].as_str().unwrap();
    house.json(&["key", "revoke", key_id]);
    assert_eq!(remove().await.status, 204);
    let shown = house.get("/api/v1/agents/crew", &scene.ann).await.json();
    assert_eq!(shown["link"], Value::Null);
    let item = house.get(&format!("/api/v1/inbox/{id}"), &scene.ann).await;
    assert_eq!(item.json()["agent_id"], "crew");
    assert_eq!(scene.enter(as_device(&device)).await.1["status"], "failed");
}

#[tokio::test]
async fn an_administrator_removes_anyones_device_and_the_name_is_free_again() {
    let scene = Scene::start().await;
    let house = &scene.house;
    let bob = house.user("bob", "reviewer");
    scene.device(&bob, "lamp").await;
    let removed = house
        .send("DELETE", "/api/v1/agents/lamp", Some(&scene.ann), None)
        .await;
    assert_eq!(removed.status, 204);
    let entries = house.entries(&scene.ann, "agent_removed").await;
    assert_eq!(
        (&entries[0]["actor"], &entries[0]["stream"]),
        (&json!("ann"), &json!("account/bob"))
    );
    scene.device(&scene.ann, "lamp").await;
    let gone = house.get("/api/v1/agents/lamp/export", &bob).await;
    gone.is_problem(404, "no_such_agent", None);
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_outlive_a_restart_and_a_rebuild() {
    let mut scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let door = scene.device(&scene.ann, "door").await;
    let removed = scene
        .house
        .send("DELETE", "/api/v1/agents/door", Some(&scene.ann), None);
    assert_eq!(removed.await.status, 204);
    scene.house.stop();
    let rebuilt = scene.house.command(&["trail", "rebuild"], &[]);
    assert!(rebuilt.status.success(), "{rebuilt:?}");
    scene.serve().await;
    assert_eq!(
        scene.enter(as_device(&lamp)).await.1["status"],
        "authenticated"
    );
    assert_eq!(scene.enter(as_device(&door)).await.1["status"], "failed");
    let exported = scene
        .house
        .get("/api/v1/agents/lamp/export", &scene.ann)
        .await;
    assert_eq!(exported.json()["token"], lamp.token.as_str());
}

#[tokio::test]
async fn a_person_renews_their_own_token_whatever_their_role() {
    let scene = Scene::start().await;
    let house = &scene.house;
    let eve = house.user("eve", "viewer");
    let renewed = house.post("/api/v1/me/token", &eve, json!(null)).await;
    assert_eq!(renewed.status, 201);
    let token = renewed.json()["token"].as_str().unwrap().to_owned();
    house
        .get("/api/v1/me", &eve)
        .await
        .is_problem(401, "unauthenticated", None);
    assert_eq!(house.get("/api/v1/me", &token).await.json()["name"], "eve");
    let entries = house.entries(&scene.ann, "token_issued").await;
    assert_eq!(entries[0]["actor"], "eve");
}

#[tokio::test]
async fn a_person_ends_a_session_of_their_own_and_no_other() {
    let scene = Scene::start().await;
    let house = &scene.house;
    let bob = house.user("bob", "reviewer");
    let made = house.post("/api/v1/auth/session", &scene.ann, json!(null));
    let session = made.await.json()["session_token"].clone();
    let session = session.as_str().unwrap();
    let end = async |token: &str| {
        let body = json!({ "session_token": session });
        let path = "/api/v1/auth/session/end";
        scene.house.post(path, token, body).await.status.as_u16()
    };
    assert_eq!(end(&bob).await, 204);
    let (_, answer) = scene.enter(by_session(session)).await;
    assert_eq!(answer["status"], "authenticated");
    assert_eq!(end(session).await, 401);
    assert_eq!(end(&scene.ann).await, 204);
    let (_, answer) = scene.enter(by_session(session)).await;
    assert_eq!(answer["code"], "SESSION_EXPIRED");
    assert_eq!(end(&scene.ann).await, 204);
}

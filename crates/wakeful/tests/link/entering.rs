//! Who comes in, and as what.

use reqwest::{Client, Version};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::scene::{Device, Scene, as_device, by_session, by_token};

#[tokio::test]
async fn a_plain_get_is_told_to_upgrade() {
    let scene = Scene::start().await;
    let address = format!("{}/wss", scene.house.address());
    let pem = std::fs::read(scene.certificate_file()).unwrap();
    let certificate = reqwest::Certificate::from_pem(&pem).unwrap();
    let client = || {
        Client::builder()
            .no_proxy()
            .tls_certs_only([certificate.clone()])
    };
    for (client, version) in [
        (client().http1_only().build().unwrap(), Version::HTTP_11),
        (client().build().unwrap(), Version::HTTP_2),
    ] {
        let response = client.get(&address).send().await.unwrap();
        assert_eq!(response.version(), version);
        assert_eq!(response.status(), 426);
        if version == Version::HTTP_11 {
            assert_eq!(response.headers()["upgrade"], "websocket");
        }
        let problem: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(problem["code"], "upgrade_required");
    }
    // Another version of WebSocket is told which one is spoken.
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "8"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut request = client().http1_only().build().unwrap().get(&address);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 426);
    assert_eq!(response.headers()["sec-websocket-version"], "13");
}

#[tokio::test]
async fn who_does_not_say_who_they_are_in_time_is_closed_with_1008() {
    let scene = Scene::start_with("auth-seconds = 1").await;
    let mut wire = scene.trust.connect().await;
    // To keep the connection awake is not to say who one is.
    wire.send(Message::Ping("?".into())).await;
    assert!(matches!(
        futures_util::StreamExt::next(&mut wire.0).await,
        Some(Ok(Message::Pong(_)))
    ));
    assert_eq!(wire.is_closed().await, 1008);
}

#[tokio::test]
async fn a_person_comes_in_with_their_token_and_gets_a_session() {
    let scene = Scene::start().await;
    let (mut wire, answer) = scene.enter(by_token(&scene.ann)).await;
    let token = answer["session_token"].as_str().unwrap();
    assert!(token.starts_with("wls_"));
    assert_eq!(
        answer,
        json!({
            "type": "auth_response", "status": "authenticated", "session_token": token,
            "expires_in": 86400, "max_requests": 10000
        })
    );
    wire.hears_nothing().await;
    // Which opens the same door again.
    let (_, again) = scene.enter(by_session(token)).await;
    assert_eq!(again["status"], "authenticated");
    assert_eq!(again["session_token"], token);
}

#[tokio::test]
async fn a_session_made_by_rest_comes_back_with_what_remains_of_it() {
    let scene = Scene::start().await;
    let made = scene
        .house
        .post("/api/v1/auth/session", &scene.ann, json!(null));
    let made = made.await;
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!(
        (&made["expires_in"], &made["max_requests"]),
        (&json!(86400), &json!(10000))
    );
    assert!(made["expires_at"].as_str().unwrap().ends_with('Z'));
    let token = made["session_token"].as_str().unwrap();
    assert!(token.starts_with("wls_"));
    let (mut wire, answer) = scene.enter(by_session(token)).await;
    assert_eq!(answer["session_token"], token);
    assert_eq!(answer["max_requests"], 10000);
    for _ in 0..3 {
        wire.say(json!({ "sid": "x" })).await;
        wire.is_told("UNKNOWN_SESSION", None).await;
    }
    // Neither pongs nor what is no frame at all are requests.
    wire.say(json!({ "type": "pong" })).await;
    wire.say_text("nonsense").await;
    wire.is_told("BAD_FRAME", None).await;
    let (_, again) = scene.enter(by_session(token)).await;
    assert_eq!(again["max_requests"], 9997);
    assert!(again["expires_in"].as_u64().unwrap() <= 86400);
}

#[tokio::test]
async fn a_device_comes_in_with_its_own_token_as_device_or_as_firmware() {
    let scene = Scene::start().await;
    let device = scene.device(&scene.ann, "WL35080814").await;
    assert!(device.token.starts_with("wld_"));
    for client_type in ["device", "firmware"] {
        let mut auth = as_device(&device);
        auth["client_type"] = client_type.into();
        let (_, answer) = scene.enter(auth).await;
        assert_eq!(answer["status"], "authenticated", "{answer}");
        assert_eq!(answer["max_requests"], 10000);
        // What a device is told as its session opens nothing to a client.
        let session = answer["session_token"].as_str().unwrap();
        for auth in [by_session(session), by_token(session)] {
            let (_, answer) = scene.enter(auth).await;
            assert_eq!(answer["status"], "failed");
        }
    }
}

/// A device that comes back with the session it was given.
fn as_device_again(agent_id: &str, session: &str) -> Value {
    json!({
        "type": "auth", "client_type": "device", "agent_id": agent_id, "session_token": session
    })
}

#[tokio::test]
async fn a_device_comes_back_with_its_session_until_its_token_is_rotated() {
    let scene = Scene::start().await;
    let device = scene.device(&scene.ann, "lamp").await;
    scene.device(&scene.ann, "door").await;
    let (mut wire, answer) = scene.enter(as_device(&device)).await;
    let session = answer["session_token"].as_str().unwrap().to_owned();
    wire.say(json!({ "sid": "x" })).await;
    wire.is_told("UNKNOWN_SESSION", None).await;
    let (_, again) = scene.enter(as_device_again("lamp", &session)).await;
    assert_eq!(again["status"], "authenticated", "{again}");
    assert_eq!(again["session_token"], session);
    assert_eq!(again["max_requests"], 9999);
    // As itself alone.
    let (_, other) = scene.enter(as_device_again("door", &session)).await;
    assert_eq!(
        (&other["status"], &other["error"]),
        (&json!("failed"), &json!("Invalid token"))
    );
    let path = "/api/v1/agents/lamp/rotate-token";
    let rotated = scene.house.post(path, &scene.ann, json!({})).await;
    assert!(rotated.status.is_success(), "{}", rotated.text());
    let (_, ended) = scene.enter(as_device_again("lamp", &session)).await;
    assert_eq!(ended["code"], "SESSION_EXPIRED", "{ended}");
}

#[tokio::test]
async fn with_both_tokens_the_session_decides_and_one_that_ended_is_no_failure() {
    let scene = Scene::start().await;
    let device = scene.device(&scene.ann, "lamp").await;
    let (_, answer) = scene.enter(by_token(&scene.ann)).await;
    let session = answer["session_token"].as_str().unwrap();
    let both = |session: &str, token: &str| {
        let mut auth = by_session(session);
        auth["api_token"] = token.into();
        auth
    };
    for token in [scene.ann.as_str(), "wl_unknown"] {
        let (_, answer) = scene.enter(both(session, token)).await;
        assert_eq!(answer["session_token"], session, "{answer}");
    }
    let ended = format!("wls_{}", "A".repeat(43));
    let mut as_device = as_device(&device);
    as_device["session_token"] = ended.as_str().into();
    // More often than failures are allowed.
    for _ in 0..6 {
        for auth in [both(&ended, &scene.ann), as_device.clone()] {
            let (_, answer) = scene.enter(auth).await;
            assert_eq!(answer["code"], "SESSION_EXPIRED", "{answer}");
        }
    }
}

#[tokio::test]
async fn anything_else_fails_with_1008() {
    let scene = Scene::start_with("failures = 1000").await;
    let device = scene.device(&scene.ann, "lamp").await;
    let other = scene.device(&scene.ann, "door").await;
    let key = scene.house.key("crew");
    let session = scene
        .house
        .post("/api/v1/auth/session", &scene.ann, json!(null));
    let session = session.await.json()["session_token"].clone();
    let auth = |fields: Value| {
        let mut auth = json!({ "type": "auth" });
        for (name, value) in fields.as_object().unwrap() {
            auth[name] = value.clone();
        }
        auth
    };
    let gone = {
        let house = &scene.house;
        let bob = house.user("bob", "reviewer");
        house.json(&["user", "suspend", "bob"]);
        bob
    };
    for fields in [
        json!({ "client_type": "client" }),
        json!({ "client_type": "client", "api_token": "wl_unknown" }),
        json!({ "client_type": "client", "api_token": "" }),
        json!({ "client_type": "client", "api_token": gone }),
        json!({ "client_type": "client", "api_token": key }),
        json!({ "client_type": "client", "api_token": session }),
        json!({ "client_type": "client", "session_token": scene.ann }),
        json!({ "client_type": "client", "session_token": "wls_unknown" }),
        json!({ "client_type": "client", "session_token": "wls_unknown", "api_token": scene.ann }),
        json!({ "client_type": "client", "api_token": device.token, "agent_id": "lamp" }),
        json!({ "client_type": "device", "api_token": scene.ann, "agent_id": "lamp" }),
        json!({ "client_type": "device", "session_token": session, "agent_id": "lamp" }),
        json!({ "client_type": "device", "api_token": device.token }),
        json!({ "client_type": "device", "api_token": device.token, "agent_id": "door" }),
        json!({ "client_type": "firmware", "api_token": other.token, "agent_id": "lamp" }),
        json!({ "client_type": "device", "api_token": "wld_unknown", "agent_id": "lamp" }),
        json!({ "client_type": "browser", "api_token": scene.ann }),
        json!({ "api_token": scene.ann }),
    ] {
        let (mut wire, answer) = scene.enter(auth(fields.clone())).await;
        let expected =
            json!({ "type": "auth_response", "status": "failed", "error": "Invalid token" });
        assert_eq!(answer, expected, "{fields}");
        assert_eq!(wire.is_closed().await, 1008, "{fields}");
    }
}

#[tokio::test]
async fn what_is_no_auth_frame_closes_with_1008_at_once() {
    let scene = Scene::start().await;
    for first in [
        Message::text("hello"),
        Message::text("{}"),
        Message::text(r#"{"type":"pong"}"#),
        Message::text(r#"{"type":"relay","agent_id":"a","payload":"x"}"#),
        Message::text(r#"{"sid":"a1"}"#),
        Message::text(r#"{"type":"auth","api_token":7,"client_type":"client"}"#),
        Message::binary(vec![1, 2, 3]),
    ] {
        let mut wire = scene.trust.connect().await;
        wire.send(first.clone()).await;
        assert_eq!(wire.is_closed().await, 1008, "{first:?}");
    }
    // None of these was a failure to authenticate.
    assert_eq!(
        scene.enter(by_token(&scene.ann)).await.1["status"],
        "authenticated"
    );
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_failures_keep_an_address_out_for_ten_minutes_and_are_on_the_trail() {
    let mut scene = Scene::start().await;
    for n in 1..=5 {
        let (mut wire, answer) = scene.enter(by_token("wl_unknown")).await;
        let expected = if n == 5 { json!(600) } else { Value::Null };
        assert_eq!(answer["retry_after"], expected, "failure {n}");
        assert_eq!(wire.is_closed().await, 1008);
    }
    // Nobody from there is let in now, whatever they have.
    let device = Device {
        agent_id: "lamp".to_owned(),
        token: scene.device(&scene.ann, "lamp").await.token,
    };
    for auth in [by_token(&scene.ann), as_device(&device)] {
        let (mut wire, answer) = scene.enter(auth).await;
        assert_eq!(answer["status"], "failed");
        let wait = answer["retry_after"].as_u64().unwrap();
        assert!((580..=600).contains(&wait), "{wait}");
        assert_eq!(wire.is_closed().await, 1008);
    }
    scene.house.stop();
    scene.serve().await;
    let failed = scene.house.entries(&scene.ann, "access_failed").await;
    let count: u64 = failed
        .iter()
        .map(|entry| entry["facts"]["count"].as_u64().unwrap())
        .sum();
    assert_eq!(count, 7);
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_ended_with_a_restart_keep_nobody_out() {
    let mut scene = Scene::start().await;
    let device = scene.device(&scene.ann, "lamp").await;
    let mut sessions = Vec::new();
    for _ in 0..6 {
        let (_, answer) = scene.enter(by_token(&scene.ann)).await;
        sessions.push(answer["session_token"].as_str().unwrap().to_owned());
    }
    scene.house.stop();
    scene.serve().await;
    for session in &sessions {
        let (mut wire, answer) = scene.enter(by_session(session)).await;
        assert_eq!(answer["status"], "failed");
        assert_eq!(answer["code"], "SESSION_EXPIRED");
        assert_eq!(answer.get("retry_after"), None, "{answer}");
        assert_eq!(wire.is_closed().await, 1008);
    }
    let (_, answer) = scene.enter(as_device(&device)).await;
    assert_eq!(answer["status"], "authenticated");
    // What is no session token of ours is a failure like any other.
    for n in 1..=5 {
        let (_, answer) = scene.enter(by_session("wls_unknown")).await;
        assert_eq!(answer["retry_after"].is_u64(), n == 5, "{answer}");
    }
}

#[tokio::test]
async fn a_session_opens_the_relay_and_nothing_else() {
    let scene = Scene::start().await;
    let device = scene.device(&scene.ann, "lamp").await;
    let key = scene.house.key("crew");
    let made = scene
        .house
        .post("/api/v1/auth/session", &scene.ann, json!(null));
    let session = made.await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    for token in [&session, &device.token] {
        for (method, path) in [
            ("GET", "/api/v1/me"),
            ("GET", "/api/v1/agents"),
            ("GET", "/wake/v1/responses"),
            ("POST", "/api/v1/auth/session"),
        ] {
            let answer = scene.house.send(method, path, Some(token), None).await;
            answer.is_problem(401, "unauthenticated", None);
        }
    }
    // An agent's key makes no session either.
    let answer = scene
        .house
        .send("POST", "/api/v1/auth/session", Some(&key), None)
        .await;
    answer.is_problem(403, "agent_key_refused", None);
}

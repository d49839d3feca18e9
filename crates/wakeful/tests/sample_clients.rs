//! Agents and receivers in Python and Node that do what the protocol's
//! documents show, against the real server.

#![allow(clippy::unwrap_used)]

mod harness;

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use harness::{House, peer::Peer, receiver::Identity};
use serde_json::{Value, json};

const AGENT: &str = "research-agent-01";

/// A server, its owner's token, and an agent that knows where it is.
struct Scene {
    house: House,
    ann: String,
    key: String,
    secret: String,
}

impl Scene {
    async fn start() -> Scene {
        Scene::start_with(&[], &["--rate", "100000000/1000000"]).await
    }

    async fn start_with(flags: &[&str], key_flags: &[&str]) -> Scene {
        let (house, ann) = House::start_with(flags).await;
        let mut arguments = vec!["key", "create", "--agent", AGENT];
        arguments.extend(key_flags);
        let made = house.json(&arguments);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Scene {
            ann,
            key: text("key"),
            secret: text("webhook_secret"),
            house,
        }
    }

    /// Starts a script with what an agent's environment holds.
    fn agent(&self, endpoint: &str, name: &str, arguments: &[&str]) -> Peer {
        self.agent_with(endpoint, name, arguments, &[])
    }

    fn agent_with(
        &self,
        endpoint: &str,
        name: &str,
        arguments: &[&str],
        more: &[(&str, &str)],
    ) -> Peer {
        let mut environment = vec![
            ("WAKE_ENDPOINT", endpoint),
            ("WAKE_API_KEY", self.key.as_str()),
            ("WAKE_AGENT_ID", AGENT),
            ("WAKE_WEBHOOK_SECRET", self.secret.as_str()),
        ];
        environment.extend(more);
        Peer::start(name, arguments, &environment)
    }

    fn bare(&self) -> String {
        self.house.address()
    }

    /// As the specification writes it.
    fn versioned(&self) -> String {
        format!("{}/wake/v1", self.house.address())
    }

    async fn answer(&self, id: &str, answer: Value) {
        let answered = self.house.respond(&self.ann, id, answer).await;
        assert_eq!(answered.status, 200, "{:?}", answered.json());
    }

    async fn item(&self, id: &str) -> Value {
        let path = format!("/api/v1/inbox/{id}");
        self.house.get(&path, &self.ann).await.json()
    }
}

fn work() -> Value {
    json!({
        "type": "output", "headline": "Comparison finished",
        "summary": "Ten products were compared.",
        "details": { "url": "https://example.com/r", "word_count": 3200 },
        "timeout_seconds": 3600
    })
}

fn answers() -> [Value; 3] {
    [
        json!({ "status": "approved", "feedback": "Go on – gern!" }),
        json!({ "status": "rejected", "feedback": "Not this one." }),
        json!({ "status": "redirected", "feedback": "Shorter.",
                "edited_content": { "brief": "…", "n": 1.5 } }),
    ]
}

/// The agent delivers, finds `pending`, rests a minute, and learns each answer.
async fn delivers_and_polls(scene: &Scene, endpoint: &str, name: &str, modes: &[&str]) {
    for answer in answers() {
        let delivery = work().to_string();
        let mut arguments = modes.to_vec();
        arguments.push(&delivery);
        let mut agent = scene.agent(endpoint, name, &arguments);
        let id = agent.expect("delivered");
        let id = id.as_str().unwrap();
        assert_eq!(agent.expect("resting"), 60);
        let item = scene.item(id).await;
        for (field, value) in work().as_object().unwrap() {
            if field != "timeout_seconds" {
                assert_eq!(&item[field], value);
            }
        }
        assert!(item["timeout_at"].is_string());
        agent.go_on();
        assert_eq!(agent.expect("resting"), 60);
        scene.answer(id, answer.clone()).await;
        agent.go_on();
        let learned = agent.expect("answer");
        assert_eq!(learned["status"], answer["status"]);
        assert_eq!(learned["feedback"], answer["feedback"]);
        assert_eq!(learned["edited_content"], answer["edited_content"]);
        assert!(learned["responded_at"].is_string());
        agent.finish();
    }
}

#[tokio::test]
async fn a_python_agent_polls_with_the_endpoint_of_the_specification() {
    let scene = Scene::start().await;
    delivers_and_polls(&scene, &scene.versioned(), "agent.py", &["spec"]).await;
}

#[tokio::test]
async fn a_python_agent_polls_with_the_endpoint_of_the_white_paper() {
    let scene = Scene::start().await;
    delivers_and_polls(&scene, &scene.bare(), "agent.py", &["paper"]).await;
}

#[tokio::test]
async fn a_node_agent_delivers_with_fetch_and_polls() {
    let scene = Scene::start().await;
    delivers_and_polls(&scene, &scene.versioned(), "agent.mjs", &[]).await;
}

#[tokio::test]
async fn agents_in_both_languages_reach_the_server_over_https() {
    let identity = Identity::local();
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let flags = ["--tls-cert", certificate, "--tls-key", key];
    let scene = Scene::start_with(&flags, &[]).await;
    let endpoint = scene.versioned();
    assert!(endpoint.starts_with("https://"));
    let delivery = work().to_string();
    for (name, arguments) in [
        ("agent.py", vec!["spec", delivery.as_str()]),
        ("agent.mjs", vec![delivery.as_str()]),
    ] {
        let trust = [
            ("SSL_CERT_FILE", certificate),
            ("NODE_EXTRA_CA_CERTS", certificate),
        ];
        let mut agent = scene.agent_with(&endpoint, name, &arguments, &trust);
        let id = agent.expect("delivered");
        agent.expect("resting");
        let environment = [("WAKEFUL_TOKEN", scene.ann.as_str())];
        let respond = ["respond", id.as_str().unwrap(), "approved"];
        let answered = scene.house.command(&respond, &environment);
        assert!(answered.status.success(), "{answered:?}");
        agent.go_on();
        assert_eq!(agent.expect("answer")["status"], "approved");
        agent.finish();
    }
}

#[tokio::test]
async fn an_orchestrator_sees_every_answer_once_in_one_request_per_round() {
    let scene = Scene::start().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(scene.house.deliver(&scene.key, AGENT, json!({})).await);
    }
    let mut agent = scene.agent(&scene.versioned(), "agent.py", &["sweep", "4"]);
    let swept = |page: Value| -> Vec<(String, String)> {
        let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
        let items = page.as_array().unwrap().iter();
        items
            .map(|item| (text(item, "delivery_id"), text(item, "status")))
            .collect()
    };
    let pair = |id: &String, status: &str| (id.clone(), status.to_owned());

    assert_eq!(swept(agent.expect("swept")), []);
    agent.expect("resting");
    // Answered in another order than delivered: a sweep goes by the answers.
    scene.answer(&ids[2], answers()[0].clone()).await;
    scene.answer(&ids[0], answers()[1].clone()).await;
    agent.go_on();
    assert_eq!(
        swept(agent.expect("swept")),
        [pair(&ids[2], "approved"), pair(&ids[0], "rejected")]
    );
    agent.expect("resting");
    agent.go_on();
    assert_eq!(swept(agent.expect("swept")), []);
    agent.expect("resting");
    scene.answer(&ids[3], answers()[2].clone()).await;
    agent.go_on();
    assert_eq!(swept(agent.expect("swept")), [pair(&ids[3], "redirected")]);
    agent.expect("resting");
    agent.go_on();
    agent.finish();
}

#[tokio::test]
async fn a_limited_agent_waits_as_told_and_gets_through() {
    let scene = Scene::start_with(&[], &ONE_AND_SOON_ANOTHER).await;
    let delivery = work().to_string();
    let mut agent = scene.agent(&scene.versioned(), "agent.py", &["retry", &delivery]);
    let first = agent.expect("delivered");
    rests_briefly(&mut agent);
    assert_ne!(agent.expect("delivered"), first);
    agent.finish();
}

#[tokio::test]
async fn an_agent_that_stays_limited_raises_one_alert_and_stops() {
    let scene = Scene::start_with(&[], &ONE_AN_HOUR).await;
    let delivery = work().to_string();
    let mut agent = scene.agent(&scene.versioned(), "agent.py", &["retry", &delivery]);
    agent.expect("delivered");
    for _ in 0..3 {
        // What is left of an hour, rounded up.
        let seconds = agent.expect("resting").as_i64().unwrap();
        assert!((3590..=3600).contains(&seconds), "{seconds}");
        agent.go_on();
    }
    agent.expect("alert");
    agent.finish();
}

/// One at once, then one every two seconds.
const ONE_AND_SOON_ANOTHER: [&str; 2] = ["--rate", "1800/1"];
const ONE_AN_HOUR: [&str; 2] = ["--rate", "1/1"];

/// As long as the limit above says, less what has passed, rounded up.
fn rests_briefly(agent: &mut Peer) {
    let seconds = agent.expect("resting").as_i64().unwrap();
    assert!((1..=2).contains(&seconds), "{seconds}");
}

/// A receiver verifies a real callback, and refuses it once one byte is other.
async fn verifies_and_refuses(name: &str, arguments: &[&str]) {
    let scene = Scene::start().await;
    let identity = Identity::local();
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let mut all = arguments.to_vec();
    all.extend([certificate.to_str().unwrap(), key.to_str().unwrap()]);
    let mut receiver = scene.agent(&scene.versioned(), name, &all);
    let port = receiver.expect("listening");
    let host = format!("localhost:{port}");
    let networks = ["127.0.0.0/8", "::1/128"];
    scene.house.allow_host(&host, &networks, Some(&identity));

    let url = format!("https://{host}/wake-callback");
    let more = json!({ "callback_webhook": url });
    let id = scene.house.deliver(&scene.key, AGENT, more).await;
    scene.answer(&id, answers()[2].clone()).await;
    let verified = receiver.expect("verified");
    assert_eq!(verified["delivery_id"], id.as_str());
    assert_eq!(verified["body"]["delivery_id"], id.as_str());
    assert_eq!(verified["body"]["status"], "redirected");
    assert_eq!(
        verified["body"]["edited_content"],
        answers()[2]["edited_content"]
    );

    let genuine = STANDARD.decode(verified["raw"].as_str().unwrap()).unwrap();
    let signature = verified["signature"].as_str().unwrap();
    let mut tampered = genuine.clone();
    let place = tampered
        .windows(10)
        .position(|window| window == b"redirected");
    tampered[place.unwrap()] = b'R';
    let trusted = std::fs::read(&certificate).unwrap();
    let trusted = reqwest::Certificate::from_pem(&trusted).unwrap();
    let http = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_merge([trusted])
        .build()
        .unwrap();
    for (body, status, word) in [(tampered, 401, "refused"), (genuine, 200, "verified")] {
        let sent = http
            .post(&url)
            .header("content-type", "application/json")
            .header("x-wake-signature", signature)
            .header("x-wake-delivery-id", &id)
            .body(body)
            .send();
        assert_eq!(sent.await.unwrap().status(), status);
        receiver.expect(word);
    }
}

#[tokio::test]
async fn a_python_receiver_verifies_a_callback_and_refuses_a_tampered_one() {
    verifies_and_refuses("receiver.py", &[]).await;
}

#[tokio::test]
async fn a_node_receiver_verifies_a_callback_and_refuses_a_tampered_one() {
    verifies_and_refuses("receiver.mjs", &[]).await;
}

/// The documents themselves are not part of this repository: who has them names
/// their directory, and their code is then run as it stands.
fn documents() -> Option<PathBuf> {
    let directory = std::env::var_os("WAKEFUL_TEST_SEEDS");
    if directory.is_none() {
        eprintln!("not run: WAKEFUL_TEST_SEEDS names no directory with the documents");
    }
    directory.map(PathBuf::from)
}

/// The document whose name begins so.
fn document(directory: &Path, beginning: &str) -> String {
    let found = std::fs::read_dir(directory).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        let fits = name.starts_with(beginning);
        fits.then(|| path.to_str().unwrap().to_owned())
    });
    found.unwrap_or_else(|| panic!("no document {beginning}… in {}", directory.display()))
}

impl Scene {
    /// The one delivery that waits.
    async fn waiting(&self) -> String {
        let path = "/api/v1/inbox?status=pending";
        let page = self.house.get(path, &self.ann).await.json();
        let items = page["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{items:?}");
        items[0]["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn the_programs_of_both_documents_run_as_they_stand() {
    let Some(directory) = documents() else { return };
    for (beginning, start, versioned) in [
        ("000", "import os, time, hmac", true),
        ("001", "import httpx, time", false),
    ] {
        let file = document(&directory, beginning);
        let scene = Scene::start().await;
        let endpoint = match versioned {
            true => scene.versioned(),
            false => scene.bare(),
        };
        for answer in answers() {
            let mut agent = scene.agent(&endpoint, "from_document.py", &[&file, start, "run"]);
            assert_eq!(agent.expect("status"), json!(["POST", 201]));
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            assert_eq!(agent.expect("resting"), 60);
            scene.answer(&scene.waiting().await, answer.clone()).await;
            agent.go_on();
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            let called = agent.expect("called");
            let (name, argument) = (called[0].as_str().unwrap(), &called[1]);
            match answer["status"].as_str().unwrap() {
                "approved" => assert!(name.starts_with("proceed"), "{called}"),
                "rejected" => assert_eq!(argument, &answer["feedback"]),
                _ => assert_eq!(argument, &answer["edited_content"]),
            }
            agent.finish();
        }
        // And when nobody answers: sixty polls, then no more.
        let mut agent = scene.agent(&endpoint, "from_document.py", &[&file, start, "run"]);
        assert_eq!(agent.expect("status"), json!(["POST", 201]));
        for _ in 0..60 {
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            agent.expect("resting");
            agent.go_on();
        }
        if versioned {
            agent.expect("called");
        }
        agent.finish();
    }
}

#[tokio::test]
async fn the_orchestrator_of_the_specification_runs_as_it_stands() {
    let Some(directory) = documents() else { return };
    let file = document(&directory, "000");
    let scene = Scene::start().await;
    let first = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    let second = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    let arguments = [file.as_str(), "since = None", "run"];
    let mut agent = scene.agent(&scene.versioned(), "from_document.py", &arguments);
    assert_eq!(agent.expect("status"), json!(["GET", 200]));
    assert_eq!(agent.expect("resting"), 60);
    for id in [second, first] {
        scene.answer(&id, answers()[0].clone()).await;
        agent.go_on();
        assert_eq!(agent.expect("status"), json!(["GET", 200]));
        let called = agent.expect("called");
        assert_eq!(called[1], id.as_str());
        assert_eq!(called[2]["status"], "approved");
        assert_eq!(agent.expect("resting"), 60);
        // Seen once: the next round brings nothing.
        agent.go_on();
        assert_eq!(agent.expect("status"), json!(["GET", 200]));
        assert_eq!(agent.expect("resting"), 60);
    }
    agent.stop();
    agent.finish();
}

#[tokio::test]
async fn the_patience_of_the_specification_runs_as_it_stands() {
    let Some(directory) = documents() else { return };
    let file = document(&directory, "000");
    let function = "deliver_with_retry";
    let start = format!("def {function}");
    let mut payload = work();
    payload["agent_id"] = AGENT.into();
    payload["provider"] = "claude".into();
    let payload = payload.to_string();
    let arguments = [file.as_str(), &start, "call", function, &payload];

    let scene = Scene::start_with(&[], &ONE_AND_SOON_ANOTHER).await;
    let mut agent = scene.agent(&scene.versioned(), "from_document.py", &arguments);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert_eq!(agent.expect("returned")["status"], "received");
    assert_eq!(agent.expect("status"), json!(["POST", 429]));
    rests_briefly(&mut agent);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert_eq!(agent.expect("returned")["status"], "received");
    agent.finish();

    let scene = Scene::start_with(&[], &ONE_AN_HOUR).await;
    let mut agent = scene.agent(&scene.versioned(), "from_document.py", &arguments);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    agent.expect("returned");
    for _ in 0..3 {
        assert_eq!(agent.expect("status"), json!(["POST", 429]));
        agent.expect("resting");
        agent.go_on();
    }
    agent.expect("raised");
    agent.finish();
}

#[tokio::test]
async fn the_first_requests_of_the_specification_run_as_they_stand() {
    let Some(directory) = documents() else { return };
    let file = document(&directory, "000");
    let scene = Scene::start().await;
    for (name, start) in [
        ("from_document.py", "import os, httpx"),
        ("from_document.mjs", "const WAKE_API_KEY"),
    ] {
        let mut agent = scene.agent(&scene.versioned(), name, &[&file, start, "run"]);
        assert_eq!(agent.expect("status"), json!(["POST", 201]), "{name}");
        agent.finish();
    }
}

#[tokio::test]
async fn the_verifiers_of_both_documents_run_as_they_stand() {
    let Some(directory) = documents() else { return };
    let (spec, paper) = (document(&directory, "000"), document(&directory, "001"));
    let python = "from_document.py";
    let handler = "if not verify_wake_webhook";
    let with_handler = [&spec, "import hmac, hashlib, os", "receive", handler];
    verifies_and_refuses(python, &with_handler).await;
    verifies_and_refuses(python, &[&paper, "import hmac, hashlib", "receive"]).await;
    let express = [&spec, "const crypto = require", "receive"];
    verifies_and_refuses("from_document.mjs", &express).await;
}

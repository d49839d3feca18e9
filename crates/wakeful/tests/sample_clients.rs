//! Agents and receivers in Python and Node that do what the protocol's
//! documents show, against the real server.

#![allow(clippy::unwrap_used)]

mod harness;

use harness::{House, peer::Peer, receiver::Identity, verifying::Callbacks};
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

/// Whoever polls takes a body whose `status` is not `pending` for an answer.
#[tokio::test]
async fn no_refusal_reads_as_an_answer_whichever_base_and_key_are_wrong() {
    let scene = Scene::start().await;
    let id = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    let unknown = uuid::Uuid::new_v4().to_string();
    let dead = [("WAKE_API_KEY", "wk_live_nobody_ever_made_this_one")];
    for (endpoint, id, more, status) in [
        (scene.versioned(), &id, &[][..], 200),
        (scene.versioned(), &id, &dead, 401),
        (scene.versioned(), &unknown, &[], 404),
        // The other document's base: the path has one /wake/v1 too few.
        (scene.bare(), &id, &[], 404),
        // And one too many.
        (format!("{}/wake/v1", scene.versioned()), &id, &[], 404),
    ] {
        let argument = json!(id).to_string();
        let mut agent = scene.agent_with(&endpoint, "agent.py", &["poll", &argument], more);
        assert_eq!(agent.expect("status"), status, "{endpoint}");
        match status {
            200 => assert_eq!(agent.expect("answer")["status"], "pending"),
            _ => assert_eq!(agent.expect("raised"), "KeyError", "{endpoint}"),
        }
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
async fn verifies_and_refuses(name: &str) {
    let scene = Scene::start().await;
    let identity = Identity::local();
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let receiver = scene.agent(&scene.versioned(), name, &files);
    let callbacks = Callbacks {
        house: &scene.house,
        person: &scene.ann,
        key: &scene.key,
        agent: AGENT,
        identity: &identity,
    };
    callbacks.are_verified_and_refused_by(receiver).await;
}

#[tokio::test]
async fn a_python_receiver_verifies_a_callback_and_refuses_a_tampered_one() {
    verifies_and_refuses("receiver.py").await;
}

#[tokio::test]
async fn a_node_receiver_verifies_a_callback_and_refuses_a_tampered_one() {
    verifies_and_refuses("receiver.mjs").await;
}

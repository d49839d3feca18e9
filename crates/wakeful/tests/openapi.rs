//! `/openapi.json` says what the server does, and the server does nothing else.
//! Schemathesis makes requests from the document, good and bad ones, and holds
//! every answer against it.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{collections::BTreeSet, process::Command};

use harness::{House, peer::tool, receiver::Receiver};
use serde_json::{Value, json};
use server::routes;
use tempfile::TempDir;

const CONFIG: &str = "schemathesis.toml";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,ignored_auth,unsupported_method,\
    allow_header_conformance,missing_required_header";

/// Values that exist, so that requests get past the door: names of dictionaries
/// and, for each parameter, which one it draws from and how often.
struct Known {
    dictionaries: Vec<(&'static str, Value)>,
}

/// The parameter's place and name, its dictionary, how often it is used, and
/// the paths it is for, if not for all.
const DRAWN: &[(&str, &str, f64, &str)] = &[
    ("path.delivery_id", "deliveries", 0.8, ""),
    ("path.id", "deliveries", 0.8, "^/api/v1/inbox/"),
    ("path.id", "callbacks", 0.8, "^/api/v1/webhooks/callbacks/"),
    ("path.key_id", "keys", 0.7, ""),
    ("path.agent_id", "agents", 0.8, ""),
    // Those of the one who asks; others' are the same as none.
    (
        "path.agent_id",
        "devices",
        0.8,
        "^/api/v1/agents/[^/]+/(export|rotate-token)$",
    ),
    ("query.agent_id", "agents", 0.6, ""),
    ("body.agent_id", "agents", 0.9, ""),
    ("body.callback_webhook", "webhooks", 0.9, ""),
    ("body.pattern", "patterns", 0.8, ""),
    ("path.pattern", "patterns", 0.5, ""),
    ("body.owner", "people", 0.8, ""),
    ("path.name", "people", 0.8, ""),
    ("path.position", "positions", 0.8, ""),
    // Or a test would wait up to a minute, as it asked.
    ("query.wait", "waits", 1.0, ""),
];

impl Known {
    /// As Schemathesis reads it.
    fn config(&self) -> String {
        let mut text = String::new();
        for (name, values) in &self.dictionaries {
            text += &format!("[dictionaries.{name}]\nvalues = {values}\n");
        }
        let drawn = |(parameter, dictionary, often, _): &(&str, &str, f64, &str)| {
            format!("\"{parameter}\" = {{ dictionary = \"{dictionary}\", probability = {often} }}")
        };
        text += "[parameters]\n";
        for everywhere in DRAWN.iter().filter(|draw| draw.3.is_empty()) {
            text += &format!("{}\n", drawn(everywhere));
        }
        for somewhere in DRAWN.iter().filter(|draw| !draw.3.is_empty()) {
            let paths = json!(somewhere.3);
            let parameters = drawn(somewhere);
            text += &format!(
                "[[operations]]\ninclude-path-regex = {paths}\nparameters = {{ {parameters} }}\n"
            );
        }
        // A run that never gets past the door proves nothing.
        text + "[warnings]\nfail-on = [\"missing_auth\", \"missing_test_data\"]\n"
    }
}

struct Scene {
    house: House,
    /// Nobody has answered these.
    open: Vec<String>,
    key: String,
    fuzz: String,
    /// The configuration is here, and whatever Schemathesis leaves behind.
    desk: TempDir,
}

impl Scene {
    /// A server with something of everything on it. The requests are made by an
    /// owner whom they never name, lest they take away the token they use.
    async fn start() -> Scene {
        // More than one person may do, since all requests are one person's.
        let config = tempfile::NamedTempFile::new().unwrap();
        let limits = "[people]\nwrites-at-once = 1000000\nanswers-at-once = 1000000\n";
        std::fs::write(config.path(), limits).unwrap();
        let flags = ["--config", config.path().to_str().unwrap()];
        let (house, ann) = House::start_with(&flags).await;
        let fuzz = house.user("fuzz", "owner");
        house.user("victim", "reviewer");
        let key = house.key("a");
        let receiver = Receiver::start(410).await;
        house.allow(&receiver);
        let webhook = receiver.url("/");
        let mut deliveries = Vec::new();
        for n in 0..24 {
            let details = [json!({ "n": 1.5 }), json!("- a\n+ b\n"), Value::Null];
            let more = json!({ "details": details[n % 3], "callback_webhook": webhook });
            deliveries.push(house.deliver(&key, "a", more).await);
        }
        for id in &deliveries[..4] {
            let answer = json!({ "status": "redirected", "feedback": "Shorter." });
            assert_eq!(house.respond(&ann, id, answer).await.status, 200);
            house.attempted(&ann, id, 1).await;
        }
        let callbacks = house.get("/api/v1/webhooks/callbacks", &ann).await.json();
        let callbacks = callbacks["callbacks"].as_array().unwrap();
        let callbacks: Vec<_> = callbacks.iter().map(|row| row["id"].to_string()).collect();
        let spare = |n: usize| house.json(&["key", "create", "--agent", &format!("spare-{n}")]);
        let keys: Vec<_> = (0..8).map(|n| spare(n)["key_id"].clone()).collect();
        let devices: Vec<_> = (0..4).map(|n| format!("device-{n}")).collect();
        for device in &devices {
            let body = json!({ "agent_id": device });
            assert_eq!(house.post("/api/v1/agents", &fuzz, body).await.status, 201);
        }
        let positions: Vec<_> = (0..12).map(|n| n.to_string()).collect();
        let known = Known {
            dictionaries: vec![
                ("deliveries", json!(deliveries)),
                ("callbacks", json!(callbacks)),
                ("keys", json!(keys)),
                ("agents", json!(["a"])),
                ("devices", json!(devices)),
                ("webhooks", json!([webhook])),
                ("patterns", json!(["one.example.com", "*.example.org:8443"])),
                ("people", json!(["victim"])),
                ("positions", json!(positions)),
                ("waits", json!([0])),
            ],
        };
        let desk = tempfile::tempdir().unwrap();
        std::fs::write(desk.path().join(CONFIG), known.config()).unwrap();
        Scene {
            house,
            open: deliveries.split_off(4),
            key,
            fuzz,
            desk,
        }
    }

    /// For as long as an answer can be held.
    async fn hold_answers(&self) {
        for id in &self.open {
            let answer = json!({ "status": "approved", "hold_seconds": 30 });
            assert_eq!(self.house.respond(&self.fuzz, id, answer).await.status, 200);
        }
    }

    /// All requests with this token to the paths that these options leave.
    fn run(&self, token: &str, options: &[&str]) {
        let output = Command::new(tool("WAKEFUL_TEST_SCHEMATHESIS"))
            .args(["--config-file", CONFIG, "run"])
            .arg(format!("{}/openapi.json", self.house.address()))
            .args(["--checks", CHECKS, "--max-examples", "20", "--seed", "1"])
            .args(["--no-color", "--request-timeout", "10"])
            .arg("--header")
            .arg(format!("Authorization: Bearer {token}"))
            .args(options)
            .current_dir(&self.desk)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        // It says so, and is content, when a phase had nothing to do.
        assert!(!said.contains("nothing to test"), "{said}");
    }
}

// Our own connections must live while Schemathesis is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_the_server_answers_is_missing_from_its_document() {
    let scene = Scene::start().await;
    scene.run(&scene.key, &["--include-path-regex", "^/wake/v1/"]);
    // The stream of events never ends, and a new token for oneself ends the one
    // it was asked for with, so these have tests of their own; the two that take
    // a token or a role away come last and without each other's ids.
    let rest = "^/wake/v1/|^/api/v1/events$|^/api/v1/me/token$|^/api/v1/users/|/undo$";
    let alone = ["--phases", "coverage,fuzzing"];
    // Nothing can be undone but what is held, and not for long.
    scene.hold_answers().await;
    let undo = ["--include-path-regex", "^/api/v1/inbox/[^/]+/undo$"];
    scene.run(&scene.fuzz, &[undo, alone].concat());
    scene.run(&scene.fuzz, &["--exclude-path-regex", rest]);
    let people = ["--include-path-regex", "^/api/v1/users/"];
    scene.run(&scene.fuzz, &[people, alone].concat());
}

#[tokio::test]
async fn every_route_is_in_the_document_and_nothing_else_is() {
    let (house, _) = House::start().await;
    let document = house.send("GET", "/openapi.json", None, None).await.json();
    let written: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.clone()))
        })
        .collect();
    let routed: BTreeSet<(String, String)> = routes::all()
        .iter()
        .map(|route| (route.path.to_owned(), route.method.to_owned()))
        .collect();
    assert_eq!(written, routed);
    // What the list says is what the server does: each is there, and with no
    // token only the open ones answer.
    for (path, method) in &routed {
        let concrete = path.replace(['{', '}'], "");
        let method_upper = method.to_uppercase();
        let answer = house.send(&method_upper, &concrete, None, None).await;
        let security = &document["paths"][path][method]["security"];
        let expected = match path.as_str() {
            // A socket and not an answer.
            "/wss" => 426,
            _ if security == &json!([]) => 200,
            _ => 401,
        };
        assert_eq!(answer.status, expected, "{method_upper} {concrete}");
    }
}

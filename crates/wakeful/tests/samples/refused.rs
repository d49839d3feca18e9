//! The programs and loops when the server refuses: each raises, and none takes
//! an error's body for an answer.

use serde_json::{Value, json};

use crate::{
    documents::{APPENDIX, ORCHESTRATOR, PATIENT, QUICKSTART, Sample},
    harness::{delivery, peer::Peer},
    scene::{AGENT, Scene},
};

/// Nobody has it.
pub const DEAD_KEY: &str = "wk_live_nobody_ever_made_this_one";

/// How a sample is called, and what it does with a refusal.
struct Call {
    sample: Sample,
    mode: Vec<String>,
    method: &'static str,
    raises: &'static str,
    /// Whether it waits and tries again when it is limited.
    is_patient: bool,
}

impl Call {
    fn function(sample: Sample, name: &str, arguments: Value, raises: &'static str) -> Call {
        let is_polling = name == "await_response";
        Call {
            sample,
            mode: vec!["call".into(), name.into(), json!([arguments]).to_string()],
            method: if is_polling { "GET" } else { "POST" },
            raises,
            is_patient: raises == RAISED_BY_STATUS,
        }
    }

    fn start(&self, scene: &Scene, endpoint: &str, key: &str) -> Peer {
        let mode: Vec<&str> = self.mode.iter().map(String::as_str).collect();
        scene.run_at(&self.sample, endpoint, key, &mode)
    }

    /// It hears this status and raises.
    fn fails(&self, mut agent: Peer, status: u16) {
        let what = format!("{} {:?} {status}", self.sample.name, self.mode);
        assert_eq!(
            agent.expect("status"),
            json!([self.method, status]),
            "{what}"
        );
        assert_eq!(agent.expect("raised"), self.raises, "{what}");
        agent.finish();
    }
}

/// What asking the response for its status raises.
const RAISED_BY_STATUS: &str = "HTTPStatusError";
/// What a body raises that lacks the field of an answer.
const RAISED_BY_BODY: &str = "KeyError";

/// Everything that the samples can be asked, about this delivery.
fn calls(id: &str) -> Vec<Call> {
    let words = ["output", "Report ready", "All were compared."];
    let [kind, headline, summary] = words;
    let mut calls: Vec<Call> = [QUICKSTART, APPENDIX]
        .map(|sample| polling(sample, id))
        .into();
    calls.extend([
        Call::function(QUICKSTART, "deliver", json!(words), RAISED_BY_STATUS),
        Call::function(
            APPENDIX,
            "deliver",
            json!([AGENT, kind, headline, summary, null]),
            RAISED_BY_BODY,
        ),
        Call::function(
            PATIENT,
            "deliver_with_retry",
            json!([delivery(AGENT, json!({}))]),
            RAISED_BY_STATUS,
        ),
        Call {
            sample: ORCHESTRATOR,
            mode: vec!["run".into()],
            method: "GET",
            raises: RAISED_BY_BODY,
            is_patient: false,
        },
    ]);
    calls
}

fn polling(sample: Sample, id: &str) -> Call {
    Call::function(
        sample,
        "await_response",
        json!([id, 60, 60]),
        RAISED_BY_BODY,
    )
}

#[tokio::test]
async fn a_key_that_is_refused_raises() {
    let scene = Scene::start().await;
    let id = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    for call in calls(&id) {
        let endpoint = scene.endpoint_of(&call.sample);
        call.fails(call.start(&scene, &endpoint, DEAD_KEY), 401);
    }
}

#[tokio::test]
async fn an_id_that_is_unknown_raises() {
    let scene = Scene::start().await;
    let id = uuid::Uuid::new_v4().to_string();
    for sample in [QUICKSTART, APPENDIX] {
        let endpoint = scene.endpoint_of(&sample);
        let call = polling(sample, &id);
        call.fails(call.start(&scene, &endpoint, &scene.key), 404);
    }
}

#[tokio::test]
async fn the_endpoint_of_the_other_document_raises() {
    let scene = Scene::start().await;
    let id = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    for call in calls(&id) {
        let endpoint = scene.other_endpoint(&call.sample);
        call.fails(call.start(&scene, &endpoint, &scene.key), 404);
    }
}

#[tokio::test]
async fn too_much_with_one_key_raises_where_it_is_not_waited_out() {
    let scene = Scene::narrow().await;
    let writer = scene.house.key("writer");
    let id = scene.house.deliver(&writer, "writer", json!({})).await;
    let _open = scene.crowd(&[&scene.key], 429).await;
    for call in calls(&id).iter().filter(|call| !call.is_patient) {
        let endpoint = scene.endpoint_of(&call.sample);
        call.fails(call.start(&scene, &endpoint, &scene.key), 429);
    }
}

#[tokio::test]
async fn a_server_that_has_no_room_for_agents_raises() {
    let scene = Scene::narrow().await;
    let others = ["b", "c", "d"].map(|agent| scene.house.key(agent));
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let id = scene.house.deliver(others[0], "b", json!({})).await;
    let _open = scene.crowd(&others, 503).await;
    for call in calls(&id) {
        let endpoint = scene.endpoint_of(&call.sample);
        call.fails(call.start(&scene, &endpoint, &scene.key), 503);
    }
}

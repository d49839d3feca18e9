//! The programs and loops, when all goes well, when nobody answers, and when
//! the agent is too fast.

use serde_json::{Value, json};

use crate::{
    documents::{APPENDIX, ORCHESTRATOR, PATIENT, QUICKSTART},
    harness::{delivery, peer::Peer},
    scene::{AGENT, ONE_AN_HOUR, ONE_AND_SOON_ANOTHER, Scene, answers},
};

#[tokio::test]
async fn the_programs_of_both_documents_do_what_the_person_says() {
    for sample in [QUICKSTART, APPENDIX] {
        let scene = Scene::start().await;
        for answer in answers() {
            let mut agent = scene.run(&sample, &["run"]);
            assert_eq!(agent.expect("status"), json!(["POST", 201]));
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            assert_eq!(agent.expect("resting"), 60);
            scene.answer(&scene.waiting().await, answer.clone()).await;
            agent.go_on();
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            acts_on(&mut agent, &answer);
            agent.finish();
        }
    }
}

/// The function that belongs to the answer is called with what was said.
fn acts_on(agent: &mut Peer, answer: &Value) {
    let called = agent.expect("called");
    let (name, argument) = (called[0].as_str().unwrap(), &called[1]);
    match answer["status"].as_str().unwrap() {
        "approved" => assert!(name.starts_with("proceed"), "{called}"),
        "rejected" => assert_eq!(argument, &answer["feedback"]),
        _ => assert_eq!(argument, &answer["edited_content"]),
    }
}

#[tokio::test]
async fn the_programs_of_both_documents_stop_polling_when_nobody_answers() {
    for sample in [QUICKSTART, APPENDIX] {
        let scene = Scene::start().await;
        let mut agent = scene.run(&sample, &["run"]);
        assert_eq!(agent.expect("status"), json!(["POST", 201]));
        for _ in 0..60 {
            assert_eq!(agent.expect("status"), json!(["GET", 200]));
            agent.expect("resting");
            agent.go_on();
        }
        if sample.document == QUICKSTART.document {
            agent.expect("called");
        }
        agent.finish();
    }
}

#[tokio::test]
async fn the_orchestrator_sees_every_answer_once() {
    let scene = Scene::start().await;
    let first = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    let second = scene.house.deliver(&scene.key, AGENT, json!({})).await;
    let mut agent = scene.run(&ORCHESTRATOR, &["run"]);
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

/// As long as the limit says, less what has passed, rounded up.
fn rests_briefly(agent: &mut Peer) {
    let seconds = agent.expect("resting").as_i64().unwrap();
    assert!((1..=2).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn the_quickstart_waits_as_429_says_and_gets_through() {
    let scene = Scene::limited(&ONE_AND_SOON_ANOTHER).await;
    let words = ["output", "Report ready", "All were compared."];
    let twice = json!([words, words]).to_string();
    let mut agent = scene.run(&QUICKSTART, &["call", "deliver", &twice]);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert!(agent.expect("returned").is_string());
    assert_eq!(agent.expect("status"), json!(["POST", 429]));
    rests_briefly(&mut agent);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert!(agent.expect("returned").is_string());
    agent.finish();
}

#[tokio::test]
async fn the_patience_of_the_specification_ends_with_one_alert() {
    let payload = delivery(AGENT, json!({}));
    let twice = json!([[payload], [payload]]).to_string();
    let mode = ["call", "deliver_with_retry", &twice];

    let scene = Scene::limited(&ONE_AND_SOON_ANOTHER).await;
    let mut agent = scene.run(&PATIENT, &mode);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert_eq!(agent.expect("returned")["status"], "received");
    assert_eq!(agent.expect("status"), json!(["POST", 429]));
    rests_briefly(&mut agent);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    assert_eq!(agent.expect("returned")["status"], "received");
    agent.finish();

    let scene = Scene::limited(&ONE_AN_HOUR).await;
    let mut agent = scene.run(&PATIENT, &mode);
    assert_eq!(agent.expect("status"), json!(["POST", 201]));
    agent.expect("returned");
    for _ in 0..3 {
        assert_eq!(agent.expect("status"), json!(["POST", 429]));
        agent.expect("resting");
        agent.go_on();
    }
    assert_eq!(agent.expect("raised"), "Exception");
    agent.finish();
}

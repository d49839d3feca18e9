//! Our own client keeps the rules that the protocol sets for an agent.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{path::PathBuf, time::Duration};

use client::{Agent, AgentFault, Delivery, Outcome, Server, ServerFault};
use harness::{
    House,
    receiver::{Receiver, Reply},
};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use wake::{BaseFault, Kind, Status};

fn work() -> Delivery {
    Delivery {
        r#type: Kind::Output,
        headline: "Comparison finished".to_owned(),
        summary: "Ten products were compared.".to_owned(),
        details: Some(to_raw_value(&json!({ "n": 10 })).unwrap()),
        callback_webhook: None,
        timeout_seconds: Some(60),
    }
}

fn log_file(house: &House) -> PathBuf {
    house.data().join("agent.log")
}

fn log(house: &House) -> Vec<Value> {
    let text = std::fs::read_to_string(log_file(house)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn agent(house: &House, key: String) -> Agent {
    let server = Server::at(&house.address(), Some(key), None).unwrap();
    Agent::new(server, "a", "claude", &log_file(house)).unwrap()
}

/// An agent whose server is not a server of ours.
fn agent_of(receiver: &Receiver) -> Agent {
    let trusted = std::fs::read(receiver.identity.certificate_file()).unwrap();
    let server = Server::at(
        &receiver.url(""),
        Some("wk_live_x".to_owned()),
        Some(&trusted),
    );
    let log = receiver.identity.certificate_file();
    let log = log.with_extension("agent.log");
    Agent::new(server.unwrap(), "a", "claude", &log).unwrap()
}

#[tokio::test]
async fn it_delivers_waits_for_the_answer_and_logs_both() {
    let (house, ann) = House::start().await;
    let mut agent = agent(&house, house.key("a"));
    let id = agent.deliver(&work()).await.unwrap();
    let (text, answer) = (
        id.to_string(),
        json!({ "status": "rejected", "feedback": "No." }),
    );
    let (outcome, answered) = tokio::join!(
        agent.wait(id, Duration::from_secs(30), None),
        house.respond(&ann, &text, answer),
    );
    assert_eq!(answered.status, 200);
    let Outcome::Answered(answer) = outcome.unwrap() else {
        panic!("it did not hear the answer");
    };
    assert_eq!(answer.status, Status::Rejected);
    assert_eq!(answer.feedback.as_deref(), Some("No."));
    let log = log(&house);
    assert_eq!(log.len(), 2);
    assert_eq!(log[0]["delivered"]["delivery_id"], id.to_string());
    assert_eq!(log[0]["delivery"]["headline"], "Comparison finished");
    assert_eq!(log[1]["answered"]["status"], "rejected");
}

#[tokio::test]
async fn it_waits_no_longer_than_it_said_and_that_is_not_an_approval() {
    let (house, _) = House::start().await;
    let mut agent = agent(&house, house.key("a"));
    let id = agent.deliver(&work()).await.unwrap();
    let outcome = agent
        .wait(id, Duration::from_millis(200), None)
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::TimedOut));
    assert_eq!(log(&house)[1]["timed_out"], id.to_string());
}

#[tokio::test]
async fn a_sweep_gives_each_answer_to_its_own_deliveries_once() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let mut agent = agent(&house, key.clone());
    let own = agent.deliver(&work()).await.unwrap();
    let foreign = house.deliver(&key, "a", json!({})).await;
    for id in [own.to_string(), foreign] {
        let approved = json!({ "status": "approved" });
        assert_eq!(house.respond(&ann, &id, approved).await.status, 200);
    }
    let (answers, since) = agent.sweep(None).await.unwrap();
    let ids: Vec<_> = answers.iter().map(|answer| answer.delivery_id).collect();
    assert_eq!(ids, [own]);
    let (answers, _) = agent.sweep(since.as_deref()).await.unwrap();
    assert!(answers.is_empty());
}

#[tokio::test]
async fn answers_to_what_an_earlier_process_delivered_are_its_own_too() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = agent(&house, key.clone()).deliver(&work()).await.unwrap();
    let approved = json!({ "status": "approved" });
    let answered = house.respond(&ann, &id.to_string(), approved).await;
    assert_eq!(answered.status, 200);
    let (answers, _) = agent(&house, key).sweep(None).await.unwrap();
    let ids: Vec<_> = answers.iter().map(|answer| answer.delivery_id).collect();
    assert_eq!(ids, [id]);
}

#[tokio::test]
async fn without_a_log_nothing_is_delivered() {
    let mut receiver = Receiver::start(201).await;
    let trusted = std::fs::read(receiver.identity.certificate_file()).unwrap();
    let server = Server::at(&receiver.url(""), None, Some(&trusted)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let refused = Agent::new(server, "a", "claude", directory.path());
    assert!(matches!(refused, Err(AgentFault::Log(_))));
    assert!(receiver.saw_nothing_more());
}

#[tokio::test]
async fn content_goes_out_and_comes_in_as_it_was_written() {
    let (house, ann) = House::start().await;
    let mut agent = agent(&house, house.key("a"));
    let exact = r#"{"z":12345678901234567890123,"a":1e400}"#;
    let mut work = work();
    work.details = RawValue::from_string(exact.to_owned()).ok();
    let id = agent.deliver(&work).await.unwrap();
    let path = format!("/api/v1/inbox/{id}");
    assert!(house.get(&path, &ann).await.text().contains(exact));
    let answer = format!(r#"{{"status":"redirected","edited_content":{exact}}}"#);
    let answered = house
        .post_text(&format!("{path}/respond"), &ann, answer)
        .await;
    assert_eq!(answered.status, 200);
    let answer = agent.response(id, Duration::ZERO).await.unwrap();
    assert_eq!(answer.edited_content.unwrap().get(), exact);
    let kept = std::fs::read_to_string(log_file(&house)).unwrap();
    assert_eq!(kept.matches(exact).count(), 2);
}

#[tokio::test]
async fn who_cannot_be_reached_is_named_once_with_the_reason() {
    harness::install_tls();
    let server = Server::at("http://127.0.0.1:9/", None, None).unwrap();
    let fault = server.request("GET", "/", &[], None).await.unwrap_err();
    let said = format!("{:#}", anyhow::Error::from(fault));
    assert_eq!(said.matches("127.0.0.1:9").count(), 1, "{said}");
    assert!(said.contains("refused"), "{said}");
}

#[tokio::test]
async fn a_limited_delivery_waits_as_told_and_is_tried_once_more() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--rate", "3600/1"]);
    let mut agent = agent(&house, key);
    let first = agent.deliver(&work()).await.unwrap();
    let second = agent.deliver(&work()).await.unwrap();
    assert_ne!(first, second);
}

#[tokio::test]
async fn when_it_is_limited_twice_it_says_so_and_does_not_loop() {
    let mut receiver =
        Receiver::answering(|_| Reply::Header(429, "retry-after", "0".to_owned())).await;
    let refused = agent_of(&receiver).deliver(&work()).await;
    assert!(matches!(refused, Err(AgentFault::RateLimited)));
    receiver.next().await;
    receiver.next().await;
    assert!(receiver.saw_nothing_more());
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again() {
    let mut receiver = Receiver::start(401).await;
    let refused = agent_of(&receiver).deliver(&work()).await;
    assert!(matches!(refused, Err(AgentFault::KeyRefused)));
    receiver.next().await;
    assert!(receiver.saw_nothing_more());
}

#[tokio::test]
async fn an_answer_to_another_delivery_is_not_acted_on() {
    let foreign = json!({
        "delivery_id": "550e8400-e29b-41d4-a716-446655440000", "status": "approved",
        "feedback": null, "edited_content": null, "responded_at": "2026-03-07T09:14:22Z"
    });
    let receiver = Receiver::answering(move |_| Reply::Json(foreign.clone())).await;
    let id = uuid::Uuid::from_u128(1);
    let answer = agent_of(&receiver).response(id, Duration::ZERO).await;
    assert!(matches!(answer, Err(AgentFault::ForeignDelivery)));
}

#[tokio::test]
async fn plain_http_is_refused_outside_this_machine_and_redirects_are_not_followed() {
    harness::install_tls();
    for address in [
        "http://wake.example.com",
        "http://10.0.0.1",
        "ftp://127.0.0.1",
    ] {
        let refused = Server::at(address, None, None);
        assert!(
            matches!(refused, Err(ServerFault::Address(_, BaseFault::Insecure))),
            "{address}"
        );
    }
    let mut elsewhere = Receiver::start(200).await;
    let target = elsewhere.url("/");
    let receiver =
        Receiver::answering(move |_| Reply::Header(307, "location", target.clone())).await;
    let refused = agent_of(&receiver).deliver(&work()).await;
    assert!(matches!(
        refused,
        Err(AgentFault::Refused { status: 307, .. })
    ));
    assert!(elsewhere.saw_nothing_more());
}

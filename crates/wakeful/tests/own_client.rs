//! Our own client keeps the rules that the protocol sets for an agent, and so does
//! the code that we print for others to paste.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{path::PathBuf, time::Duration};

use client::{Agent, AgentFault, Outcome, Server, ServerFault};
use harness::{
    House,
    peer::Peer,
    receiver::{Receiver, Reply},
};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use wake::{BaseFault, Delivery, Framework, Kind, Status};

fn work() -> Delivery {
    let (headline, summary) = ("Comparison finished", "Ten products were compared.");
    Delivery {
        details: Some(to_raw_value(&json!({ "n": 10 })).unwrap()),
        timeout_seconds: Some(60),
        ..Delivery::new(Kind::Output, headline, summary)
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
    let untimed = Delivery {
        timeout_seconds: None,
        ..work()
    };
    let id = agent.deliver(&untimed).await.unwrap();
    let outcome = agent
        .wait(id, Duration::from_millis(200), None)
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::TimedOut));
    assert_eq!(log(&house)[1]["timed_out"], id.to_string());
    assert_eq!(log(&house)[1]["assumption"], Value::Null);
}

#[tokio::test]
async fn a_wait_that_ends_before_the_time_for_an_answer_is_no_time_out() {
    let (house, _) = House::start().await;
    let mut agent = agent(&house, house.key("a"));
    // Its time for an answer is a minute.
    let id = agent.deliver(&work()).await.unwrap();
    let wait = Duration::from_millis(200);
    let outcome = agent.wait(id, wait, Some("the old prices")).await.unwrap();
    assert!(matches!(outcome, Outcome::NotYet), "{outcome:?}");
    assert_eq!(log(&house).len(), 1);
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

/// The code that the terminal prints for a framework, in a file.
fn printed(house: &House, framework: Framework) -> PathBuf {
    let name = framework.as_str();
    let prompt = ["prompt", "--agent", "a", "--for", name];
    let output = house.command(&prompt, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, code) = text.split_once("\n```python\n").unwrap();
    let (code, _) = code.split_once("\n```\n").unwrap();
    let file = house.data().with_extension(format!("{name}.py"));
    std::fs::write(&file, format!("{code}\n")).unwrap();
    file
}

/// A program that does nothing but call the printed code.
struct Pasted<'a> {
    code: PathBuf,
    endpoint: String,
    key: &'a str,
    log: PathBuf,
    trusted: Option<PathBuf>,
}

impl<'a> Pasted<'a> {
    fn of(house: &House, framework: Framework, key: &'a str) -> Pasted<'a> {
        Pasted {
            code: printed(house, framework),
            endpoint: format!("{}/wake/v1", house.address()),
            key,
            log: log_file(house),
            trusted: None,
        }
    }

    fn start(&self, times: &str, delivery: &Value) -> Peer {
        let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
        let (code, log, delivery) = (text(&self.code), text(&self.log), delivery.to_string());
        let trusted = self.trusted.as_ref().map(text);
        let mut environment = vec![
            ("WAKE_ENDPOINT", self.endpoint.as_str()),
            ("WAKE_API_KEY", self.key),
            ("WAKE_AGENT_ID", "a"),
            ("WAKE_LOG", log.as_str()),
        ];
        if let Some(trusted) = &trusted {
            environment.push(("SSL_CERT_FILE", trusted));
        }
        Peer::start("pasted.py", &[&code, times, &delivery], &environment)
    }

    /// Delivers and waits, which must fail; gives what the failure says.
    fn fails(&self, times: &str, delivery: &Value) -> String {
        let mut agent = self.start(times, delivery);
        loop {
            match agent.hear() {
                (word, _) if word == "delivered" => {}
                (word, fault) => {
                    assert_eq!(word, "failed", "{fault}");
                    agent.finish();
                    return fault.as_str().unwrap().to_owned();
                }
            }
        }
    }
}

fn asked() -> Value {
    json!({
        "type": "question", "headline": "Ten suppliers compared",
        "summary": "Two are left.", "details": "Which one?", "timeout_seconds": 150
    })
}

#[tokio::test]
async fn the_code_printed_for_each_framework_delivers_and_learns_the_answer() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let answers = [
        json!({ "status": "approved", "feedback": "Go on – gern!" }),
        json!({ "status": "rejected", "feedback": "Neither." }),
        json!({ "status": "redirected", "edited_content": { "take": "the smaller" } }),
    ];
    for (framework, answer) in Framework::ALL.into_iter().zip(answers.iter().cycle()) {
        let mut agent = Pasted::of(&house, framework, &key).start("1", &asked());
        let id = agent.expect("delivered");
        let id = id.as_str().unwrap();
        assert_eq!(agent.expect("resting").as_f64(), Some(60.0));
        let item = house.get(&format!("/api/v1/inbox/{id}"), &ann).await.json();
        assert_eq!(item["provider"], framework.as_str());
        for field in ["type", "headline", "summary", "details"] {
            assert_eq!(item[field], asked()[field], "{framework:?}");
        }
        let answered = house.respond(&ann, id, answer.clone()).await;
        assert_eq!(answered.status, 200);
        agent.go_on();
        let learned = agent.expect("answer");
        assert_eq!(learned["delivery_id"], id);
        for field in ["status", "feedback", "edited_content"] {
            assert_eq!(learned[field], answer[field], "{framework:?}");
        }
        agent.finish();
        let log = log(&house);
        let [.., delivered, answered] = log.as_slice() else {
            panic!("{log:?}");
        };
        assert_eq!(delivered["delivered"]["delivery_id"], id);
        assert_eq!(answered["answered"]["delivery_id"], id);
    }
}

#[tokio::test]
async fn the_printed_code_stops_waiting_when_its_time_is_over_and_says_that_nothing_was_decided() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let mut agent = Pasted::of(&house, Framework::Claude, &key).start("1", &asked());
    let id = agent.expect("delivered");
    for seconds in [60.0, 60.0, 30.0] {
        assert_eq!(agent.expect("resting").as_f64(), Some(seconds));
        agent.go_on();
    }
    let learned = agent.expect("answer");
    assert_eq!(learned["delivery_id"], id);
    assert_eq!(learned["status"], "timeout");
    let note = learned["note"].as_str().unwrap();
    assert!(note.contains("Nothing was decided"), "{note}");
    agent.finish();
    let id = id.as_str().unwrap();
    assert_eq!(house.response(&key, id).await["status"], "pending");
    assert_eq!(log(&house).pop().unwrap()["timed_out"], id);
}

#[tokio::test]
async fn the_printed_code_takes_no_refusal_of_the_server_for_an_answer() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--rate", "1/1"]);
    let mut pasted = Pasted::of(&house, Framework::OpenAi, &key);
    let said = pasted.fails("2", &asked());
    assert!(said.contains("status 429. Retry-After: 3"), "{said}");
    assert!(said.contains("rate_limited"), "{said}");

    pasted.endpoint = format!("{}/elsewhere", house.address());
    let said = pasted.fails("1", &asked());
    assert!(
        said.contains("POST /deliver failed with status 404"),
        "{said}"
    );

    pasted.endpoint = house.address();
    pasted.key = "wk_live_unknown";
    let said = pasted.fails("1", &asked());
    assert!(
        said.contains("POST /deliver failed with status 401"),
        "{said}"
    );
}

#[tokio::test]
async fn the_printed_code_takes_a_refused_question_for_an_answer_as_little() {
    let (house, _) = House::start().await;
    let made = house.json(&["key", "create", "--agent", "a"]);
    let (key, key_id) = (
        made["key"].as_str().unwrap(),
        made["key_id"].as_str().unwrap(),
    );
    let mut agent = Pasted::of(&house, Framework::Gemini, key).start("1", &asked());
    let id = agent.expect("delivered");
    agent.expect("resting");
    let revoked = house.command(&["key", "revoke", key_id], &[]);
    assert!(revoked.status.success(), "{revoked:?}");
    agent.go_on();
    let said = agent.expect("failed");
    let asked = format!(
        "GET /response/{} failed with status 401",
        id.as_str().unwrap()
    );
    assert!(said.as_str().unwrap().contains(&asked), "{said}");
    agent.finish();
}

#[tokio::test]
async fn the_printed_code_fails_with_a_server_that_cannot_write() {
    let mut house = House::empty();
    house.user("ann", "owner");
    // In blocks of 512 bytes.
    house.prelude = Some("ulimit -f 1024");
    house.serve().await;
    let key = house.key("a");
    let mut large = asked();
    // As long as an argument of a program may be.
    large["details"] = "x".repeat(100_000).into();
    let said = Pasted::of(&house, Framework::CrewAi, &key).fails("40", &large);
    assert!(
        said.contains("POST /deliver failed with status 503"),
        "{said}"
    );
}

// The receiver answers while the test waits for the peer.
#[tokio::test(flavor = "multi_thread")]
async fn the_printed_code_refuses_a_foreign_answer_an_unknown_status_and_a_redirect() {
    let (house, _) = House::start().await;
    house.key("a");
    let mut pasted = Pasted::of(&house, Framework::LangGraph, "wk_live_x");
    let own = "550e8400-e29b-41d4-a716-446655440000";
    let foreign = "661f9511-f30c-42e5-b827-557766551111";
    for (id, status, fault) in [
        (foreign, "approved", "is not the one to"),
        (own, "granted", "'granted' is not a status of WAKE"),
    ] {
        let answer = json!({ "delivery_id": id, "status": status });
        let received = json!({ "delivery_id": own, "status": "received" });
        let receiver = Receiver::answering(move |seen| {
            Reply::Json(match seen.path.ends_with("/deliver") {
                true => received.clone(),
                false => answer.clone(),
            })
        });
        let receiver = receiver.await;
        pasted.endpoint = receiver.url("");
        pasted.trusted = Some(receiver.identity.certificate_file());
        let said = pasted.fails("1", &asked());
        assert!(said.contains(fault), "{said}");
    }
    let target = house.address();
    let receiver =
        Receiver::answering(move |_| Reply::Header(307, "location", target.clone())).await;
    pasted.endpoint = receiver.url("");
    pasted.trusted = Some(receiver.identity.certificate_file());
    let said = pasted.fails("1", &asked());
    assert!(said.contains("failed with status 307"), "{said}");
}

#[tokio::test]
async fn the_printed_code_refuses_plain_http_outside_this_machine() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let mut pasted = Pasted::of(&house, Framework::AutoGen, &key);
    pasted.endpoint = "http://wake.example.com/wake/v1".to_owned();
    let mut agent = pasted.start("1", &asked());
    let said = agent.expect("unusable");
    assert!(said.as_str().unwrap().contains("https://"), "{said}");
    agent.finish();
}

#[tokio::test]
async fn a_prompt_for_a_framework_is_printed_for_the_address_that_is_named() {
    let (house, ann) = House::start().await;
    house.key("a");
    for framework in Framework::ALL {
        let name = framework.as_str();
        let at = [
            "prompt",
            "--agent",
            "a",
            "--for",
            name,
            "--address",
            "https://w.example",
        ];
        let text = house.json(&at)["prompt"].as_str().unwrap().to_owned();
        assert!(
            text.contains("POST https://w.example/wake/v1/deliver"),
            "{text}"
        );
        assert!(text.contains(framework.place()), "{text}");
        assert!(text.contains(framework.agent()), "{text}");
        // Every rule of the plain prompt is in it.
        let plain = house.json(&["prompt", "--agent", "a"]);
        let here = house.json(&["prompt", "--agent", "a", "--for", name]);
        let here = here["prompt"].as_str().unwrap();
        for line in plain["prompt"].as_str().unwrap().lines() {
            let line = match framework {
                Framework::CrewAi => line.replace("{delivery_id}", "DELIVERY_ID"),
                _ => line.to_owned(),
            };
            assert!(here.contains(&line), "{line} in {here}");
        }
    }
    let all = "claude, openai, gemini, langgraph, crewai, autogen";
    let output = house.command(&["prompt", "--agent", "a", "--for", "llama"], &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("llama") && said.contains(all), "{said}");
    let refused = house.get("/api/v1/agents/a/prompt?for=llama", &ann).await;
    refused.is_problem(422, "bad_query", Some("for"));
    assert!(refused.text().contains(all), "{}", refused.text());
}

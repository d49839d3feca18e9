//! What a device answers, and what it does not.

use runner::{Ended, Hands, ListFault, Mac, Target};
use serde_json::json;

use crate::line::{AGENT, Relay};

#[tokio::test]
async fn a_client_that_has_confirmed_is_answered() {
    let relay = Relay::start().await;
    let nas = Target {
        name: "nas".to_owned(),
        mac: "00:11:22:aa:bb:cc".parse().unwrap(),
        password: None,
    };
    let device = relay.device(vec![nas], Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let pong = line.ask(&mut client, r#"{"id":"1","do":"ping"}"#).await;
    assert_eq!(pong, json!({ "id": "1", "ok": true }));
    let info = line.ask(&mut client, r#"{"id":"2","do":"info"}"#).await;
    assert_eq!(info["ok"], true);
    assert_eq!(info["result"]["agent_id"], AGENT);
    assert_eq!(info["result"]["commands"], json!(["ping", "info", "wake"]));
    assert_eq!(
        info["result"]["targets"],
        json!([{ "name": "nas", "mac": "00:11:22:aa:bb:cc" }])
    );
    // Another client beside it.
    let mut other = line.client(2).await;
    let pong = line.ask(&mut other, r#"{"id":"x","do":"ping"}"#).await;
    assert_eq!(pong, json!({ "id": "x", "ok": true }));
    assert!(matches!(device.stop().await, Ended::Stopped));
}

#[test]
fn a_list_that_does_not_fit_into_an_answer_is_refused_at_the_start() {
    let targets = |count: u8, letter: &str| -> Vec<Target> {
        let name = |n: u8| format!("{}{n:03}", letter.repeat(61));
        (0..count)
            .map(|n| Target {
                name: name(n),
                mac: Mac([2, 0, 0, 0, 0, n]),
                password: None,
            })
            .collect()
    };
    let of = |targets| Hands::new(AGENT, targets, Vec::new());
    assert!(of(targets(255, "x")).is_ok());
    assert_eq!(of(targets(255, "🖥")).unwrap_err(), ListFault::TooLong);
}

#[tokio::test]
async fn a_list_as_long_as_may_be_is_told_in_one_packet() {
    let relay = Relay::start().await;
    // What JSON writes as six characters each.
    let targets = (0..100).map(|n| Target {
        name: format!("{}{n:03}", "\u{1}".repeat(61)),
        mac: Mac([2, 0, 0, 0, 0, n]),
        password: None,
    });
    let _device = relay.device(targets.collect(), Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let info = line.ask(&mut client, r#"{"id":"1","do":"info"}"#).await;
    assert_eq!(info["result"]["targets"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn keep_alive_is_answered() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.admit().await;
    for _ in 0..3 {
        line.say(r#"{"type":"ping"}"#).await;
        assert_eq!(line.hear().await, json!({ "type": "pong" }));
    }
}

#[tokio::test]
async fn nothing_is_done_for_who_has_not_confirmed() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.meet(1).await;
    let confirmation = client.confirm().unwrap();
    let early = client.seal(br#"{"id":"early","do":"ping"}"#).unwrap();
    line.say(&early.text()).await;
    line.say(&confirmation.text()).await;
    // The first thing that is answered is the one after the confirmation.
    let late = line.ask(&mut client, r#"{"id":"late","do":"ping"}"#).await;
    assert_eq!(late["id"], "late");
}

#[tokio::test]
async fn nonsense_is_neither_answered_nor_harmful() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../wakelink/corpus");
    let mut said = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let text = std::fs::read(entry.path()).unwrap();
        // A hello has its answer; a text longer than a frame passes no relay;
        // a ping is the relay's own word.
        let (hello, ping) = (name.starts_with("hello"), name == "frame-ping");
        if hello || ping || text.len() > 60_000 {
            continue;
        }
        line.say(&String::from_utf8_lossy(&text)).await;
        said += 1;
    }
    assert!(said > 50);
    // What is answered next is the next thing that deserves it.
    let pong = line.ask(&mut client, r#"{"id":"1","do":"ping"}"#).await;
    assert_eq!(pong, json!({ "id": "1", "ok": true }));
}

#[tokio::test]
async fn a_hostile_client_is_told_no_in_words() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    for (content, code) in [
        ("", "BAD_COMMAND"),
        ("\u{0}\u{1b}[31m", "BAD_COMMAND"),
        (r#"{"id":"1","do":["ping"]}"#, "BAD_COMMAND"),
        (r#"{"id":"1","do":"run","argv":["rm"]}"#, "UNKNOWN_COMMAND"),
        (r#"{"id":"1","do":"wake","target":"nas"}"#, "NOT_ALLOWED"),
        (
            r#"{"id":"1","do":"wake","target":"ff:ff:ff:ff:ff:ff"}"#,
            "NOT_ALLOWED",
        ),
        (
            r#"{"id":"1","do":"wake","target":"00:11:22:aa:bb:cc","broadcast":"8.8.8.8"}"#,
            "NOT_ALLOWED",
        ),
    ] {
        let answer = line.ask(&mut client, content).await;
        assert_eq!(answer["ok"], false, "{content}");
        assert_eq!(answer["code"], code, "{content}");
    }
    let deep = format!(r#"{{"id":"1","do":{}1"#, "[".repeat(40_000));
    assert_eq!(line.ask(&mut client, &deep).await["code"], "BAD_COMMAND");
}

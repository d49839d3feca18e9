//! A line that breaks, a server that goes away, a token that is refused.

use std::time::Duration;

use runner::{Ended, Timing};
use serde_json::json;

use crate::line::Relay;

const FAILED: &str = r#"{"type":"auth_response","status":"failed","error":"Invalid token"}"#;

#[tokio::test]
async fn a_device_comes_back_whenever_its_line_breaks() {
    let relay = Relay::start().await;
    let device = relay.device(Vec::new(), Vec::new());
    for turn in 0..6_u8 {
        let mut line = relay.admit().await;
        let mut client = line.client(turn).await;
        let pong = line.ask(&mut client, r#"{"id":"1","do":"ping"}"#).await;
        assert_eq!(pong["ok"], true);
        match turn % 2 {
            0 => line.close().await,
            // Without a word.
            _ => drop(line),
        }
    }
    relay.admit().await;
    assert!(matches!(device.stop().await, Ended::Stopped));
}

#[tokio::test]
async fn sessions_end_with_the_line_they_were_made_on() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    drop(line);
    let mut line = relay.admit().await;
    let stale = client.seal(br#"{"id":"stale","do":"ping"}"#).unwrap();
    line.say(&stale.text()).await;
    let mut client = line.client(2).await;
    let pong = line.ask(&mut client, r#"{"id":"new","do":"ping"}"#).await;
    assert_eq!(pong["id"], "new");
}

#[tokio::test]
async fn a_device_outlives_its_server() {
    let relay = Relay::start().await;
    let address = relay.address();
    let device = relay.device(Vec::new(), Vec::new());
    let line = relay.admit().await;
    // Gone, with everything; connecting is refused for a while.
    drop((line, relay));
    for _ in 0..5 {
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
    let relay = Relay::at(address).await;
    let mut line = relay.admit().await;
    line.say(r#"{"type":"ping"}"#).await;
    assert_eq!(line.hear().await, json!({ "type": "pong" }));
    assert!(matches!(device.stop().await, Ended::Stopped));
}

#[tokio::test]
async fn a_token_that_was_never_good_ends_the_device() {
    let relay = Relay::start().await;
    let device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.connection().await;
    line.hear().await;
    line.say(FAILED).await;
    let Ended::Refused(fault) = device.ended().await else {
        panic!("it was not told to stop");
    };
    assert!(fault.to_string().contains("Invalid token"), "{fault}");
}

#[tokio::test]
async fn a_token_that_was_good_once_is_tried_again() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    drop(relay.admit().await);
    for _ in 0..3 {
        let mut line = relay.connection().await;
        line.hear().await;
        line.say(FAILED).await;
    }
    relay.admit().await;
}

#[tokio::test]
async fn a_device_waits_out_a_lock_that_others_caused() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    let mut line = relay.connection().await;
    line.hear().await;
    let locked = json!({
        "type": "auth_response", "status": "failed", "error": "Locked out", "retry_after": 0
    });
    line.say(&locked.to_string()).await;
    relay.admit().await;
}

#[tokio::test]
async fn a_session_that_is_used_up_is_followed_by_the_next() {
    let relay = Relay::start().await;
    let _device = relay.device(Vec::new(), Vec::new());
    for _ in 0..3 {
        let mut line = relay.admit().await;
        let used_up = json!({
            "type": "error", "error": "Session request limit exceeded", "code": "LIMIT_EXCEEDED"
        });
        line.say(&used_up.to_string()).await;
        // The word alone ends nothing: a relayed text can look like it.
        line.say(r#"{"type":"ping"}"#).await;
        assert_eq!(line.hear().await, json!({ "type": "pong" }));
        line.close().await;
    }
    relay.admit().await;
}

#[tokio::test]
async fn what_is_no_relay_is_tried_again_too() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let relay = Relay::start().await;
    let address = relay.address();
    let _device = relay.device(Vec::new(), Vec::new());
    drop(relay.admit().await);
    drop(relay);
    // A proxy whose server is gone.
    let proxy = tokio::net::TcpListener::bind(address).await.unwrap();
    for _ in 0..2 {
        let (mut stream, _) = proxy.accept().await.unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await.unwrap();
        let answer = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    }
    drop(proxy);
    Relay::at(address).await.admit().await;
}

#[tokio::test]
async fn a_line_that_has_gone_dead_is_given_up() {
    let relay = Relay::start().await;
    let timing = Timing {
        silence: Duration::from_millis(200),
        ..Timing::default()
    };
    let _device = relay.device_with(Vec::new(), Vec::new(), timing);
    // Each of them stays open and says nothing more.
    let mut dead = Vec::new();
    for _ in 0..3 {
        dead.push(relay.admit().await);
    }
}

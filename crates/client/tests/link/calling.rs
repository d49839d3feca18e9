//! Meeting a device and asking it, through a relay of any kind.

use std::time::Duration;

use client::link::{Caller, Conversation, LinkFault, Presence};
use serde_json::json;
use tokio::task::JoinHandle;
use wakelink::{Answer, Command, Hello, Secret};

use crate::relay::{AGENT, Device, Line, connected, secret};

const PATIENT: Duration = Duration::from_secs(10);
const HASTY: Duration = Duration::from_millis(200);

type Meeting = JoinHandle<Result<(Caller, Conversation), LinkFault>>;
type Calling = JoinHandle<Result<Answer, LinkFault>>;

fn meet(mut caller: Caller) -> Meeting {
    tokio::spawn(async move {
        let met = caller.meet(AGENT, &secret()).await?;
        Ok((caller, met))
    })
}

/// A client that has met the device and asks for a ping.
async fn calling(patience: Duration) -> (Calling, Line, Device) {
    let (caller, mut line) = connected(patience).await;
    let meeting = meet(caller);
    let mut device = Device::new(secret());
    device.meet(&mut line).await;
    let (mut caller, mut met) = meeting.await.unwrap().unwrap();
    let call = async move { caller.call(&mut met, Command::Ping.fields()).await };
    (tokio::spawn(call), line, device)
}

fn is_relay(fault: &LinkFault, expected: &str) -> bool {
    matches!(fault, LinkFault::Relay { code, .. } if code == expected)
}

#[tokio::test]
async fn a_call_gets_its_own_answer_whatever_the_relay_adds() {
    let (calling, mut line, mut device) = calling(PATIENT).await;
    let (sid, asked) = device.asked(&mut line).await;
    assert_eq!(asked.command, Command::Ping);
    // Noise, an answer to something else, a forgery, and one that is doubled.
    line.pass_on("{}").await;
    line.pass_on("nonsense").await;
    let other = device.answer(sid, &json!({ "id": "another", "ok": false }));
    line.pass_on(&other.text()).await;
    line.pass_on(&other.text()).await;
    let right = device.answer(sid, &json!({ "id": asked.id, "ok": true }));
    let mut forged = right.clone();
    forged.p[0] ^= 1;
    line.pass_on(&forged.text()).await;
    line.pass_on(&right.text()).await;
    let answer = calling.await.unwrap().unwrap();
    assert!(answer.ok);
}

#[tokio::test]
async fn a_hello_that_is_not_the_devices_does_not_keep_the_right_one_away() {
    let (caller, mut line) = connected(PATIENT).await;
    let meeting = meet(caller);
    let mut device = Device::new(secret());
    let [hello, confirmation] = device.greet(&mut line).await;
    let mut false_one = Hello::read(&hello).unwrap();
    false_one.rnd = [1; 32];
    line.pass_on(&false_one.text()).await;
    false_one.pk = [0; 32];
    line.pass_on(&false_one.text()).await;
    line.pass_on(&hello).await;
    line.pass_on(&confirmation).await;
    assert!(meeting.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_device_with_another_secret_is_not_believed() {
    let (caller, mut line) = connected(PATIENT).await;
    let meeting = meet(caller);
    let mut device = Device::new(Secret::new([8; 32]));
    for text in device.greet(&mut line).await {
        line.pass_on(&text).await;
    }
    let fault = meeting.await.unwrap().unwrap_err();
    assert!(matches!(fault, LinkFault::OtherSecret), "{fault:?}");
    assert!(fault.is_refusal());
}

#[tokio::test]
async fn endless_patience_is_patience() {
    let (mut caller, line) = connected(std::time::Duration::MAX).await;
    line.close().await;
    let met = caller.meet("lamp", &Secret::new([1; 32])).await;
    assert!(
        matches!(met, Err(LinkFault::Closed { .. } | LinkFault::Broken(_))),
        "{met:?}"
    );
}

#[tokio::test]
async fn silence_ends_the_waiting() {
    // The device does not answer the hello.
    let (caller, mut line) = connected(HASTY).await;
    let meeting = meet(caller);
    line.text().await;
    let fault = meeting.await.unwrap().unwrap_err();
    assert!(matches!(fault, LinkFault::NoAnswer(_)), "{fault:?}");
    // Nor, having met, the command; whatever else is said meanwhile.
    let (calling, mut line, mut device) = calling(HASTY).await;
    device.asked(&mut line).await;
    line.pass_on("{}").await;
    let fault = calling.await.unwrap().unwrap_err();
    assert!(matches!(fault, LinkFault::NoAnswer(_)), "{fault:?}");
    assert!(!fault.is_refusal());
}

#[tokio::test]
async fn what_the_relay_cannot_do_ends_the_waiting() {
    let (caller, mut line) = connected(PATIENT).await;
    let meeting = meet(caller);
    let envelope: serde_json::Value = serde_json::from_str(&line.text().await).unwrap();
    line.say(&json!({
        "type": "error", "code": "AGENT_OFFLINE", "error": "The device is offline.",
        "request_id": envelope["request_id"]
    }))
    .await;
    let fault = meeting.await.unwrap().unwrap_err();
    assert!(is_relay(&fault, "AGENT_OFFLINE"), "{fault:?}");
}

#[tokio::test]
async fn a_device_that_goes_away_ends_the_waiting() {
    let (calling, mut line, mut device) = calling(PATIENT).await;
    device.asked(&mut line).await;
    let status = |agent_id, online| json!({ "type": "agent_status", "agent_id": agent_id, "online": online });
    line.say(&status(AGENT, true)).await;
    // Others may come and go.
    line.say(&status("WL00000000", true)).await;
    line.say(&status("WL00000000", false)).await;
    line.say(&status(AGENT, false)).await;
    let fault = calling.await.unwrap().unwrap_err();
    assert!(is_relay(&fault, "AGENT_OFFLINE"), "{fault:?}");
}

#[tokio::test]
async fn presence_is_told_in_its_order_and_known_afterwards() {
    let (mut caller, mut line) = connected(PATIENT).await;
    assert_eq!(caller.is_online(AGENT), None);
    for online in [false, true, false, true] {
        line.say(&json!({ "type": "agent_status", "agent_id": AGENT, "online": online }))
            .await;
        let change = caller.changed().await.unwrap();
        let agent_id = AGENT.to_owned();
        assert_eq!(change, Presence { agent_id, online });
        assert_eq!(caller.is_online(AGENT), Some(online));
    }
}

#[tokio::test]
async fn keep_alive_is_answered_while_one_waits() {
    let (calling, mut line, mut device) = calling(PATIENT).await;
    let (sid, asked) = device.asked(&mut line).await;
    line.say(&json!({ "type": "ping" })).await;
    assert_eq!(line.text().await, r#"{"type":"pong"}"#);
    let answer = device.answer(sid, &json!({ "id": asked.id, "ok": true }));
    line.pass_on(&answer.text()).await;
    assert!(calling.await.unwrap().unwrap().ok);
}

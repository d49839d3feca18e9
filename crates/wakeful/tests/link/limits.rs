//! Enough is enough: requests, time, silence, haste, crowds, and tokens that
//! were taken away.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::scene::{Scene, as_device, by_session, by_token, relay, status};

#[tokio::test]
async fn one_request_too_many_is_told_and_ends_the_session_on_every_connection() {
    let scene = Scene::start_with("session-requests = 5").await;
    let (mut first, mut device) = scene.pair("lamp").await;
    let made = scene
        .house
        .post("/api/v1/auth/session", &scene.ann, json!(null));
    let made = made.await.json();
    assert_eq!(made["max_requests"], 5);
    let session = made["session_token"].as_str().unwrap().to_owned();
    let (mut one, _) = scene.enter(by_session(&session)).await;
    let (mut two, _) = scene.enter(by_session(&session)).await;
    for wire in [&mut one, &mut two] {
        assert_eq!(wire.hear().await, status("lamp", true));
    }
    let mut both = [one, two];
    for n in 1..=5 {
        let payload = n.to_string();
        both[n % 2].say(relay("lamp", &payload)).await;
        assert_eq!(device.hear_text().await, payload);
    }
    for mut wire in both {
        let mut envelope = relay("lamp", "6");
        envelope["request_id"] = "R".into();
        wire.say(envelope).await;
        wire.is_told("LIMIT_EXCEEDED", Some("R")).await;
        assert_eq!(wire.is_closed().await, 1008);
    }
    device.hears_nothing().await;
    assert_eq!(
        scene.enter(by_session(&session)).await.1["status"],
        "failed"
    );
    // Another session of the same person is not touched, nor the device's.
    first.say(relay("lamp", "7")).await;
    assert_eq!(device.hear_text().await, "7");
    for _ in 0..5 {
        device.say(json!({ "sid": "x" })).await;
        device.is_told("UNKNOWN_SESSION", None).await;
    }
    device.say(json!({ "sid": "x" })).await;
    let told = device.hear().await;
    let sentence = "Session request limit exceeded";
    assert_eq!(
        told,
        json!({ "type": "error", "error": sentence, "code": "LIMIT_EXCEEDED" })
    );
    assert_eq!(device.is_closed().await, 1008);
}

#[tokio::test]
async fn a_session_that_is_too_old_is_told_and_ended() {
    let scene = Scene::start_with("session-seconds = 1").await;
    let (mut wire, answer) = scene.enter(by_token(&scene.ann)).await;
    wire.is_told("SESSION_EXPIRED", None).await;
    assert_eq!(wire.is_closed().await, 1008);
    let session = answer["session_token"].as_str().unwrap();
    assert_eq!(scene.enter(by_session(session)).await.1["status"], "failed");
}

#[tokio::test]
async fn pings_come_and_who_misses_two_in_a_row_is_closed() {
    let scene = Scene::start_with("ping-seconds = 1").await;
    let started = Instant::now();
    let (mut answers, _) = scene.enter(by_token(&scene.ann)).await;
    let answering = async {
        for _ in 0..5 {
            assert_eq!(answers.hear().await, json!({ "type": "ping" }));
            answers.say(json!({ "type": "pong" })).await;
        }
        answers.hears_nothing().await;
        assert!(started.elapsed() >= Duration::from_secs(5));
    };
    let (mut silent, _) = scene.enter(by_token(&scene.ann)).await;
    let saying_nothing = async {
        assert_eq!(silent.hear().await, json!({ "type": "ping" }));
        // Neither a WebSocket's own pong nor other frames are the answer.
        silent.say(json!({ "sid": "x" })).await;
        silent.is_told("UNKNOWN_SESSION", None).await;
        assert_eq!(silent.hear().await, json!({ "type": "ping" }));
        silent.send(Message::Pong("".into())).await;
        assert_eq!(silent.is_closed().await, 1008);
        assert!(started.elapsed() >= Duration::from_secs(3));
    };
    tokio::join!(answering, saying_nothing);
}

#[tokio::test]
async fn devices_are_pinged_too_and_one_that_misses_two_in_a_row_is_closed_and_told_as_gone() {
    let scene = Scene::start_with("ping-seconds = 1").await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let door = scene.device(&scene.ann, "door").await;
    let started = Instant::now();
    let mut answers = scene.connect_device(&lamp).await;
    let mut silent = scene.connect_device(&door).await;
    let mut client = scene.client(&scene.ann).await;
    let answering = async {
        for _ in 0..4 {
            assert_eq!(answers.hear().await, json!({ "type": "ping" }));
            answers.say(json!({ "type": "pong" })).await;
        }
        assert!(started.elapsed() >= Duration::from_secs(4));
    };
    let saying_nothing = async {
        for _ in 0..2 {
            assert_eq!(silent.hear().await, json!({ "type": "ping" }));
        }
        assert_eq!(silent.is_closed().await, 1008);
        assert!(started.elapsed() >= Duration::from_secs(3));
    };
    let watching = async {
        loop {
            let heard = client.hear().await;
            if heard["type"] != "ping" {
                break heard;
            }
            client.say(json!({ "type": "pong" })).await;
        }
    };
    let ((), (), told) = tokio::join!(answering, saying_nothing, watching);
    assert_eq!(told, status("door", false));
    // The one that answered is still reached.
    client.say(relay("lamp", "hello")).await;
    loop {
        let heard = answers.hear_text().await;
        if heard == "hello" {
            break;
        }
        assert_eq!(heard, r#"{"type":"ping"}"#);
    }
}

#[tokio::test]
async fn a_slow_reader_is_cut_off_and_holds_nobody_up() {
    let fast = "frames-per-second = 1000000\nframes-at-once = 1000000\n\
        account-frames-per-second = 1000000\naccount-frames-at-once = 1000000\n\
        session-requests = 1000000";
    let scene = Scene::start_with(fast).await;
    let (mut client, mut lamp) = scene.pair("lamp").await;
    // This one is connected and reads nothing.
    let door = scene.device(&scene.ann, "door").await;
    let _stuck = scene.connect_device(&door).await;
    assert_eq!(client.hear().await, status("door", true));
    let before = resident_kib(scene.house.process_id());
    // More than the sockets' own buffers take, many times over.
    let payload = "x".repeat(60_000);
    let mut sent = 0;
    let went = loop {
        client.say(relay("door", &payload)).await;
        sent += 1;
        assert!(sent < 2_000, "it was never cut off");
        // Another device is reached all the while.
        client.say(relay("lamp", "hello")).await;
        assert_eq!(lamp.hear_text().await, "hello");
        let heard = tokio::time::timeout(Duration::ZERO, client.0.next()).await;
        if let Ok(Some(Ok(Message::Text(text)))) = heard {
            break serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    };
    assert_eq!(went, status("door", false));
    let grown = resident_kib(scene.house.process_id()).saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KiB more after {sent} frames");
}

pub fn resident_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn who_speaks_too_fast_is_heard_later_and_loses_nothing() {
    let scene = Scene::start_with("frames-per-second = 20\nframes-at-once = 5").await;
    let (mut client, mut device) = scene.pair("lamp").await;
    let started = Instant::now();
    for n in 0..25 {
        client.say(relay("lamp", &n.to_string())).await;
    }
    for n in 0..25 {
        assert_eq!(device.hear_text().await, n.to_string());
    }
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(900), "{took:?}");
}

#[tokio::test]
async fn all_of_one_persons_connections_share_one_pace_and_another_has_their_own() {
    let scene =
        Scene::start_with("account-frames-per-second = 20\naccount-frames-at-once = 5").await;
    let bob = scene.house.user("bob", "owner");
    let mut others = scene.client(&bob).await;
    let mut clients = [
        scene.client(&scene.ann).await,
        scene.client(&scene.ann).await,
    ];
    let started = Instant::now();
    for _ in 0..12 {
        for client in &mut clients {
            client.say(json!({ "sid": "x" })).await;
        }
    }
    others.say(json!({ "sid": "x" })).await;
    others.is_told("UNKNOWN_SESSION", None).await;
    let untouched = started.elapsed();
    for _ in 0..12 {
        for client in &mut clients {
            client.is_told("UNKNOWN_SESSION", None).await;
        }
    }
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(850), "{took:?}");
    assert!(untouched < took);
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let scene = Scene::start_with("connections-per-address = 2").await;
    let first = scene.trust.connect().await;
    let _second = scene.client(&scene.ann).await;
    match scene.trust.try_connect().await.err() {
        Some(Error::Http(response)) => {
            assert_eq!(response.status(), 429);
            assert!(response.headers().contains_key("retry-after"));
        }
        other => panic!("{other:?}"),
    }
    first.leave().await;
    crate::harness::until("there is room again", || async {
        scene.trust.try_connect().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn an_account_has_so_many_connections_and_that_is_no_failure() {
    let scene = Scene::start_with("connections-per-account = 2\nfailures = 1").await;
    let bob = scene.house.user("bob", "owner");
    let _first = scene.client(&scene.ann).await;
    let second = scene.client(&scene.ann).await;
    let (mut third, answer) = scene.enter(by_token(&scene.ann)).await;
    assert_eq!(answer["status"], "failed");
    assert_eq!(answer.get("retry_after"), None);
    assert_eq!(third.is_closed().await, 1008);
    scene.client(&bob).await.leave().await;
    second.leave().await;
    crate::harness::until("there is room again", || async {
        scene.enter(by_token(&scene.ann)).await.1["status"] == "authenticated"
    })
    .await;
}

#[tokio::test]
async fn a_token_that_is_taken_away_ends_its_connections_at_once() {
    let scene = Scene::start_with("failures = 1000").await;
    let bob = scene.house.user("bob", "reviewer");
    let lamp = scene.device(&bob, "lamp").await;
    let door = scene.device(&bob, "door").await;
    let mut lamp_wire = scene.connect_device(&lamp).await;
    let mut door_wire = scene.connect_device(&door).await;
    let mut client = scene.client(&bob).await;
    let made = scene.house.post("/api/v1/auth/session", &bob, json!(null));
    let session = made.await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let (mut by_that, _) = scene.enter(by_session(&session)).await;
    let mut anns = scene.client(&scene.ann).await;
    // A device's token is renewed, another device is removed.
    let rotated = scene
        .house
        .post("/api/v1/agents/lamp/rotate-token", &bob, json!(null))
        .await;
    assert_eq!(rotated.status, 201);
    assert_eq!(lamp_wire.is_closed().await, 1008);
    assert_eq!(client.hear().await, status("lamp", false));
    let removed = scene
        .house
        .send("DELETE", "/api/v1/agents/door", Some(&bob), None)
        .await;
    assert_eq!(removed.status, 204);
    assert_eq!(door_wire.is_closed().await, 1008);
    assert_eq!(client.hear().await, status("door", false));
    for old in [&lamp, &door] {
        assert_eq!(scene.enter(as_device(old)).await.1["status"], "failed");
    }
    // The person's own token is renewed: sessions opened with it end too.
    let renewed = scene
        .house
        .post("/api/v1/me/token", &bob, json!(null))
        .await;
    assert_eq!(renewed.status, 201);
    assert_eq!(client.is_closed().await, 1008);
    for _ in 0..4 {
        assert_eq!(by_that.hear().await["type"], "agent_status");
    }
    assert_eq!(by_that.is_closed().await, 1008);
    for auth in [by_token(&bob), by_session(&session)] {
        assert_eq!(scene.enter(auth).await.1["status"], "failed");
    }
    let bob = renewed.json()["token"].as_str().unwrap().to_owned();
    // The person is suspended: everything of theirs ends.
    let token = rotated.json()["token"].as_str().unwrap().to_owned();
    let lamp = crate::scene::Device { token, ..lamp };
    let mut lamp_wire = scene.connect_device(&lamp).await;
    let mut client = scene.client(&bob).await;
    scene.house.json(&["user", "suspend", "bob"]);
    assert_eq!(lamp_wire.is_closed().await, 1008);
    // Whichever of the two was first.
    while let Some(Ok(message)) = client.0.next().await {
        if let Message::Close(frame) = message {
            assert_eq!(u16::from(frame.unwrap().code), 1008);
        }
    }
    anns.hears_nothing().await;
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_says_so_and_ends_in_time() {
    let mut scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    let mut stranger = scene.trust.connect().await;
    scene.house.terminate();
    for wire in [&mut device, &mut stranger] {
        assert_eq!(wire.is_closed().await, 1001);
    }
    while let Some(Ok(message)) = client.0.next().await {
        if let Message::Close(frame) = message {
            assert_eq!(u16::from(frame.unwrap().code), 1001);
        }
    }
    drop((client, device, stranger));
    let took = scene.house.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_limit_of_nothing_and_one_that_does_not_exist_are_refused_at_the_start() {
    let mut house = crate::harness::House::empty();
    house.user("ann", "owner");
    for (line, word) in [
        ("queue-bytes = 0", "queue-bytes"),
        ("frames-per-secnd = 7", "frames-per-secnd"),
    ] {
        let file = house.data().join("wakeful.toml");
        std::fs::write(&file, format!("[link]\n{line}\n")).unwrap();
        let said = house.try_serve(&["--config", file.to_str().unwrap()]).await;
        assert!(said.unwrap_err().contains(word));
    }
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_all_connections_leaves_files_for_the_rest_of_the_server() {
    let mut scene = Scene::start().await;
    scene.house.stop();
    scene.house.prelude = Some("ulimit -n 128");
    scene.serve().await;
    let mut taken = Vec::new();
    let refused = loop {
        match scene.trust.try_connect().await {
            Ok(wire) => taken.push(wire),
            Err(Error::Http(response)) => break response.status(),
            Err(error) => panic!("{error} after {}", taken.len()),
        }
        assert!(taken.len() <= 128);
    };
    assert_eq!((refused.as_u16(), taken.len()), (503, 64));
    let agents = scene.house.get("/api/v1/agents", &scene.ann).await;
    assert_eq!(agents.status, 200);
    drop(taken);
    // Where only the usual limit is low, it is raised.
    scene.house.stop();
    scene.house.prelude = Some("ulimit -Sn 128");
    scene.serve().await;
    let mut taken = Vec::new();
    for _ in 0..150 {
        taken.push(scene.trust.connect().await);
    }
}

#[tokio::test]
async fn who_says_hello_without_end_does_not_keep_others_from_the_device() {
    let scene = Scene::start().await;
    let (mut thief, mut device) = scene.pair("lamp").await;
    let mut owner = scene.client(&scene.ann).await;
    for n in 0..200 {
        thief
            .say(relay("lamp", &format!(r#"{{"sid":"{n}"}}"#)))
            .await;
    }
    owner.say(relay("lamp", r#"{"sid":"mine"}"#)).await;
    let mut before = 0;
    while device.hear_text().await != r#"{"sid":"mine"}"# {
        before += 1;
    }
    // At most what comes at once, and a little if the machine is slow.
    assert!(before < 60, "{before}");
    // Who has a session speaks in it as fast as ever.
    for n in 0..100 {
        owner.say(json!({ "sid": "mine", "seq": n })).await;
    }
    let mut heard = 0;
    while heard < 100 {
        heard += usize::from(device.hear().await["sid"] == "mine");
    }
}

/// A frame as a client sends it, masked with nothing.
fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![first, 0x80 | content.len() as u8, 0, 0, 0, 0];
    frame.extend(content);
    frame
}

#[tokio::test]
async fn fragments_and_control_frames_without_end_are_closed_before_and_after_auth() {
    use tokio::io::AsyncWriteExt as _;
    let scene = Scene::start().await;
    let start = frame(0x01, b"x");
    // Who is in and sends control frames is read later, like with any frame.
    for (first, again, ways) in [
        (Vec::new(), frame(0x89, b""), &[false][..]),
        (Vec::new(), frame(0x8a, b""), &[false]),
        (start, frame(0x00, b""), &[false, true]),
    ] {
        for &is_in in ways {
            let mut wire = match is_in {
                true => scene.client(&scene.ann).await,
                false => scene.trust.connect().await,
            };
            let mut bytes = first.clone();
            for _ in 0..50_000 {
                bytes.extend(&again);
            }
            // The server may end it before all of them are sent.
            let _ = wire.0.get_mut().write_all(&bytes).await;
            let end = async {
                loop {
                    match wire.0.next().await {
                        Some(Ok(Message::Close(Some(frame)))) => {
                            break Some((u16::from(frame.code), frame.reason.to_string()));
                        }
                        Some(Ok(_)) => {}
                        _ => break None,
                    }
                }
            };
            // Long before the time to authenticate is over, or two pings are missed.
            let end = tokio::time::timeout(Duration::from_secs(15), end).await;
            let because = "too many fragments or control frames".to_owned();
            // The last words can be lost if much is on its way to the server.
            let end = end.expect("it is not closed");
            assert!(end.is_none() || end == Some((1008, because)), "{end:?}");
        }
    }
    // A message in pieces is still one.
    let (mut client, mut device) = scene.pair("lamp").await;
    let text = relay("lamp", "whole").to_string();
    let (one, two) = text.split_at(20);
    let pieces = [frame(0x01, one.as_bytes()), frame(0x80, two.as_bytes())];
    let stream = client.0.get_mut();
    stream.write_all(&pieces.concat()).await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(device.hear_text().await, "whole");
}

#[tokio::test]
async fn what_is_against_the_rules_of_websocket_is_closed_with_its_code() {
    use tokio::io::AsyncWriteExt as _;
    let scene = Scene::start().await;
    let long_ping = {
        let mut frame = vec![0x89, 0x80 | 126, 0, 126, 0, 0, 0, 0];
        frame.resize(frame.len() + 126, 0);
        frame
    };
    for (bytes, code) in [
        (frame(0x81, &[0xff, 0xfe]), 1007),
        (vec![0x81, 0x01, b'x'], 1002),
        (frame(0xc1, b"x"), 1002),
        (long_ping, 1002),
    ] {
        for is_in in [false, true] {
            let mut wire = match is_in {
                true => scene.client(&scene.ann).await,
                false => scene.trust.connect().await,
            };
            let stream = wire.0.get_mut();
            stream.write_all(&bytes).await.unwrap();
            stream.flush().await.unwrap();
            assert_eq!(wire.is_closed().await, code, "{bytes:?}");
        }
    }
}

#[tokio::test]
async fn whoever_becomes_a_viewer_has_no_place_on_the_relay() {
    let scene = Scene::start().await;
    let bob = scene.house.user("bob", "reviewer");
    let lamp = scene.device(&bob, "lamp").await;
    let mut device = scene.connect_device(&lamp).await;
    let mut client = scene.client(&bob).await;
    scene.house.json(&["user", "role", "bob", "viewer"]);
    assert_eq!(device.is_closed().await, 1008);
    loop {
        // It may still be told that the device went.
        match client.0.next().await.unwrap().unwrap() {
            Message::Close(Some(frame)) => break assert_eq!(u16::from(frame.code), 1008),
            Message::Text(_) => {}
            other => panic!("{other:?}"),
        }
    }
    for auth in [by_token(&bob), as_device(&lamp)] {
        assert_eq!(scene.enter(auth).await.1["status"], "failed");
    }
    scene.house.json(&["user", "role", "bob", "reviewer"]);
    scene.connect_device(&lamp).await;
}

#[tokio::test]
async fn a_device_that_comes_and_goes_without_end_is_told_to_wait() {
    let scene = Scene::start_with("device-entries-per-minute = 3").await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let door = scene.device(&scene.ann, "door").await;
    // A new minute may begin meanwhile.
    let mut entered = 0;
    let refused = loop {
        let (mut wire, answer) = scene.enter(as_device(&lamp)).await;
        if answer["status"] == "failed" {
            assert_eq!(wire.is_closed().await, 1008);
            break answer;
        }
        entered += 1;
        wire.leave().await;
    };
    assert!((3..=6).contains(&entered), "{entered}");
    assert_eq!(refused["code"], "TOO_MANY_CONNECTIONS");
    // It is no failure, and no other device's business.
    scene.connect_device(&door).await;
}

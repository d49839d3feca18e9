//! What goes where, and what is said when it goes nowhere.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    scene::{Scene, relay, status},
    wire::Wire,
};

#[tokio::test]
async fn a_device_gets_the_payload_itself_byte_for_byte() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    for payload in [
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","hs":1}"#,
        "not JSON at all",
        "",
        " { \"sid\" : 7 } \n",
        "\u{0}\u{1f}\t\"\\/ é 😀 \u{202e}\u{feff}",
        r#"{"type":"ping"}"#,
        &"x".repeat(60_000),
    ] {
        client.say(relay("lamp", payload)).await;
        assert_eq!(device.hear_text().await, payload);
    }
    // However the envelope spells it, and whatever else is in it.
    let text = r#" {"signature":"00ff","request_id":"X7K2M9P1","agent_id":"\u006camp",
        "more":{"payload":[1]},"payload":"\u0061\/\ud83d\ude00","type":"relay"} "#;
    client.say_text(text).await;
    assert_eq!(device.hear_text().await, "a/😀");
    client.hears_nothing().await;
}

/// Opens a session between the two.
async fn bind(client: &mut Wire, device: &mut Wire, agent_id: &str, sid: &str) {
    let hello = json!({ "sid": sid }).to_string();
    client.say(relay(agent_id, &hello)).await;
    assert_eq!(device.hear_text().await, hello);
}

#[tokio::test]
async fn packets_go_both_ways_by_their_sid_and_unchanged() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    bind(&mut client, &mut device, "lamp", "a1b2c3d4e5f6a7b8").await;
    for packet in [
        r#"{"v":"1.0","sid":"a1b2c3d4e5f6a7b8","seq":42,"p":"AAECAw"}"#,
        r#" { "p" : null , "s\u0069d":"a1b2c3d4e5f6a7b8", "seq":1e400 } "#,
        r#"{"sid":"a1b2c3d4e5f6a7b8","é":"😀"}"#,
    ] {
        client.say_text(packet).await;
        assert_eq!(device.hear_text().await, packet);
        device.say_text(packet).await;
        assert_eq!(client.hear_text().await, packet);
    }
}

#[tokio::test]
async fn each_session_has_its_own_two_ends() {
    let scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let door = scene.device(&scene.ann, "door").await;
    let (mut lamp, mut door) = (
        scene.connect_device(&lamp).await,
        scene.connect_device(&door).await,
    );
    let mut phone = scene.client(&scene.ann).await;
    let mut laptop = scene.client(&scene.ann).await;
    bind(&mut phone, &mut lamp, "lamp", "phone-lamp").await;
    bind(&mut laptop, &mut lamp, "lamp", "laptop-lamp").await;
    bind(&mut phone, &mut door, "door", "phone-door").await;
    let packet = |sid: &str| json!({ "sid": sid, "p": sid });
    let mut wires = [phone, laptop, lamp, door];
    const PHONE: usize = 0;
    const LAPTOP: usize = 1;
    const LAMP: usize = 2;
    const DOOR: usize = 3;
    for (device, sid, client) in [
        (LAMP, "phone-lamp", PHONE),
        (LAMP, "laptop-lamp", LAPTOP),
        (DOOR, "phone-door", PHONE),
    ] {
        wires[device].say(packet(sid)).await;
        assert_eq!(wires[client].hear().await, packet(sid));
        wires[client].say(packet(sid)).await;
        assert_eq!(wires[device].hear().await, packet(sid));
    }
    // Bound elsewhere, or nowhere.
    for (from, sid) in [
        (LAPTOP, "phone-lamp"),
        (DOOR, "phone-lamp"),
        (PHONE, "laptop-lamp"),
        (PHONE, "nobody's"),
        (LAMP, "nobody's"),
    ] {
        wires[from].say(packet(sid)).await;
        wires[from].is_told("UNKNOWN_SESSION", None).await;
    }
    // Nobody takes over a session that is somebody's, nor takes it elsewhere.
    for (from, agent_id) in [(LAPTOP, "lamp"), (LAPTOP, "door"), (PHONE, "door")] {
        let mut envelope = relay(agent_id, &packet("phone-lamp").to_string());
        envelope["request_id"] = "R1".into();
        wires[from].say(envelope).await;
        wires[from].is_told("UNKNOWN_SESSION", Some("R1")).await;
    }
    // All of them are still there, and heard nothing of it.
    for wire in &mut wires {
        wire.hears_nothing().await;
    }
}

#[tokio::test]
async fn a_session_ends_with_either_of_its_ends() {
    let scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let mut device = scene.connect_device(&lamp).await;
    let mut client = scene.client(&scene.ann).await;
    bind(&mut client, &mut device, "lamp", "s").await;
    client.leave().await;
    let mut client = scene.client(&scene.ann).await;
    device.say(json!({ "sid": "s" })).await;
    device.is_told("UNKNOWN_SESSION", None).await;
    // The name is free again.
    bind(&mut client, &mut device, "lamp", "s").await;
    device.leave().await;
    assert_eq!(client.hear().await, status("lamp", false));
    let mut device = scene.connect_device(&lamp).await;
    assert_eq!(client.hear().await, status("lamp", true));
    client.say(json!({ "sid": "s" })).await;
    client.is_told("UNKNOWN_SESSION", None).await;
    device.hears_nothing().await;
    bind(&mut client, &mut device, "lamp", "s").await;
}

#[tokio::test]
async fn an_unknown_and_a_foreign_device_are_the_same_and_an_own_one_may_be_offline() {
    let scene = Scene::start().await;
    let bob = scene.house.user("bob", "owner");
    let foreign = scene.device(&bob, "foreign").await;
    let mut foreign = scene.connect_device(&foreign).await;
    scene.device(&scene.ann, "asleep").await;
    scene.house.key("crew");
    let mut client = scene.client(&scene.ann).await;
    let mut said = Vec::new();
    for agent_id in ["nobody", "foreign", "crew", ""] {
        let mut envelope = relay(agent_id, r#"{"sid":"s"}"#);
        envelope["request_id"] = "R".into();
        client.say(envelope).await;
        said.push(client.hear_text().await);
    }
    assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
    let first: Value = serde_json::from_str(&said[0]).unwrap();
    assert_eq!(first["code"], "UNKNOWN_AGENT");
    assert_eq!(first["request_id"], "R");
    client.say(relay("asleep", "x")).await;
    client.is_told("AGENT_OFFLINE", None).await;
    foreign.hears_nothing().await;
}

#[tokio::test]
async fn nothing_is_kept_for_a_device_that_is_offline() {
    let scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let mut client = scene.client(&scene.ann).await;
    client.say(relay("lamp", "on")).await;
    client.is_told("AGENT_OFFLINE", None).await;
    let mut device = scene.connect_device(&lamp).await;
    device.hears_nothing().await;
}

#[tokio::test]
async fn a_malformed_frame_is_told_and_ten_in_a_row_end_the_connection() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    let bad = [
        Message::text("nonsense"),
        Message::text("[]"),
        Message::text("{}"),
        Message::text(r#"{"type":"ping"}"#),
        Message::text(r#"{"type":"auth","client_type":"client"}"#),
        Message::text(r#"{"type":"relay","agent_id":"lamp"}"#),
        Message::text(r#"{"sid":"a","sid":"a"}"#),
        Message::text(r#"{"type":"relay","agent_id":"lamp","payload":{"sid":"a"}}"#),
        Message::binary(vec![0; 10]),
    ];
    for wire in [&mut client, &mut device] {
        for message in &bad {
            wire.send(message.clone()).await;
            wire.is_told("BAD_FRAME", None).await;
        }
        // Nine; one that is good, and the count starts anew.
        wire.say(json!({ "type": "pong" })).await;
        for _ in 0..9 {
            wire.say_text("nonsense").await;
            wire.is_told("BAD_FRAME", None).await;
        }
    }
    // An envelope that cannot be taken is answered by its name.
    client.say(json!({ "type": "pong" })).await;
    client
        .say(json!({ "type": "relay", "agent_id": "lamp", "request_id": "R9" }))
        .await;
    client.is_told("BAD_FRAME", Some("R9")).await;
    // A device sends no envelopes; that was its tenth.
    device.say(relay("lamp", "x")).await;
    device.is_told("BAD_FRAME", None).await;
    assert_eq!(device.is_closed().await, 1008);
    assert_eq!(client.hear().await, status("lamp", false));
}

#[tokio::test]
async fn a_frame_of_64_kib_passes_and_a_larger_one_closes_with_1009() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    bind(&mut client, &mut device, "lamp", "s").await;
    let of = |bytes: usize| {
        let head = r#"{"sid":"s","p":""#;
        format!("{head}{}\"}}", "x".repeat(bytes - head.len() - 2))
    };
    let largest = of(64 << 10);
    client.say_text(&largest).await;
    assert_eq!(device.hear_text().await, largest);
    client.say_text(&of((64 << 10) + 1)).await;
    assert_eq!(client.is_closed().await, 1009);
    device.hears_nothing().await;
    // Before anyone has said who they are it is the same.
    let mut wire = scene.trust.connect().await;
    wire.say_text(&of(200_000)).await;
    assert_eq!(wire.is_closed().await, 1009);
}

#[tokio::test]
async fn a_packet_that_goes_nowhere_comes_back_by_its_names() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    for wire in [&mut client, &mut device] {
        wire.say(json!({ "sid": "zz", "request_id": "r1" })).await;
        let told = wire.hear().await;
        assert_eq!(
            (&told["code"], &told["sid"], &told["request_id"]),
            (&json!("UNKNOWN_SESSION"), &json!("zz"), &json!("r1"))
        );
        wire.say(json!({ "type": "nonsense", "request_id": "r2" }))
            .await;
        wire.is_told("BAD_FRAME", Some("r2")).await;
    }
    // Null is the same as nothing.
    let mut envelope = relay("lamp", "x");
    envelope["request_id"] = json!(null);
    client.say(envelope).await;
    assert_eq!(device.hear_text().await, "x");
    // A list of its values is no frame.
    let mut wire = scene.trust.connect().await;
    wire.say(json!(["auth", scene.ann, null, "client"])).await;
    assert_eq!(wire.is_closed().await, 1008);
}

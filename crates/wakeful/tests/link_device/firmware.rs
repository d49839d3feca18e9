//! EWSP as someone else writes it: a device and a client in another language,
//! from the document alone, with ours at the other end and the server between.

use serde_json::{Value, json};

use crate::{
    harness::peer::Peer,
    scene::{AGENT, MAC, Scene},
};

fn peer(scene: &Scene, role: &str, token: &str) -> Peer {
    let secret = std::fs::read_to_string(scene.device_side.path().join("secret")).unwrap();
    let (_, code) = secret.trim().rsplit_once(':').unwrap();
    let url = format!("{}/wss", scene.house.address().replace("http://", "ws://"));
    let environment = [
        ("LINK_URL", url.as_str()),
        ("LINK_TOKEN", token),
        ("LINK_AGENT_ID", AGENT),
        ("LINK_CODE", code),
        // Until a Node that has it without asking is everywhere.
        ("NODE_OPTIONS", "--experimental-websocket --no-warnings"),
    ];
    let mut peer = Peer::start("ewsp.mjs", &[role], &environment);
    assert_eq!(peer.expect("admitted"), "authenticated");
    peer
}

#[tokio::test]
async fn our_client_commands_a_device_that_others_wrote() {
    let scene = Scene::start().await;
    let token = std::fs::read_to_string(scene.device_side.path().join("token")).unwrap();
    let mut device = peer(&scene, "device", token.trim());
    assert_eq!(scene.done(&["link", "send", AGENT, "ping"]), "ok\n");
    assert_eq!(device.expect("confirmed"), "confirm");
    assert_eq!(device.expect("asked"), json!({ "id": "1", "do": "ping" }));
    scene.ends(
        1,
        &["link", "wake", AGENT, "nas"],
        "Only ping is known here.",
    );
    assert_eq!(device.expect("confirmed"), "confirm");
    let asked = json!({ "id": "1", "do": "wake", "target": "nas" });
    assert_eq!(device.expect("asked"), asked);
}

#[tokio::test]
async fn a_client_that_others_wrote_commands_our_device() {
    let scene = Scene::start().await;
    let _device = scene.device();
    let mut client = peer(&scene, "client", &scene.ann);
    assert_eq!(client.expect("confirmed"), "confirm");
    let mut ask = |asked: Value| {
        client.say(&asked.to_string());
        client.expect("answered")
    };
    let pong = ask(json!({ "id": "a", "do": "ping" }));
    assert_eq!(pong, json!({ "id": "a", "ok": true }));
    let woken = ask(json!({ "id": "b", "do": "wake", "target": MAC }));
    assert_eq!(woken["result"]["name"], "nas");
    assert_eq!(scene.woken().len(), 102);
    let refused = ask(json!({ "id": "c", "do": "dance" }));
    assert_eq!(refused["code"], "UNKNOWN_COMMAND");
    client.finish();
}

//! Who is told that a device came or went.

use serde_json::json;

use crate::scene::{Scene, by_token, relay, status};

#[tokio::test]
async fn all_clients_of_the_owner_are_told_and_nobody_else() {
    let scene = Scene::start().await;
    let bob = scene.house.user("bob", "owner");
    let lamp = scene.device(&scene.ann, "lamp").await;
    let mut clients = [
        scene.client(&scene.ann).await,
        scene.client(&scene.ann).await,
    ];
    let mut others = scene.client(&bob).await;
    let device = scene.connect_device(&lamp).await;
    for client in &mut clients {
        assert_eq!(client.hear().await, status("lamp", true));
    }
    device.leave().await;
    for client in &mut clients {
        assert_eq!(client.hear().await, status("lamp", false));
    }
    others.hears_nothing().await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_noticed_like_one_that_is_closed() {
    let scene = Scene::start().await;
    let (mut client, device) = scene.pair("lamp").await;
    drop(device);
    assert_eq!(client.hear().await, status("lamp", false));
}

#[tokio::test]
async fn a_client_is_told_of_all_its_devices_right_after_it_came_in() {
    let scene = Scene::start().await;
    let bob = scene.house.user("bob", "owner");
    for agent_id in ["attic", "door", "lamp"] {
        scene.device(&scene.ann, agent_id).await;
    }
    let door = scene
        .house
        .post("/api/v1/agents/door/rotate-token", &scene.ann, json!(null));
    let token = door.await.json()["token"].as_str().unwrap().to_owned();
    let door = crate::scene::Device {
        agent_id: "door".to_owned(),
        token,
    };
    let _door = scene.connect_device(&door).await;
    let (mut client, _) = scene.enter(by_token(&scene.ann)).await;
    assert_eq!(client.hear().await, status("attic", false));
    assert_eq!(client.hear().await, status("door", true));
    assert_eq!(client.hear().await, status("lamp", false));
    client.hears_nothing().await;
    let (mut other, _) = scene.enter(by_token(&bob)).await;
    other.hears_nothing().await;
}

#[tokio::test]
async fn a_second_connection_of_a_device_replaces_the_first_and_nobody_is_told() {
    let scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let mut first = scene.connect_device(&lamp).await;
    let mut client = scene.client(&scene.ann).await;
    let mut second = scene.connect_device(&lamp).await;
    assert_eq!(first.is_closed().await, 1008);
    client.hears_nothing().await;
    // And packets reach the second.
    client.say(crate::scene::relay("lamp", "on")).await;
    assert_eq!(second.hear_text().await, "on");
    second.leave().await;
    assert_eq!(client.hear().await, status("lamp", false));
}

#[tokio::test]
async fn the_api_says_to_its_owner_who_is_connected() {
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    client
        .say(crate::scene::relay("lamp", r#"{"sid":"s"}"#))
        .await;
    device.hear_text().await;
    device.say(json!({ "sid": "s", "p": "…" })).await;
    client.hear_text().await;
    let shown = scene
        .house
        .get("/api/v1/agents/lamp", &scene.ann)
        .await
        .json();
    assert_eq!(shown["link"]["online"], true);
    assert!(shown["link"]["last_seen_at"].is_string());
    let relayed = &shown["link"]["relayed"];
    assert_eq!(
        (&relayed["to_device"], &relayed["to_device_bytes"]),
        (&json!(1), &json!(11))
    );
    assert_eq!(relayed["from_device"], 1);
    device.leave().await;
    client.hear().await;
    let shown = scene
        .house
        .get("/api/v1/agents/lamp", &scene.ann)
        .await
        .json();
    assert_eq!(shown["link"]["online"], false);
    assert!(shown["link"]["last_seen_at"].is_string());
}

#[tokio::test]
async fn after_the_server_was_killed_presence_is_right_once_all_are_back() {
    let mut scene = Scene::start().await;
    let lamp = scene.device(&scene.ann, "lamp").await;
    let door = scene.device(&scene.ann, "door").await;
    let _both = (
        scene.connect_device(&lamp).await,
        scene.connect_device(&door).await,
    );
    scene.house.kill();
    scene.serve().await;
    let (mut client, _) = scene.enter(by_token(&scene.ann)).await;
    assert_eq!(client.hear().await, status("door", false));
    assert_eq!(client.hear().await, status("lamp", false));
    let _lamp = scene.connect_device(&lamp).await;
    assert_eq!(client.hear().await, status("lamp", true));
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_device_was_last_seen_and_what_it_was_sent_survive_a_restart() {
    let mut scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    let quiet = scene.device(&scene.ann, "attic").await;
    scene.connect_device(&quiet).await.leave().await;
    scene.device(&scene.ann, "never").await;
    client.say(relay("lamp", "12345")).await;
    assert_eq!(device.hear_text().await, "12345");
    let shown = async |scene: &Scene, agent_id: &str| {
        let path = format!("/api/v1/agents/{agent_id}");
        scene.house.get(&path, &scene.ann).await.json()["link"].clone()
    };
    // A client, which is no device, is not seen.
    let before = loop {
        let before = shown(&scene, "attic").await;
        if before["online"] == false {
            break before;
        }
    };
    drop(device);
    for round in 0..2 {
        scene.house.stop();
        scene.serve().await;
        let lamp = shown(&scene, "lamp").await;
        assert_eq!(lamp["online"], false);
        assert!(lamp["last_seen_at"].is_string(), "round {round}: {lamp}");
        assert_eq!(lamp["relayed"]["to_device"], 1, "round {round}: {lamp}");
        assert_eq!(lamp["relayed"]["to_device_bytes"], 5);
        let attic = shown(&scene, "attic").await;
        assert_eq!(attic["last_seen_at"], before["last_seen_at"], "{attic}");
        assert!(shown(&scene, "never").await["last_seen_at"].is_null());
    }
    // A name that was free again begins anew.
    let removed = scene
        .house
        .send("DELETE", "/api/v1/agents/lamp", Some(&scene.ann), None);
    assert_eq!(removed.await.status, 204);
    scene.device(&scene.ann, "lamp").await;
    scene.house.stop();
    scene.serve().await;
    assert!(shown(&scene, "lamp").await["last_seen_at"].is_null());
}

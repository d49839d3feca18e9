//! What the server keeps of what passes it: how much, and nothing else.

use serde_json::json;

use crate::scene::{Scene, by_token, relay};

/// Every byte that the server has left behind, and what it wrote to its log.
fn left_behind(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![scene.house.log_file()];
    let mut folders = vec![scene.house.data().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
        .into_iter()
        .filter_map(|path| Some((path.display().to_string(), std::fs::read(path).ok()?)))
        .collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

// The client's side of its HTTP/2 connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trail_counts_what_passed_and_nothing_keeps_it() {
    let mut scene = Scene::start().await;
    scene.house.stop();
    scene.house.log_level = Some("trace");
    scene.serve().await;
    let (mut client, mut device) = scene.pair("lamp").await;
    let secret = "00:1A:2B:3C:4D:5E wakes and sings";
    let hello = json!({ "sid": "5e55104", "p": secret }).to_string();
    client.say(relay("lamp", &hello)).await;
    assert_eq!(device.hear_text().await, hello);
    for _ in 0..3 {
        device.say_text(&hello).await;
        assert_eq!(client.hear_text().await, hello);
    }
    client.say_text(&hello).await;
    assert_eq!(device.hear_text().await, hello);
    client.say_text(&format!("nonsense {secret}")).await;
    client.is_told("BAD_FRAME", None).await;
    device.leave().await;
    client.hear().await;
    client.say(relay("lamp", secret)).await;
    client.is_told("AGENT_OFFLINE", None).await;
    let exported = scene
        .house
        .get("/api/v1/agents/lamp/export", &scene.ann)
        .await;
    let device_token = exported.json()["token"].as_str().unwrap().to_owned();
    let (wire, answer) = scene.enter(by_token(&scene.ann)).await;
    let session_token = answer["session_token"].as_str().unwrap().to_owned();
    drop((client, wire));
    scene.house.stop();
    let files = left_behind(&scene);
    assert!(files.iter().any(|(name, _)| name.ends_with("wakeful.db")));
    let log = std::fs::read(scene.house.log_file()).unwrap();
    assert!(holds(&log, "listening"));
    for text in [secret, "5e55104", &device_token, &session_token, &scene.ann] {
        for (name, bytes) in &files {
            assert!(!holds(bytes, text), "{text} is in {name}");
        }
    }
    scene.serve().await;
    let entries = scene.house.entries(&scene.ann, "relays_counted").await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let facts = &entries[0]["facts"];
    let bytes = hello.len();
    assert_eq!(
        (&facts["agent_id"], &facts["owner"]),
        (&json!("lamp"), &json!("ann"))
    );
    assert_eq!(
        (&facts["to_device"], &facts["to_device_bytes"]),
        (&json!(2), &json!(2 * bytes))
    );
    assert_eq!(
        (&facts["from_device"], &facts["from_device_bytes"]),
        (&json!(3), &json!(3 * bytes))
    );
    assert_eq!(facts["refused"], 1);
}

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
    is_within(bytes, text.as_bytes())
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

/// Read at once of a process's memory.
const CHUNK: usize = 1 << 20;

/// Whether any of these is anywhere in the memory of a process.
fn in_memory(process: u32, needles: &[&[u8]]) -> Vec<bool> {
    use std::os::unix::fs::FileExt as _;
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let nothing = vec![0; CHUNK];
    let longest = needles.iter().map(|needle| needle.len()).max().unwrap();
    let mut found = vec![false; needles.len()];
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        // What can be written; of the kernel's own pages nothing can be read.
        if !rights.starts_with("rw") || line.ends_with(']') && !line.ends_with("[heap]") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let number = |digits| u64::from_str_radix(digits, 16).unwrap();
        let (mut at, end) = (number(from), number(to));
        // The end of the chunk before, so that nothing hides on the border.
        let mut kept: Vec<u8> = Vec::new();
        while at < end {
            let mut chunk = vec![0; CHUNK.min((end - at) as usize)];
            if memory.read_exact_at(&mut chunk, at).is_err() {
                break;
            }
            at += chunk.len() as u64;
            // Most of it was never used.
            if chunk == nothing[..chunk.len()] {
                kept.clear();
                continue;
            }
            kept.extend(chunk);
            for (found, needle) in found.iter_mut().zip(needles) {
                *found |= is_within(&kept, needle);
            }
            kept.drain(..kept.len().saturating_sub(longest));
        }
    }
    found
}

fn is_within(bytes: &[u8], needle: &[u8]) -> bool {
    let first = needle[0];
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        if rest[at..].starts_with(needle) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[tokio::test]
async fn the_server_cannot_read_what_is_sealed_from_end_to_end() {
    use wakelink::{
        Hello, Packet, Secret,
        ewsp::{Draw, Initiator, Opened, Sid, respond},
    };
    let scene = Scene::start().await;
    let (mut client, mut device) = scene.pair("lamp-in-the-hall").await;
    let bytes = |from: u8| {
        std::array::from_fn(|n| {
            from.wrapping_mul(31)
                .wrapping_add((n as u8).wrapping_mul(7))
        })
    };
    let agent_id = "lamp-in-the-hall";
    let secret = Secret::new(std::array::from_fn(|n| {
        101u8.wrapping_add((n as u8).wrapping_mul(11))
    }));
    let (ours, theirs): ([u8; 64], [u8; 64]) = (bytes(1), bytes(2));
    // The two hellos, one by an envelope and one by the device's answer.
    let initiator = Initiator::new(
        Sid::new(*b"\x5e\x55\x10\x40\x11\x22\x33\x44"),
        Draw::new(&ours),
    );
    client.say(relay(agent_id, &initiator.hello().text())).await;
    let hello = Hello::read(&device.hear_text().await).unwrap();
    let (reply, mut at_device) = respond(agent_id, &secret, &hello, &Draw::new(&theirs)).unwrap();
    device.say_text(&reply.text()).await;
    let reply = Hello::read(&client.hear_text().await).unwrap();
    let mut at_client = initiator.finish(agent_id, &secret, &reply).unwrap();
    // Both confirm, and then a command.
    client.say_text(&at_client.confirm().unwrap().text()).await;
    let packet = Packet::read(&device.hear_text().await).unwrap();
    assert_eq!(at_device.open(&packet), Ok(Opened::Confirmation));
    device.say_text(&at_device.confirm().unwrap().text()).await;
    let packet = Packet::read(&client.hear_text().await).unwrap();
    assert_eq!(at_client.open(&packet), Ok(Opened::Confirmation));
    let command = b"wake A4:1A:2B:3C:4D:5E now";
    for _ in 0..20 {
        client
            .say_text(&at_client.seal(command).unwrap().text())
            .await;
        let packet = Packet::read(&device.hear_text().await).unwrap();
        assert_eq!(
            at_device.open(&packet),
            Ok(Opened::Content(command.to_vec()))
        );
    }
    let hidden: [&[u8]; 6] = [
        command,
        b"A4:1A:2B:3C:4D:5E",
        b"\xa4\x1a\x2b\x3c\x4d\x5e",
        secret.bytes(),
        &ours[..32],
        &theirs[..32],
    ];
    let process = scene.house.process_id();
    assert_eq!(in_memory(process, &hidden), [false; 6]);
    // It was looked in the right place.
    let known: [&[u8]; 2] = [agent_id.as_bytes(), b"5e55104011223344"];
    assert_eq!(in_memory(process, &known), [true; 2]);
    for (name, bytes) in left_behind(&scene) {
        for needle in hidden {
            assert!(!is_within(&bytes, needle), "something is in {name}");
        }
    }
}

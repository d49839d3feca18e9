//! Many at once: idle ones that cost little, busy ones that lose nothing, and a
//! server that dies in the middle of it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use serde_json::json;

use crate::{
    limits::resident_kib,
    scene::{Device, Scene, by_session, by_token, relay},
    wire::Wire,
};

/// Connections that are set up at once.
const AT_ONCE: usize = 16;
/// Pings have a test of their own.
const LIMITS: &str = "ping-seconds = 600\nconnections-per-address = 20000\nconnections-per-account = 20000\n\
    frames-per-second = 1000000\nframes-at-once = 1000000\n\
    account-frames-per-second = 1000000\naccount-frames-at-once = 1000000";
/// What an idle connection may cost in memory, its TLS included. Few of them
/// share what the first ones bring with them, so this is generous.
const IDLE_BYTES: u64 = 24 << 10;

struct Size {
    idle: usize,
    pairs: usize,
    rounds: usize,
}

fn size() -> Size {
    match std::env::var_os("WAKEFUL_TEST_FULL") {
        Some(_) => Size {
            idle: 10_000,
            pairs: 200,
            rounds: 200,
        },
        None => Size {
            idle: 500,
            pairs: 20,
            rounds: 50,
        },
    }
}

/// A packet goes to the device and one comes back, so many times, in order.
async fn exchange(client: &mut Wire, device: &mut Wire, agent_id: &str, rounds: usize) {
    let packet = |n: usize| json!({ "sid": agent_id, "seq": n, "p": "x".repeat(200) }).to_string();
    client.say(relay(agent_id, &packet(0))).await;
    assert_eq!(device.hear_text().await, packet(0));
    for n in 1..rounds {
        client.say_text(&packet(n)).await;
        assert_eq!(device.hear_text().await, packet(n));
        device.say_text(&packet(n)).await;
        assert_eq!(client.hear_text().await, packet(n));
    }
}

/// Devices of bob's, and a client of his for each; all of them connected.
async fn connect(scene: &Scene, bob: &str, devices: &[Device]) -> Vec<(Wire, Wire)> {
    let connect = |device| async move {
        let wire = scene.connect_device(device).await;
        let (client, answer) = scene.enter(by_token(bob)).await;
        assert_eq!(answer["status"], "authenticated");
        (client, wire)
    };
    stream::iter(devices)
        .map(connect)
        .buffered(AT_ONCE)
        .collect()
        .await
}

/// Hears what a client is told until all devices are online.
async fn all_online(client: &mut Wire, devices: &[Device]) {
    let mut online: BTreeMap<String, bool> = BTreeMap::new();
    while online.values().filter(|online| **online).count() < devices.len() {
        let told = client.hear().await;
        assert_eq!(told["type"], "agent_status", "{told}");
        let agent_id = told["agent_id"].as_str().unwrap().to_owned();
        online.insert(agent_id, told["online"].as_bool().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_ones_cost_little_busy_ones_lose_nothing_and_all_come_back_after_a_crash() {
    let size = size();
    let mut scene = Scene::start_with(LIMITS).await;
    let bob = scene.house.user("bob", "reviewer");
    let mut devices = Vec::new();
    for n in 0..size.pairs {
        devices.push(scene.device(&bob, &format!("device-{n}")).await);
    }
    // The first ones bring more with them than the others.
    let _first = scene.client(&scene.ann).await;
    let before = resident_kib(scene.house.process_id());
    let session = scene
        .house
        .post("/api/v1/auth/session", &scene.ann, json!(null));
    let session = session.await.json()["session_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let started = Instant::now();
    let (here, session) = (&scene, &session);
    let idle = |_| async move { here.enter(by_session(session)).await.0 };
    let idle = stream::iter(0..size.idle)
        .map(idle)
        .buffer_unordered(AT_ONCE);
    let mut idle: Vec<Wire> = idle.collect().await;
    let took = started.elapsed();
    let grown = resident_kib(scene.house.process_id()).saturating_sub(before) * 1024;
    let each = grown / size.idle as u64;
    println!(
        "{} idle connections in {took:?}, {each} bytes each",
        size.idle
    );
    assert!(each < IDLE_BYTES, "{each} bytes for an idle connection");

    let mut pairs = connect(&scene, &bob, &devices).await;
    for (client, _) in &mut pairs {
        all_online(client, &devices).await;
    }
    let started = Instant::now();
    let busy = pairs.iter_mut().zip(&devices);
    let busy = busy
        .map(|((client, device), known)| exchange(client, device, &known.agent_id, size.rounds));
    futures_util::future::join_all(busy).await;
    println!(
        "{} pairs, {} rounds in {:?}",
        size.pairs,
        size.rounds,
        started.elapsed()
    );
    // Nobody who was idle heard anything of it, or went.
    for wire in idle.iter_mut().step_by(97) {
        wire.hears_nothing().await;
    }

    // It dies while packets are on their way.
    for ((client, _), device) in pairs.iter_mut().zip(&devices) {
        client.say(relay(&device.agent_id, "on its way")).await;
    }
    scene.house.kill();
    drop((pairs, idle));
    scene.serve().await;
    let (mut watching, _) = scene.enter(by_token(&bob)).await;
    let mut pairs = connect(&scene, &bob, &devices).await;
    let last = Instant::now();
    all_online(&mut watching, &devices).await;
    for (client, _) in &mut pairs {
        all_online(client, &devices).await;
    }
    let took = last.elapsed();
    println!("presence was right {took:?} after the last was back");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let busy = pairs.iter_mut().zip(&devices);
    let busy = busy.map(|((client, device), known)| exchange(client, device, &known.agent_id, 5));
    futures_util::future::join_all(busy).await;
}

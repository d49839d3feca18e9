//! The server is killed and comes back, with many devices on it and commands
//! under way: every device returns, and its owner sees it.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use client::{
    Server,
    link::{Backoff, Caller},
};
use runner::{Device, Hands, Timing};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use wakelink::{Command, Secret};

use crate::{
    harness::House,
    scene::{AGENT, Scene},
};

const DEVICES: usize = 40;

#[tokio::test]
async fn watching_goes_on_across_a_restart() {
    let mut scene = Scene::start().await;
    let watch = scene.watch();
    let status = |online| json!({ "agent_id": AGENT, "online": online });
    assert_eq!(watch.line(), status(false));
    let device = scene.device();
    assert_eq!(watch.line(), status(true));
    scene.house.kill_for_a_while();
    device.until("offline");
    scene.house.serve().await;
    device.until("online");
    assert_eq!(scene.done(&["link", "send", AGENT, "ping"]), "ok\n");
    // Seen as gone or not, as the race between the two goes; in the end as it is.
    assert_eq!(device.stop(), Some(0));
    let last = loop {
        let line = watch.line();
        if line == status(false) && !online(&scene).await[AGENT] {
            break line;
        }
    };
    assert_eq!(last, status(false));
    assert_eq!(watch.stop(), Some(0));
}

#[tokio::test]
async fn a_device_goes_on_when_its_session_is_used_up() {
    let settings = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(settings.path(), "[link]\nsession-requests = 7\n").unwrap();
    let flags = ["--config", settings.path().to_str().unwrap()];
    let (house, ann) = House::start_with(&flags).await;
    let scene = Scene::in_house(house, ann, "");
    let device = scene.device();
    // Three frames of the device's for each, so three sessions at the least.
    // The one in which a session ends may be lost.
    let ping = ["link", "send", AGENT, "ping", "--wait", "1"];
    // While the device is away a try fails at once, so time counts and not tries.
    let deadline = Instant::now() + Duration::from_secs(60);
    let tries = std::iter::repeat(()).take_while(|()| Instant::now() < deadline);
    let answered = tries.filter(|()| scene.run(&ping).stdout == b"ok\n");
    assert_eq!(answered.take(8).count(), 8);
    for _ in 0..2 {
        let said = device.until("offline");
        let said = said["message"].as_str().unwrap();
        assert!(said.contains("LIMIT_EXCEEDED"), "{said}");
        device.until("online");
    }
}

/// What the server says of each device.
async fn online(scene: &Scene) -> BTreeMap<String, bool> {
    let agents = scene.house.get("/api/v1/agents", &scene.ann).await.json();
    let agents = agents["agents"].as_array().unwrap().clone();
    let pair = |agent: Value| {
        let name = agent["agent_id"].as_str().unwrap().to_owned();
        (name, agent["link"]["online"] == true)
    };
    agents.into_iter().map(pair).collect()
}

fn secret(number: usize) -> Secret {
    Secret::new([number as u8; 32])
}

async fn add(house: &House, ann: &str, number: usize) -> Device {
    let agent_id = format!("WL{number:08}");
    let body = json!({ "agent_id": agent_id });
    let added = house.post("/api/v1/agents", ann, body).await;
    assert_eq!(added.status, 201, "{added:?}");
    Device {
        server: Server::at(&house.address(), None, None).unwrap(),
        token: added.json()["token"].as_str().unwrap().to_owned(),
        secret: secret(number),
        hands: Hands::new(&agent_id, Vec::new(), Vec::new()).unwrap(),
        agent_id,
        timing: Timing {
            backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(1)),
            ..Timing::default()
        },
    }
}

/// What clients are told: how often a server was started, or that it is enough.
#[derive(Clone, Copy, PartialEq)]
enum Word {
    Started(u32),
    Stop,
}

/// Asks one device after another, as fast as it is answered, and begins anew
/// with the next server whenever the connection is lost.
async fn keep_asking(
    server: Server,
    first: usize,
    mut word: watch::Receiver<Word>,
    answered: Arc<watch::Sender<u64>>,
) {
    while *word.borrow_and_update() != Word::Stop {
        let Ok(caller) = Caller::sign_in(&server).await else {
            word.changed().await.unwrap();
            continue;
        };
        let mut caller = caller.patient(Duration::from_secs(2));
        for turn in 0.. {
            let number = (first + turn) % DEVICES;
            let asking = async {
                let agent_id = format!("WL{number:08}");
                let mut met = caller.meet(&agent_id, &secret(number)).await?;
                caller.call(&mut met, Command::Ping.fields()).await
            };
            match asking.await {
                Ok(answer) => {
                    assert!(answer.ok);
                    answered.send_modify(|answered| *answered += 1);
                }
                // Offline for a moment, or the line is gone.
                Err(fault) if fault.is_refusal() => tokio::task::yield_now().await,
                Err(_) => break,
            }
            if *word.borrow() == Word::Stop {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_under_load_has_all_its_devices_back() {
    let (mut house, ann) = House::start().await;
    let mut devices = JoinSet::new();
    for number in 0..DEVICES {
        let device = add(&house, &ann, number).await;
        devices.spawn(async move { device.run(std::future::pending()).await });
    }
    let server = Server::at(&house.address(), Some(ann.clone()), None).unwrap();
    let (word, heard) = watch::channel(Word::Started(1));
    let answered = Arc::new(watch::Sender::new(0));
    let mut clients = JoinSet::new();
    for first in [0, 13, 27, 39] {
        let (heard, answered) = (heard.clone(), Arc::clone(&answered));
        clients.spawn(keep_asking(server.clone(), first, heard, answered));
    }
    let more_answers = async |than: u64| {
        let mut answered = answered.subscribe();
        let more = answered.wait_for(|answered| *answered > than);
        let more = timeout(Duration::from_secs(30), more).await;
        drop(more.expect("nothing is answered"));
    };
    more_answers(50).await;
    for time in 2..4 {
        house.kill_for_a_while();
        house.serve().await;
        word.send_replace(Word::Started(time));
        let restarted = Instant::now();
        // One who watches from now on learns of all of them.
        let mut watcher = Caller::sign_in(&server).await.unwrap();
        let mut seen = BTreeMap::new();
        let all = async {
            while seen.values().filter(|online| **online).count() < DEVICES {
                let change = watcher.changed().await.unwrap();
                seen.insert(change.agent_id, change.online);
            }
        };
        let all_back = timeout(Duration::from_secs(30), all).await;
        println!("all {DEVICES} back after {:?}", restarted.elapsed());
        assert!(all_back.is_ok(), "missing: {seen:?}");
        watcher.close().await;
        // The page of agents agrees, and commands pass.
        let agents = house.get("/api/v1/agents", &ann).await.json();
        for agent in agents["agents"].as_array().unwrap() {
            assert_eq!(agent["link"]["online"], true, "{agent}");
        }
        let before = *answered.borrow();
        more_answers(before + 50).await;
    }
    word.send_replace(Word::Stop);
    while clients.join_next().await.is_some() {}
    assert_eq!(devices.len(), DEVICES, "a device gave up");
    devices.shutdown().await;
    // Gone, and known to be.
    let mut watcher = Caller::sign_in(&server).await.unwrap();
    let mut seen = BTreeMap::new();
    let all = async {
        while seen.len() < DEVICES || seen.values().any(|online| *online) {
            let change = watcher.changed().await.unwrap();
            seen.insert(change.agent_id, change.online);
        }
    };
    let all_gone = timeout(Duration::from_secs(30), all).await;
    assert!(all_gone.is_ok(), "still there: {seen:?}");
}

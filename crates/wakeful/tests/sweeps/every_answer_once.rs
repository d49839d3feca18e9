//! The promise of `since`: whoever follows it, in pages of any size and while
//! others deliver and answer, sees every answer exactly once and every
//! delivery at least once, in the order of the changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::House;

const AGENTS: [&str; 3] = ["a", "b", "c"];
const DELIVERIES: usize = 40;
const ANSWERED: &str = "&status=approved,rejected,redirected";

/// SplitMix64: the same seed gives the same choices.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// What really happened.
#[derive(Default)]
struct World {
    /// Delivered and not yet taken by someone who answers.
    open: Mutex<Vec<String>>,
    /// Every delivery with its agent, and its answer if one was given.
    all: Mutex<BTreeMap<String, (&'static str, Option<&'static str>)>>,
    delivering: AtomicUsize,
    over: AtomicBool,
}

async fn deliver(house: Arc<House>, world: Arc<World>, key: String, agent: &'static str) {
    for _ in 0..DELIVERIES {
        let id = house.deliver(&key, agent, json!({})).await;
        world.all.lock().unwrap().insert(id.clone(), (agent, None));
        world.open.lock().unwrap().push(id);
    }
    world.delivering.fetch_sub(1, Ordering::SeqCst);
}

async fn respond(house: Arc<House>, world: Arc<World>, token: String, mut dice: Dice) {
    loop {
        let over = world.delivering.load(Ordering::SeqCst) == 0;
        let taken = {
            let mut open = world.open.lock().unwrap();
            let place = dice.below(open.len().max(1) as u64) as usize;
            (place < open.len()).then(|| open.swap_remove(place))
        };
        match taken {
            None if over => return,
            None => tokio::task::yield_now().await,
            // Some are never answered.
            Some(_) if dice.below(5) == 0 => {}
            Some(id) => {
                let status = ["approved", "rejected", "redirected"][dice.below(3) as usize];
                let answer = house
                    .respond(&token, &id, json!({ "status": status, "feedback": "x" }))
                    .await;
                assert_eq!(answer.status, 200);
                world.all.lock().unwrap().get_mut(&id).unwrap().1 = Some(status);
            }
        }
    }
}

/// Everything one poller saw, in order.
async fn follow(
    house: Arc<House>,
    world: Arc<World>,
    key: String,
    filter: &'static str,
    mut dice: Dice,
) -> Vec<Value> {
    let (mut seen, mut since, mut last_change) = (Vec::new(), None::<String>, String::new());
    loop {
        // Read before the page: an empty page after the end is the last one.
        let over = world.over.load(Ordering::SeqCst);
        let limit = 1 + dice.below(7);
        let after = since
            .as_ref()
            .map(|since| format!("&since={since}"))
            .unwrap_or_default();
        let answer = house
            .get(
                &format!("/wake/v1/responses?limit={limit}{filter}{after}"),
                &key,
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json();
        let deliveries = page["deliveries"].as_array().unwrap();
        let (total, count) = (page["total"].as_u64().unwrap(), deliveries.len() as u64);
        assert!(count <= limit && total >= count, "{page}");
        assert_eq!(page["has_more"], total > count);
        assert!(
            count == limit || total == count,
            "a short page with more to come: {page}"
        );
        for one in deliveries {
            if let Some(at) = one["responded_at"].as_str() {
                assert!(*at > *last_change, "{at} after {last_change}");
                at.clone_into(&mut last_change);
            }
        }
        seen.extend(deliveries.iter().cloned());
        if !deliveries.is_empty() {
            let next = page["next_since"].as_str().unwrap().to_owned();
            assert!(since.as_ref().is_none_or(|since| *since < next));
            assert!(last_change <= next);
            last_change.clone_from(&next);
            since = Some(next);
        } else if over {
            return seen;
        }
    }
}

/// Compares what a poller saw of these agents with what happened.
fn check(seen: &[Value], world: &World, agents: &[&str], answered_only: bool, run: &str) {
    let all = world.all.lock().unwrap();
    let expected = all.iter().filter(|(_, (agent, _))| agents.contains(agent));
    let mut answers = BTreeMap::new();
    let mut listed = BTreeSet::new();
    for one in seen {
        let (id, status) = (
            one["delivery_id"].as_str().unwrap(),
            one["status"].as_str().unwrap(),
        );
        listed.insert(id.to_owned());
        if status != "pending" {
            let before = answers.insert(id.to_owned(), status);
            assert_eq!(before, None, "{run}: the answer to {id} was seen twice");
        } else {
            assert!(!answered_only, "{run}: {one}");
            assert!(
                !answers.contains_key(id),
                "{run}: {id} was pending after its answer"
            );
        }
    }
    let (mut given, mut delivered) = (BTreeMap::new(), BTreeSet::new());
    for (id, (_, answer)) in expected {
        delivered.insert(id.clone());
        given.extend(answer.map(|answer| (id.clone(), answer)));
    }
    assert_eq!(answers, given, "{run}: every answer, exactly once");
    if !answered_only {
        assert_eq!(listed, delivered, "{run}: every delivery, at least once");
    }
}

async fn run(seed: u64) {
    let (house, ann) = House::start().await;
    let mut dice = Dice(seed);
    let mut other = || Dice(dice.below(u64::MAX));
    let keys = AGENTS.map(|agent| house.key(agent));
    let boss = house.key_with(
        "boss",
        &["--orchestrator", "a,b", "--rate", "100000000/1000000"],
    );
    let house = Arc::new(house);
    let world = Arc::new(World::default());
    world.delivering.store(AGENTS.len(), Ordering::SeqCst);

    let mut writers = JoinSet::new();
    for (agent, key) in AGENTS.into_iter().zip(&keys) {
        writers.spawn(deliver(
            Arc::clone(&house),
            Arc::clone(&world),
            key.clone(),
            agent,
        ));
    }
    for _ in 0..4 {
        writers.spawn(respond(
            Arc::clone(&house),
            Arc::clone(&world),
            ann.clone(),
            other(),
        ));
    }
    let pollers: [(&str, &str, &'static str, &[&str]); 6] = [
        ("one agent's answers", &keys[0], ANSWERED, &["a"]),
        ("one agent's deliveries", &keys[1], "", &["b"]),
        ("an orchestrator's answers", &boss, ANSWERED, &["a", "b"]),
        ("an orchestrator's deliveries", &boss, "", &["a", "b"]),
        (
            "an orchestrator's answers of one",
            &boss,
            "&agent_id=b&status=approved,rejected,redirected",
            &["b"],
        ),
        (
            "another agent's deliveries",
            &keys[2],
            "&agent_id=c",
            &["c"],
        ),
    ];
    let following = pollers.map(|(name, key, filter, agents)| {
        let task = follow(
            Arc::clone(&house),
            Arc::clone(&world),
            key.to_owned(),
            filter,
            other(),
        );
        (name, filter, agents, tokio::spawn(task))
    });
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    world.over.store(true, Ordering::SeqCst);
    for (name, filter, agents, task) in following {
        let seen = task.await.unwrap();
        check(
            &seen,
            &world,
            agents,
            filter.contains("status"),
            &format!("seed {seed}, {name}"),
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_poller_sees_every_answer_exactly_once_and_every_delivery_at_least_once() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    for seed in [1, 2, now.as_nanos() as u64] {
        println!("seed {seed}");
        run(seed).await;
    }
}

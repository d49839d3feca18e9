//! The server is killed in the middle of its work, again and again. Whatever it
//! acknowledged is there afterwards, once, and the log only ever grows.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;
mod unsynced;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use harness::{Dice, House, at_random, delivery, in_time};
use hyper_util::service::TowerToHyperService;
use reqwest::Client;
use serde_json::{Value, json};
use server::{
    crowd::Bounds,
    listen::{Tls, TlsMin, listen},
};
use tokio::{net::TcpListener, sync::watch};
use unsynced::Unsynced;

/// So many in an ordinary run, two hundred in a full one.
fn kills(few: usize) -> usize {
    match std::env::var_os("WAKEFUL_TEST_FULL") {
        Some(full) if full == "1" => 200,
        _ => few,
    }
}

/// When the server is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// In the middle of its work.
    Working,
    /// Within a second of its start, before and after it listens.
    Starting,
    /// While it ends in an orderly way.
    Stopping,
}

impl Moment {
    /// In turn.
    fn of(kill: usize) -> Moment {
        [Moment::Working, Moment::Starting, Moment::Stopping][kill % 3]
    }
}

const CLIENTS: u64 = 8;
/// Deliveries before a kill, at the least.
const LOAD: usize = 30;

// --- who receives callbacks ------------------------------------------------------

/// A callback as it came in.
#[derive(Clone, Debug)]
struct Call {
    webhook_id: String,
    body: Vec<u8>,
}

/// By delivery.
type Calls = Arc<watch::Sender<HashMap<String, Vec<Call>>>>;

struct Receiver {
    calls: Calls,
    address: SocketAddr,
    directory: tempfile::TempDir,
}

impl Receiver {
    async fn start() -> Receiver {
        harness::install_tls();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &cert).unwrap();
        let oldest = TlsMin::default();
        let tls = Tls::from_pem_since(oldest, cert.as_bytes(), key.as_bytes()).unwrap();
        let calls = Calls::new(watch::Sender::default());
        let app = Router::new()
            .route("/in", post(receive))
            .with_state(Arc::clone(&calls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let greet = move |_: &_, _: &_| TowerToHyperService::new(app.clone());
        let (bounds, origin) = (Bounds::new(Bounds::MOST, Bounds::MOST), |_: &_| None);
        let end = std::future::pending();
        tokio::spawn(async move {
            let (tls, grace) = (Some(tls), Duration::ZERO);
            listen(bounds, listener, tls, origin, greet, end, grace).await
        });
        Receiver {
            calls,
            address,
            directory,
        }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/in", self.address.port())
    }

    fn allow(&self, house: &House) {
        let pattern = format!("localhost:{}", self.address.port());
        let ca = self.directory.path().join("ca.pem");
        let network = ["--network", "127.0.0.0/8", "--network", "::1/128"];
        let mut arguments = vec!["webhook", "allow", pattern.as_str()];
        arguments.extend(network);
        arguments.extend(["--ca", ca.to_str().unwrap()]);
        house.json(&arguments);
    }
}

async fn receive(State(calls): State<Calls>, headers: HeaderMap, body: Bytes) -> &'static str {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let call = Call {
        webhook_id: header("webhook-id"),
        body: body.to_vec(),
    };
    let id = header("x-wake-delivery-id");
    calls.send_modify(|calls| calls.entry(id).or_default().push(call));
    "ok"
}

// --- who loads the server ----------------------------------------------------------

/// What one client knows about a delivery that was acknowledged.
#[derive(Clone, Debug)]
struct Known {
    details: Value,
    callback: bool,
    /// What this client last said, and whether the server acknowledged it.
    said: Option<(Value, bool)>,
    /// When a hold ends, if one was acknowledged.
    held: bool,
}

#[derive(Debug, Default)]
struct Ledger {
    deliveries: BTreeMap<String, Known>,
    /// Idempotency keys and the delivery they stand for.
    keys: HashMap<String, String>,
}

struct World {
    address: Mutex<String>,
    stop: AtomicBool,
    ledger: Mutex<Ledger>,
    /// How many deliveries are in the ledger.
    known: watch::Sender<usize>,
    key: String,
    ann: String,
    callback: String,
}

impl World {
    fn address(&self) -> String {
        self.address.lock().unwrap().clone()
    }
}

/// Sends until an answer comes; `None` if the server died before it did.
async fn send(
    http: &Client,
    url: String,
    token: &str,
    idempotency_key: Option<&str>,
    body: &Value,
) -> Option<(u16, Value)> {
    let mut request = http
        .post(url)
        .bearer_auth(token)
        .header("content-type", "application/json")
        .body(body.to_string());
    if let Some(key) = idempotency_key {
        request = request.header("idempotency-key", key);
    }
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let body = response.bytes().await.ok()?;
    Some((status, serde_json::from_slice(&body).ok()?))
}

/// Delivers and answers as fast as it can. A delivery whose acknowledgement was
/// lost is sent again with the same idempotency key, to whoever listens then.
async fn client(world: Arc<World>, number: u64, seed: u64) {
    let http = Client::builder().no_proxy().build().unwrap();
    let mut dice = Dice(seed ^ number);
    let mut count = 0;
    while !world.stop.load(Ordering::SeqCst) {
        count += 1;
        let idempotency_key = format!("{seed:x}-{number}-{count}");
        let details = json!({ "client": number, "count": count, "text": "é\u{1F980}".repeat(9) });
        let callback = dice.below(3) == 0;
        let mut body = delivery("writer", json!({ "details": details, "type": "question" }));
        if callback {
            body["callback_webhook"] = json!(world.callback);
        }
        let id = loop {
            let url = format!("{}/wake/v1/deliver", world.address());
            match send(&http, url, &world.key, Some(&idempotency_key), &body).await {
                Some((201, receipt)) => break receipt["delivery_id"].as_str().unwrap().to_owned(),
                // Another one will listen soon, and must not take it for a new one.
                Some((503, _)) | None => tokio::task::yield_now().await,
                other => panic!("{other:?}"),
            }
        };
        {
            let mut ledger = world.ledger.lock().unwrap();
            let known = Known {
                details,
                callback,
                said: None,
                held: false,
            };
            ledger.deliveries.insert(id.clone(), known);
            world.known.send_replace(ledger.deliveries.len());
            let before = ledger.keys.insert(idempotency_key, id.clone());
            assert_eq!(before, None);
        }
        if dice.below(4) == 0 {
            continue;
        }
        let status = ["approved", "rejected", "redirected"][dice.below(3) as usize];
        let held = dice.below(5) == 0;
        let mut answer = json!({ "status": status, "feedback": format!("{number}/{count}") });
        if held {
            answer["hold_seconds"] = json!(1);
        }
        let set = |acknowledged: bool| {
            let mut ledger = world.ledger.lock().unwrap();
            let known = ledger.deliveries.get_mut(&id).unwrap();
            known.said = Some((answer.clone(), acknowledged));
            known.held = held;
        };
        // Said before it is sent: without an acknowledgement it may stand or not.
        set(false);
        let url = format!("{}/api/v1/inbox/{id}/respond", world.address());
        match send(&http, url, &world.ann, None, &answer).await {
            Some((200, _)) => set(true),
            Some((503, _)) | None => {}
            // Ann has answered too much in too short a time: it was not taken.
            Some((429, _)) => {
                let mut ledger = world.ledger.lock().unwrap();
                let known = ledger.deliveries.get_mut(&id).unwrap();
                (known.said, known.held) = (None, false);
            }
            other => panic!("{other:?}"),
        }
    }
}

// --- what must hold -------------------------------------------------------------------

/// Looks at all deliveries, or at those that were not looked at before.
async fn check(house: &House, world: &World, checked: &BTreeSet<String>, context: &str) {
    let deliveries = world.ledger.lock().unwrap().deliveries.clone();
    let unchecked = deliveries.iter().filter(|(id, _)| !checked.contains(*id));
    for (id, known) in unchecked {
        let item = house.get(&format!("/api/v1/inbox/{id}"), &world.ann).await;
        assert_eq!(item.status, 200, "{context}: {id} is gone");
        assert_eq!(item.json()["details"], known.details, "{context}: {id}");
        let response = house.response(&world.key, id).await;
        let Some((said, acknowledged)) = &known.said else {
            assert_eq!(response["status"], "pending", "{context}: {id}");
            continue;
        };
        let stands = response["status"] == said["status"];
        if stands {
            assert_eq!(response["feedback"], said["feedback"], "{context}: {id}");
            assert!(response["responded_at"].is_string());
        } else {
            assert_eq!(response["status"], "pending", "{context}: {id}");
            let may_be_pending = known.held || !acknowledged;
            assert!(
                may_be_pending,
                "{context}: the answer to {id} is gone: {response}"
            );
        }
    }
}

/// Every acknowledged answer is final: what was held when the server died too.
async fn holds_end(house: &House, world: &World) {
    let deliveries = world.ledger.lock().unwrap().deliveries.clone();
    for (id, known) in deliveries {
        if let Some((said, true)) = known.said {
            let answer = house.answer(&world.key, &id).await;
            assert_eq!(answer["status"], said["status"], "{id}");
        }
    }
}

/// Every answer that stands and has a callback was sent, under one id, as it is.
async fn callbacks_arrive(house: &House, world: &World, receiver: &Receiver) {
    let deliveries = world.ledger.lock().unwrap().deliveries.clone();
    let mut ids = HashMap::new();
    for (id, _) in deliveries.iter().filter(|(_, known)| known.callback) {
        let answer = house
            .get(&format!("/wake/v1/response/{id}"), &world.key)
            .await;
        let answered = answer.json()["status"] != "pending";
        if answered {
            let mut calls = receiver.calls.subscribe();
            let arrives = calls.wait_for(|calls| calls.contains_key(id));
            drop(in_time("a callback that is owed arrives", arrives).await);
        }
        let calls = receiver.calls.borrow().get(id).cloned();
        let calls = calls.unwrap_or_default();
        assert_eq!(!calls.is_empty(), answered, "{id}: no answer, no callback");
        for call in calls {
            assert_eq!(call.body, answer.body, "{id}");
            let first = ids
                .entry(id.clone())
                .or_insert_with(|| call.webhook_id.clone());
            assert_eq!(*first, call.webhook_id, "{id}: repeated under another id");
        }
    }
    assert!(!ids.is_empty(), "no callback was ever owed");
    let distinct: HashSet<_> = ids.values().collect();
    assert_eq!(distinct.len(), ids.len(), "an id was used for two answers");
}

/// One entry for every delivery that any client may have caused, none twice.
async fn nothing_twice(house: &House, world: &World) {
    let (deliveries, keys) = {
        let ledger = world.ledger.lock().unwrap();
        (ledger.deliveries.len(), ledger.keys.len())
    };
    assert_eq!(deliveries, keys);
    let mut total = 0;
    let mut seen = HashMap::<String, u32>::new();
    let mut since: Option<String> = None;
    loop {
        let since_query = since
            .as_ref()
            .map(|at| format!("&since={at}"))
            .unwrap_or_default();
        let statuses = "pending,approved,rejected,redirected";
        let path = format!("/wake/v1/responses?status={statuses}&limit=200{since_query}");
        let page = house.get(&path, &world.key).await.json();
        total = total.max(page["total"].as_u64().unwrap());
        for item in page["deliveries"].as_array().unwrap() {
            let id = item["delivery_id"].as_str().unwrap().to_owned();
            *seen.entry(id).or_default() += 1;
        }
        if page["has_more"] != true {
            break;
        }
        since = Some(page["next_since"].as_str().unwrap().to_owned());
    }
    assert!(seen.values().all(|times| *times == 1));
    assert_eq!(seen.len() as u64, total);
    assert_eq!(seen.len(), deliveries, "deliveries that nobody was told of");
    let ledger = world.ledger.lock().unwrap();
    assert!(ledger.deliveries.keys().all(|id| seen.contains_key(id)));
}

/// Keeps the log's checkpoint beside the data.
async fn keep_checkpoint(house: &House, directory: &tempfile::TempDir, number: usize) -> PathBuf {
    let file = directory.path().join(format!("checkpoint-{number}"));
    let note = house.send("GET", "/checkpoint", None, None).await;
    assert_eq!(note.status, 200);
    std::fs::write(&file, note.body).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_any_crash_once_and_the_log_only_grows() {
    let (house, ann) = House::start().await;
    survive(house, ann, kills(6), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_a_device_that_forgets_what_was_not_synced() {
    let mut house = House::empty();
    let device = Unsynced::under(&mut house);
    let ann = house.user("ann", "owner");
    house.serve().await;
    survive(house, ann, kills(3), Some(device)).await;
}

/// Loads the server and kills it, again and again.
#[expect(clippy::print_stdout, reason = "the seed and the figures of a test")]
async fn survive(mut house: House, ann: String, kills: usize, mut device: Option<Unsynced>) {
    let seed = std::env::var("WAKEFUL_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| u64::from_be_bytes(engine::keys::random().unwrap()));
    let context = format!("WAKEFUL_TEST_SEED={seed}");
    // Shown when the test fails.
    println!("{context}");
    let mut dice = Dice(seed);
    let receiver = Receiver::start().await;
    receiver.allow(&house);
    let key = house.key("writer");
    let checkpoints = tempfile::tempdir().unwrap();
    let world = Arc::new(World {
        address: Mutex::new(house.address()),
        stop: AtomicBool::new(false),
        ledger: Mutex::default(),
        known: watch::Sender::new(0),
        key,
        ann,
        callback: receiver.url(),
    });
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut checked = BTreeSet::new();
    for kill in 0..kills {
        let moment = Moment::of(kill);
        let context = format!("{context}, kill {kill} ({moment:?})");
        if let Moment::Starting = moment {
            house.kill();
            device
                .iter_mut()
                .for_each(|device| device.forget(&mut dice));
            let after = Duration::from_micros(dice.below(400_000));
            house.kill_while_starting(after).await;
            device
                .iter_mut()
                .for_each(|device| device.forget(&mut dice));
            house.serve().await;
            *world.address.lock().unwrap() = house.address();
        }
        let began = Instant::now();
        world.stop.store(false, Ordering::SeqCst);
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..CLIENTS {
            clients.spawn(client(Arc::clone(&world), number, dice.next()));
        }
        let mut known = world.known.subscribe();
        let enough = *known.borrow()
            + if let Moment::Starting = moment {
                1
            } else {
                LOAD
            };
        let loaded = known.wait_for(|known| *known >= enough);
        drop(in_time("there is some load", loaded).await);
        // At a random moment, in the middle of whatever is under way.
        let pause = Duration::from_micros(dice.below(300_000));
        let until = Instant::now() + pause;
        kept.push(keep_checkpoint(&house, &checkpoints, kill).await);
        match moment {
            Moment::Working => at_random(until).await,
            Moment::Starting => {
                at_random(began + Duration::from_micros(dice.below(1_000_000))).await;
            }
            Moment::Stopping => {
                house.terminate();
                at_random(Instant::now() + pause / 2).await;
            }
        }
        house.kill();
        device
            .iter_mut()
            .for_each(|device| device.forget(&mut dice));

        // The files as the crash left them, before anything recovers them.
        let mut arguments = vec!["trail", "verify"];
        for file in &kept {
            arguments.extend(["--since", file.to_str().unwrap()]);
        }
        let verified = house.json(&arguments);
        assert_eq!(verified["checkpoints_kept"], kept.len(), "{context}");
        house.serve().await;
        *world.address.lock().unwrap() = house.address();
        // Clients finish what they had begun, with the new server.
        world.stop.store(true, Ordering::SeqCst);
        clients.join_all().await;
        check(&house, &world, &checked, &context).await;
        checked.extend(world.ledger.lock().unwrap().deliveries.keys().cloned());
    }
    check(&house, &world, &BTreeSet::new(), &context).await;
    holds_end(&house, &world).await;
    nothing_twice(&house, &world).await;
    callbacks_arrive(&house, &world, &receiver).await;
    house.stop();
    assert_eq!(
        house.json(&["trail", "rebuild"])["changed"],
        json!([]),
        "{context}"
    );
    let deliveries = checked.len();
    println!("{kills} kills, {deliveries} deliveries, none lost");
    if let Some(device) = device {
        let (forgotten, behind) = (device.forgotten, device.heads_behind);
        println!("{forgotten} writes forgotten; the file head said less after {behind} kills");
        assert!(forgotten > 0 && behind > 0, "the device forgot nothing");
    }
}

#[tokio::test]
async fn a_crash_gives_nobody_a_fresh_rate_and_ends_no_hold() {
    let (mut house, ann) = House::start().await;
    let key = house.key_with("slow", &["--rate", "1/3"]);
    let first = house.deliver(&key, "slow", json!({})).await;
    house.deliver(&key, "slow", json!({})).await;
    let bob = house.user("bob", "reviewer");
    let held = json!({ "status": "approved", "feedback": "Yes.", "hold_seconds": 30 });
    assert_eq!(house.respond(&ann, &first, held.clone()).await.status, 200);
    house.kill();
    house.serve().await;

    assert_eq!(house.response(&key, &first).await["status"], "pending");
    let other = house
        .respond(&bob, &first, json!({ "status": "rejected" }))
        .await;
    assert_eq!(other.status, 409, "the hold is still there");
    let undone = house
        .post(&format!("/api/v1/inbox/{first}/undo"), &ann, json!({}))
        .await;
    assert!(undone.status.is_success(), "and can still be undone");

    // The third of three; a fourth must wait, however often the server dies.
    house.deliver(&key, "slow", json!({})).await;
    for _ in 0..2 {
        let refused = house
            .post("/wake/v1/deliver", &key, delivery("slow", json!({})))
            .await;
        assert_eq!(refused.status, 429);
        let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((3500..=3600).contains(&seconds), "{seconds}");
        house.kill();
        house.serve().await;
    }
}

#[tokio::test]
async fn a_key_that_was_retried_across_a_crash_stands_for_one_delivery() {
    let (mut house, _) = House::start().await;
    let key = house.key("writer");
    let http = Client::builder().no_proxy().build().unwrap();
    let body = delivery("writer", json!({ "details": "once" }));
    let mut receipts = Vec::new();
    for _ in 0..3 {
        let url = format!("{}/wake/v1/deliver", house.address());
        let (status, receipt) = send(&http, url, &key, Some("same"), &body).await.unwrap();
        assert_eq!(status, 201);
        receipts.push(receipt);
        house.kill();
        house.serve().await;
    }
    assert_eq!(receipts[0], receipts[1]);
    assert_eq!(receipts[0], receipts[2]);
    let url = format!("{}/wake/v1/deliver", house.address());
    let other = delivery("writer", json!({ "details": "another" }));
    let (status, problem) = send(&http, url, &key, Some("same"), &other).await.unwrap();
    assert_eq!(status, 409, "{problem}");
    let page = house
        .get("/wake/v1/responses?status=pending", &key)
        .await
        .json();
    assert_eq!(page["total"], 1);
}

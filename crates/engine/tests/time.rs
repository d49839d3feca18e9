//! What time does, with a clock that the test sets: hours pass in milliseconds.
#![allow(clippy::unwrap_used)]

#[path = "shared/person.rs"]
mod person;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use account::{
    Rate, Role,
    command::{Command as Ask, NewKey},
};
use engine::{
    Clock, Command, Engine, Keys, Refusal, Reply, Setup, Vault,
    command::{Account, Deliver, Inbox, Wake},
    read::{InboxAsk, WebhookSecrets},
};
use inbox::{ItemId, Person, Request, event::Channel};
use tempfile::TempDir;
use tokio::{sync::watch, time::timeout};
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{Kind, NewDelivery, Status, limits, sweep::Sweep};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// How long the writer may take to do what it does by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// An engine on a throw-away directory, and the hands of its clock.
struct World {
    directory: TempDir,
    now: Arc<AtomicI64>,
    /// A clock that nobody can set.
    steady: Arc<AtomicI64>,
    /// What the clock was last asked for and told.
    told: Arc<watch::Sender<Micros>>,
    engine: Engine,
}

impl World {
    /// With the owner `ann` and a key `key_a` of the agent `a`.
    async fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_800_000_000_000_000));
        let steady = Arc::new(AtomicI64::new(0));
        let told = Arc::new(watch::Sender::new(Micros(0)));
        let engine = open(&directory, &now, &steady, &told).await;
        let world = World {
            directory,
            now,
            steady,
            told,
            engine,
        };
        world
            .administer(Ask::CreateUser {
                name: "ann".to_owned(),
                role: Some(Role::Owner),
                token_id: "tok_ann".to_owned(),
                token_hash: account::secret::hash("ann"),
            })
            .await
            .unwrap();
        world.key("key_a", [2; 32], None).await;
        world
    }

    async fn key(&self, key_id: &str, hash: [u8; 32], rate: Option<Rate>) {
        let new = NewKey {
            agent_id: "a".to_owned(),
            owner: None,
            key_id: key_id.to_owned(),
            hash,
            test: false,
            orchestrates: Vec::new(),
            rate,
        };
        self.administer(Ask::CreateKey(new)).await.unwrap();
    }

    async fn restart(&mut self) {
        self.engine.stop().await;
        self.engine = open(&self.directory, &self.now, &self.steady, &self.told).await;
    }

    fn now(&self) -> Micros {
        Micros(self.now.load(Ordering::SeqCst))
    }

    /// Moves the clock; nothing notices before the next command.
    fn pass(&self, seconds: i64) {
        self.pass_micros(seconds * Micros::SECOND);
    }

    /// Time passes on every clock.
    fn elapse(&self, seconds: i64) {
        self.pass(seconds);
        let micros = seconds * Micros::SECOND;
        self.steady.fetch_add(micros, Ordering::SeqCst);
    }

    fn pass_micros(&self, micros: i64) {
        self.now.fetch_add(micros, Ordering::SeqCst);
    }

    /// Any command makes the writer look at the clock.
    async fn look(&self) {
        let source = "192.0.2.1".to_owned();
        let command = Account::RecordFailures { source, count: 1 };
        self.engine.submit(command).await.unwrap();
    }

    async fn administer(&self, command: Ask) -> Result<Reply, Refusal> {
        let actor = account::Actor::Operator;
        self.engine
            .submit(Account::Administer { actor, command })
            .await
    }

    async fn try_deliver(
        &self,
        key_id: &str,
        more: &str,
        idempotency: Option<&str>,
    ) -> Result<Uuid, Refusal> {
        self.try_deliver_as("question", key_id, more, idempotency)
            .await
    }

    async fn try_deliver_as(
        &self,
        kind: &str,
        key_id: &str,
        more: &str,
        idempotency: Option<&str>,
    ) -> Result<Uuid, Refusal> {
        let body = format!(
            r#"{{"agent_id":"a","provider":"p","type":"{kind}","headline":"h","summary":"s"{more}}}"#
        );
        let digest = Hash::of("test", &[body.as_bytes()]);
        let command = Wake::Deliver(Deliver {
            key_id: key_id.to_owned(),
            delivery: NewDelivery::parse(body.as_bytes(), limits::DETAILS_BYTES).unwrap(),
            idempotency: idempotency.map(|name| (name.to_owned(), digest)),
        });
        match self.engine.submit(command).await? {
            Reply::Received { delivery_id, .. } => Ok(delivery_id),
            Reply::Repeated { status: 201, body } => {
                let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(body["status"], "received");
                Ok(body["delivery_id"].as_str().unwrap().parse().unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    /// A second after whatever was before, so that it is recorded just now:
    /// on a clock that stands still every change would be a little later.
    async fn deliver(&self, more: &str) -> Uuid {
        self.pass(1);
        self.try_deliver("key_a", more, None).await.unwrap()
    }

    async fn deliver_as(&self, kind: &str, more: &str) -> Uuid {
        self.pass(1);
        let delivered = self.try_deliver_as(kind, "key_a", more, None);
        delivered.await.unwrap()
    }

    async fn respond(&self, delivery_id: Uuid, body: &str) -> Result<Reply, Refusal> {
        let request = Request::parse(body.as_bytes()).unwrap();
        let command = Inbox::Respond {
            person: person("ann"),
            item: ItemId::Delivery(delivery_id),
            request,
        };
        self.engine.submit(command).await
    }

    async fn undo(&self, delivery_id: Uuid) -> Result<Reply, Refusal> {
        let person = person("ann");
        let item = ItemId::Delivery(delivery_id);
        let command = Inbox::Undo { person, item };
        self.engine.submit(command).await
    }

    async fn row(&self, id: Uuid) -> engine::Row {
        self.engine.shared().delivery(id).await.unwrap().unwrap()
    }

    async fn response(&self, id: Uuid) -> serde_json::Value {
        let told = self.engine.shared().response(id).await.unwrap().unwrap();
        serde_json::from_slice(&told.body).unwrap()
    }

    async fn history(&self, id: Uuid) -> Vec<String> {
        let no = self.row(id).await.row.no;
        let entries = self.engine.shared().history(no).await.unwrap();
        entries.into_iter().map(|entry| entry.event_type).collect()
    }
}

async fn open(
    directory: &TempDir,
    now: &Arc<AtomicI64>,
    steady: &Arc<AtomicI64>,
    told: &Arc<watch::Sender<Micros>>,
) -> Engine {
    let keys = Keys::open(directory.path()).unwrap();
    let vault = Vault::new(&keys.seal, &[]);
    let store = store::open(&directory.path().into(), &keys.seal.row_seal())
        .await
        .unwrap();
    let (now, steady, told) = (Arc::clone(now), Arc::clone(steady), Arc::clone(told));
    let wall = move || {
        let now = Micros(now.load(Ordering::SeqCst));
        told.send_replace(now);
        now
    };
    let clock = Clock::of(wall, move || Micros(steady.load(Ordering::SeqCst)));
    let setup = Setup {
        store,
        keys,
        vault,
        clock,
    };
    Engine::start(setup).await.unwrap()
}

fn person(name: &str) -> Person {
    person::person(name, Channel::Api)
}

#[tokio::test]
async fn after_its_timeout_a_delivery_stays_pending_and_can_still_be_answered() {
    let world = World::new().await;
    let id = world.deliver(r#","timeout_seconds":60"#).await;
    world.pass_micros(60 * Micros::SECOND - 1);
    world.look().await;
    assert_eq!(world.history(id).await, ["delivery_received"]);
    world.pass_micros(1);
    world.look().await;
    world.look().await;
    assert_eq!(
        world.history(id).await,
        ["delivery_received", "delivery_timed_out"]
    );
    let row = world.row(id).await;
    assert_eq!((row.status(), row.row.timed_out), (Status::Pending, true));
    let response = world.response(id).await;
    assert_eq!(response["status"], "pending");
    assert_eq!(response["responded_at"], serde_json::Value::Null);

    world.respond(id, r#"{"status":"rejected"}"#).await.unwrap();
    assert_eq!(world.response(id).await["status"], "rejected");
    assert_eq!(world.history(id).await.len(), 3);
}

#[tokio::test]
async fn an_answered_delivery_and_one_without_a_timeout_never_time_out() {
    let world = World::new().await;
    let answered = world.deliver(r#","timeout_seconds":60"#).await;
    let patient = world.deliver("").await;
    world
        .respond(answered, r#"{"status":"approved"}"#)
        .await
        .unwrap();
    world.pass(30 * DAY);
    world.look().await;
    assert_eq!(
        world.history(answered).await,
        ["delivery_received", "delivery_answered"]
    );
    assert_eq!(world.history(patient).await, ["delivery_received"]);
}

#[tokio::test]
async fn timers_that_ran_out_while_no_server_ran_are_caught_up_by_themselves() {
    let mut world = World::new().await;
    let late = world.deliver(r#","timeout_seconds":604800"#).await;
    let held = world.deliver("").await;
    let answer = r#"{"status":"approved","feedback":"Go.","hold_seconds":30}"#;
    world.respond(held, answer).await.unwrap();
    let before = *world.engine.shared().size().borrow();
    world.engine.stop().await;
    world.pass(7 * DAY);
    world.restart().await;
    // Nothing is asked of it: both entries come from the timers alone.
    let mut size = world.engine.shared().size();
    size.wait_for(|size| *size == before + 2).await.unwrap();
    assert_eq!(
        world.history(late).await,
        ["delivery_received", "delivery_timed_out"]
    );
    assert_eq!(world.response(held).await["status"], "approved");
    assert_eq!(world.response(held).await["feedback"], "Go.");
}

#[tokio::test]
async fn a_held_answer_can_be_undone_until_its_moment_and_is_final_from_then_on() {
    let world = World::new().await;
    let (undone, kept) = (world.deliver("").await, world.deliver("").await);
    let answer = r#"{"status":"approved","hold_seconds":5}"#;
    for id in [undone, kept] {
        let held = world.respond(id, answer).await.unwrap();
        let until = world.now().plus_seconds(5);
        assert_eq!(
            held,
            Reply::Held {
                status: Status::Approved,
                until
            }
        );
    }
    world.pass_micros(5 * Micros::SECOND - 1);
    world.undo(undone).await.unwrap();
    assert_eq!(world.response(kept).await["status"], "pending");
    world.pass_micros(1);
    world.look().await;
    assert_eq!(world.response(kept).await["status"], "approved");
    assert_eq!(world.response(undone).await["status"], "pending");
    assert!(matches!(world.undo(kept).await, Err(Refusal::Inbox(_))));
    world.pass(HOUR);
    world.look().await;
    assert_eq!(
        world.history(undone).await,
        ["delivery_received", "answer_held", "answer_undone"]
    );
}

#[tokio::test]
async fn a_timer_goes_off_without_any_traffic_when_the_one_before_it_was_called_off() {
    let world = World::new().await;
    let [first, second] = [world.deliver("").await, world.deliver("").await];
    let held = r#"{"status":"approved","hold_seconds":1}"#;
    assert!(world.respond(first, held).await.is_ok());
    let held = r#"{"status":"approved","hold_seconds":2}"#;
    assert!(world.respond(second, held).await.is_ok());
    assert!(world.undo(first).await.is_ok());
    let mut entries = world.engine.shared().size();
    let undone = *entries.borrow();
    // The writer wakes for the first, finds it undone, and must remember the second.
    world.pass(1);
    let (mut told, over) = (world.told.subscribe(), world.now());
    let woken = told.wait_for(|told| *told >= over);
    drop(timeout(PATIENCE, woken).await.unwrap());
    world.pass(1);
    let more = entries.wait_for(|size| *size > undone);
    drop(timeout(PATIENCE, more).await.unwrap().unwrap());
    assert_eq!(world.response(first).await["status"], "pending");
    assert_eq!(world.response(second).await["status"], "approved");
}

#[tokio::test]
async fn erasing_much_holds_nobody_up_and_does_not_delay_the_end() {
    let mut world = World::new().await;
    world
        .key(
            "key_fast",
            [9; 32],
            Some(Rate {
                burst: 100_000,
                per_hour: 100_000,
            }),
        )
        .await;
    let mut many = tokio::task::JoinSet::new();
    for _ in 0..600 {
        let id = world
            .try_deliver("key_fast", r#","details":"words to erase""#, None)
            .await
            .unwrap();
        let (engine, request) = (
            world.engine.clone(),
            Request::parse(br#"{"status":"approved","feedback":"more words"}"#).unwrap(),
        );
        let person = person("ann");
        many.spawn(async move {
            engine
                .submit(Inbox::Respond {
                    person,
                    item: ItemId::Delivery(id),
                    request,
                })
                .await
                .unwrap()
        });
    }
    many.join_all().await;
    let (kind, days) = (Kind::Question, Some(1));
    world
        .administer(Ask::SetRetention { kind, days })
        .await
        .unwrap();
    world.pass(2 * 86_400);
    let engine = world.engine.clone();
    let retained = tokio::spawn(async move { engine.retain().await });
    let mut meanwhile = 0;
    let mut slowest = Duration::ZERO;
    while !retained.is_finished() {
        let asked = std::time::Instant::now();
        world.look().await;
        slowest = slowest.max(asked.elapsed());
        meanwhile += 1;
    }
    assert_eq!(retained.await.unwrap(), Ok(600));
    assert!(meanwhile >= 10, "only {meanwhile} commands got through");
    assert!(slowest < Duration::from_secs(2), "one waited {slowest:?}");
    world.restart().await;
}

#[tokio::test]
async fn someone_suspended_between_recognition_and_decision_decides_nothing() {
    let world = World::new().await;
    for name in ["bob", "cleo"] {
        let create = Ask::CreateUser {
            name: name.to_owned(),
            role: Some(Role::Owner),
            token_id: format!("tok_{name}"),
            token_hash: account::secret::hash(name),
        };
        world.administer(create).await.unwrap();
    }
    let id = world.deliver("").await;
    let respond = |name: &str| Inbox::Respond {
        person: person(name),
        item: ItemId::Delivery(id),
        request: Request::parse(br#"{"status":"approved","hold_seconds":5}"#).unwrap(),
    };
    assert!(world.engine.submit(respond("bob")).await.is_ok());
    let name = "bob".to_owned();
    world.administer(Ask::SuspendUser { name }).await.unwrap();
    let name = "cleo".to_owned();
    let role = Role::Viewer;
    world.administer(Ask::SetRole { name, role }).await.unwrap();
    let see = |name: &str| Inbox::See {
        name: name.to_owned(),
        item: ItemId::Delivery(id),
    };
    let undo = |name: &str| Inbox::Undo {
        person: person(name),
        item: ItemId::Delivery(id),
    };
    let administer = |name: &str| Account::Administer {
        actor: account::Actor::person(name),
        command: Ask::SetRetention {
            kind: Kind::Update,
            days: Some(1),
        },
    };
    for name in ["bob", "cleo", "nobody"] {
        let commands: [Command; 3] = [
            respond(name).into(),
            undo(name).into(),
            administer(name).into(),
        ];
        for command in commands {
            assert_eq!(
                world.engine.submit(command).await,
                Err(Refusal::PersonGone),
                "{name}"
            );
        }
    }
    assert_eq!(
        world.engine.submit(see("bob")).await,
        Err(Refusal::PersonGone)
    );
    assert_eq!(world.engine.submit(see("cleo")).await, Ok(Reply::Done));
    // What bob gave while he could give it stands.
    world.pass(5);
    world.look().await;
    assert_eq!(world.response(id).await["status"], "approved");
}

#[tokio::test]
async fn an_idempotency_key_is_remembered_for_a_day() {
    let mut world = World::new().await;
    let first = world.try_deliver("key_a", "", Some("k")).await.unwrap();
    world.pass_micros(DAY * Micros::SECOND - 1_000_000);
    world.restart().await;
    assert_eq!(world.try_deliver("key_a", "", Some("k")).await, Ok(first));
    let other = r#","details":"other""#;
    assert_eq!(
        world.try_deliver("key_a", other, Some("k")).await,
        Err(Refusal::IdempotencyMismatch)
    );
    world.pass(2);
    let second = world.try_deliver("key_a", other, Some("k")).await.unwrap();
    assert_ne!(second, first);
    assert_eq!(
        world.try_deliver("key_a", other, Some("k")).await,
        Ok(second)
    );
}

#[tokio::test]
async fn a_bucket_refills_at_the_hourly_rate_also_while_no_server_runs() {
    let mut world = World::new().await;
    let rate = Rate {
        burst: 2,
        per_hour: 20,
    };
    world.key("key_slow", [9; 32], Some(rate)).await;
    for _ in 0..2 {
        world.try_deliver("key_slow", "", None).await.unwrap();
    }
    let refused = |retry_after_seconds| {
        Err(Refusal::RateLimited {
            retry_after_seconds,
        })
    };
    // Twenty an hour is one in 180 s; the wait is in whole seconds, rounded up.
    assert_eq!(world.try_deliver("key_slow", "", None).await, refused(180));
    world.pass_micros(100);
    assert_eq!(world.try_deliver("key_slow", "", None).await, refused(180));
    world.pass(100);
    assert_eq!(world.try_deliver("key_slow", "", None).await, refused(80));
    world.restart().await;
    world.pass(80);
    world.try_deliver("key_slow", "", None).await.unwrap();
    assert!(world.try_deliver("key_slow", "", None).await.is_err());
    // It never holds more than its burst.
    world.pass(DAY);
    for _ in 0..2 {
        world.try_deliver("key_slow", "", None).await.unwrap();
    }
    assert!(world.try_deliver("key_slow", "", None).await.is_err());
}

#[tokio::test]
async fn a_rotated_key_works_until_its_overlap_ends_and_its_successor_after_it() {
    let mut world = World::new().await;
    let old_expires_at = world.now().plus_seconds(DAY);
    world
        .administer(Ask::RotateKey {
            key_id: "key_a".to_owned(),
            new_key_id: "key_b".to_owned(),
            new_hash: [3; 32],
            old_expires_at,
        })
        .await
        .unwrap();
    // A second rotation cannot lengthen a life, and does not pretend to.
    let longer = Ask::RotateKey {
        key_id: "key_a".to_owned(),
        new_key_id: "key_c".to_owned(),
        new_hash: [4; 32],
        old_expires_at: old_expires_at.plus_seconds(1),
    };
    let sooner = account::Rejection::KeyEndsSooner("key_a".to_owned());
    assert_eq!(
        world.administer(longer).await.unwrap_err(),
        Refusal::Account(sooner)
    );
    let by_secret = |world: &World, hash: [u8; 32]| {
        let accounts = world.engine.shared().accounts();
        let key = accounts.key_by_secret(&hash, world.now());
        key.map(|key| key.key_id.clone())
    };
    world.pass_micros(DAY * Micros::SECOND - 1);
    assert_eq!(by_secret(&world, [2; 32]).as_deref(), Some("key_a"));
    world.try_deliver("key_a", "", None).await.unwrap();
    world.pass_micros(1);
    for _ in 0..2 {
        assert_eq!(by_secret(&world, [2; 32]), None);
        assert_eq!(by_secret(&world, [3; 32]).as_deref(), Some("key_b"));
        // Recognised a moment ago and expired since: refused all the same.
        assert_eq!(
            world.try_deliver("key_a", "", None).await,
            Err(Refusal::KeyGone)
        );
        world.try_deliver("key_b", "", None).await.unwrap();
        world.restart().await;
    }
    // Nor can one after its end.
    let again = Ask::RotateKey {
        key_id: "key_a".to_owned(),
        new_key_id: "key_c".to_owned(),
        new_hash: [4; 32],
        old_expires_at: world.now().plus_seconds(DAY),
    };
    assert!(world.administer(again).await.is_err());
}

#[tokio::test]
async fn an_old_webhook_secret_signs_beside_the_new_one_for_a_day() {
    let world = World::new().await;
    let shared = world.engine.shared();
    let secrets =
        WebhookSecrets::new("whsec_old".to_owned()).rotate("whsec_new".to_owned(), world.now());
    let sealed = shared.seal_webhook_secrets("a", &secrets).unwrap();
    let command = Account::SetSecret {
        actor: account::Actor::person("ann"),
        agent_id: "a".to_owned(),
        sealed,
    };
    world.engine.submit(command).await.unwrap();
    for (seconds, expected) in [
        (0, vec!["whsec_new", "whsec_old"]),
        (DAY - 1, vec!["whsec_new", "whsec_old"]),
        (1, vec!["whsec_new"]),
    ] {
        world.pass(seconds);
        let stored = shared.webhook_secrets("a").await.unwrap().unwrap();
        let signing: Vec<&str> = stored.signing(world.now()).collect();
        assert_eq!(signing, expected, "after {seconds} s more");
    }
    // A second rotation within the day drops the oldest at once.
    let twice = secrets.rotate("whsec_newer".to_owned(), world.now());
    let signing: Vec<&str> = twice.signing(world.now()).collect();
    assert_eq!(signing, ["whsec_newer", "whsec_new"]);
}

#[tokio::test]
async fn content_is_erased_after_its_window_and_never_while_it_is_pending() {
    let world = World::new().await;
    let rule = Ask::SetRetention {
        kind: Kind::Question,
        days: Some(7),
    };
    world.administer(rule).await.unwrap();
    let pending = world.deliver(r#","details":"keep me""#).await;
    let old = world.deliver(r#","details":"forget me""#).await;
    world.pass(3 * DAY);
    let answer = r#"{"status":"redirected","feedback":"Old words.","edited_content":{"n":1}}"#;
    world.respond(old, answer).await.unwrap();
    // The window starts with the answer, not with the delivery.
    world.pass(7 * DAY);
    assert_eq!(world.engine.retain().await, Ok(0));
    world.pass(1);
    assert_eq!(world.engine.retain().await, Ok(1));
    assert_eq!(world.engine.retain().await, Ok(0));

    let response = world.response(old).await;
    assert_eq!(response["status"], "redirected");
    assert_eq!(response["content_erased"], true);
    assert_eq!(response["feedback"], serde_json::Value::Null);
    assert_eq!(response["edited_content"], serde_json::Value::Null);
    let shared = world.engine.shared();
    for (id, kept) in [(pending, true), (old, false)] {
        let no = world.row(id).await.row.no;
        let details = shared.part(no, "details").await.unwrap();
        assert_eq!(details.is_some(), kept);
    }
    assert_eq!(
        world.history(old).await,
        ["delivery_received", "delivery_answered", "content_erased"]
    );
    world.engine.stop().await;
    for entry in std::fs::read_dir(world.directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap_or_default();
        for gone in ["forget me", "Old words."] {
            let found = content.windows(gone.len()).any(|w| w == gone.as_bytes());
            assert!(!found, "{gone} is still in {}", path.display());
        }
    }
}

/// The rule of seven days for deliveries of this type.
async fn week_for(world: &World, kind: &str) {
    let rule = Ask::SetRetention {
        kind: Kind::parse(kind).unwrap(),
        days: Some(7),
    };
    world.administer(rule).await.unwrap();
}

#[tokio::test]
async fn what_timed_out_is_erased_so_long_after_its_time_out() {
    let world = World::new().await;
    week_for(&world, "question").await;
    let id = world
        .deliver(r#","details":"forget me","timeout_seconds":86400"#)
        .await;
    world.pass(DAY);
    world.look().await;
    world.pass(7 * DAY);
    assert_eq!(world.engine.retain().await, Ok(0));
    world.pass(1);
    assert_eq!(world.engine.retain().await, Ok(1));
    assert_eq!(world.engine.retain().await, Ok(0));
    let response = world.response(id).await;
    assert_eq!(response["status"], "pending");
    assert_eq!(response["content_erased"], true);
    assert_eq!(world.row(id).await.row.erased, store::Erased::All);
}

#[tokio::test]
async fn an_update_that_nobody_answered_is_erased_so_long_after_its_creation() {
    let world = World::new().await;
    week_for(&world, "update").await;
    let id = world
        .deliver_as("update", r#","details":"forget me""#)
        .await;
    let held = world.deliver_as("update", "").await;
    world.pass(7 * DAY);
    assert_eq!(world.engine.retain().await, Ok(1), "only the older one");
    assert_eq!(world.response(id).await["content_erased"], true);
    let answer = r#"{"status":"approved","hold_seconds":5}"#;
    world.respond(held, answer).await.unwrap();
    world.pass(1);
    assert_eq!(world.engine.retain().await, Ok(0), "an answer is held");
}

#[tokio::test]
async fn what_was_erased_without_an_answer_can_be_answered_and_that_is_erased_in_its_turn() {
    let mut world = World::new().await;
    week_for(&world, "update").await;
    let id = world
        .deliver_as("update", r#","details":"forget me""#)
        .await;
    world.pass(7 * DAY + 1);
    assert_eq!(world.engine.retain().await, Ok(1));
    let answer = r#"{"status":"approved","feedback":"Late words.","hold_seconds":5}"#;
    world.respond(id, answer).await.unwrap();
    world.undo(id).await.unwrap();
    world.respond(id, answer).await.unwrap();
    world.pass(5);
    world.look().await;
    let response = world.response(id).await;
    assert_eq!(response["status"], "approved");
    assert_eq!(response["feedback"], "Late words.");
    assert_eq!(response.get("content_erased"), None);
    let row = world.row(id).await.row;
    let content = world.engine.shared().content(&row).await.unwrap();
    assert!(content.details.is_none() && content.feedback.is_some());
    // The data still verify, and a rebuild gives the same.
    world.restart().await;
    assert_eq!(world.response(id).await, response);
    world.pass(7 * DAY + 1);
    assert_eq!(world.engine.retain().await, Ok(1));
    let response = world.response(id).await;
    assert_eq!(response["content_erased"], true);
    assert_eq!(response["feedback"], serde_json::Value::Null);
}

#[tokio::test]
async fn an_update_that_also_timed_out_is_erased_once() {
    let world = World::new().await;
    week_for(&world, "update").await;
    let more = r#","details":"forget me","timeout_seconds":60"#;
    let id = world.deliver_as("update", more).await;
    world.pass(60);
    world.look().await;
    world.pass(8 * DAY);
    assert_eq!(world.engine.retain().await, Ok(1));
    assert_eq!(world.response(id).await["content_erased"], true);
    assert_eq!(world.engine.retain().await, Ok(0));
}

#[tokio::test]
async fn an_owner_erases_what_timed_out_and_not_what_waits() {
    let world = World::new().await;
    let id = world
        .deliver(r#","details":"forget me","timeout_seconds":60"#)
        .await;
    let erase = || Wake::EraseNow {
        actor: account::Actor::Operator,
        delivery_id: id,
    };
    let refused = world.engine.submit(erase()).await;
    assert!(matches!(refused, Err(Refusal::Inbox(_))), "{refused:?}");
    world.pass(60);
    world.look().await;
    world.engine.submit(erase()).await.unwrap();
    assert_eq!(world.response(id).await["content_erased"], true);
}

#[tokio::test]
async fn changes_have_rising_times_even_when_the_clock_goes_back() {
    let world = World::new().await;
    let mut made = Vec::new();
    for step in [0, -HOUR, 0, 0, -DAY, 2 * DAY, -1] {
        world.pass(step);
        made.push(world.deliver("").await);
    }
    let accounts = world.engine.shared().accounts();
    let key = accounts.keys.get("key_a").unwrap();
    let mut sweep = Sweep::parse([("limit", "1")]).unwrap();
    let mut found = Vec::new();
    loop {
        let page = world.engine.shared().sweep(&sweep, key).await.unwrap();
        if page.deliveries.is_empty() {
            break;
        }
        let one: serde_json::Value = serde_json::from_slice(&page.deliveries).unwrap();
        found.push(Uuid::parse_str(one["delivery_id"].as_str().unwrap()).unwrap());
        assert!(page.next_since > sweep.since);
        sweep.since = page.next_since;
    }
    assert_eq!(found, made);
    let ask = InboxAsk {
        limit: 50,
        ..InboxAsk::default()
    };
    let page = world.engine.shared().inbox(ask).await.unwrap();
    assert_eq!(page.rows.len(), made.len());
}

#[tokio::test]
async fn nothing_ends_late_after_the_clock_was_set_back() {
    let world = World::new().await;
    let rate = Rate {
        burst: 1,
        per_hour: 20,
    };
    world.key("key_slow", [9; 32], Some(rate)).await;
    let before = world.deliver(r#","timeout_seconds":60"#).await;
    let held = world.deliver("").await;
    let answer = r#"{"status":"approved","hold_seconds":30}"#;
    world.respond(held, answer).await.unwrap();
    world.try_deliver("key_slow", "", None).await.unwrap();
    let old_expires_at = world.engine.shared().clock.now().plus_seconds(60);
    let rotate = Ask::RotateKey {
        key_id: "key_a".to_owned(),
        new_key_id: "key_b".to_owned(),
        new_hash: [3; 32],
        old_expires_at,
    };
    world.administer(rotate).await.unwrap();

    world.pass(-HOUR);
    let after = r#","timeout_seconds":60"#;
    let after = world.try_deliver("key_b", after, None).await.unwrap();
    world.elapse(29);
    world.look().await;
    assert_eq!(world.response(held).await["status"], "pending");
    world.elapse(1);
    world.look().await;
    assert_eq!(world.response(held).await["status"], "approved");
    // A second time, while others still wait.
    world.pass(-DAY);
    world.elapse(28);
    world.look().await;
    for id in [before, after] {
        assert_eq!(world.history(id).await.len(), 1, "not early either");
    }
    world.elapse(3);
    world.look().await;
    for id in [before, after] {
        let history = world.history(id).await;
        assert_eq!(history, ["delivery_received", "delivery_timed_out"]);
    }
    assert_eq!(
        world.try_deliver("key_a", "", None).await,
        Err(Refusal::KeyGone)
    );
    // Twenty an hour is one in 180 s.
    assert!(world.try_deliver("key_slow", "", None).await.is_err());
    world.elapse(119);
    world.try_deliver("key_slow", "", None).await.unwrap();
}

#[tokio::test]
async fn nothing_ends_late_when_the_clock_was_set_back_while_no_server_ran() {
    let mut world = World::new().await;
    let pending = world.deliver(r#","timeout_seconds":60"#).await;
    let held = world.deliver("").await;
    let answer = r#"{"status":"approved","hold_seconds":30}"#;
    world.respond(held, answer).await.unwrap();
    world.engine.stop().await;
    world.pass(-HOUR);
    world.restart().await;
    world.elapse(31);
    world.look().await;
    assert_eq!(world.response(held).await["status"], "approved");
    world.elapse(31);
    world.look().await;
    let history = world.history(pending).await;
    assert_eq!(history, ["delivery_received", "delivery_timed_out"]);
    // A clock that is right again, and ahead of ours, is followed at once.
    world.pass(2 * HOUR);
    let now = world.now();
    assert_eq!(world.engine.shared().clock.now(), now);
}

#[tokio::test]
async fn nobody_signs_in_with_a_password_that_was_replaced_after_it_was_compared() {
    let world = World::new().await;
    let enter = |read_at: Micros, number: u8| Account::EnterByPassword {
        name: "ann".to_owned(),
        read_at,
        command: Ask::OpenSession {
            name: "ann".to_owned(),
            session: account::NewSession {
                session_id: format!("ses_{number}"),
                hash: [number; 32],
                page_key: None,
                browser: None,
                expires_at: world.now().plus_seconds(HOUR),
            },
        },
    };
    let set = || Account::SetPassword {
        name: "ann".to_owned(),
        keep: None,
        sealed: vec![1],
        revoke: None,
    };
    world.pass(1);
    let before = world.now();
    world.pass(1);
    world.engine.submit(set()).await.unwrap();
    let gone = Err(Refusal::PersonGone);
    assert_eq!(world.engine.submit(enter(before, 1)).await, gone);
    world.pass(1);
    let later = enter(world.now(), 2);
    assert_eq!(world.engine.submit(later).await, Ok(Reply::Done));
    // In one batch, too: the new password stands before it is durable.
    world.pass(1);
    let both = tokio::join!(
        world.engine.submit(set()),
        world.engine.submit(enter(before, 3))
    );
    assert_eq!(both, (Ok(Reply::Done), gone));
}

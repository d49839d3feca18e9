//! A store in which every table has rows: deliveries that wait, are held, timed
//! out, answered, erased; callbacks owed and sent; marks, rates, secrets, devices,
//! a full-text index, and enough entries for several blocks of the tree.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use account::{command::NewKey, event::RelaysCounted};
use engine::{
    Clock, Command, Engine, Keys, Reply, Setup, Vault,
    command::{Account, Attempt, Deliver, Inbox, Wake},
    read::WebhookSecrets,
};
use inbox::{Answer, ItemId, Request, Verdict, event::Channel};
use tempfile::TempDir;
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{
    Kind, NewDelivery,
    webhook::{CallbackUrl, HostPattern},
};

use crate::person::person;

pub struct Filled {
    directory: TempDir,
    /// The head's note some entries earlier, signed by the same key.
    pub older_note: String,
    /// When the last of it happened.
    pub now: Micros,
}

impl Filled {
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn copy(&self) -> TempDir {
        let to = tempfile::tempdir().unwrap();
        std::fs::create_dir(to.path().join("keys")).unwrap();
        for file in ["wakeful.db", "keys/trail.key", "keys/seal.key"] {
            std::fs::copy(self.path().join(file), to.path().join(file)).unwrap();
        }
        to
    }
}

/// An engine whose time passes when the test says so.
struct House {
    engine: Engine,
    now: Arc<AtomicI64>,
}

impl House {
    async fn ask(&self, command: impl Into<Command>) -> Reply {
        self.engine.submit(command).await.unwrap()
    }

    async fn administer(&self, command: account::Command) {
        let actor = account::Actor::Operator;
        self.ask(Account::Administer { actor, command }).await;
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    async fn deliver(&self, agent: &str, number: u32, kind: Kind, full: bool) -> Uuid {
        let callback = CallbackUrl::parse(&format!("https://hooks.example.com/{number}")).unwrap();
        let deliver = Wake::Deliver(Deliver {
            key_id: format!("k-{agent}"),
            delivery: NewDelivery {
                provider: format!("provider {number}"),
                details: full.then(|| format!("\"details {number}\"").into_bytes()),
                details_format: match number % 2 {
                    0 => Some(wake::DetailsFormat::ALL[0]),
                    _ => wake::DetailsFormat::ALL.get(1).copied(),
                },
                callback_webhook: number.is_multiple_of(2).then_some(callback),
                timeout_seconds: number.is_multiple_of(3).then_some(60 + i64::from(number)),
                ..NewDelivery::new(
                    agent,
                    kind,
                    &format!("Headline {number}"),
                    &format!("Summary {number}"),
                )
            },
            idempotency: full.then(|| (number.to_string(), Hash([number as u8; 32]))),
        });
        match self.ask(deliver).await {
            Reply::Received { delivery_id, .. } => delivery_id,
            other => panic!("{other:?}"),
        }
    }

    async fn respond(&self, by: &str, delivery_id: Uuid, verdict: Verdict, hold_seconds: i64) {
        let edited = (verdict == Verdict::Redirected).then(|| b"{\"n\":1}".to_vec());
        self.ask(Inbox::Respond {
            person: match by {
                "ann" => person(by, Channel::Page),
                _ => person(by, Channel::Api),
            },
            item: ItemId::Delivery(delivery_id),
            request: Request {
                answer: Answer {
                    verdict,
                    feedback: Some(format!("\"by {by}\"").into_bytes()),
                    edited_content: edited,
                },
                hold_seconds,
            },
        })
        .await;
    }

    async fn deny(&self, many: u32) {
        let mut at_once = tokio::task::JoinSet::new();
        for number in 0..many {
            let engine = self.engine.clone();
            let agent = ["alpha", "beta"][number as usize % 2];
            at_once.spawn(async move {
                let denied = Account::Deny {
                    actor: account::Actor::agent(agent),
                    what: format!("GET /{number}"),
                    code: "not_found".to_owned(),
                };
                engine.submit(denied).await.unwrap()
            });
        }
        at_once.join_all().await;
    }
}

pub async fn data() -> Filled {
    let directory = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(1_790_000_000_000_000));
    let keys = Keys::open(directory.path()).unwrap();
    let seal = keys.seal.row_seal();
    let clock = Arc::clone(&now);
    let setup = Setup {
        store: store::open(&directory.path().into(), &seal).await.unwrap(),
        vault: Vault::new(&keys.seal, &[]),
        keys,
        clock: Clock::new(move || Micros(clock.load(Ordering::SeqCst))),
    };
    let engine = Engine::start(setup).await.unwrap();
    let house = House { engine, now };
    people_and_agents(&house).await;
    deliveries(&house).await;
    many(&house).await;
    let older = house.engine.shared().store.head().await.unwrap().unwrap();
    house.deny(200).await;
    let (engine, now) = (house.engine, Micros(house.now.load(Ordering::SeqCst)));
    engine.stop().await;
    drop(engine);

    let store = store::open(&directory.path().into(), &seal).await.unwrap();
    while store.index_some(256).await.unwrap() {}
    store.scrub().await.unwrap();
    drop(store);
    settle_some(directory.path());
    Filled {
        directory,
        older_note: older.note,
        now,
    }
}

async fn people_and_agents(house: &House) {
    for (name, role) in [
        ("ann", account::Role::Owner),
        ("bob", account::Role::Reviewer),
    ] {
        house
            .administer(account::Command::CreateUser {
                name: name.to_owned(),
                role: Some(role),
                token_id: format!("t-{name}"),
                token_hash: account::secret::hash(name),
            })
            .await;
        let sealed = house
            .engine
            .shared()
            .seal_password(name, &format!("hash of {name}"));
        house
            .ask(Account::SetPassword {
                name: name.to_owned(),
                keep: None,
                revoke: None,
                sealed: sealed.unwrap(),
            })
            .await;
    }
    for agent in ["alpha", "beta"] {
        house
            .administer(account::Command::CreateKey(NewKey {
                agent_id: agent.to_owned(),
                owner: None,
                key_id: format!("k-{agent}"),
                hash: account::secret::hash(agent),
                test: agent == "beta",
                orchestrates: Vec::new(),
                rate: Some(account::Rate {
                    burst: 2000,
                    per_hour: 1000,
                }),
            }))
            .await;
        let secrets = WebhookSecrets::new(format!("whsec_{agent}"));
        let sealed = house.engine.shared().seal_webhook_secrets(agent, &secrets);
        house
            .ask(Account::SetSecret {
                actor: account::Actor::Operator,
                agent_id: agent.to_owned(),
                sealed: sealed.unwrap(),
            })
            .await;
    }
    for (number, name) in (1..).zip(["ann", "bob"]) {
        house
            .ask(Account::RecordRelays(RelaysCounted {
                agent_id: format!("lamp of {name}"),
                from_device: number,
                from_device_bytes: number * 10,
                owner: name.to_owned(),
                refused: number * 100,
                seen_at: Some(Micros(number as i64)),
                since: Micros(0),
                to_device: number * 1000,
                to_device_bytes: number * 10_000,
            }))
            .await;
    }
    house
        .administer(account::Command::AllowWebhook {
            pattern: HostPattern::parse("hooks.example.com").unwrap(),
            networks: Vec::new(),
            ca_pem: None,
        })
        .await;
}

async fn deliveries(house: &House) {
    let mut ids = Vec::new();
    for number in 0..12 {
        let agent = ["alpha", "beta"][number as usize % 2];
        let kind = Kind::ALL[number as usize % 4];
        ids.push(house.deliver(agent, number, kind, number % 4 != 3).await);
        house.pass(i64::from(number) + 1);
    }
    // Some time out and stay open.
    house.pass(100);
    house.deny(1).await;
    for (number, verdict) in [
        (0, Verdict::Approved),
        (1, Verdict::Rejected),
        (2, Verdict::Redirected),
        (6, Verdict::Redirected),
        (4, Verdict::Approved),
    ] {
        house
            .respond(["ann", "bob"][number % 2], ids[number], verdict, 0)
            .await;
        house.pass(1);
    }
    // Held and final, held and taken back, held still.
    house.respond("bob", ids[5], Verdict::Approved, 5).await;
    house.pass(6);
    house.deny(1).await;
    house.respond("ann", ids[7], Verdict::Approved, 3600).await;
    house
        .ask(Inbox::Undo {
            person: person("ann", Channel::Page),
            item: ItemId::Delivery(ids[7]),
        })
        .await;
    house.respond("ann", ids[8], Verdict::Approved, 3600).await;
    house.respond("bob", ids[11], Verdict::Rejected, 3000).await;
    house
        .ask(Wake::EraseNow {
            actor: account::Actor::person("ann"),
            delivery_id: ids[2],
        })
        .await;
    for (name, number) in [("ann", 3), ("ann", 9), ("bob", 10)] {
        let until = Some(Micros(
            house.now.load(Ordering::SeqCst) + number * 1_000_000_000,
        ));
        let item = ItemId::Delivery(ids[number as usize]);
        house
            .ask(Inbox::Snooze {
                name: name.to_owned(),
                item,
                until,
            })
            .await;
        house
            .ask(Inbox::See {
                name: name.to_owned(),
                item,
            })
            .await;
    }
    callbacks(house).await;
}

/// Enough for a second block of waiting deliveries, and of the tree.
async fn many(house: &House) {
    for number in 100..400 {
        house.deliver("alpha", number, Kind::Update, false).await;
        if number % 50 == 0 {
            house.pass(1);
        }
    }
}

/// One was sent, one failed and is owed, one was never tried.
async fn callbacks(house: &House) {
    let rows = house
        .engine
        .shared()
        .store
        .callbacks(None, 20)
        .await
        .unwrap();
    assert!(rows.len() >= 3, "{rows:?}");
    for (row, error) in rows.iter().zip([None, Some("500")]) {
        house
            .ask(Wake::RecordAttempt(Attempt {
                callback: row.no,
                delivery_id: row.delivery_id,
                http_status: Some(if error.is_some() { 500 } else { 200 }),
                error: error.map(str::to_owned),
                took_ms: 5,
                retry_after_seconds: None,
                random: 1,
            }))
            .await;
    }
}

/// Ids move into their table by the thousand; here as if some had.
fn settle_some(directory: &Path) {
    let data = rusqlite::Connection::open(directory.join("wakeful.db")).unwrap();
    data.execute_batch(
        "INSERT INTO ids SELECT id, no FROM deliveries ORDER BY no LIMIT 6;
         UPDATE settled SET next = (SELECT max(no) + 1 FROM ids);
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
}

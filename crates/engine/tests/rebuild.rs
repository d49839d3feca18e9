//! Whatever happened, views rebuilt from the trail equal the live ones, and the
//! trail verifies.
#![allow(clippy::unwrap_used)]

#[path = "shared/person.rs"]
mod person;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use account::command::NewKey;
use engine::{
    Clock, Command, Engine, Keys, Refusal, Reply, Setup, Vault,
    command::{Account, Attempt, Deliver, Inbox, Wake},
};
use inbox::{Answer, ItemId, Person, Request, Verdict, event::Channel};
use person::person;
use tempfile::TempDir;
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::NewDelivery;

/// Numbers that look random and come again with the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
}

/// An engine on a directory, with a clock that only the test moves.
struct Place {
    directory: TempDir,
    now: Arc<AtomicI64>,
}

impl Place {
    fn new() -> Place {
        Place {
            directory: tempfile::tempdir().unwrap(),
            now: Arc::new(AtomicI64::new(1_790_000_000_000_000)),
        }
    }

    async fn start(&self) -> Engine {
        let keys = Keys::open(self.directory.path()).unwrap();
        let now = Arc::clone(&self.now);
        let setup = Setup {
            store: store::open(&self.directory.path().into(), &keys.seal.row_seal())
                .await
                .unwrap(),
            vault: Vault::new(&keys.seal, &[]),
            keys,
            clock: Clock::new(move || Micros(now.load(Ordering::SeqCst))),
        };
        Engine::start(setup).await.unwrap()
    }

    fn pass(&self, seconds: u64) {
        let micros = i64::try_from(seconds * 1_000_000).unwrap();
        self.now.fetch_add(micros, Ordering::SeqCst);
    }

    /// Ends the engine; its trail must verify, and its views must be what a
    /// rebuild makes of it.
    async fn stop_and_compare(&self, engine: Engine, context: &str) {
        engine.stop().await;
        let keys = Keys::open(self.directory.path()).unwrap();
        let store = store::open(&self.directory.path().into(), &keys.seal.row_seal())
            .await
            .unwrap();
        let vault = Vault::new(&keys.seal, &[]);
        let key = keys.log.verifier();
        let verified =
            engine::proof::verify(store.as_ref(), &vault, Some(key), Vec::new(), &|_, _| {});
        verified
            .await
            .unwrap_or_else(|fault| panic!("{context}: {fault}"));

        let live = store.view_digests().await.unwrap();
        engine::rebuild::rebuild(store.as_ref(), &|_, _| {})
            .await
            .unwrap();
        let rebuilt = store.view_digests().await.unwrap();
        assert_eq!(rebuilt, live, "{context}");
    }
}

const AGENTS: [&str; 3] = ["alpha", "beta", "gamma"];
const PEOPLE: [&str; 3] = ["ann", "bob", "cleo"];
const KINDS: [wake::Kind; 4] = wake::Kind::ALL;

fn administer(command: account::Command) -> Command {
    let actor = account::Actor::Operator;
    Account::Administer { actor, command }.into()
}

fn pattern(text: &str) -> wake::webhook::HostPattern {
    wake::webhook::HostPattern::parse(text).unwrap()
}

fn create_key(agent_id: &str, key_id: &str, test: bool) -> Command {
    administer(account::Command::CreateKey(NewKey {
        agent_id: agent_id.to_owned(),
        owner: None,
        key_id: key_id.to_owned(),
        hash: account::secret::hash(key_id),
        test,
        orchestrates: Vec::new(),
        rate: Some(account::Rate {
            burst: 200,
            per_hour: 1000,
        }),
    }))
}

fn create_user(name: &str, role: account::Role) -> Command {
    administer(account::Command::CreateUser {
        name: name.to_owned(),
        role: Some(role),
        token_id: format!("t-{name}"),
        token_hash: account::secret::hash(name),
    })
}

/// What the test has made, so that commands mean something more often than not.
struct Crew {
    dice: Dice,
    deliveries: Vec<Uuid>,
    keys: Vec<String>,
    made: u64,
}

impl Crew {
    fn person(&mut self) -> Person {
        let name = self.dice.pick(&PEOPLE);
        let channels = [Channel::Api, Channel::Page, Channel::Terminal];
        person(name, self.dice.pick(&channels))
    }

    fn delivery(&mut self) -> Uuid {
        match self.deliveries.is_empty() || self.dice.one_in(40) {
            true => Uuid::from_u64_pair(self.dice.next(), self.dice.next()),
            // Mostly a recent one, so that several commands meet at it.
            false => {
                let last = self.deliveries.len() as u64;
                let back = self.dice.below(last.min(12)) + 1;
                self.deliveries[(last - back) as usize]
            }
        }
    }

    fn deliver(&mut self) -> Wake {
        let key_id = self.dice.pick(&self.keys.clone());
        let agent_id = key_id.split('-').next().unwrap().to_owned();
        let number = self.deliveries.len();
        let callback = self
            .dice
            .one_in(3)
            .then(|| wake::webhook::CallbackUrl::parse("https://hooks.example.com/in").unwrap());
        Wake::Deliver(Deliver {
            key_id,
            delivery: NewDelivery {
                details: self.dice.one_in(2).then(|| br#"{"n":1}"#.to_vec()),
                callback_webhook: callback,
                timeout_seconds: self
                    .dice
                    .one_in(3)
                    .then(|| 60 + self.dice.below(600) as i64),
                ..NewDelivery::new(
                    &agent_id,
                    self.dice.pick(&KINDS),
                    &format!("Headline {number}"),
                    "Summary",
                )
            },
            idempotency: self
                .dice
                .one_in(3)
                .then(|| (self.dice.below(20).to_string(), Hash([0; 32]))),
        })
    }

    fn respond(&mut self) -> Inbox {
        let verdict = self.dice.pick(&Verdict::ALL);
        let edited = verdict == Verdict::Redirected;
        Inbox::Respond {
            person: self.person(),
            item: ItemId::Delivery(self.delivery()),
            request: Request {
                answer: Answer {
                    verdict,
                    feedback: self.dice.one_in(2).then(|| b"\"feedback\"".to_vec()),
                    edited_content: edited.then(|| b"{}".to_vec()),
                },
                hold_seconds: self.dice.pick(&[0, 0, 5, 30]),
            },
        }
    }

    fn administration(&mut self) -> Command {
        self.made += 1;
        let name = self.dice.pick(&PEOPLE).to_owned();
        let key_id = self.dice.pick(&self.keys.clone());
        let agent = self.dice.pick(&AGENTS);
        administer(match self.dice.below(11) {
            0 => account::Command::SuspendUser { name },
            1 | 2 => account::Command::ResumeUser { name },
            3 => account::Command::SetRole {
                name,
                role: self
                    .dice
                    .pick(&[account::Role::Owner, account::Role::Reviewer]),
            },
            4 => account::Command::IssueToken {
                name,
                token_id: format!("t{}", self.made),
                token_hash: account::secret::hash(&self.made.to_string()),
            },
            5 => {
                let new_key_id = format!("{}-{}", key_id.split('-').next().unwrap(), self.made);
                self.keys.push(new_key_id.clone());
                account::Command::RotateKey {
                    key_id,
                    new_hash: account::secret::hash(&new_key_id),
                    new_key_id,
                    old_expires_at: Micros(1_790_000_000_000_000 + 3_600_000_000),
                }
            }
            6 if self.keys.len() > 6 => account::Command::RevokeKey { key_id },
            7 => account::Command::SetRetention {
                kind: self.dice.pick(&KINDS),
                days: self.dice.pick(&[Some(1), Some(2), None]),
            },
            9 => account::Command::SetRate {
                keys: self.dice.pick(&account::KeyKind::ALL),
                rate: self.dice.pick(&[
                    None,
                    Some(account::Rate {
                        burst: 500,
                        per_hour: 5000,
                    }),
                ]),
            },
            8 => account::Command::AllowWebhook {
                pattern: pattern(self.dice.pick(&["hooks.example.com", "*.example.org"])),
                networks: Vec::new(),
                ca_pem: None,
            },
            _ => {
                let test = self.dice.one_in(2);
                let key_id = format!("{agent}-{}", self.made);
                self.keys.push(key_id.clone());
                return create_key(agent, &key_id, test);
            }
        })
    }

    async fn command(&mut self, engine: &Engine) -> Command {
        match self.dice.below(20) {
            0..=6 => self.deliver().into(),
            7..=11 => self.respond().into(),
            12 | 13 => {
                let (person, item) = (self.person(), ItemId::Delivery(self.delivery()));
                Inbox::Undo { person, item }.into()
            }
            14 => {
                let name = self.dice.pick(&PEOPLE).to_owned();
                let item = ItemId::Delivery(self.delivery());
                Inbox::See { name, item }.into()
            }
            15 | 16 => self.callback(engine).await.into(),
            17 => {
                let (what, code) = ("GET /x".to_owned(), "not_found".to_owned());
                let actor = account::Actor::agent("alpha");
                Account::Deny { actor, what, code }.into()
            }
            18 => {
                let (source, count) = ("192.0.2.1".to_owned(), self.dice.below(9) + 1);
                Account::RecordFailures { source, count }.into()
            }
            _ => self.administration(),
        }
    }

    /// An attempt at a callback that is owed, or another go at one that is done.
    async fn callback(&mut self, engine: &Engine) -> Wake {
        let rows = engine.shared().store.callbacks(None, 20).await.unwrap();
        if rows.is_empty() {
            return self.deliver();
        }
        let row = self.dice.pick(&rows);
        let (callback, delivery_id) = (row.no, row.delivery_id);
        if row.next_at.is_none() {
            return Wake::ReplayCallback {
                actor: account::Actor::person("ann"),
                callback,
                delivery_id,
            };
        }
        let failed = self.dice.one_in(2);
        Wake::RecordAttempt(Attempt {
            callback,
            delivery_id,
            http_status: Some(if failed { 500 } else { 200 }),
            error: failed.then(|| "500".to_owned()),
            took_ms: 5,
            retry_after_seconds: None,
            random: self.dice.next(),
        })
    }
}

/// Gives the types of events that happened.
async fn run(seed: u64) -> BTreeSet<String> {
    let place = Place::new();
    let mut crew = Crew {
        dice: Dice(seed),
        deliveries: Vec::new(),
        keys: AGENTS.iter().map(|agent| format!("{agent}-0")).collect(),
        made: 0,
    };
    let mut engine = place.start().await;
    for name in PEOPLE {
        let created = engine.submit(create_user(name, account::Role::Owner)).await;
        assert_eq!(created, Ok(Reply::Done));
    }
    for (agent, key) in AGENTS.iter().zip(crew.keys.clone()) {
        let created = engine.submit(create_key(agent, &key, false)).await;
        assert_eq!(created, Ok(Reply::Done));
    }
    let allow = account::Command::AllowWebhook {
        pattern: pattern("hooks.example.com"),
        networks: Vec::new(),
        ca_pem: None,
    };
    assert_eq!(engine.submit(administer(allow)).await, Ok(Reply::Done));
    for round in 0..6 {
        for _ in 0..12 {
            // Several at once, so that they are decided in one batch.
            let mut at_once = tokio::task::JoinSet::new();
            for _ in 0..crew.dice.below(12) + 1 {
                let command = crew.command(&engine).await;
                let engine = engine.clone();
                at_once.spawn(async move { engine.submit(command).await });
            }
            for reply in at_once.join_all().await {
                assert_ne!(reply, Err(Refusal::Unavailable), "seed {seed:#x}");
                if let Ok(Reply::Received { delivery_id, .. }) = reply {
                    crew.deliveries.push(delivery_id);
                }
            }
            let seconds = crew.dice.pick(&[0, 1, 4, 31, 200, 40_000]);
            place.pass(seconds);
        }
        if crew.dice.one_in(2) {
            engine.retain().await.unwrap();
        }
        place
            .stop_and_compare(engine, &format!("seed {seed:#x}, round {round}"))
            .await;
        engine = place.start().await;
    }
    let query = store::EntryQuery {
        limit: usize::MAX >> 1,
        ..Default::default()
    };
    let entries = engine.shared().entries(query).await.unwrap();
    engine.stop().await;
    entries.into_iter().map(|entry| entry.event_type).collect()
}

#[tokio::test]
async fn views_rebuilt_from_the_trail_equal_the_live_ones_after_any_history() {
    let mut happened = BTreeSet::new();
    for seed in [0x5eed_1001, 0x5eed_1002, 0x5eed_1003] {
        happened.extend(run(seed).await);
    }
    // Nothing that a view is made from was left out.
    let all = wake::Event::TYPES.iter().chain(inbox::Event::TYPES);
    let missing: Vec<_> = all.filter(|name| !happened.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?} never happened");
    for name in [
        "key_expiry_set",
        "key_revoked",
        "user_state_set",
        "retention_set",
        "rate_set",
    ] {
        assert!(
            happened.contains(name),
            "{name} never happened: {happened:?}"
        );
    }
}

/// What the tables say of keys.
fn key_rows(place: &Place) -> i64 {
    let database = rusqlite::Connection::open(place.directory.path().join("wakeful.db")).unwrap();
    let count = "SELECT count(*) FROM accounts WHERE kind = 'key'";
    database.query_row(count, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn keys_that_no_longer_work_leave_the_tables_and_older_data_are_made_anew_once() {
    let place = Place::new();
    let engine = place.start().await;
    let _ = engine
        .submit(create_user("ann", account::Role::Owner))
        .await;
    for number in 0..account::ENDED_KEYS + 3 {
        let key_id = format!("key_{number:02}");
        let made = engine.submit(create_key("alpha", &key_id, false)).await;
        assert_eq!(made, Ok(Reply::Done));
        let revoke = administer(account::Command::RevokeKey { key_id });
        assert_eq!(engine.submit(revoke).await, Ok(Reply::Done));
    }
    let kept = account::ENDED_KEYS as i64;
    place.stop_and_compare(engine, "keys were revoked").await;
    assert_eq!(key_rows(&place), kept);

    // The version before kept them all.
    let database = rusqlite::Connection::open(place.directory.path().join("wakeful.db")).unwrap();
    let older = "INSERT INTO accounts SELECT kind, 'key_00', body, mac FROM accounts
            WHERE kind = 'key' AND id = 'key_12';
        PRAGMA user_version = 8;";
    database.execute_batch(older).unwrap();
    drop(database);
    assert_eq!(key_rows(&place), kept + 1);
    let engine = place.start().await;
    assert_eq!(engine.shared().accounts().keys.len() as i64, kept);
    place
        .stop_and_compare(engine, "older data were opened")
        .await;
    assert_eq!(key_rows(&place), kept);
}

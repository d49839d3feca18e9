//! What is kept, what is forgotten, and who can read it: retention, encryption
//! at rest, backups, full disks, keys.
#![allow(clippy::unwrap_used)]

mod harness;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command as Process,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use account::{Presented, Reviewer, command::NewKey};
use engine::{
    Clock, Command, Engine, Keys, Reply, Setup, Vault,
    command::{Account, Deliver, Inbox, Wake},
    proof,
};
use harness::{House, delivery, in_time, until, wakeful};
use inbox::{Answer, ItemId, Person, Request, Verdict, event::Channel};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use trail::{Hash, Micros};
use uuid::Uuid;

/// The files of a data directory that hold these bytes.
fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (kind, path) = (entry.file_type().unwrap(), entry.path());
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            let mut windows = bytes.windows(text.len());
            if windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes())) {
                found.push(path);
            }
        }
    }
    found
}

// --- retention ---------------------------------------------------------------

const DAY: i64 = 86_400;

/// An engine on a real directory, whose days pass when the test says so.
struct Days {
    directory: TempDir,
    now: Arc<AtomicI64>,
    engine: Engine,
}

impl Days {
    async fn start() -> Days {
        let directory = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_790_000_000_000_000));
        let keys = Keys::open(directory.path()).unwrap();
        let clock = Arc::clone(&now);
        let setup = Setup {
            store: store::open(&directory.path().into(), &keys.seal.row_seal())
                .await
                .unwrap(),
            vault: Vault::new(&keys.seal, &[]),
            keys,
            clock: Clock::new(move || Micros(clock.load(Ordering::SeqCst))),
        };
        let engine = Engine::start(setup).await.unwrap();
        let days = Days {
            directory,
            now,
            engine,
        };
        days.administer(account::Command::CreateUser {
            name: "ann".to_owned(),
            role: None,
            token_id: "t".to_owned(),
            token_hash: account::secret::hash("ann"),
        })
        .await;
        days.administer(account::Command::CreateKey(NewKey {
            agent_id: "writer".to_owned(),
            owner: None,
            key_id: "k".to_owned(),
            hash: [1; 32],
            test: false,
            orchestrates: Vec::new(),
            rate: None,
        }))
        .await;
        days
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    async fn submit(&self, command: impl Into<Command>) -> Reply {
        self.engine.submit(command).await.unwrap()
    }

    async fn administer(&self, command: account::Command) {
        let actor = account::Actor::Operator;
        self.submit(Account::Administer { actor, command }).await;
    }

    async fn keep(&self, kind: &str, days: u32) {
        let (kind, days) = (wake::Kind::parse(kind).unwrap(), Some(days));
        self.administer(account::Command::SetRetention { kind, days })
            .await;
    }

    async fn deliver(&self, kind: wake::Kind, headline: &str, details: &str) -> Uuid {
        let deliver = Wake::Deliver(Deliver {
            key_id: "k".to_owned(),
            delivery: wake::NewDelivery {
                details: Some(json!(details).to_string().into_bytes()),
                ..wake::NewDelivery::new("writer", kind, headline, "Summary")
            },
            idempotency: Some((headline.to_owned(), Hash::of("test", &[details.as_bytes()]))),
        });
        match self.submit(deliver).await {
            Reply::Received { delivery_id, .. } => delivery_id,
            other => panic!("{other:?}"),
        }
    }

    async fn respond(&self, delivery_id: Uuid, feedback: &str, edited: &str, hold_seconds: i64) {
        self.submit(Inbox::Respond {
            person: ann(self),
            item: ItemId::Delivery(delivery_id),
            request: Request {
                answer: Answer {
                    verdict: Verdict::Redirected,
                    feedback: Some(json!(feedback).to_string().into_bytes()),
                    edited_content: Some(json!({ "text": edited }).to_string().into_bytes()),
                },
                hold_seconds,
            },
        })
        .await;
    }

    async fn response(&self, id: Uuid) -> Value {
        let told = self.engine.shared().response(id).await.unwrap().unwrap();
        serde_json::from_slice(&told.body).unwrap()
    }

    async fn search(&self, words: &str) -> usize {
        let ask = engine::read::InboxAsk {
            search: Some(words.to_owned()),
            limit: 50,
            ..Default::default()
        };
        self.engine.shared().inbox(ask).await.unwrap().rows.len()
    }
}

fn ann(days: &Days) -> Person {
    let accounts = days.engine.shared().accounts();
    let presented = Presented::Token(account::secret::hash("ann"));
    let reviewer = Reviewer::recognise(&accounts, presented, Micros(1));
    Person::new(reviewer.unwrap(), Channel::Api)
}

#[tokio::test]
async fn after_its_window_content_is_in_no_file_and_everything_else_stands() {
    let days = Days::start().await;
    days.keep("output", 7).await;
    // Answered, with a held answer that was taken back before.
    let old = days
        .deliver(wake::Kind::Output, "Old headline", "sesamedetails inside")
        .await;
    days.respond(old, "sesamedraft", "sesamedraftedit", 30)
        .await;
    days.submit(Inbox::Undo {
        person: ann(&days),
        item: ItemId::Delivery(old),
    })
    .await;
    days.respond(old, "sesamefeedback", "sesameedited", 0).await;
    // Held to the end of its time, so that its texts are where it was held.
    let held = days
        .deliver(wake::Kind::Output, "Held headline", "sesameheld")
        .await;
    days.respond(held, "sesameheldfeedback", "sesameheldedit", 5)
        .await;
    days.pass(6);
    // Not answered, of another type, or too young: these stay.
    let pending = days
        .deliver(wake::Kind::Output, "Pending headline", "keeppending")
        .await;
    let alert = days
        .deliver(wake::Kind::Alert, "Alert headline", "keepalert")
        .await;
    days.respond(alert, "keepalertfeedback", "keepalertedit", 0)
        .await;
    days.pass(5 * DAY);
    let young = days
        .deliver(wake::Kind::Output, "Young headline", "keepyoung")
        .await;
    days.respond(young, "keepyoungfeedback", "keepyoungedit", 0)
        .await;
    assert_eq!(days.response(held).await["status"], "redirected");
    until("the index has followed", || async {
        days.search("keepyoung").await == 1
    })
    .await;
    assert_eq!(days.search("sesamedetails").await, 1);
    let receipt_of = days
        .engine
        .shared()
        .delivery(old)
        .await
        .unwrap()
        .unwrap()
        .row
        .answer_position;

    assert_eq!(
        days.engine.retain().await,
        Ok(0),
        "nothing is due after five days"
    );
    days.pass(2 * DAY + 60);
    let data = days.directory.path();
    assert!(!files_with(data, "sesamefeedback").is_empty());
    assert_eq!(days.engine.retain().await, Ok(2));

    // None of it is anywhere, with the server still running.
    for secret in [
        "sesamedetails",
        "sesamedraft",
        "sesamefeedback",
        "sesameedited",
        "sesameheld",
        "sesame",
    ] {
        let found = files_with(data, secret);
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
    assert_eq!(days.search("sesamedetails").await, 0);
    assert_eq!(days.search("headline").await, 5);
    for kept in ["keeppending", "keepalertfeedback", "keepyoungedit"] {
        assert!(!files_with(data, kept).is_empty(), "{kept} is gone");
    }
    // The answer stands, without its texts.
    for id in [old, held] {
        let response = days.response(id).await;
        assert_eq!(response["status"], "redirected");
        assert_eq!(response["content_erased"], true);
        assert_eq!(response["feedback"], Value::Null);
        assert_eq!(response["edited_content"], Value::Null);
        assert!(response["responded_at"].is_string());
    }
    assert_eq!(days.response(young).await["feedback"], "keepyoungfeedback");
    assert_eq!(days.response(pending).await["status"], "pending");
    let pending_row = days
        .engine
        .shared()
        .delivery(pending)
        .await
        .unwrap()
        .unwrap();
    let details = days
        .engine
        .shared()
        .part(pending_row.row.no, "details")
        .await
        .unwrap();
    assert_eq!(details.unwrap().get(), "\"keeppending\"");
    let events = days
        .engine
        .shared()
        .history(pending_row.row.no)
        .await
        .unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(days.engine.retain().await, Ok(0), "it is erased once");

    // Proofs from before and after hold, and an export says what is gone.
    let store = Arc::clone(&days.engine.shared().store);
    let keys = Keys::open(data).unwrap();
    let vault = Vault::new(&keys.seal, &[]);
    let verified = proof::verify(
        store.as_ref(),
        &vault,
        Some(keys.log.verifier()),
        Vec::new(),
        &|_, _| {},
    );
    // Two details; feedback and edited content of three answers.
    assert_eq!(verified.await.unwrap().report.erased, 8);
    let receipt = proof::receipt(store.as_ref(), &vault, receipt_of.unwrap())
        .await
        .unwrap();
    assert_eq!(
        receipt.verify(keys.log.verifier()).unwrap().erased,
        ["feedback", "edited_content"]
    );
    days.engine.stop().await;

    let export = data.join("export.jsonl");
    let output = wakeful(data, &["trail", "export", export.to_str().unwrap()], &[]);
    assert!(output.status.success(), "{output:?}");
    let key = keys.log.verifier().to_string();
    let output = wakeful(
        data,
        &["trail", "verify", export.to_str().unwrap(), "--key", &key],
        &[],
    );
    assert!(output.status.success(), "{output:?}");
    assert!(files_with(data, "sesame").is_empty());
    let output = wakeful(data, &["trail", "rebuild", "--json"], &[]);
    let rebuilt: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        rebuilt["changed"],
        json!([]),
        "views can be rebuilt after erasure"
    );
}

#[tokio::test]
async fn a_retention_rule_is_a_whole_number_of_days_of_a_known_type() {
    let (house, _) = House::start().await;
    house.json(&["retention", "set", "output", "30"]);
    assert_eq!(
        house.json(&["retention", "list"])["retention_days"]["output"],
        30
    );
    assert_eq!(house.json(&["retention", "run"])["erased"], 0);
    house.json(&["retention", "set", "output", "keep"]);
    assert_eq!(
        house.json(&["retention", "list"])["retention_days"]["output"],
        Value::Null
    );
    for (kind, days) in [
        ("output", "0"),
        ("nothing", "3"),
        ("output", "-1"),
        ("output", "soon"),
    ] {
        let output = house.command(&["retention", "set", kind, days], &[]);
        assert!(!output.status.success(), "{kind} {days}");
    }
}

// --- encryption at rest --------------------------------------------------------

const FIRST_KEY: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const SECOND_KEY: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn key_file(directory: &Path, name: &str, keys: &[&str]) -> String {
    let file = directory.join(name);
    fs::write(&file, keys.join("\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file.to_str().unwrap().to_owned()
}

async fn deliver_secret(house: &House, key: &str, ann: &str, number: u32) -> String {
    let details = json!({
        "headline": format!("Openheadline{number}"), "details": format!("sesamedetails{number}")
    });
    let id = house.deliver(key, "writer", details).await;
    let answer = json!({
        "status": "redirected", "feedback": format!("sesamefeedback{number}"),
        "edited_content": { "text": format!("sesameedited{number}") }
    });
    assert_eq!(house.respond(ann, &id, answer).await.status, 200);
    id
}

async fn search(house: &House, ann: &str, words: &str) -> usize {
    let path = format!("/api/v1/inbox?q={words}&status=pending,approved,rejected,redirected");
    let answer = house.get(&path, ann).await;
    assert_eq!(answer.status, 200, "{:?}", answer.json());
    answer.json()["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn with_a_body_key_no_file_holds_content_in_the_clear_and_no_other_key_opens_it() {
    let elsewhere = tempfile::tempdir().unwrap();
    let first = key_file(elsewhere.path(), "first", &[FIRST_KEY]);
    let wrong = key_file(elsewhere.path(), "wrong", &[SECOND_KEY]);
    let rotated = key_file(elsewhere.path(), "rotated", &[SECOND_KEY, FIRST_KEY]);
    let (mut house, ann) = House::start_with(&["--body-key", &first]).await;
    let key = house.key("writer");
    let old = deliver_secret(&house, &key, &ann, 1).await;
    until("the headline is found", || async {
        search(&house, &ann, "openheadline1").await == 1
    })
    .await;
    assert_eq!(search(&house, &ann, "sesamedetails1").await, 0);
    assert_eq!(
        house.response(&key, &old).await["feedback"],
        "sesamefeedback1"
    );
    let clear = |house: &House| files_with(house.data(), "sesame");
    assert!(clear(&house).is_empty(), "while it runs");
    house.stop();
    assert!(clear(&house).is_empty(), "{:?}", clear(&house));
    assert!(!files_with(house.data(), "openheadline1").is_empty());

    // Verified with the key, and without it as far as that goes.
    let with_key = house.json(&["trail", "verify", "--body-key", &first]);
    assert_eq!(
        (&with_key["sealed"], &with_key["erased"]),
        (&json!(0), &json!(0))
    );
    let without = house.json(&["trail", "verify"]);
    assert_eq!(
        (&without["sealed"], &without["erased"]),
        (&json!(3), &json!(0))
    );
    let export = elsewhere.path().join("export.jsonl");
    let refused = house.command(&["trail", "export", export.to_str().unwrap()], &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--body-key"));
    house.json(&[
        "trail",
        "export",
        export.to_str().unwrap(),
        "--body-key",
        &first,
    ]);
    let log_key = {
        let keys = Keys::open(house.data()).unwrap();
        keys.log.verifier().to_string()
    };
    house.json(&[
        "trail",
        "verify",
        export.to_str().unwrap(),
        "--key",
        &log_key,
    ]);

    let refusal = house.try_serve(&[]).await.unwrap_err();
    assert!(refusal.contains("encrypted with a body key"), "{refusal}");
    let refusal = house.try_serve(&["--body-key", &wrong]).await.unwrap_err();
    assert!(refusal.contains("does not open this data"), "{refusal}");
    let bad = key_file(elsewhere.path(), "bad", &["not a key"]);
    let refusal = house.try_serve(&["--body-key", &bad]).await.unwrap_err();
    assert!(refusal.contains("64 hex digits"), "{refusal}");
    let refusal = house
        .try_serve(&["--body-key", "/nonexistent"])
        .await
        .unwrap_err();
    assert!(refusal.contains("could not read the body key"), "{refusal}");

    // A new key first and the old one after it: both contents read.
    house.try_serve(&["--body-key", &rotated]).await.unwrap();
    let new = deliver_secret(&house, &key, &ann, 2).await;
    assert_eq!(
        house.response(&key, &old).await["edited_content"]["text"],
        "sesameedited1"
    );
    assert_eq!(
        house.response(&key, &new).await["edited_content"]["text"],
        "sesameedited2"
    );
    house.stop();
    assert!(clear(&house).is_empty());
    let refusal = house.try_serve(&["--body-key", &first]).await.unwrap_err();
    assert!(
        refusal.contains("does not open this data"),
        "the old key alone: {refusal}"
    );
    let verified = house.json(&["trail", "verify", "--body-key", &rotated]);
    assert_eq!(verified["sealed"], 0);
    // What the new key alone cannot open might be anything.
    let output = house.command(&["trail", "verify", "--json", "--body-key", &wrong], &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("part_unopened"));
}

#[tokio::test]
async fn a_changed_sealed_part_is_noticed_with_the_key() {
    let elsewhere = tempfile::tempdir().unwrap();
    let first = key_file(elsewhere.path(), "first", &[FIRST_KEY]);
    let (mut house, ann) = House::start_with(&["--body-key", &first]).await;
    let key = house.key("writer");
    deliver_secret(&house, &key, &ann, 1).await;
    house.stop();
    let copy = harness::copy_data(house.data());
    let database = rusqlite::Connection::open(copy.path().join("wakeful.db")).unwrap();
    let changed = database.execute(
        "UPDATE parts SET bytes = CAST(substr(bytes, 1, 40) || x'00' || substr(bytes, 42) AS BLOB) WHERE name = 'feedback'",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    let output = wakeful(
        copy.path(),
        &["trail", "verify", "--json", "--body-key", &first],
        &[],
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[tokio::test]
async fn something_that_only_looks_encrypted_is_noticed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let body_key = key_file(elsewhere.path(), "key", &[FIRST_KEY]);
    for given in [None, Some(&body_key)] {
        let flags: Vec<&str> = given.iter().flat_map(|file| ["--body-key", file]).collect();
        let (mut house, ann) = House::start_with(&flags).await;
        let key = house.key("writer");
        deliver_secret(&house, &key, &ann, 1).await;
        house.stop();
        let copy = harness::copy_data(house.data());
        let database = rusqlite::Connection::open(copy.path().join("wakeful.db")).unwrap();
        let junk = "UPDATE parts SET bytes = x'01deadbeef00' WHERE name = 'feedback'";
        assert_eq!(database.execute(junk, []).unwrap(), 1);
        let arguments = [&["trail", "verify", "--json"], flags.as_slice()].concat();
        let output = wakeful(copy.path(), &arguments, &[]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
}

// --- backups -------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_all_that_was_acknowledged_before_it() {
    let (house, ann) = House::start().await;
    let house = Arc::new(house);
    let key = house.key("writer");
    let elsewhere = tempfile::tempdir().unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let acknowledged = Arc::new(watch::Sender::new(Vec::<(String, u32)>::new()));
    let mut load = tokio::task::JoinSet::new();
    for client in 0..4 {
        let (house, key, ann) = (Arc::clone(&house), key.clone(), ann.clone());
        let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
        load.spawn(async move {
            let mut number = client * 1_000_000;
            while !stop.load(Ordering::SeqCst) {
                let id = house
                    .deliver(&key, "writer", json!({ "details": { "n": number } }))
                    .await;
                let answer = json!({ "status": "approved", "feedback": format!("f{number}") });
                assert_eq!(house.respond(&ann, &id, answer).await.status, 200);
                acknowledged.send_modify(|all| all.push((id, number)));
                number += 1;
            }
        });
    }
    let grown = async |least: usize| {
        let mut acknowledged = acknowledged.subscribe();
        let grown = acknowledged.wait_for(|all| all.len() >= least);
        in_time("there is load", grown).await.unwrap().clone()
    };
    let before = grown(40).await;
    let backup = elsewhere.path().join("backup.db");
    let with_keys = elsewhere.path().join("with-keys.db");
    for (file, more) in [(&backup, None), (&with_keys, Some("--with-keys"))] {
        let mut arguments = vec!["backup", file.to_str().unwrap()];
        arguments.extend(more);
        let (house, arguments) = (Arc::clone(&house), arguments);
        house.json(&arguments);
    }
    grown(before.len() + 40).await;
    stop.store(true, Ordering::SeqCst);
    load.join_all().await;

    for file in [&backup, &with_keys] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!file.with_extension("partial").exists());
        let again = house.command(&["backup", file.to_str().unwrap()], &[]);
        assert!(!again.status.success(), "a backup is never overwritten");
    }
    // The keys are in the one, and in no form in the other.
    for name in ["trail.key", "seal.key"] {
        let held = fs::read_to_string(house.data().join("keys").join(name)).unwrap();
        let secret = held.lines().last().unwrap();
        let raw: Vec<u8> = (0..32)
            .map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let holds = |file: &Path, bytes: &[u8]| {
            fs::read(file)
                .unwrap()
                .windows(bytes.len())
                .any(|window| window == bytes)
        };
        assert!(holds(&with_keys, secret.as_bytes()), "{name}");
        assert!(
            !holds(&backup, secret.as_bytes()) && !holds(&backup, &raw),
            "{name}"
        );
    }
    let old_origin = house.verify()["origin"].clone();
    for file in [&backup, &with_keys] {
        let mut restored = House::empty();
        let said = restored.json(&["restore", file.to_str().unwrap()]);
        assert_eq!(said["with_keys"], file == &with_keys);
        // A log of its own, which says where it comes from.
        let verified = restored.verify();
        assert_eq!(verified["origin"], said["origin"]);
        assert_ne!(verified["origin"], old_origin);
        for name in ["trail.key", "seal.key"] {
            let mode = fs::metadata(restored.data().join("keys").join(name)).unwrap();
            assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        }
        restored.serve().await;
        let newest = restored.get("/api/v1/trail?limit=1", &ann).await.json();
        assert_eq!(newest["entries"][0]["event_type"], "log_restored");
        assert_eq!(newest["entries"][0]["facts"]["old_origin"], old_origin);
        for (id, number) in &before {
            let response = restored.response(&key, id).await;
            assert_eq!(response["status"], "approved");
            assert_eq!(response["feedback"], format!("f{number}"));
            let item = restored
                .get(&format!("/api/v1/inbox/{id}"), &ann)
                .await
                .json();
            assert_eq!(item["details"], json!({ "n": number }));
        }
        restored.deliver(&key, "writer", json!({})).await;
        restored.stop();
        assert_eq!(restored.json(&["trail", "rebuild"])["changed"], json!([]));
        let again = restored.command(&["restore", file.to_str().unwrap()], &[]);
        assert!(
            !again.status.success(),
            "a restore goes into an empty place"
        );
    }
}

// --- a full disk ---------------------------------------------------------------

/// A place that can run out of room: a small file system where one may be
/// mounted, else a limit on the size of the server's files.
enum Room {
    Mounted(PathBuf),
    Limited,
}

impl Room {
    fn around(data: &Path) -> Room {
        let mount = Process::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"])
            .arg(data)
            .output();
        match mount.is_ok_and(|mount| mount.status.success()) {
            true => Room::Mounted(data.to_owned()),
            false => Room::Limited,
        }
    }

    fn take(&self, house: &House) {
        match self {
            Room::Mounted(data) => {
                let mut ballast = fs::File::create(data.join("ballast")).unwrap();
                // Until nothing more goes in.
                while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
            }
            Room::Limited => limit(house, "65536"),
        }
    }

    fn give_back(&self, house: &House) {
        match self {
            Room::Mounted(data) => fs::remove_file(data.join("ballast")).unwrap(),
            Room::Limited => limit(house, "unlimited"),
        }
    }
}

fn limit(house: &House, bytes: &str) {
    let process = house.process_id().to_string();
    let limited = Process::new("prlimit")
        .args([
            format!("--fsize={bytes}:unlimited"),
            "--pid".to_owned(),
            process,
        ])
        .status();
    assert!(limited.unwrap().success());
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Room::Mounted(data) = self {
            let _ = Process::new("umount").arg("-l").arg(data).status();
        }
    }
}

#[tokio::test]
async fn on_a_full_disk_writes_are_refused_reads_go_on_and_it_heals_by_itself() {
    let mut house = House::empty();
    let room = Room::around(house.data());
    // A file that may not grow is then an error and not a signal.
    house.prelude = Some("trap '' XFSZ");
    let ann = house.user("ann", "owner");
    house.serve().await;
    let key = house.key("writer");
    let more = json!({ "details": "x".repeat(20_000) });
    let mut acknowledged = vec![house.deliver(&key, "writer", more.clone()).await];
    let open = house.deliver(&key, "writer", json!({})).await;
    let held = house.deliver(&key, "writer", json!({})).await;
    let answer = json!({ "status": "approved", "hold_seconds": 1 });
    assert_eq!(house.respond(&ann, &held, answer).await.status, 200);

    room.take(&house);
    let mut refused = None;
    for _ in 0..500 {
        let answer = house
            .post("/wake/v1/deliver", &key, delivery("writer", more.clone()))
            .await;
        match answer.status.as_u16() {
            201 => acknowledged.push(answer.json()["delivery_id"].as_str().unwrap().to_owned()),
            _ => {
                refused = Some(answer);
                break;
            }
        }
    }
    let refused = refused.expect("the disk never filled");
    assert_eq!(refused.status, 503);
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 0);
    let problem = refused.json();
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert!(problem["code"].is_string(), "{problem}");

    let ready = house.send("GET", "/readyz", None, None).await;
    assert_eq!(ready.status, 503);
    assert!(ready.header("retry-after").is_some());
    assert_eq!(house.send("GET", "/healthz", None, None).await.status, 200);
    for id in &acknowledged {
        assert_eq!(house.response(&key, id).await["status"], "pending");
    }
    assert_eq!(house.get("/api/v1/inbox", &ann).await.status, 200);
    assert_eq!(house.get("/wake/v1/responses", &key).await.status, 200);
    assert_eq!(
        house.send("GET", "/checkpoint", None, None).await.status,
        200
    );

    room.give_back(&house);
    // Nobody writes: it must find out by itself that it can.
    until("it is ready again", || async {
        house.send("GET", "/readyz", None, None).await.status == 200
    })
    .await;
    // A held answer becomes final all the same.
    assert_eq!(house.answer(&key, &held).await["status"], "approved");
    acknowledged.push(house.deliver(&key, "writer", more).await);
    let answer = house
        .respond(&ann, &open, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200);
    let inbox = house.json(&["trail", "show", "--limit", "200"]);
    let received = inbox["entries"].as_array().unwrap().iter();
    let received = received.filter(|entry| entry["event_type"] == "delivery_received");
    assert_eq!(
        received.count(),
        acknowledged.len() + 2,
        "nothing refused was written"
    );

    // All of it after a crash too, with the disk as it is.
    house.kill();
    house.serve().await;
    for id in &acknowledged {
        assert_eq!(house.response(&key, id).await["status"], "pending");
    }
    assert_eq!(house.response(&key, &open).await["status"], "approved");
    assert_eq!(house.response(&key, &held).await["status"], "approved");
    house.stop();
    assert_eq!(house.verify()["verified"], true);
    assert_eq!(house.json(&["trail", "rebuild"])["changed"], json!([]));
}

// --- keys ------------------------------------------------------------------------

#[tokio::test]
async fn keys_are_their_owners_alone_and_one_that_others_can_read_is_refused() {
    let (mut house, _) = House::start().await;
    let socket = fs::metadata(house.data().join("wakeful.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o077, 0);
    house.stop();
    let keys = house.data().join("keys");
    assert_eq!(
        fs::metadata(&keys).unwrap().permissions().mode() & 0o777,
        0o700
    );
    for name in ["trail.key", "seal.key"] {
        let file = keys.join(name);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        for mode in [0o640, 0o604, 0o660] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let refusal = house.try_serve(&[]).await.unwrap_err();
            assert!(
                refusal.contains(name) && refusal.contains("chmod 600"),
                "{refusal}"
            );
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        // One that is lost is asked for, and none is made in its place.
        let kept = file.with_extension("kept");
        fs::rename(&file, &kept).unwrap();
        let refusal = house.try_serve(&[]).await.unwrap_err();
        assert!(
            refusal.contains(name) && refusal.contains("put it back"),
            "{refusal}"
        );
        assert!(!file.exists());
        fs::rename(&kept, &file).unwrap();
    }
    house.try_serve(&[]).await.unwrap();
    house.stop();

    // Another log's key does not fit: nothing is signed with it.
    let (other, _) = House::start().await;
    let copy = harness::copy_data(house.data());
    fs::copy(
        other.data().join("keys/trail.key"),
        copy.path().join("keys/trail.key"),
    )
    .unwrap();
    let output = wakeful(copy.path(), &["serve", "--listen", "127.0.0.1:0"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("trail.key"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_restore_beside_the_old_keys_is_another_log_that_keeps_its_webhook_secrets() {
    let (mut house, ann) = House::start().await;
    let key = house.key("writer");
    let id = house.deliver(&key, "writer", json!({})).await;
    house.json(&["webhook", "secret", "--agent", "writer"]);
    house
        .respond(&ann, &id, json!({ "status": "approved" }))
        .await;
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = elsewhere.path().join("backup.db");
    house.json(&["backup", backup.to_str().unwrap()]);
    let old_key = house.json(&["trail", "key"]);
    house.stop();

    let mut restored = House::empty();
    let keys = restored.data().join("keys");
    fs::create_dir_all(&keys).unwrap();
    for name in ["trail.key", "seal.key"] {
        fs::copy(house.data().join("keys").join(name), keys.join(name)).unwrap();
    }
    let said = restored.json(&["restore", backup.to_str().unwrap()]);
    assert_eq!(said["with_keys"], true);
    restored.verify();
    assert_ne!(restored.json(&["trail", "key"]), old_key);
    let kept = fs::read(keys.join("trail.key.before-restore")).unwrap();
    assert_eq!(kept, fs::read(house.data().join("keys/trail.key")).unwrap());
    restored.serve().await;
    let database = rusqlite::Connection::open(restored.data().join("wakeful.db")).unwrap();
    let secrets: i64 = database
        .query_row(
            "SELECT count(*) FROM secrets WHERE name GLOB 'webhook/*'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(secrets, 1);
}

#[tokio::test]
async fn what_does_not_verify_is_not_restored_and_leaves_the_place_as_it_was() {
    let (mut house, ann) = House::start().await;
    let key = house.key("writer");
    let id = house.deliver(&key, "writer", json!({})).await;
    house
        .respond(&ann, &id, json!({ "status": "approved" }))
        .await;
    let elsewhere = tempfile::tempdir().unwrap();
    let path = |name: &str| elsewhere.path().join(name).to_str().unwrap().to_owned();
    house.json(&["backup", &path("good.db")]);
    house.json(&["backup", "--with-keys", &path("changed-with-keys.db")]);
    house.stop();
    fs::write(path("junk.db"), "this is no database").unwrap();
    fs::write(path("empty.db"), "").unwrap();
    fs::copy(path("good.db"), path("changed.db")).unwrap();
    for changed in ["changed.db", "changed-with-keys.db"] {
        let database = rusqlite::Connection::open(path(changed)).unwrap();
        let change = "UPDATE entries SET facts = replace(facts, 'approved', 'rejected')";
        database.execute(change, []).unwrap();
    }

    let restored = House::empty();
    for bad in [
        "junk.db",
        "empty.db",
        "changed.db",
        "changed-with-keys.db",
        "absent.db",
    ] {
        let output = restored.command(&["restore", &path(bad)], &[]);
        assert!(!output.status.success(), "{bad}: {output:?}");
        let left: Vec<_> = fs::read_dir(restored.data())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .filter(|name| name != "lock")
            .collect();
        assert!(left.is_empty(), "{bad} left {left:?}");
    }
    // What an earlier try left when it was killed is in nobody's way.
    fs::create_dir(restored.data().join("restoring")).unwrap();
    fs::write(restored.data().join("restoring/wakeful.db"), "half").unwrap();
    restored.json(&["restore", &path("good.db")]);
    restored.verify();
}

#[tokio::test]
async fn a_backup_is_in_the_file_that_was_named_whatever_its_name() {
    let (house, _) = House::start().await;
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["file:b.db", "file:b.db?mode=memory", "-c.db", "d e%20.db"] {
        let output = Process::new(harness::WAKEFUL)
            .current_dir(elsewhere.path())
            .args(["backup", "--with-keys", "--data"])
            .arg(house.data())
            .args(["--", name])
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let files: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().collect();
        let [Ok(file)] = files.as_slice() else {
            panic!("{name}: {files:?}");
        };
        assert_eq!(file.file_name(), name);
        let restored = House::empty();
        restored.json(&["restore", file.path().to_str().unwrap()]);
        restored.verify();
        fs::remove_file(file.path()).unwrap();
    }
}

#[tokio::test]
async fn a_backup_touches_no_file_but_its_own() {
    let (house, _) = House::start().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let path = |name: &str| elsewhere.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("b.partial"), "mine").unwrap();
    house.json(&["backup", &path("b.db")]);
    assert_eq!(fs::read_to_string(path("b.partial")).unwrap(), "mine");
    fs::write(path("c.db.partial"), "mine").unwrap();
    let output = house.command(&["backup", &path("c.db")], &[]);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(path("c.db.partial")).unwrap(), "mine");
}

//! One bit of the write-ahead log is enough for SQLite to drop all that follows
//! it. Whoever starts on such files, or verifies them, is told.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::{
    Killed, WAL, forget_database,
    harness::{Dice, House},
    is_refused,
};

/// Forty in an ordinary run, a thousand in a full one.
fn mutations() -> usize {
    match std::env::var_os("WAKEFUL_TEST_FULL") {
        Some(full) if full == "1" => 1000,
        _ => 40,
    }
}

/// A frame of the write-ahead log: a page and its header; the file's own header
/// comes before all of them.
const FRAME: usize = 4096 + 24;
const HEADER: usize = 32;

/// Damages a write-ahead log in one of the ways that storage does; says how.
fn damage(wal: &mut Vec<u8>, dice: &mut Dice) -> String {
    let at = dice.below(wal.len() as u64) as usize;
    let end = (at + 1 + dice.below(2000) as usize).min(wal.len());
    match dice.below(6) {
        0 | 1 => {
            let bit = dice.below(8);
            wal[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        2 => {
            wal[at..end].fill(0);
            format!("bytes {at}..{end} zeroed")
        }
        3 => {
            wal.truncate(at);
            format!("cut off at {at}")
        }
        4 => {
            let from = dice.below((wal.len() - (end - at)) as u64) as usize;
            wal.copy_within(from..from + (end - at), at);
            format!("bytes {at}..{end} replaced by those from {from}")
        }
        _ => {
            let frames = (wal.len() - HEADER) / FRAME;
            let mut place = || HEADER + dice.below(frames as u64) as usize * FRAME;
            let (one, other) = (place(), place());
            let (first, second) = (one.min(other), one.max(other));
            let (head, tail) = wal.split_at_mut(second);
            if first < second {
                head[first..first + FRAME].swap_with_slice(&mut tail[..FRAME]);
            }
            format!("frames at {first} and {second} swapped")
        }
    }
}

/// All of a page of a sweep, as ids.
async fn swept(house: &House, key: &str) -> BTreeSet<String> {
    let path = "/wake/v1/responses?status=pending&limit=200";
    let page = house.get(path, key).await;
    assert_eq!(page.status, 200);
    let page = page.json();
    let deliveries = page["deliveries"].as_array().unwrap().iter();
    deliveries
        .map(|one: &Value| one["delivery_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_unnoticed_when_the_write_ahead_log_is_damaged() {
    let seed = std::env::var("WAKEFUL_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| u64::from_be_bytes(engine::keys::random().unwrap()));
    println!("WAKEFUL_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let killed = Killed::after(200).await;
    let whole = fs::read(killed.house.data().join(WAL)).unwrap();
    assert!(whole.len() > 500_000, "{} bytes are not all", whole.len());
    let all: BTreeSet<String> = killed.ids.iter().cloned().collect();
    let mut refused = 0;
    for number in 0..mutations() {
        let mut house = killed.copy();
        let mut wal = whole.clone();
        let how = damage(&mut wal, &mut dice);
        fs::write(house.data().join(WAL), &wal).unwrap();
        let context = format!("WAKEFUL_TEST_SEED={seed}, mutation {number}: {how}");
        let verified = house.command(&["trail", "verify"], &[]).status.code();
        match house.try_serve(&[]).await {
            Err(said) => {
                assert!(said.contains("wakeful trail continue"), "{context}: {said}");
                assert_eq!(verified, Some(3), "{context}");
                refused += 1;
                forget_database(house.data());
            }
            Ok(()) => {
                assert_eq!(verified, Some(0), "{context}");
                assert_eq!(swept(&house, &killed.key).await, all, "{context}");
                let search = house.get("/api/v1/inbox?q=Report", &killed.ann).await;
                assert_eq!(search.status, 200, "{context}");
                // The house verifies what it leaves behind.
            }
        }
    }
    println!("{refused} of {} starts were refused", mutations());
    assert!(refused > 0, "no mutation did any harm");
}

#[tokio::test]
async fn a_write_ahead_log_that_is_gone_is_noticed() {
    let killed = Killed::after(20).await;
    let removed = killed.copy();
    fs::remove_file(removed.data().join(WAL)).unwrap();
    is_refused(removed, "removed").await;
    let emptied = killed.copy();
    fs::write(emptied.data().join(WAL), "").unwrap();
    is_refused(emptied, "emptied").await;
}

#[tokio::test]
async fn an_older_copy_of_the_database_is_noticed() {
    let (mut house, _) = House::start().await;
    let key = house.key("writer");
    house.stop();
    let older = fs::read(house.data().join("wakeful.db")).unwrap();
    house.serve().await;
    house.deliver(&key, "writer", serde_json::json!({})).await;
    house.stop();
    let newer = fs::read(house.data().join("wakeful.db")).unwrap();
    fs::write(house.data().join("wakeful.db"), older).unwrap();
    let said = house.try_serve(&[]).await.unwrap_err();
    assert!(said.contains("wakeful trail continue"), "{said}");
    fs::write(house.data().join("wakeful.db"), newer).unwrap();
    house.serve().await;
}

#[tokio::test]
async fn a_log_that_lost_its_end_goes_on_and_records_what_is_missing() {
    let (mut house, ann) = House::start().await;
    let key = house.key("writer");
    let first = house.deliver(&key, "writer", serde_json::json!({})).await;
    house.stop();
    let older = fs::read(house.data().join("wakeful.db")).unwrap();
    house.serve().await;
    for _ in 0..3 {
        house.deliver(&key, "writer", serde_json::json!({})).await;
    }
    house.stop();
    fs::write(house.data().join("wakeful.db"), older).unwrap();
    house.try_serve(&[]).await.unwrap_err();
    let continued = house.json(&["trail", "continue"]);
    assert!(continued["kept"].as_u64().unwrap() > 0, "{continued}");
    house.serve().await;
    assert_eq!(house.response(&key, &first).await["status"], "pending");
    let found = house
        .get("/api/v1/trail?event_type=log_continued", &ann)
        .await;
    let entry = found.json()["entries"][0]["facts"].clone();
    assert_eq!(entry["missing"], 3, "{entry}");
    assert!(
        entry["reason"].as_str().unwrap().contains("signed up to"),
        "{entry}"
    );
    house.deliver(&key, "writer", serde_json::json!({})).await;
}

/// Files below a directory with what they hold, keys and locks apart.
fn contents(data: &Path) -> Vec<(String, Vec<u8>)> {
    ["wakeful.db", WAL, "head"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), fs::read(data.join(name)).ok()?)))
        .collect()
}

#[tokio::test]
async fn a_start_that_is_refused_leaves_the_files_as_they_are() {
    let killed = Killed::after(20).await;
    let mut house = killed.copy();
    let wal = house.data().join(WAL);
    let mut bytes = fs::read(&wal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&wal, &bytes).unwrap();
    let before = contents(house.data());
    assert!(house.try_serve(&[]).await.is_err());
    assert!(
        contents(house.data()) == before,
        "a refused start changed a file"
    );
    // So whoever finds out what happened to it can put it right.
    bytes[middle] ^= 1;
    fs::write(&wal, &bytes).unwrap();
    house.serve().await;
    assert_eq!(swept(&house, &killed.key).await.len(), 20);
}

//! A log begins once, together with its key.

use std::{fs, time::Duration};

use serde_json::json;

use crate::{
    Killed,
    harness::{Dice, House},
    is_refused,
};

#[tokio::test]
async fn no_new_log_begins_under_an_old_key() {
    let killed = Killed::after(5).await;
    for (context, with_head) in [("with head", true), ("without head", false)] {
        let mut house = killed.copy();
        fs::remove_file(house.data().join("wakeful.db")).unwrap();
        if !with_head {
            let _ = fs::remove_file(house.data().join("head"));
        }
        for attempt in 0..2 {
            let said = house.try_serve(&[]).await;
            let said = said.expect_err(&format!("{context}: a new log began"));
            assert!(said.contains("wakeful restore"), "{context}: {said}");
            let created = house.command(&["user", "create", "eve"], &[]);
            assert_eq!(created.status.code(), Some(2), "{context}, try {attempt}");
            assert!(!house.data().join("wakeful.db").exists(), "{context}");
        }
        // The write-ahead log is kept for whoever puts the database back.
        assert!(house.data().join(crate::WAL).exists(), "{context}");
        let database = fs::read(killed.house.data().join("wakeful.db")).unwrap();
        fs::write(house.data().join("wakeful.db"), database).unwrap();
        house.serve().await;
    }
}

#[tokio::test]
async fn a_database_that_was_emptied_is_noticed() {
    let killed = Killed::after(5).await;
    let house = killed.copy();
    fs::write(house.data().join("wakeful.db"), "").unwrap();
    let said = house.command(&["user", "list"], &[]);
    assert_eq!(said.status.code(), Some(2));
    let verified = house.command(&["trail", "verify"], &[]);
    assert_ne!(verified.status.code(), Some(0));
    crate::forget_database(house.data());
}

#[tokio::test]
async fn the_log_of_another_directory_is_noticed() {
    let (one, other) = (Killed::after(5).await, Killed::after(7).await);
    let house = one.copy();
    let head = other.house.data().join("head");
    fs::copy(head, house.data().join("head")).unwrap();
    is_refused(house, "another log's head").await;
}

#[tokio::test]
async fn a_first_start_that_was_cut_short_can_be_repeated() {
    let mut dice = Dice(7);
    for number in 0..8 {
        let mut house = House::empty();
        for _ in 0..3 {
            let after = Duration::from_micros(dice.below(150_000));
            house.kill_while_starting(after).await;
        }
        house.serve().await;
        let log = house.json(&["trail", "show", "--limit", "200"]);
        let started = log["entries"].as_array().unwrap().iter();
        let started = started.filter(|entry| entry["event_type"] == "log_started");
        assert_eq!(started.count(), 1, "number {number}");
    }
}

#[tokio::test]
async fn a_restore_begins_anew_where_a_longer_log_was_lost() {
    let (mut house, ann) = House::start().await;
    let key = house.key("writer");
    let before = house.deliver(&key, "writer", json!({})).await;
    let place = tempfile::tempdir().unwrap();
    let backup = place.path().join("backup.db");
    let backup = backup.to_str().unwrap();
    house.json(&["backup", backup, "--with-keys"]);
    for _ in 0..20 {
        house.deliver(&key, "writer", json!({})).await;
    }
    house.kill();
    crate::forget_database(house.data());
    let left = fs::read(house.data().join(crate::WAL)).unwrap();
    assert!(!left.is_empty());
    house.json(&["restore", backup]);
    house.serve().await;
    assert_eq!(house.response(&key, &before).await["status"], "pending");
    house.deliver(&key, "writer", json!({})).await;
    let inbox = house.get("/api/v1/inbox", &ann).await.json();
    assert_eq!(inbox["items"].as_array().unwrap().len(), 2, "{inbox}");
    // What the lost database left is kept, apart.
    let kept = house.data().join("wakeful.db-wal.before-restore");
    assert!(fs::read(kept).unwrap() == left);
    for _ in 0..2 {
        house.kill();
        house.serve().await;
    }
}

#[tokio::test]
async fn a_directory_from_before_there_was_a_head_starts_and_gets_one() {
    let killed = Killed::after(5).await;
    let mut house = killed.copy();
    fs::remove_file(house.data().join("head")).unwrap();
    house.serve().await;
    assert!(!fs::read(house.data().join("head")).unwrap().is_empty());
    house.kill();
    fs::remove_file(house.data().join(crate::WAL)).unwrap();
    is_refused(house, "below the new head").await;
}

#[tokio::test]
async fn a_head_that_nobody_can_read_keeps_nobody_out() {
    let killed = Killed::after(5).await;
    for text in [&b""[..], b"?", &[0xff; 9000]] {
        let mut house = killed.copy();
        fs::write(house.data().join("head"), text).unwrap();
        house.serve().await;
        let ready = house.send("GET", "/readyz", None, None).await;
        assert_eq!(ready.status, 200);
    }
}

#[tokio::test]
async fn a_changed_key_of_the_log_goes_with_its_head() {
    let mut killed = Killed::after(5).await;
    killed.house.json(&["trail", "rotate-key"]);
    let mut house = killed.copy();
    house.serve().await;
    house.deliver(&killed.key, "writer", json!({})).await;
    house.kill();
    house.serve().await;
    killed.house.serve().await;
}

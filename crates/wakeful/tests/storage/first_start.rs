//! A log begins once, together with its key.

use std::{fs, time::Duration};

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
    for file in ["head"] {
        let from = other.house.data().join(file);
        fs::copy(from, house.data().join(file)).unwrap();
    }
    is_refused(house, "another log's head").await;
}

#[tokio::test]
async fn a_first_start_that_was_cut_short_can_be_repeated() {
    let mut dice = Dice(7);
    for number in 0..8 {
        let mut house = House::empty();
        for _ in 0..3 {
            house.kill_while_starting(Duration::from_micros(dice.below(150_000)));
        }
        house.serve().await;
        let log = house.json(&["trail", "show", "--limit", "200"]);
        let started = log["entries"].as_array().unwrap().iter();
        let started = started.filter(|entry| entry["event_type"] == "log_started");
        assert_eq!(started.count(), 1, "number {number}");
    }
}

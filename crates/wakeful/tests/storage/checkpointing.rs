//! The write-ahead log is emptied into the database when nobody needs the writer.

use std::{fs, time::Duration};

use serde_json::json;

use crate::{
    WAL,
    harness::{House, until_within},
};

fn wal_bytes(house: &House) -> u64 {
    fs::metadata(house.data().join(WAL)).map_or(0, |file| file.len())
}

#[tokio::test]
async fn after_a_clean_stop_all_is_in_the_database() {
    let (mut house, _) = House::start().await;
    let key = house.key("writer");
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(house.deliver(&key, "writer", json!({})).await);
    }
    house.stop();
    assert_eq!(wal_bytes(&house), 0);
    for name in [WAL, "wakeful.db-shm"] {
        let _ = fs::remove_file(house.data().join(name));
    }
    house.serve().await;
    for id in ids {
        assert_eq!(house.response(&key, &id).await["status"], "pending");
    }
}

#[tokio::test]
async fn a_command_without_a_server_leaves_all_in_the_database() {
    let house = House::empty();
    house.user("ann", "owner");
    assert_eq!(wal_bytes(&house), 0);
}

#[tokio::test]
async fn a_server_that_nobody_uses_empties_its_write_ahead_log() {
    let (house, _) = House::start().await;
    let key = house.key("writer");
    house.deliver(&key, "writer", json!({})).await;
    assert!(wal_bytes(&house) > 0, "not while someone may need it");
    let patience = Duration::from_secs(20);
    until_within(patience, "the write-ahead log is empty", || async {
        wal_bytes(&house) == 0
    })
    .await;
}

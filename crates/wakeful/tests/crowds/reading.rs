//! One viewer who reads as much as they can.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::{
    crowd::resident_kib,
    harness::{House, until_within},
};

#[tokio::test]
async fn searches_of_one_viewer_cost_little_memory_and_nobodys_time() {
    let mut house = House::empty();
    let ann = house.user("ann", "owner");
    let bob = house.user("bob", "viewer");
    let key = house.key("a");
    let filled = house.command(&["__preload", "--agent", "a", "--count", "6000"], &[]);
    assert!(filled.status.success(), "{filled:?}");
    house.serve().await;
    let first = house.get("/api/v1/trail?q=nowhere", &bob).await;
    assert_eq!(first.status, 200);
    let process = house.process_id();
    let before = resident_kib(process);
    let searches = join_all((0..500).map(|n| {
        let (house, bob) = (&house, &bob);
        async move {
            let path = format!("/api/v1/trail?q=nowhere{n}");
            house.get(&path, bob).await
        }
    }));
    let meanwhile = async {
        for _ in 0..10 {
            let id = house.deliver(&key, "a", json!({})).await;
            let answer = house
                .respond(&ann, &id, json!({ "status": "approved" }))
                .await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    };
    let (answers, ()) = tokio::join!(searches, meanwhile);
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 429)
        .collect();
    assert!(!refused.is_empty(), "none was refused");
    for answer in &refused {
        assert!(answer.header("retry-after").is_some());
    }
    assert!(refused.len() < 500, "all were refused");
    // What they needed is given back.
    until_within(Duration::from_secs(15), "memory is given back", || async {
        resident_kib(process) < before + (48 << 10)
    })
    .await;
}

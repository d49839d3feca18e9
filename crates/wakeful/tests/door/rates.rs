//! How often a key may deliver and read.

use serde_json::json;

use crate::harness::{Answer, House, delivery};

async fn try_deliver(house: &House, key: &str) -> Answer {
    house
        .post("/wake/v1/deliver", key, delivery("a", json!({})))
        .await
}

/// Whole seconds, which `Retry-After` must give.
fn retry_after(answer: &Answer) -> u64 {
    answer.is_problem(429, "rate_limited", None);
    answer.header("retry-after").unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_key_may_deliver_its_burst_and_then_waits_for_the_hourly_rate() {
    let (house, _) = House::start().await;
    // WAKE, "Rate Limiting": 20 an hour is one in 180 s, 500 is one in 7.2 s.
    let table: [(&[&str], usize, u64); 4] = [
        (&["--test"], 5, 180),
        (&[], 50, 8),
        (&["--rate", "3600/2"], 2, 1),
        (&["--test", "--rate", "1/7"], 7, 3600),
    ];
    for (flags, burst, wait) in table {
        let key = house.key_with("a", flags);
        for place in 1..=burst {
            assert_eq!(
                try_deliver(&house, &key).await.status,
                201,
                "{flags:?} {place}"
            );
        }
        let seconds = retry_after(&try_deliver(&house, &key).await);
        assert!(
            (1..=wait).contains(&seconds) && seconds + 5 > wait,
            "{flags:?}: {seconds}"
        );
    }
}

#[tokio::test]
async fn a_restart_does_not_refill_a_key() {
    let (mut house, _) = House::start().await;
    let key = house.key_with("a", &["--test"]);
    for _ in 0..3 {
        assert_eq!(try_deliver(&house, &key).await.status, 201);
    }
    house.kill();
    house.serve().await;
    for _ in 0..2 {
        assert_eq!(try_deliver(&house, &key).await.status, 201);
    }
    house.stop();
    house.serve().await;
    retry_after(&try_deliver(&house, &key).await);
}

#[tokio::test]
async fn one_key_out_of_tokens_stops_no_other_key_of_the_same_agent() {
    let (house, _) = House::start().await;
    let (empty, full) = (
        house.key_with("a", &["--rate", "1/1"]),
        house.key_with("a", &["--rate", "1/1"]),
    );
    assert_eq!(try_deliver(&house, &empty).await.status, 201);
    retry_after(&try_deliver(&house, &empty).await);
    assert_eq!(try_deliver(&house, &full).await.status, 201);
}

#[tokio::test]
async fn refused_deliveries_cost_nothing_and_reads_go_on_without_tokens() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--rate", "1/1"]);
    for _ in 0..5 {
        let bad = delivery("a", json!({ "type": "nope" }));
        assert_eq!(house.post("/wake/v1/deliver", &key, bad).await.status, 422);
    }
    let id = house.deliver(&key, "a", json!({})).await;
    retry_after(&try_deliver(&house, &key).await);
    for _ in 0..50 {
        assert_eq!(house.response(&key, &id).await["status"], "pending");
        assert_eq!(house.get("/wake/v1/responses", &key).await.status, 200);
    }
}

#[tokio::test]
async fn refused_deliveries_have_a_generous_limit_and_then_are_not_even_read() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--test"]);
    let mut refused = 0;
    let limited = loop {
        let answer = house.post_text("/wake/v1/deliver", &key, "nope").await;
        match answer.status.as_u16() {
            400 => refused += 1,
            _ => break answer,
        }
        assert!(refused < 5000, "refused deliveries are not limited");
    };
    assert!(refused >= 600, "{refused}");
    assert_eq!(retry_after(&limited), 1);
    // Reads are counted apart.
    assert_eq!(house.get("/wake/v1/responses", &key).await.status, 200);
}

#[tokio::test]
async fn reads_have_a_generous_limit_of_their_own() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--test"]);
    let mut served = 0;
    let refused = loop {
        let answer = house.get("/wake/v1/responses?limit=1", &key).await;
        match answer.status.as_u16() {
            200 => served += 1,
            _ => break answer,
        }
        assert!(served < 5000, "reads are not limited");
    };
    assert!(served >= 600, "{served}");
    refused.is_problem(429, "reads_limited", None);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // And a delivery is still possible.
    assert_eq!(try_deliver(&house, &key).await.status, 201);
}

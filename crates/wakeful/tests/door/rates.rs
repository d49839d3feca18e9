//! How often a key may deliver and read.

use serde_json::json;

use crate::harness::{Answer, House, delivery, until};

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

#[tokio::test]
async fn an_owner_sets_the_usual_rate_and_every_key_without_its_own_follows_at_once() {
    let (mut house, ann) = House::start().await;
    let (usual, own) = (
        house.key_with("a", &["--test"]),
        house.key_with("a", &["--test", "--rate", "3600/3"]),
    );
    let rates = || async { house.get("/api/v1/rates", &ann).await.json()["rates"].clone() };
    let wake = json!({
        "live": { "burst": 50, "per_hour": 500 }, "test": { "burst": 5, "per_hour": 20 }
    });
    assert_eq!(rates().await, wake);
    assert_eq!(try_deliver(&house, &usual).await.status, 201);
    house.json(&["rate", "set", "test", "60/1"]);
    assert_eq!(rates().await["test"], json!({ "burst": 1, "per_hour": 60 }));
    // What was left of a larger burst is no more than the new one.
    assert_eq!(try_deliver(&house, &usual).await.status, 201);
    assert!(retry_after(&try_deliver(&house, &usual).await) <= 60);
    for _ in 0..3 {
        assert_eq!(try_deliver(&house, &own).await.status, 201);
    }
    // It holds after a restart, and for a successor.
    house.stop();
    house.serve().await;
    let listed = house.get("/api/v1/keys", &ann).await.json();
    let key_id = listed["keys"][0]["key_id"].as_str().unwrap();
    assert_eq!(
        listed["keys"][0]["rate"],
        json!({ "burst": 1, "per_hour": 60 })
    );
    assert_eq!(listed["keys"][0]["usual_rate"], true);
    assert_eq!(listed["keys"][1]["usual_rate"], false);
    let successor = house.json(&["key", "rotate", key_id]);
    let successor = successor["key"].as_str().unwrap();
    assert_eq!(try_deliver(&house, successor).await.status, 201);
    assert!(retry_after(&try_deliver(&house, successor).await) <= 60);
    // Raised, it refills faster from that moment on.
    let rate = json!({ "rate": { "burst": 100, "per_hour": 4_000_000_000u32 } });
    let set = house
        .send("PUT", "/api/v1/rates/test", Some(&ann), Some(rate))
        .await;
    assert_eq!(set.status, 204);
    for key in [usual.as_str(), successor] {
        until("it may deliver again", || async {
            try_deliver(&house, key).await.status == 201
        })
        .await;
    }
    house.json(&["rate", "set", "test", "usual"]);
    assert_eq!(house.json(&["rate", "list"])["rates"], wake);
    assert_eq!(house.entries(&ann, "rate_set").await.len(), 3);
}

#[tokio::test]
async fn a_usual_rate_lets_something_through_and_is_of_live_or_test_keys() {
    let (house, ann) = House::start().await;
    let put = |keys: &'static str, body: serde_json::Value| {
        let (house, ann) = (&house, &ann);
        async move {
            let path = format!("/api/v1/rates/{keys}");
            house.send("PUT", &path, Some(ann), Some(body)).await
        }
    };
    for rate in [
        json!({ "burst": 0, "per_hour": 1 }),
        json!({ "burst": 1, "per_hour": 0 }),
    ] {
        let refused = put("live", json!({ "rate": rate })).await;
        refused.is_problem(422, "bad_rate", Some("rate"));
    }
    for rate in [
        json!("1/1"),
        json!({ "burst": -1, "per_hour": 1 }),
        json!({ "burst": 1 }),
    ] {
        let refused = put("live", json!({ "rate": rate })).await;
        refused.is_problem(422, "wrong_type", Some("rate"));
    }
    put("live", json!({}))
        .await
        .is_problem(400, "missing_field", Some("rate"));
    put("other", json!({ "rate": null }))
        .await
        .is_problem(404, "not_found", None);
    for rate in ["0/1", "1", "usually", "-1/1"] {
        let output = house.command(&["rate", "set", "live", rate], &[]);
        assert!(!output.status.success(), "{rate}");
    }
    assert_eq!(house.entries(&ann, "rate_set").await.len(), 0);
}

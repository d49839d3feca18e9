//! `Idempotency-Key`: a delivery that is sent again is not delivered again.

use serde_json::json;

use crate::harness::{Answer, House, delivery};

async fn deliver(house: &House, key: &str, idempotency: &str, body: &str) -> Answer {
    let authorization = format!("Bearer {key}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", idempotency),
    ];
    house
        .raw("POST", "/wake/v1/deliver", &headers, body.to_owned())
        .await
}

async fn total(house: &House, key: &str) -> u64 {
    house.get("/wake/v1/responses", key).await.json()["total"]
        .as_u64()
        .unwrap()
}

#[tokio::test]
async fn the_same_key_and_body_give_the_same_answer_and_one_delivery() {
    let (mut house, _) = House::start().await;
    let key = house.key("a");
    let body = delivery("a", json!({})).to_string();
    let first = deliver(&house, &key, "one", &body).await;
    assert_eq!(first.status, 201);
    for restart in [false, true] {
        if restart {
            house.kill();
            house.serve().await;
        }
        let again = deliver(&house, &key, "one", &body).await;
        assert_eq!((again.status, again.text()), (first.status, first.text()));
    }
    assert_eq!(total(&house, &key).await, 1);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_a_conflict() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    deliver(&house, &key, "one", &delivery("a", json!({})).to_string()).await;
    let other = delivery("a", json!({ "headline": "Another" })).to_string();
    deliver(&house, &key, "one", &other).await.is_problem(
        409,
        "idempotency_mismatch",
        Some("Idempotency-Key"),
    );
    assert_eq!(total(&house, &key).await, 1);
    assert_eq!(deliver(&house, &key, "two", &other).await.status, 201);
    // Another agent's keys are its own.
    let theirs = house.key("b");
    let body = delivery("b", json!({})).to_string();
    assert_eq!(deliver(&house, &theirs, "one", &body).await.status, 201);
}

#[tokio::test]
async fn a_repetition_costs_no_token() {
    let (house, _) = House::start().await;
    let key = house.key_with("a", &["--rate", "1/1"]);
    let body = delivery("a", json!({})).to_string();
    for _ in 0..3 {
        assert_eq!(deliver(&house, &key, "one", &body).await.status, 201);
    }
    assert_eq!(deliver(&house, &key, "two", &body).await.status, 429);
}

#[tokio::test]
async fn the_same_delivery_sent_many_times_at_once_exists_once() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let body = delivery("a", json!({})).to_string();
    let sent = (0..16).map(|_| deliver(&house, &key, "one", &body));
    let answers = futures(sent).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.status == 201 && answer.text() == answers[0].text())
    );
    assert_eq!(total(&house, &key).await, 1);
}

/// Runs them at once, on this task.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in &mut all {
            if output.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *output = Some(value);
            }
        }
        match all.iter().all(|(_, output)| output.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test]
async fn an_idempotency_key_is_short_and_visible() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let body = delivery("a", json!({})).to_string();
    assert_eq!(
        deliver(&house, &key, &"k".repeat(255), &body).await.status,
        201
    );
    for bad in ["", &"k".repeat(256), "ä", "a b", "a\tb"] {
        deliver(&house, &key, bad, &body).await.is_problem(
            422,
            "bad_idempotency_key",
            Some("Idempotency-Key"),
        );
    }
}

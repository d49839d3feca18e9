//! Bodies that are promised and do not come.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    crowd::{ask, crowd, promise},
    harness::{House, delivery, way::Way},
};

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
/// Far less than anyone would wait for a place.
const SOON: Duration = Duration::from_millis(1_500);

/// Ann answers something new; how long that takes.
async fn answered_by(house: &House, token: &str, key: &str) -> Duration {
    let id = house.deliver(key, "a", json!({})).await;
    let started = Instant::now();
    let answer = house
        .respond(token, &id, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    started.elapsed()
}

#[tokio::test]
async fn strangers_who_promise_bodies_keep_nobody_from_answering_or_signing_in() {
    for way in Way::ALL {
        strangers_promise_bodies(way).await;
    }
}

async fn strangers_promise_bodies(way: Way) {
    let (house, ann) = House::start_by(way).await;
    let key = house.key("a");
    let drafts = crowd(&house, 64, &promise("/items/x/answer", FORM, 256 << 10));
    assert!(answered_by(&house, &ann, &key).await < SOON);
    let forms = crowd(&house, 1_024, &promise("/sign-in", FORM, 8 << 10));
    assert!(answered_by(&house, &ann, &key).await < SOON);
    let form = "name=x&password=y";
    let (status, took) = ask(&house, &(promise("/sign-in", FORM, form.len()) + form));
    assert_eq!(status, "HTTP/1.1 401");
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop((drafts, forms));
}

#[tokio::test]
async fn one_key_with_slow_bodies_silences_no_other_agent() {
    for way in Way::ALL {
        one_key_has_slow_bodies(way).await;
    }
}

async fn one_key_has_slow_bodies(way: Way) {
    let (house, _) = House::start_by(way).await;
    let (slow, other) = (house.key("slow"), house.key("other"));
    let headers = format!("authorization: Bearer {slow}\r\ncontent-type: application/json\r\n");
    // These were asked for their bodies: they have all that the key may have.
    let asked = format!("{headers}expect: 100-continue\r\n");
    let mut held = crowd(&house, 12, &promise("/wake/v1/deliver", &asked, 1 << 20));
    for socket in &mut held {
        let mut said = [0; 12];
        socket.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 100");
    }
    let head = promise("/wake/v1/deliver", &headers, 1 << 20);
    let bodies = crowd(&house, 38, &(head + "{"));
    // Its own next one finds no room: the others have taken all it may have.
    let large = json!({ "details": "x".repeat(1_000_000) });
    let own = house
        .post("/wake/v1/deliver", &slow, delivery("slow", large))
        .await;
    assert_ne!(own.status, 201);
    let started = Instant::now();
    let large = json!({ "details": "x".repeat(100_000) });
    let answer = house
        .post("/wake/v1/deliver", &other, delivery("other", large))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert!(started.elapsed() < SOON);
    own.is_problem(429, "too_many_bodies", None);
    assert!(own.header("retry-after").is_some());
    drop((held, bodies));
}

#[tokio::test]
async fn one_person_with_slow_bodies_keeps_no_other_from_answering() {
    for way in Way::ALL {
        one_person_has_slow_bodies(way).await;
    }
}

async fn one_person_has_slow_bodies(way: Way) {
    let (house, ann) = House::start_by(way).await;
    let bob = house.user("bob", "reviewer");
    let key = house.key("a");
    let headers = format!("authorization: Bearer {bob}\r\ncontent-type: application/json\r\n");
    let head = promise("/api/v1/inbox/x/respond", &headers, 1 << 20);
    let bodies = crowd(&house, 40, &(head + "{"));
    let id = house.deliver(&key, "a", json!({})).await;
    let started = Instant::now();
    let feedback = "x".repeat(20_000);
    let answer = house
        .respond(
            &ann,
            &id,
            json!({ "status": "redirected", "feedback": "no", "edited_content": feedback }),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(started.elapsed() < SOON);
    drop(bodies);
}

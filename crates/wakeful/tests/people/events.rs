//! The trail as it grows: `GET /api/v1/events`.

use serde_json::{Value, json};

use crate::harness::House;

/// One event of the stream.
#[derive(Debug)]
struct Event {
    id: u64,
    name: String,
    data: Value,
}

struct Stream {
    response: reqwest::Response,
    read: String,
}

impl Stream {
    async fn open(house: &House, token: &str, last: Option<&str>) -> Stream {
        let mut request = house
            .http
            .get(format!("{}/api/v1/events", house.address()))
            .bearer_auth(token);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream {
            response,
            read: String::new(),
        }
    }

    /// The next event; `None` when the server ended the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = event.lines().filter_map(|line| line.strip_prefix(name));
                    lines.map(str::trim_start).next().map(str::to_owned)
                };
                let parsed = field("id:").map(|id| Event {
                    id: id.parse().unwrap(),
                    name: field("event:").unwrap(),
                    data: serde_json::from_str(&field("data:").unwrap()).unwrap(),
                });
                self.read = rest.to_owned();
                if parsed.is_some() {
                    return parsed;
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn take(&mut self, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.next().await.expect("the stream ended"));
        }
        events
    }
}

#[tokio::test]
async fn every_entry_arrives_in_order_with_its_place_as_id() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let mut stream = Stream::open(&house, &ann, None).await;
    let id = house.deliver(&key, "a", json!({})).await;
    house
        .respond(
            &ann,
            &id,
            json!({ "status": "approved", "hold_seconds": 1 }),
        )
        .await;
    house.user("bob", "viewer");
    let events = stream.take(5).await;
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names[..2], ["delivery_received", "answer_held"]);
    names[2..].sort_unstable();
    assert_eq!(
        names[2..],
        ["delivery_answered", "token_issued", "user_created"]
    );
    for pair in events.windows(2) {
        assert_eq!(pair[1].id, pair[0].id + 1);
    }
    for event in &events {
        assert_eq!(event.data["position"], event.id);
        assert_eq!(event.data["event_type"], event.name.as_str());
    }
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let mut stream = Stream::open(&house, &ann, None).await;
    house.deliver(&key, "a", json!({})).await;
    let mut last = stream.take(1).await.remove(0).id;
    for round in 0..4 {
        drop(stream);
        for _ in 0..=round * 100 {
            house.deliver(&key, "a", json!({})).await;
        }
        if round == 2 {
            house.kill();
            house.serve().await;
        }
        stream = Stream::open(&house, &ann, Some(&last.to_string())).await;
        for event in stream.take(round * 100 + 1).await {
            assert_eq!(
                (event.id, event.name.as_str()),
                (last + 1, "delivery_received")
            );
            last = event.id;
        }
    }
    // And goes on from there with what is new.
    house.deliver(&key, "a", json!({})).await;
    assert_eq!(stream.take(1).await[0].id, last + 1);
}

#[tokio::test]
async fn a_client_whose_place_is_not_known_is_told_to_start_anew() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    for unknown in ["999999999", "x", "-1", "18446744073709551616"] {
        let mut stream = Stream::open(&house, &ann, Some(unknown)).await;
        let reset = stream.next().await.unwrap();
        assert_eq!(reset.name, "reset", "{unknown}");
        assert_eq!(reset.data["position"], reset.id);
        // The reset's id is a place to go on from.
        house
            .send(
                "POST",
                &format!("/api/v1/inbox/{id}/seen"),
                Some(&ann),
                None,
            )
            .await;
        house.deliver(&key, "a", json!({})).await;
        assert!(stream.next().await.unwrap().id > reset.id);
    }
}

#[tokio::test]
async fn a_client_too_far_back_is_told_to_start_anew() {
    let mut house = House::empty();
    let ann = house.user("ann", "owner");
    house.key("a");
    let output = house.command(&["__preload", "--agent", "a", "--count", "10100"], &[]);
    assert!(output.status.success(), "{output:?}");
    house.serve().await;
    let mut stream = Stream::open(&house, &ann, Some("1")).await;
    let reset = stream.next().await.unwrap();
    assert_eq!(reset.name, "reset");
    let near = reset.id - 9_000;
    let mut stream = Stream::open(&house, &ann, Some(&near.to_string())).await;
    assert_eq!(stream.next().await.unwrap().id, near + 1);
}

#[tokio::test]
async fn only_owners_see_what_happens_to_accounts() {
    let (house, ann) = House::start().await;
    let (rob, vic) = (house.user("rob", "reviewer"), house.user("vic", "viewer"));
    let key = house.key("a");
    let mut owners = Stream::open(&house, &ann, None).await;
    let mut others = [
        Stream::open(&house, &rob, Some("0")).await,
        Stream::open(&house, &vic, Some("0")).await,
    ];
    house.user("eve", "viewer");
    house.deliver(&key, "a", json!({})).await;
    assert_eq!(owners.take(1).await[0].name, "user_created");
    for stream in &mut others {
        assert_eq!(stream.take(1).await[0].name, "delivery_received");
    }
    // Nor do they read them in pages or prove them.
    for token in [&rob, &vic] {
        let trail = house.get("/api/v1/trail?limit=200", token).await.json();
        let entries = trail["entries"].as_array().unwrap();
        assert!(!entries.is_empty());
        assert!(
            entries
                .iter()
                .all(|entry| entry["stream"].as_str().unwrap().starts_with("agent/"))
        );
        house
            .get("/api/v1/trail/0/proof", token)
            .await
            .is_problem(404, "not_found", None);
    }
    assert_eq!(house.get("/api/v1/trail/0/proof", &ann).await.status, 200);
}

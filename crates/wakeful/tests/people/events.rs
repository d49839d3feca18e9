//! The trail as it grows: `GET /api/v1/events`.

use serde_json::{Value, json};

use crate::harness::House;

/// One event of the stream.
#[derive(Debug)]
struct Event {
    /// Its place in the log.
    id: u64,
    name: String,
    data: Value,
}

struct Stream {
    response: reqwest::Response,
    read: String,
    /// What a client remembers to come back with.
    last_id: String,
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
            last_id: String::new(),
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
                if let Some(id) = field("id:") {
                    self.last_id = id;
                }
                // Without data nothing is dispatched, as in a browser.
                let parsed = field("data:").map(|data| Event {
                    id: self.last_id.split('@').next().unwrap().parse().unwrap(),
                    name: field("event:").unwrap(),
                    data: serde_json::from_str(&data).unwrap(),
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

    /// Reads on until the stream has said where it stands.
    async fn opened(&mut self) {
        while !self.read.contains("\n\n") {
            let chunk = self.response.chunk().await.unwrap().unwrap();
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        let (opening, rest) = self.read.split_once("\n\n").unwrap();
        self.last_id = opening.strip_prefix("id: ").unwrap().to_owned();
        self.read = rest.to_owned();
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

#[tokio::test]
async fn a_client_cut_off_before_its_first_event_misses_nothing() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let mut stream = Stream::open(&house, &ann, None).await;
    stream.opened().await;
    let last = stream.last_id.clone();
    drop(stream);
    let id = house.deliver(&key, "a", json!({})).await;
    let mut stream = Stream::open(&house, &ann, Some(&last)).await;
    let event = stream.next().await.unwrap();
    assert_eq!(event.name, "delivery_received");
    assert_eq!(event.data["facts"]["delivery_id"], id);
}

#[tokio::test]
async fn a_client_that_knew_the_log_before_it_was_restored_is_told_to_start_anew() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let backup = house.data().join("backup.db");
    house.json(&["backup", backup.to_str().unwrap()]);
    house.deliver(&key, "a", json!({})).await;
    let mut stream = Stream::open(&house, &ann, Some("0")).await;
    while stream.next().await.unwrap().name != "delivery_received" {}
    let last = stream.last_id.clone();

    let mut restored = House::empty();
    restored.json(&["restore", backup.to_str().unwrap()]);
    restored.serve().await;
    // Long enough that the same place exists, with something else in it.
    for _ in 0..3 {
        restored.deliver(&key, "a", json!({})).await;
    }
    let mut stream = Stream::open(&restored, &ann, Some(&last)).await;
    assert_eq!(stream.next().await.unwrap().name, "reset");
}

#[tokio::test]
async fn a_stream_ends_with_the_right_to_read_it() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let change = |name: &str, body: Value| {
        let path = format!("/api/v1/users/{name}");
        let (house, ann) = (&house, &ann);
        async move { house.send("PATCH", &path, Some(ann), Some(body)).await }
    };
    for (name, state) in [
        ("bob", Some("suspended")),
        ("cy", Some("deactivated")),
        ("dan", None),
    ] {
        let token = house.user(name, "owner");
        let mut stream = Stream::open(&house, &token, None).await;
        stream.opened().await;
        let changed = match state {
            Some(state) => change(name, json!({ "state": state })).await,
            None => {
                let path = format!("/api/v1/users/{name}/token");
                house.send("POST", &path, Some(&ann), None).await
            }
        };
        assert!(changed.status.is_success(), "{name}");
        house.deliver(&key, "a", json!({})).await;
        assert!(stream.next().await.is_none(), "{name} reads on");
    }
}

#[tokio::test]
async fn an_owner_who_is_one_no_longer_sees_accounts_no_longer() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let bob = house.user("bob", "owner");
    let mut stream = Stream::open(&house, &bob, None).await;
    stream.opened().await;
    house.user("cy", "viewer");
    assert_eq!(stream.next().await.unwrap().name, "user_created");
    assert_eq!(stream.next().await.unwrap().name, "token_issued");
    let viewer = Some(json!({ "role": "viewer" }));
    let changed = house
        .send("PATCH", "/api/v1/users/bob", Some(&ann), viewer)
        .await;
    assert_eq!(changed.status, 204);
    house.user("dan", "viewer");
    house.deliver(&key, "a", json!({})).await;
    assert_eq!(stream.next().await.unwrap().name, "delivery_received");
}

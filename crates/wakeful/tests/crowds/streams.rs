//! Many who watch the trail grow.

use std::{
    io::{Read as _, Write as _},
    time::Duration,
};

use serde_json::json;

use crate::{
    crowd::{configured, resident_kib},
    harness::{
        House,
        way::{Socket, Way},
    },
};

/// A stream of events, on which the head of the answer was read.
fn open(house: &House, token: &str) -> (Socket, String) {
    let mut socket = house.socket();
    socket
        .tcp
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    write!(
        socket,
        "GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let said = read_until(&mut socket, "\r\n\r\n");
    (socket, said)
}

fn read_until(socket: &mut Socket, end: &str) -> String {
    let (mut said, mut room) = (String::new(), [0; 64 << 10]);
    while !said.contains(end) {
        let read = socket.read(&mut room).unwrap();
        assert_ne!(read, 0, "it ended: {said}");
        said.push_str(std::str::from_utf8(&room[..read]).unwrap());
    }
    said
}

#[tokio::test]
async fn a_person_has_so_many_streams_and_is_told() {
    for way in Way::ALL {
        a_person_has_so_many_streams(way).await;
    }
}

async fn a_person_has_so_many_streams(way: Way) {
    let (house, ann) = House::start_by(way).await;
    let bob = house.user("bob", "viewer");
    let mut open_ones = Vec::new();
    let refused = loop {
        let (socket, said) = open(&house, &bob);
        if !said.starts_with("HTTP/1.1 200") {
            break said;
        }
        open_ones.push(socket);
        assert!(open_ones.len() < 300, "there is no end to it");
    };
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after"), "{refused}");
    // Others have their own, and whoever closes one may open another.
    assert!(open(&house, &ann).1.starts_with("HTTP/1.1 200"));
    drop(open_ones.pop());
    // A proxy may notice that one is gone when there is something to say.
    let key = house.key_with("a", &["--rate", "1000000/10000"]);
    crate::harness::until(&format!("{way:?}: there is room again"), || async {
        house.deliver(&key, "a", json!({})).await;
        open(&house, &bob).1.starts_with("HTTP/1.1 200")
    })
    .await;
}

#[tokio::test]
async fn five_hundred_streams_cost_little_and_all_hear_everything() {
    let (house, ann) = configured("[people]\nstreams = 1000\nconnections = 1000\n").await;
    let key = house.key("a");
    house.deliver(&key, "a", json!({})).await;
    let process = house.process_id();
    let before = resident_kib(process);
    let mut streams: Vec<_> = (0..500).map(|_| open(&house, &ann).0).collect();
    let mut last = String::new();
    for _ in 0..50 {
        last = house.deliver(&key, "a", json!({})).await;
    }
    for socket in &mut streams {
        let said = read_until(socket, &last);
        assert_eq!(
            said.matches("event: delivery_received").count(),
            50,
            "{said}"
        );
    }
    let grown = resident_kib(process).saturating_sub(before);
    assert!(grown < 40 << 10, "500 streams cost {grown} KiB");
}

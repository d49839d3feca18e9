//! A server ends well, alone, and without having told its log any secret.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::json;

use crate::{
    harness::{House, delivery, until},
    tls,
};

/// Whether the server has read all that came over this connection.
fn was_read(connection: &TcpStream) -> bool {
    let end = |address: SocketAddr| match address {
        SocketAddr::V4(address) => {
            let number = u32::from_le_bytes(address.ip().octets());
            format!("{number:08X}:{:04X}", address.port())
        }
        SocketAddr::V6(_) => panic!("the server listens on IPv4"),
    };
    let (server, client) = (
        end(connection.peer_addr().unwrap()),
        end(connection.local_addr().unwrap()),
    );
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1] == server && fields[2] == client && fields[4].ends_with(":00000000")
    })
}

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_end() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let address = house.address().replace("http://", "");
    let connect = || TcpStream::connect(&address).unwrap();

    // A long poll that nobody will answer.
    let mut poll = connect();
    write!(poll, "GET /wake/v1/response/{id}?wait=60 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n").unwrap();
    until("the poll was read", || async { was_read(&poll) }).await;

    // A delivery of which the server has seen the head and asked for the rest.
    let body = delivery("a", json!({})).to_string();
    let mut deliver = connect();
    write!(deliver, "POST /wake/v1/deliver HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
    let mut said = [0; 25];
    deliver.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");

    // Someone who watches.
    let events = house.http.get(format!("{}/api/v1/events", house.address()));
    let mut events = events.bearer_auth(&ann).send().await.unwrap();

    house.terminate();
    until("nobody is let in any more", || async {
        TcpStream::connect(&address).is_err()
    })
    .await;
    deliver.write_all(body.as_bytes()).unwrap();
    for (mut connection, status) in [(deliver, "HTTP/1.1 201"), (poll, "HTTP/1.1 200")] {
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(status), "{answer}");
        assert!(answer.ends_with('}'), "{answer}");
    }
    while let Ok(Some(_)) = events.chunk().await {}
    let took = house.stop();
    assert!(took < Duration::from_secs(10), "{took:?}");
    // What was acknowledged on the way out is there.
    house.serve().await;
    assert_eq!(
        house.get("/wake/v1/responses", &key).await.json()["total"],
        2
    );
}

#[tokio::test]
async fn a_data_directory_belongs_to_one_server() {
    let (house, ann) = House::start().await;
    let second = house.command(&["serve", "--listen", "127.0.0.1:0"], &[]);
    assert_eq!(second.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&second.stderr).contains("in use"),
        "{second:?}"
    );
    assert_eq!(
        house.get("/api/v1/me", &ann).await.status,
        200,
        "the first goes on"
    );
}

#[tokio::test]
async fn a_server_that_was_stopped_can_be_started_again_on_the_same_data() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    for _ in 0..2 {
        house.stop();
        assert!(!house.data().join("wakeful.sock").exists());
        house.serve().await;
        assert_eq!(house.response(&key, &id).await["status"], "pending");
        assert_eq!(house.get("/api/v1/me", &ann).await.status, 200);
    }
}

// The client's side of the connection must live while the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_never_appear_in_the_log() {
    // Over HTTP/2, whose library traces every frame.
    let (mut house, ann, certificate) = tls::start_with_log(Some("trace")).await;
    let client = reqwest::Client::builder().no_proxy();
    house.http = client.tls_certs_only([certificate]).build().unwrap();
    let made = house
        .post("/api/v1/keys", &ann, json!({ "agent_id": "a" }))
        .await
        .json();
    let key = made["key"].as_str().unwrap().to_owned();
    let webhook = made["webhook_secret"].as_str().unwrap().to_owned();
    let id = house
        .deliver(&key, "a", json!({ "details": "the-plan-nobody-knows" }))
        .await;
    let answer = json!({ "status": "approved", "feedback": "a-word-nobody-hears" });
    house.respond(&ann, &id, answer).await;
    house.answer(&key, &id).await;
    let rotated = house
        .send("POST", "/api/v1/agents/a/webhook-secret", Some(&ann), None)
        .await
        .json();
    let token = house
        .send("POST", "/api/v1/users/ann/token", Some(&ann), None)
        .await
        .json();
    let stale = house
        .post(
            "/wake/v1/deliver",
            "wk_live_guessed-by-someone",
            delivery("a", json!({})),
        )
        .await;
    assert_eq!(stale.status, 401);
    let took = house.stop();
    assert!(
        took < Duration::from_secs(5),
        "an idle connection delays the end: {took:?}"
    );
    let log = std::fs::read_to_string(house.log_file()).unwrap();
    assert!(
        log.contains("listening") && log.contains("TRACE"),
        "no trace was written"
    );
    let new = token["token"].as_str().unwrap();
    for secret in [
        &ann,
        &key,
        &webhook,
        rotated["secret"].as_str().unwrap(),
        new,
        "guessed-by-someone",
        "the-plan-nobody-knows",
        "a-word-nobody-hears",
    ] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

//! Bodies that are no delivery at all, and content types.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::json;

use crate::harness::{House, delivery};

const DELIVER: &str = "/wake/v1/deliver";

#[tokio::test]
async fn a_body_that_is_not_one_json_text_is_malformed() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let deep = format!("{{\"details\":{}1{}}}", "[".repeat(300), "]".repeat(300));
    for body in [
        "",
        " ",
        "{",
        "nope",
        "{}x",
        "{} {}",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{\"a\":\"\u{1}\"}",
        "\u{feff}{}",
        "{\"a\":\"\\ud800\"}",
        deep.as_str(),
    ] {
        let answer = house.post_text(DELIVER, &key, body).await;
        answer.is_problem(400, "not_json", None);
    }
    let authorization = format!("Bearer {key}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
    ];
    let latin1 = b"{\"agent_id\":\"\xe4\"}".to_vec();
    house
        .raw("POST", DELIVER, &headers, latin1)
        .await
        .is_problem(400, "not_json", None);
}

#[tokio::test]
async fn a_body_that_is_json_but_no_object_is_malformed() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    for body in ["[]", "[{}]", "\"x\"", "1", "null", "true"] {
        let answer = house.post_text(DELIVER, &key, body).await;
        answer.is_problem(400, "not_an_object", None);
    }
}

#[tokio::test]
async fn a_key_that_appears_twice_at_any_depth_is_malformed() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let whole = |details: &str| {
        let plain = delivery("a", json!({ "details": "DETAILS" })).to_string();
        plain.replace("\"DETAILS\"", details)
    };
    let twice = delivery("a", json!({}))
        .to_string()
        .replacen('{', "{\"type\":\"alert\",", 1);
    for body in [
        twice,
        whole(r#"{"a":1,"a":1}"#),
        whole(r#"{"x":{"y":{"a":1,"b":2,"a":3}}}"#),
        whole(r#"{"x":[0,[{"a":1,"a":2}]]}"#),
        whole(r#"{"a":1,"\u0061":2}"#),
        whole(r#"{"":1,"":2}"#),
    ] {
        let answer = house.post_text(DELIVER, &key, body).await;
        answer.is_problem(400, "duplicate_key", None);
    }
    // The same key in two objects is no repetition.
    let answer = house
        .post_text(
            DELIVER,
            &key,
            whole(r#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#),
        )
        .await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn a_refusal_never_repeats_a_secret_that_was_sent_as_a_field_s_name() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let twice = format!(r#"{{"{key}":1,"{key}":2}}"#);
    let nested = format!(r#"{{"details":{{"a":[{twice}]}}}}"#);
    for body in [&twice, &nested] {
        let answer = house.post_text(DELIVER, &key, body.clone()).await;
        answer.is_problem(400, "duplicate_key", None);
        assert!(!answer.text().contains(&key), "{}", answer.text());
    }
    let unknown = format!(r#"{{"name":"bob","{ann}":1}}"#);
    for (path, body, code) in [
        ("/api/v1/users", unknown, "unknown_field"),
        ("/api/v1/users", twice.replace(&key, &ann), "duplicate_key"),
    ] {
        let answer = house.post_text(path, &ann, body).await;
        assert_eq!(answer.json()["code"], code, "{}", answer.text());
        assert!(!answer.text().contains(&ann), "{}", answer.text());
    }
}

#[tokio::test]
async fn what_is_not_sent_as_json_is_not_read() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let authorization = format!("Bearer {key}");
    let body = delivery("a", json!({})).to_string();
    let table = [
        (None, 415),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (Some("application/jsonp"), 415),
        (Some("application/json"), 201),
        (Some("application/json; charset=utf-8"), 201),
        (Some("Application/JSON"), 201),
    ];
    for (content_type, status) in table {
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(content_type.map(|content_type| ("content-type", content_type)));
        let answer = house.raw("POST", DELIVER, &headers, body.clone()).await;
        match status {
            201 => assert_eq!(answer.status, 201, "{content_type:?}"),
            _ => answer.is_problem(status, "not_json_content", None),
        }
    }
}

#[tokio::test]
async fn both_ways_of_writing_the_endpoint_lead_to_the_door() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    // The specification's WAKE_ENDPOINT ends in /wake/v1, the white paper's does not.
    for (base, path) in [
        (format!("{}/wake/v1", house.address()), "/deliver"),
        (house.address(), "/wake/v1/deliver"),
    ] {
        let request = house.http.post(format!("{base}{path}")).bearer_auth(&key);
        let request = request.header("content-type", "application/json");
        let answer = request
            .body(delivery("a", json!({})).to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 201);
    }
}

fn connect(house: &House) -> TcpStream {
    TcpStream::connect(house.address().replace("http://", "")).unwrap()
}

#[tokio::test]
async fn bodies_that_would_fill_memory_wait_and_are_refused_as_busy() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    // Each has been asked for its body, so room for it is set aside.
    let announced = 1 << 20;
    // One key has a quarter of the room.
    let keys = ["b", "c", "d", "e"].map(|agent| house.key(agent));
    let held: Vec<TcpStream> = (0..48)
        .map(|n| {
            let (mut connection, key) = (connect(&house), &keys[n % 4]);
            write!(connection, "POST {DELIVER} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {announced}\r\n\r\n").unwrap();
            let mut said = [0; 25];
            connection.read_exact(&mut said).unwrap();
            assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
            connection
        })
        .collect();
    let large = delivery("a", json!({ "details": "x".repeat(20_000) }));
    let refused = house.post(DELIVER, &key, large.clone()).await;
    refused.is_problem(503, "busy", None);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // People have room of their own.
    let answer = house
        .respond(&ann, &id, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200);
    drop(held);
    let answer = house.post(DELIVER, &key, large).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn whoever_sends_a_large_body_that_is_refused_still_reads_why() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let json = "content-type: application/json";
    let key = format!("authorization: Bearer {key}");
    let megabyte = vec![b' '; 1_000_000];
    for (path, headers, status) in [
        (DELIVER, vec![json], 401),
        (DELIVER, vec![json, "authorization: Bearer wrong"], 401),
        (DELIVER, vec![key.as_str()], 415),
        (DELIVER, vec![json, key.as_str()], 413),
        ("/nowhere", vec![json, key.as_str()], 404),
        ("/healthz", vec![json], 405),
        ("/api/v1/users", vec![json, key.as_str()], 403),
    ] {
        for chunked in [false, true] {
            let mut connection = connect(&house);
            let length = match chunked {
                true => "transfer-encoding: chunked",
                false => "content-length: 10000000",
            };
            let headers = headers.join("\r\n");
            write!(
                connection,
                "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n{length}\r\n\r\n"
            )
            .unwrap();
            // A client that writes all before it reads, as many do.
            for _ in 0..10 {
                if chunked {
                    write!(connection, "{:x}\r\n", megabyte.len()).unwrap();
                }
                connection.write_all(&megabyte).unwrap();
                if chunked {
                    write!(connection, "\r\n").unwrap();
                }
            }
            if chunked {
                write!(connection, "0\r\n\r\n").unwrap();
            }
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            let start = format!("HTTP/1.1 {status} ");
            assert!(
                answer.starts_with(&start),
                "{path} {headers} {chunked}: {answer}"
            );
        }
    }
}

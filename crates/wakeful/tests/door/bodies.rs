//! Bodies that are no delivery at all, and content types.

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

//! Request fields: which must be there, and which values they may have.

use serde_json::{Value, json};

use crate::{
    REQUIRED,
    harness::{House, delivery},
};

#[tokio::test]
async fn a_delivery_without_a_required_field_is_malformed() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    for field in REQUIRED {
        let mut body = delivery("a", json!({}));
        body.as_object_mut().unwrap().remove(field);
        let answer = house.post("/wake/v1/deliver", &key, body).await;
        answer.is_problem(400, "missing_field", Some(field));
    }
}

#[tokio::test]
async fn a_field_with_an_unacceptable_value_is_refused_by_name() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let long_url = format!("https://a.example/{}", "x".repeat(2048));
    let mut table: Vec<(&str, Value, &str)> = vec![
        ("type", json!("status"), "unknown_value"),
        ("type", json!("Output"), "unknown_value"),
        ("type", json!(""), "unknown_value"),
        ("details", json!([]), "wrong_type"),
        ("details", json!(1), "wrong_type"),
        ("details", json!(true), "wrong_type"),
        ("details_format", json!("html"), "unknown_value"),
        ("details_format", json!(1), "wrong_type"),
        ("callback_webhook", json!(1), "wrong_type"),
        ("callback_webhook", json!({}), "wrong_type"),
        ("callback_webhook", json!(""), "webhook_not_a_url"),
        ("callback_webhook", json!("/callback"), "webhook_not_a_url"),
        (
            "callback_webhook",
            json!(" https://a.example/"),
            "webhook_not_a_url",
        ),
        (
            "callback_webhook",
            json!("https:a.example"),
            "webhook_not_a_url",
        ),
        (
            "callback_webhook",
            json!("http://a.example/"),
            "webhook_not_https",
        ),
        (
            "callback_webhook",
            json!("https://u:p@a.example/"),
            "webhook_has_credentials",
        ),
        (
            "callback_webhook",
            json!("https://a.example/"),
            "webhook_not_allowed",
        ),
        ("callback_webhook", json!(long_url), "webhook_too_long"),
    ];
    for bad in [
        json!(59),
        json!(604_801),
        json!(0),
        json!(-60),
        json!(60.5),
        json!(1e99),
    ] {
        table.push(("timeout_seconds", bad, "timeout_out_of_range"));
    }
    for bad in [json!("3600"), json!(true), json!([60]), json!({})] {
        table.push(("timeout_seconds", bad, "wrong_type"));
    }
    for field in REQUIRED {
        for bad in [
            json!(7),
            json!(true),
            json!(null),
            json!(["a"]),
            json!({ "a": 1 }),
        ] {
            table.push((field, bad, "wrong_type"));
        }
    }
    for field in ["agent_id", "provider", "headline", "summary"] {
        table.push((field, json!(""), "empty_field"));
        table.push((field, json!(" \t\n\u{a0}"), "empty_field"));
    }
    for (field, value, code) in table {
        let answer = house
            .post(
                "/wake/v1/deliver",
                &key,
                delivery("a", json!({ field: value })),
            )
            .await;
        answer.is_problem(422, code, Some(field));
    }
}

#[tokio::test]
async fn a_field_with_an_acceptable_value_is_taken() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    house.json(&["webhook", "allow", "a.example"]);
    let mut table = vec![
        json!({ "details": {} }),
        json!({ "details": "" }),
        json!({ "details": "text" }),
        json!({ "details": null, "details_format": null, "callback_webhook": null, "timeout_seconds": null }),
        json!({ "callback_webhook": "https://a.example/wake-callback" }),
        json!({ "timeout_seconds": 60 }),
        json!({ "timeout_seconds": 604_800 }),
        json!({ "priority": 9, "tags": [1, { "x": null }], "feedback": 3 }),
    ];
    table.extend(["update", "question", "output", "alert"].map(|kind| json!({ "type": kind })));
    table.extend(
        ["text", "markdown", "json", "diff"]
            .map(|name| json!({ "details": "x", "details_format": name })),
    );
    for more in table {
        let answer = house
            .post("/wake/v1/deliver", &key, delivery("a", more.clone()))
            .await;
        assert_eq!(answer.status, 201, "{more}: {}", answer.text());
    }
}

#[tokio::test]
async fn lengths_count_characters_and_not_bytes() {
    let (house, _) = House::start().await;
    let crab = |count: usize| "🦀".repeat(count);
    let agent = crab(128);
    let key = house.key(&agent);
    for (field, max) in [
        ("agent_id", 128),
        ("provider", 256),
        ("headline", 120),
        ("summary", 280),
    ] {
        let taken = delivery(&agent, json!({ field: crab(max) }));
        let answer = house.post("/wake/v1/deliver", &key, taken).await;
        assert_eq!(answer.status, 201, "{field}: {}", answer.text());
        let refused = delivery(&agent, json!({ field: crab(max + 1) }));
        let answer = house.post("/wake/v1/deliver", &key, refused).await;
        answer.is_problem(422, "too_long", Some(field));
    }
    // A letter and its accent are two characters; an escaped pair is one.
    let plain = delivery(&agent, json!({ "headline": "HEADLINE" })).to_string();
    for (headline, status) in [
        ("e\u{301}".repeat(60), 201),
        (format!("{}x", "e\u{301}".repeat(60)), 422),
        ("\\ud83e\\udd80".repeat(120), 201),
        ("\\ud83e\\udd80".repeat(121), 422),
    ] {
        let answer = house
            .post_text(
                "/wake/v1/deliver",
                &key,
                plain.replace("HEADLINE", &headline),
            )
            .await;
        assert_eq!(answer.status, status, "{headline}");
    }
}

#[tokio::test]
async fn details_may_have_a_mebibyte_and_not_a_byte_more() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    for (length, code) in [(1 << 20, None), ((1 << 20) + 1, Some("details_too_large"))] {
        // Two of the bytes are the quotes.
        let body = delivery("a", json!({ "details": "x".repeat(length - 2) }));
        let answer = house.post("/wake/v1/deliver", &key, body).await;
        match code {
            None => assert_eq!(answer.status, 201),
            Some(code) => answer.is_problem(422, code, Some("details")),
        }
    }
    let body = delivery("a", json!({ "details": "x".repeat(2 << 20) }));
    let answer = house.post("/wake/v1/deliver", &key, body).await;
    answer.is_problem(413, "too_large", None);
}

#[tokio::test]
async fn the_operator_sets_how_large_details_may_be() {
    let (house, _) = House::start_with(&["--max-details", "10"]).await;
    let key = house.key("a");
    house
        .deliver(&key, "a", json!({ "details": "12345678" }))
        .await;
    let body = delivery("a", json!({ "details": "123456789" }));
    let answer = house.post("/wake/v1/deliver", &key, body).await;
    answer.is_problem(422, "details_too_large", Some("details"));
}

#[tokio::test]
async fn the_schema_is_served_to_anyone_and_says_the_same_limits() {
    let (house, _) = House::start().await;
    let answer = house.send("GET", "/wake/v1/schema.json", None, None).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/schema+json")
    );
    let text = answer.json().to_string();
    for limit in [128, 256, 120, 280] {
        assert!(text.contains(&format!("\"maxLength\":{limit}")), "{limit}");
    }
    for field in REQUIRED {
        assert!(text.contains(&format!("\"{field}\"")), "{field}");
    }
}

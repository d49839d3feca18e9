//! Content comes back as the bytes that were sent: no number is rounded, no
//! space is lost.

use serde_json::json;

use crate::harness::{House, delivery};

const CONTENTS: [&str; 8] = [
    r#"{"n":9007199254740993,"m":123456789012345678901234567890}"#,
    r#"{ "price" :  1.10, "rate":1e400 , "neg":-0.0 }"#,
    r#"{"z":1,"a":2,"nested":{"z":[1.0,1.00],"a":null}}"#,
    "{\n\t\"lines\": \"a\\nb\"\n}",
    r#""\u00e4 ä \/ / \ud83e\udd80 🦀""#,
    r#"{}"#,
    r#""""#,
    r#"{"<script>":"alert(1)\u0000"}"#,
];

#[tokio::test]
async fn details_reach_the_person_as_the_exact_bytes_sent() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let plain = delivery("a", json!({ "details": "DETAILS" })).to_string();
    for content in CONTENTS {
        let body = plain.replace("\"DETAILS\"", content);
        let answer = house.post_text("/wake/v1/deliver", &key, body).await;
        assert_eq!(answer.status, 201, "{content}");
        let id = answer.json()["delivery_id"].as_str().unwrap().to_owned();
        let item = house.get(&format!("/api/v1/inbox/{id}"), &ann).await;
        let expected = format!("\"details\":{content},");
        assert!(item.text().contains(&expected), "{}", item.text());
    }
}

#[tokio::test]
async fn edited_content_and_feedback_reach_the_agent_as_the_exact_bytes_sent() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let feedback = r#""Caf\u00e9 — 1.10 \ud83e\udd80""#;
    let mut answered = Vec::new();
    for (content, hold) in CONTENTS.into_iter().zip([0, 0, 0, 0, 0, 0, 0, 1]) {
        let id = house.deliver(&key, "a", json!({})).await;
        let body = format!(
            r#"{{"status":"redirected","feedback":{feedback},"edited_content":{content},"hold_seconds":{hold}}}"#
        );
        let answer = house
            .post_text(&format!("/api/v1/inbox/{id}/respond"), &ann, body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let path = format!("/wake/v1/response/{id}?wait=10");
        house.get(&path, &key).await;
        answered.push((id, content));
    }
    let expect = |content: &str| {
        format!("\"status\":\"redirected\",\"feedback\":{feedback},\"edited_content\":{content},")
    };
    for restarted in [false, true] {
        for (id, content) in &answered {
            let answer = house.get(&format!("/wake/v1/response/{id}"), &key).await;
            assert!(
                answer.text().contains(&expect(content)),
                "{restarted}: {}",
                answer.text()
            );
            let item = house.get(&format!("/api/v1/inbox/{id}"), &ann).await;
            assert!(
                item.text()
                    .contains(&format!("\"edited_content\":{content}"))
            );
        }
        // The sweep shows the same bytes as the poll.
        let sweep = house.get("/wake/v1/responses", &key).await;
        for (id, _) in &answered {
            let one = house.get(&format!("/wake/v1/response/{id}"), &key).await;
            assert!(sweep.text().contains(one.text()));
        }
        house.kill();
        house.serve().await;
    }
}

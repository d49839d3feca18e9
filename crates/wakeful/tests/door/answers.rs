//! The three answers: which are acceptable, and what the agent gets.

use serde_json::{Value, json};

use crate::harness::House;

#[tokio::test]
async fn an_answer_that_says_nothing_usable_is_refused_and_changes_nothing() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let feedback = "x".repeat(20_001);
    let table: Vec<(Value, u16, &str, Option<&str>)> = vec![
        (json!({}), 400, "missing_field", Some("status")),
        (json!([]), 400, "not_an_object", None),
        (
            json!({ "status": "pending" }),
            422,
            "unknown_value",
            Some("status"),
        ),
        (
            json!({ "status": "maybe" }),
            422,
            "unknown_value",
            Some("status"),
        ),
        (
            json!({ "status": null }),
            422,
            "unknown_value",
            Some("status"),
        ),
        (
            json!({ "status": "redirected" }),
            422,
            "empty_redirect",
            Some("edited_content"),
        ),
        (
            json!({ "status": "redirected", "feedback": "" }),
            422,
            "empty_redirect",
            Some("edited_content"),
        ),
        (
            json!({ "status": "redirected", "feedback": "", "edited_content": "" }),
            422,
            "empty_redirect",
            Some("edited_content"),
        ),
        (
            json!({ "status": "approved", "edited_content": "x" }),
            422,
            "edited_without_redirect",
            Some("edited_content"),
        ),
        (
            json!({ "status": "rejected", "edited_content": {} }),
            422,
            "edited_without_redirect",
            Some("edited_content"),
        ),
        (
            json!({ "status": "redirected", "edited_content": [] }),
            422,
            "bad_edited_content",
            Some("edited_content"),
        ),
        (
            json!({ "status": "redirected", "edited_content": 1 }),
            422,
            "bad_edited_content",
            Some("edited_content"),
        ),
        (
            json!({ "status": "approved", "feedback": 1 }),
            422,
            "bad_feedback",
            Some("feedback"),
        ),
        (
            json!({ "status": "approved", "feedback": feedback }),
            422,
            "bad_feedback",
            Some("feedback"),
        ),
        (
            json!({ "status": "approved", "hold_seconds": 31 }),
            422,
            "hold_out_of_range",
            Some("hold_seconds"),
        ),
        (
            json!({ "status": "approved", "hold_seconds": -1 }),
            422,
            "hold_out_of_range",
            Some("hold_seconds"),
        ),
        (
            json!({ "status": "approved", "hold_seconds": "5" }),
            422,
            "hold_out_of_range",
            Some("hold_seconds"),
        ),
    ];
    for (body, status, code, field) in table {
        house
            .respond(&ann, &id, body)
            .await
            .is_problem(status, code, field);
    }
    let path = format!("/api/v1/inbox/{id}/respond");
    house
        .post_text(&path, &ann, r#"{"status":"approved","status":"rejected"}"#)
        .await
        .is_problem(400, "duplicate_key", None);
    house
        .post_text(&path, &ann, "approved")
        .await
        .is_problem(400, "not_json", None);
    house
        .raw(
            "POST",
            &path,
            &[("authorization", &format!("Bearer {ann}"))],
            r#"{"status":"approved"}"#,
        )
        .await
        .is_problem(415, "not_json_content", None);
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    assert_eq!(house.history(&ann, &id).await, ["delivery_received"]);
}

#[tokio::test]
async fn every_type_can_be_answered_in_all_three_ways() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    for kind in ["update", "question", "output", "alert"] {
        for answer in [
            json!({ "status": "approved" }),
            json!({ "status": "approved", "feedback": "Great work.", "edited_content": null }),
            json!({ "status": "rejected", "feedback": "x".repeat(20_000) }),
            json!({ "status": "redirected", "feedback": "Cut section 3." }),
            json!({ "status": "redirected", "edited_content": { "updated_brief": "…" } }),
            json!({ "status": "redirected", "feedback": "Both.", "edited_content": "text" }),
        ] {
            let id = house.deliver(&key, "a", json!({ "type": kind })).await;
            let given = house.respond(&ann, &id, answer.clone()).await;
            assert_eq!(given.status, 200, "{answer}");
            let response = house.response(&key, &id).await;
            assert_eq!(response.as_object().unwrap().len(), 5);
            assert_eq!(response["delivery_id"], id.as_str());
            assert_eq!(response["status"], answer["status"]);
            assert_eq!(response["feedback"], answer["feedback"]);
            assert_eq!(response["edited_content"], answer["edited_content"]);
            assert_eq!(response["responded_at"], given.json()["responded_at"]);
        }
    }
}

#[tokio::test]
async fn a_second_answer_is_refused_with_the_one_that_stands() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let first = house
        .respond(&ann, &id, json!({ "status": "rejected" }))
        .await
        .json();
    // Also from the same person, and the same answer once more.
    for status in ["approved", "rejected"] {
        let late = house.respond(&ann, &id, json!({ "status": status })).await;
        late.is_problem(409, "already_answered", None);
        let late = late.json();
        assert_eq!(
            (&late["answered_by"], &late["status_given"]),
            (&json!("ann"), &json!("rejected"))
        );
        assert_eq!(late["responded_at"], first["responded_at"]);
        assert_eq!(
            (&late["feedback"], &late["edited_content"]),
            (&Value::Null, &Value::Null)
        );
    }
}

#[tokio::test]
async fn who_comes_late_is_told_the_whole_answer_to_the_byte() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let edited = r#"{ "n": 1.10e40, "m":9007199254740993 }"#;
    let body = format!(
        r#"{{"status":"redirected","feedback":"Gr\u00fc\u00dfe","edited_content":{edited}}}"#
    );
    let path = format!("/api/v1/inbox/{id}/respond");
    assert_eq!(house.post_text(&path, &ann, body).await.status, 200);
    let undo = format!("/api/v1/inbox/{id}/undo");
    for late in [
        house
            .respond(&ann, &id, json!({ "status": "approved" }))
            .await,
        house.send("POST", &undo, Some(&ann), None).await,
    ] {
        late.is_problem(409, "already_answered", None);
        assert!(late.text().contains(edited), "{}", late.text());
        let late = late.json();
        assert_eq!(late["status_given"], "redirected");
        assert_eq!(late["feedback"], "Grüße");
        assert_eq!(late["content_erased"], false);
    }
}

#[tokio::test]
async fn the_trail_records_the_person_and_the_channel() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let (by_api, by_terminal) = (
        house.deliver(&key, "a", json!({})).await,
        house.deliver(&key, "a", json!({})).await,
    );
    house
        .respond(&ann, &by_api, json!({ "status": "approved" }))
        .await;
    let output = house.command(
        &["respond", &by_terminal, "rejected"],
        &[("WAKEFUL_TOKEN", &ann)],
    );
    assert!(output.status.success(), "{output:?}");
    for (id, channel, status) in [
        (by_api, "api", "approved"),
        (by_terminal, "terminal", "rejected"),
    ] {
        let history = house
            .get(&format!("/api/v1/inbox/{id}/history"), &ann)
            .await
            .json();
        let entry = &history["entries"][1];
        assert_eq!(entry["event_type"], "delivery_answered");
        assert_eq!(entry["actor"], "ann");
        assert_eq!(
            (&entry["facts"]["channel"], &entry["facts"]["status"]),
            (&json!(channel), &json!(status))
        );
    }
}

#[tokio::test]
async fn answers_to_what_is_not_there_are_not_found() {
    let (house, ann) = House::start().await;
    for id in ["x", "%FF", "00000000-0000-4000-8000-000000000000"] {
        let answer = house
            .respond(&ann, id, json!({ "status": "approved" }))
            .await;
        answer.is_problem(404, "not_found", None);
        for path in ["", "/history", "/receipt"] {
            house
                .get(&format!("/api/v1/inbox/{id}{path}"), &ann)
                .await
                .is_problem(404, "not_found", None);
        }
        for path in ["/undo", "/seen"] {
            house
                .send(
                    "POST",
                    &format!("/api/v1/inbox/{id}{path}"),
                    Some(&ann),
                    None,
                )
                .await
                .is_problem(404, "not_found", None);
        }
    }
}

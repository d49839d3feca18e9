//! Answers that can be undone for a while, and long polls.

use serde_json::json;

use crate::harness::House;

fn held(status: &str, seconds: u32) -> serde_json::Value {
    json!({ "status": status, "hold_seconds": seconds, "feedback": "For now." })
}

#[tokio::test]
async fn a_held_answer_is_pending_for_agents_and_a_conflict_for_others() {
    let (house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let answer = house.respond(&ann, &id, held("approved", 30)).await;
    assert_eq!(answer.status, 200);
    assert!(answer.json()["held_until"].is_string() && answer.json().get("responded_at").is_none());

    let seen = house.response(&key, &id).await;
    assert_eq!(seen["status"], "pending");
    assert_eq!(
        (&seen["feedback"], &seen["responded_at"]),
        (&json!(null), &json!(null))
    );
    let sweep = house
        .get("/wake/v1/responses?status=approved", &key)
        .await
        .json();
    assert_eq!(sweep["total"], 0);

    let other = house
        .respond(&bob, &id, json!({ "status": "rejected" }))
        .await;
    other.is_problem(409, "held_by_another", None);
    assert_eq!(other.json()["held_by"], "ann");
    house
        .respond(&ann, &id, json!({ "status": "rejected" }))
        .await
        .is_problem(409, "held_by_you", None);
    let item = house.get(&format!("/api/v1/inbox/{id}"), &bob).await.json();
    assert_eq!(item["held"]["by"], "ann");
    assert_eq!(item["status"], "pending");
}

#[tokio::test]
async fn only_its_author_can_undo_a_held_answer_and_then_anyone_may_answer() {
    let (house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let undo = format!("/api/v1/inbox/{id}/undo");
    house
        .send("POST", &undo, Some(&ann), None)
        .await
        .is_problem(409, "nothing_held", None);
    house.respond(&ann, &id, held("approved", 30)).await;
    house
        .send("POST", &undo, Some(&bob), None)
        .await
        .is_problem(409, "held_by_another", None);
    assert_eq!(
        house.send("POST", &undo, Some(&ann), None).await.status,
        204
    );
    let answer = house
        .respond(&bob, &id, json!({ "status": "rejected" }))
        .await;
    assert_eq!(answer.status, 200);
    house
        .send("POST", &undo, Some(&bob), None)
        .await
        .is_problem(409, "already_answered", None);
    let response = house.response(&key, &id).await;
    assert_eq!(
        (&response["status"], &response["feedback"]),
        (&json!("rejected"), &json!(null))
    );
    assert_eq!(
        house.history(&ann, &id).await,
        [
            "delivery_received",
            "answer_held",
            "answer_undone",
            "delivery_answered"
        ]
    );
}

#[tokio::test]
async fn a_held_answer_becomes_final_by_itself() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let answer = house.respond(&ann, &id, held("approved", 1)).await.json();
    let response = house.answer(&key, &id).await;
    assert_eq!(
        (&response["status"], &response["feedback"]),
        (&json!("approved"), &json!("For now."))
    );
    assert!(response["responded_at"].as_str() >= answer["held_until"].as_str());
    assert_eq!(
        house.history(&ann, &id).await,
        ["delivery_received", "answer_held", "delivery_answered"]
    );
    let late = house
        .send(
            "POST",
            &format!("/api/v1/inbox/{id}/undo"),
            Some(&ann),
            None,
        )
        .await;
    late.is_problem(409, "already_answered", None);
}

#[tokio::test]
async fn a_hold_outlives_a_crash_of_the_server() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let (soon, later) = (
        house.deliver(&key, "a", json!({})).await,
        house.deliver(&key, "a", json!({})).await,
    );
    house.respond(&ann, &soon, held("rejected", 1)).await;
    house.respond(&ann, &later, held("rejected", 30)).await;
    house.kill();
    house.serve().await;
    assert_eq!(house.answer(&key, &soon).await["status"], "rejected");
    assert_eq!(house.response(&key, &later).await["status"], "pending");
    let undone = house
        .send(
            "POST",
            &format!("/api/v1/inbox/{later}/undo"),
            Some(&ann),
            None,
        )
        .await;
    assert_eq!(undone.status, 204);
}

#[tokio::test]
async fn a_long_poll_ends_with_the_answer() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let path = format!("/wake/v1/response/{id}?wait=60");
    let started = std::time::Instant::now();
    let (polled, answered) = tokio::join!(
        house.get(&path, &key),
        house.respond(&ann, &id, json!({ "status": "approved" }))
    );
    assert_eq!(answered.status, 200);
    assert_eq!(polled.json()["status"], "approved");
    assert!(started.elapsed().as_secs() < 30, "it did not wake");
}

#[tokio::test]
async fn a_long_poll_without_an_answer_ends_in_time_with_pending() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let started = std::time::Instant::now();
    let answer = house
        .get(&format!("/wake/v1/response/{id}?wait=1"), &key)
        .await;
    assert_eq!(answer.json()["status"], "pending");
    assert!((1.0..5.0).contains(&started.elapsed().as_secs_f64()));
    // As with other parameters, an empty value is none.
    let path = format!("/wake/v1/response/{id}?wait=");
    assert_eq!(house.get(&path, &key).await.json()["status"], "pending");
    house
        .get(&format!("{path}1&wait=1"), &key)
        .await
        .is_problem(422, "repeated_parameter", Some("wait"));
    for bad in ["61", "-1", "1.5", "x", "%2B1"] {
        let answer = house
            .get(&format!("/wake/v1/response/{id}?wait={bad}"), &key)
            .await;
        answer.is_problem(422, "wait_out_of_range", Some("wait"));
    }
}

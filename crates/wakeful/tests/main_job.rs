//! The main job, end to end, with the real program.

mod harness;

use harness::House;
use serde_json::json;

#[tokio::test]
async fn an_agent_delivers_a_person_answers_and_the_agent_learns_it() {
    let (house, ann) = House::start().await;
    let key = house.key("research-01");
    let id = house
        .deliver(&key, "research-01", json!({ "details": { "words": 3200 } }))
        .await;
    assert_eq!(house.response(&key, &id).await["status"], "pending");

    let answer = json!({ "status": "redirected", "feedback": "Cut section 3.", "edited_content": { "n": 1 } });
    assert_eq!(house.respond(&ann, &id, answer).await.status, 200);

    let response = house.response(&key, &id).await;
    assert_eq!(response["status"], "redirected");
    assert_eq!(response["feedback"], "Cut section 3.");
    assert_eq!(response["edited_content"], json!({ "n": 1 }));
    assert!(response["responded_at"].is_string());
    assert_eq!(
        house.history(&ann, &id).await,
        ["delivery_received", "delivery_answered"]
    );
}

#[tokio::test]
async fn the_first_answer_stands_and_a_later_one_is_told_whose_it_is() {
    let (house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    assert_eq!(
        house
            .respond(&bob, &id, json!({ "status": "approved" }))
            .await
            .status,
        200
    );
    let late = house
        .respond(&ann, &id, json!({ "status": "rejected" }))
        .await;
    assert_eq!(late.status, 409);
    assert_eq!(late.json()["answered_by"], "bob");
    assert_eq!(house.response(&key, &id).await["status"], "approved");
}

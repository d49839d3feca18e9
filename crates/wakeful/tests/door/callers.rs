//! Who may deliver and read, and what everyone else is told.

use std::collections::HashSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Answer, House, delivery};

/// Everything of an answer that a stranger could learn from.
fn told(answer: &Answer) -> (u16, String, Vec<String>) {
    let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (answer.status.as_u16(), answer.text().to_owned(), names)
}

#[tokio::test]
async fn unknown_malformed_and_revoked_keys_are_told_the_same() {
    let (house, ann) = House::start().await;
    let made = house.json(&["key", "create", "--agent", "a"]);
    let revoked = made["key"].as_str().unwrap();
    let id = house.deliver(revoked, "a", json!({})).await;
    let path = format!("/api/v1/keys/{}", made["key_id"].as_str().unwrap());
    assert_eq!(
        house.send("DELETE", &path, Some(&ann), None).await.status,
        204
    );

    let unknown = format!("Bearer wk_live_{}", "A".repeat(43));
    let revoked = format!("Bearer {revoked}");
    let human = format!("Bearer {ann}");
    let live = house.key("a");
    let basic = format!("Basic {live}");
    let longer = format!("Bearer {live}x");
    let mut said = HashSet::new();
    for authorization in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer nonsense"),
        Some(&unknown),
        Some(&revoked),
        Some(&human),
        Some(&basic),
        Some(&longer),
    ] {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(authorization.map(|text| ("authorization", text)));
        for (method, path) in [
            ("POST", "/wake/v1/deliver".to_owned()),
            ("GET", format!("/wake/v1/response/{id}")),
            ("GET", "/wake/v1/responses".to_owned()),
        ] {
            let answer = house
                .raw(
                    method,
                    &path,
                    &headers,
                    delivery("a", json!({})).to_string(),
                )
                .await;
            answer.is_problem(401, "unauthenticated", None);
            let challenge = match authorization {
                None => "Bearer",
                Some(_) => "Bearer error=\"invalid_token\"",
            };
            assert_eq!(answer.header("www-authenticate"), Some(challenge));
            said.insert(told(&answer));
        }
    }
    assert_eq!(said.len(), 1, "{said:?}");
    // The scheme's name has no case.
    let lower = format!("bearer {live}");
    let answer = house
        .raw(
            "GET",
            "/wake/v1/responses",
            &[("authorization", &lower)],
            "",
        )
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn unknown_malformed_and_foreign_ids_are_told_the_same() {
    let (house, ann) = House::start().await;
    let (mine, theirs) = (house.key("a"), house.key("b"));
    let foreign = house.deliver(&theirs, "b", json!({})).await;
    let mut said = HashSet::new();
    for id in [
        foreign.as_str(),
        &Uuid::new_v4().to_string(),
        "x",
        "1",
        "%00",
        "%FF",
        "..",
        "%2e%2e%2fdeliver",
        &foreign[1..],
        &"a".repeat(5000),
    ] {
        let answer = house.get(&format!("/wake/v1/response/{id}"), &mine).await;
        answer.is_problem(404, "not_found", None);
        said.insert(told(&answer));
    }
    assert_eq!(said.len(), 1, "{said:?}");
    let denial = house.denial(&ann, "outside_scope").await;
    assert_eq!(denial["who"], "agent/a");
}

#[tokio::test]
async fn a_key_delivers_as_its_own_agent_only_and_trying_otherwise_is_on_the_trail() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    house.key("b");
    // An orchestrator reads for others and still delivers as itself.
    let boss = house.key_with("boss", &["--orchestrator", "a,b"]);
    for key in [&key, &boss] {
        let answer = house
            .post("/wake/v1/deliver", key, delivery("b", json!({})))
            .await;
        answer.is_problem(422, "agent_id_mismatch", Some("agent_id"));
    }
    house.denial(&ann, "agent_id_mismatch").await;
    house.deliver(&boss, "boss", json!({})).await;
    let inbox = house.get("/api/v1/inbox?agent_id=b", &ann).await.json();
    assert_eq!(inbox["items"], json!([]));
}

#[tokio::test]
async fn an_orchestrator_reads_the_agents_it_names_and_no_others() {
    let (house, _) = House::start().await;
    let (a, c) = (house.key("a"), house.key("c"));
    let boss = house.key_with("boss", &["--orchestrator", "a,b"]);
    let named = house.deliver(&a, "a", json!({})).await;
    let other = house.deliver(&c, "c", json!({})).await;
    assert_eq!(house.response(&boss, &named).await["status"], "pending");
    house
        .get(&format!("/wake/v1/response/{other}"), &boss)
        .await
        .is_problem(404, "not_found", None);
    let own = house.deliver(&boss, "boss", json!({})).await;
    house
        .get(&format!("/wake/v1/response/{own}"), &a)
        .await
        .is_problem(404, "not_found", None);
}

#[tokio::test]
async fn delivery_ids_are_random_uuids_of_version_4() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let mut seen = HashSet::new();
    for _ in 0..40 {
        let id = house.deliver(&key, "a", json!({})).await;
        let uuid = Uuid::parse_str(&id).unwrap();
        assert_eq!(uuid.get_version_num(), 4, "{id}");
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122, "{id}");
        assert_eq!(id, uuid.hyphenated().to_string(), "lowercase, with hyphens");
        seen.insert(id);
    }
    assert_eq!(seen.len(), 40);
    // Of 122 random bits each should be set in some and clear in others.
    let bits = |pick: fn(u128, u128) -> u128, start: u128| {
        let numbers = seen.iter().map(|id| Uuid::parse_str(id).unwrap().as_u128());
        numbers.fold(start, pick)
    };
    let ever_set = bits(|all, one| all | one, 0);
    let always_set = bits(|all, one| all & one, u128::MAX);
    assert_eq!((ever_set & !always_set).count_ones(), 122);
}

#[tokio::test]
async fn a_delivery_is_received_with_exactly_three_fields() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let answer = house
        .post("/wake/v1/deliver", &key, delivery("a", json!({})))
        .await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let receipt = answer.json();
    assert_eq!(receipt.as_object().unwrap().len(), 3);
    assert_eq!(receipt["status"], "received");
    let created_at = receipt["created_at"].as_str().unwrap();
    assert!(
        created_at.ends_with('Z') && created_at.len() == 27,
        "{created_at}"
    );
    let id = receipt["delivery_id"].as_str().unwrap();
    let pending = format!(
        r#"{{"delivery_id":"{id}","status":"pending","feedback":null,"edited_content":null,"responded_at":null}}"#
    );
    let answer = house.get(&format!("/wake/v1/response/{id}"), &key).await;
    assert_eq!(answer.text(), pending);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn test_keys_deliver_tests_that_can_be_told_apart() {
    let (house, ann) = House::start().await;
    let test = house.key_with("a", &["--test"]);
    let live = house.key("a");
    assert!(test.starts_with("wk_test_") && live.starts_with("wk_live_"));
    let tried = house.deliver(&test, "a", json!({})).await;
    let real = house.deliver(&live, "a", json!({})).await;
    for (filter, expected) in [
        ("test=true", vec![&tried]),
        ("test=false", vec![&real]),
        ("", vec![&real, &tried]),
    ] {
        let page = house
            .get(&format!("/api/v1/inbox?{filter}"), &ann)
            .await
            .json();
        let items: Vec<&Value> = page["items"].as_array().unwrap().iter().collect();
        let ids: Vec<&str> = items
            .iter()
            .map(|item| item["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{filter}");
        assert!(
            items
                .iter()
                .all(|item| item["test"] == (item["id"] == tried.as_str()))
        );
    }
    assert_eq!(
        house
            .respond(&ann, &tried, json!({ "status": "approved" }))
            .await
            .status,
        200
    );
    assert_eq!(house.response(&test, &tried).await["status"], "approved");
}

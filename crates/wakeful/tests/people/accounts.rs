//! People come and go.

use serde_json::json;

use crate::harness::{Answer, House};

async fn change(house: &House, token: &str, name: &str, body: serde_json::Value) -> Answer {
    house
        .send(
            "PATCH",
            &format!("/api/v1/users/{name}"),
            Some(token),
            Some(body),
        )
        .await
}

#[tokio::test]
async fn a_suspended_person_is_out_until_resumed_and_a_deactivated_one_for_good() {
    let (house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    let id = {
        let key = house.key("a");
        house.deliver(&key, "a", json!({})).await
    };
    assert_eq!(
        change(&house, &ann, "bob", json!({ "state": "suspended" }))
            .await
            .status,
        204
    );
    let refused = house
        .respond(&bob, &id, json!({ "status": "approved" }))
        .await;
    refused.is_problem(401, "unauthenticated", None);
    assert_eq!(
        change(&house, &ann, "bob", json!({ "state": "active" }))
            .await
            .status,
        204
    );
    assert_eq!(house.get("/api/v1/me", &bob).await.status, 200);
    assert_eq!(
        change(&house, &ann, "bob", json!({ "state": "deactivated" }))
            .await
            .status,
        204
    );
    house
        .get("/api/v1/me", &bob)
        .await
        .is_problem(401, "unauthenticated", None);
    for state in ["active", "suspended"] {
        change(&house, &ann, "bob", json!({ "state": state }))
            .await
            .is_problem(409, "user_deactivated", None);
    }
    // The name is taken for good: the trail speaks of him.
    let again = house
        .post("/api/v1/users", &ann, json!({ "name": "bob" }))
        .await;
    again.is_problem(409, "user_exists", Some("name"));
    let states: Vec<_> = house.entries(&ann, "user_state_set").await;
    assert_eq!(states.len(), 3);
}

#[tokio::test]
async fn the_last_owner_cannot_be_lost() {
    let (house, ann) = House::start().await;
    for body in [
        json!({ "state": "suspended" }),
        json!({ "state": "deactivated" }),
        json!({ "role": "viewer" }),
    ] {
        change(&house, &ann, "ann", body)
            .await
            .is_problem(409, "last_owner", None);
    }
    house.user("bob", "owner");
    assert_eq!(
        change(&house, &ann, "bob", json!({ "state": "suspended" }))
            .await
            .status,
        204
    );
    change(&house, &ann, "ann", json!({ "role": "reviewer" }))
        .await
        .is_problem(409, "last_owner", None);
    assert_eq!(
        change(&house, &ann, "bob", json!({ "state": "active" }))
            .await
            .status,
        204
    );
    assert_eq!(
        change(&house, &ann, "ann", json!({ "role": "reviewer" }))
            .await
            .status,
        204
    );
    // The token is the same; what it may do is not.
    let refused = change(&house, &ann, "ann", json!({ "role": "owner" })).await;
    refused.is_problem(403, "role_refused", None);
}

#[tokio::test]
async fn names_are_plain_and_those_of_the_protocol_are_refused() {
    let (house, ann) = House::start().await;
    let long = "a".repeat(65);
    for name in [
        "system", "protocol", "fallback", "owner", "reviewer", "viewer", "operator", "agent",
        "you", "me", "admin",
    ] {
        let answer = house
            .post("/api/v1/users", &ann, json!({ "name": name }))
            .await;
        answer.is_problem(422, "reserved_name", Some("name"));
    }
    for name in [
        "",
        "Ann",
        "a b",
        "1a",
        "ä",
        "a/b",
        "a\u{202e}b",
        long.as_str(),
    ] {
        let answer = house
            .post("/api/v1/users", &ann, json!({ "name": name }))
            .await;
        answer.is_problem(422, "bad_name", Some("name"));
    }
    house
        .post("/api/v1/users", &ann, json!({ "name": "ann" }))
        .await
        .is_problem(409, "user_exists", Some("name"));
}

#[tokio::test]
async fn an_administrative_body_that_does_not_fit_is_refused_by_field() {
    let (house, ann) = House::start().await;
    for (body, status, code, field) in [
        ("", 400, "not_json", None),
        ("[]", 400, "not_an_object", None),
        ("\"bob\"", 400, "not_an_object", None),
        (r#"{"name":"x","name":"y"}"#, 400, "duplicate_key", None),
        ("{}", 400, "missing_field", Some("name")),
        (r#"{"name":1}"#, 422, "wrong_type", Some("name")),
        (r#"{"name":null}"#, 422, "wrong_type", Some("name")),
        (
            r#"{"name":"x","role":"king"}"#,
            422,
            "unknown_value",
            Some("role"),
        ),
        (r#"{"name":"x","role":1}"#, 422, "wrong_type", Some("role")),
        (
            r#"{"name":"x","colour":1}"#,
            422,
            "unknown_field",
            Some("colour"),
        ),
    ] {
        house
            .post_text("/api/v1/users", &ann, body)
            .await
            .is_problem(status, code, field);
    }
    assert!(house.get("/api/v1/users", &ann).await.json()["users"][1].is_null());
    // Nobody is told that nothing was done to no one, nor is half of a change made.
    for body in [
        json!({}),
        json!({ "role": null }),
        json!({ "role": "viewer", "state": "active" }),
    ] {
        change(&house, &ann, "nobody", body)
            .await
            .is_problem(422, "one_change", None);
    }
    change(&house, &ann, "nobody", json!({ "state": "active" }))
        .await
        .is_problem(404, "no_such_user", None);
}

#[tokio::test]
async fn a_retention_rule_is_removed_only_by_saying_so() {
    let (house, ann) = House::start().await;
    let set = |body: serde_json::Value| {
        let (house, ann) = (&house, &ann);
        async move {
            house
                .send("PUT", "/api/v1/retention/update", Some(ann), Some(body))
                .await
        }
    };
    let rules = || async { house.get("/api/v1/retention", &ann).await.json() };
    assert_eq!(set(json!({ "days": 30 })).await.status, 204);
    set(json!({}))
        .await
        .is_problem(400, "missing_field", Some("days"));
    set(json!({ "days": "30" }))
        .await
        .is_problem(422, "wrong_type", Some("days"));
    set(json!({ "days": 0 }))
        .await
        .is_problem(422, "bad_retention", Some("days"));
    let path = "/api/v1/retention/other";
    let unknown = house.send("PUT", path, Some(&ann), Some(json!({ "days": 30 })));
    let unknown = unknown.await;
    unknown.is_problem(422, "unknown_value", Some("type"));
    let words = "\"type\" must be one of update, question, output, alert.";
    assert_eq!(unknown.json()["detail"], words);
    assert_eq!(rules().await["retention_days"], json!({ "update": 30 }));
    assert_eq!(set(json!({ "days": null })).await.status, 204);
    assert_eq!(rules().await["retention_days"], json!({}));
}

#[tokio::test]
async fn a_new_person_reviews_unless_said_otherwise_and_the_first_is_the_owner() {
    let house = House::empty();
    let output = house.command(&["user", "create", "vic", "--role", "viewer"], &[]);
    assert!(!output.status.success(), "the first must be an owner");
    assert_eq!(house.json(&["user", "create", "ann"])["role"], "owner");
    assert_eq!(house.json(&["user", "create", "bob"])["role"], "reviewer");
}

#[tokio::test]
async fn a_new_token_replaces_the_old_one_and_no_token_is_kept_readable() {
    let (mut house, ann) = House::start().await;
    let old = house.user("bob", "reviewer");
    let made = house
        .send("POST", "/api/v1/users/bob/token", Some(&ann), None)
        .await;
    assert_eq!(made.status, 201);
    let new = made.json()["token"].as_str().unwrap().to_owned();
    assert!(new.starts_with("wl_") && new != old);
    let key = house.key("a");
    for restart in [false, true] {
        if restart {
            house.stop();
            house.serve().await;
        }
        house
            .get("/api/v1/me", &old)
            .await
            .is_problem(401, "unauthenticated", None);
        assert_eq!(house.get("/api/v1/me", &new).await.json()["name"], "bob");
    }
    house.stop();
    for secret in [&ann, &old, &new, &key] {
        // What follows the prefix is what must not be anywhere; it may hold a `_` of its own.
        let bytes = &secret.as_bytes()[secret.len() - 43..];
        for file in ["wakeful.db", "wakeful.db-wal"] {
            let content = std::fs::read(house.data().join(file)).unwrap_or_default();
            assert!(
                !content.windows(bytes.len()).any(|window| window == bytes),
                "{file}"
            );
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_changed() {
    let (house, ann) = House::start().await;
    change(&house, &ann, "zoe", json!({ "role": "viewer" }))
        .await
        .is_problem(404, "no_such_user", None);
    house
        .send("POST", "/api/v1/users/zoe/token", Some(&ann), None)
        .await
        .is_problem(404, "no_such_user", None);
    house
        .send("DELETE", "/api/v1/keys/key_0", Some(&ann), None)
        .await
        .is_problem(404, "no_such_key", None);
    house
        .post("/api/v1/keys/key_0/rotate", &ann, json!({}))
        .await
        .is_problem(404, "no_such_key", None);
    house
        .get("/api/v1/agents/zoe/prompt", &ann)
        .await
        .is_problem(404, "no_such_agent", None);
}

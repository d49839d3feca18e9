//! Settings.

use serde_json::{Value, json};

use crate::{
    browser::Browser,
    connect::says_what_stays,
    harness::{House, delivery},
};

async fn rules(house: &House, token: &str) -> Value {
    house.get("/api/v1/retention", token).await.json()["retention_days"].clone()
}

#[tokio::test]
async fn an_owner_sets_how_long_content_is_kept() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page("/settings").await;
    for shown in [
        house.address().as_str(),
        "500 an hour, 50 at once",
        "20 an hour, 5 at once",
        "1024 KiB",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    let set = [("type", "update"), ("keep", "days"), ("days", "30")];
    ann.done("/settings/retention", &set, "/settings").await;
    assert_eq!(rules(&house, &token).await, json!({ "update": 30 }));
    assert!(ann.page("/settings").await.contains("30 days"));
    let set = [("type", "alert"), ("keep", "days"), ("days", "1")];
    ann.done("/settings/retention", &set, "/settings").await;
    let page = ann.page("/settings").await;
    assert!(page.contains(">1 day<"), "{page}");
    let keep = [("type", "alert"), ("keep", "always"), ("days", "")];
    ann.done("/settings/retention", &keep, "/settings").await;
    for (kind, days, words) in [
        ("update", "", "or choose to keep it for good"),
        ("update", "0", "1 to 36500 days"),
        ("update", "99999", "1 to 36500 days"),
        ("update", "-1", "or choose"),
        (
            "other",
            "3",
            "must be one of update, question, output, alert",
        ),
    ] {
        let set = [("type", kind), ("keep", "days"), ("days", days)];
        ann.refused("/settings/retention", &set, 422, words).await;
    }
    assert_eq!(rules(&house, &token).await, json!({ "update": 30 }));
    let keep = [("type", "update"), ("keep", "always"), ("days", "30")];
    ann.done("/settings/retention", &keep, "/settings").await;
    assert_eq!(rules(&house, &token).await, json!({}));
}

#[tokio::test]
async fn whoever_sets_retention_is_told_what_is_never_encrypted_nor_erased_and_why() {
    let (house, _) = House::start().await;
    let page = Browser::of(&house, "ann").await.page("/settings").await;
    let retention = page.split("id=\"retention-title\"").nth(1).unwrap();
    says_what_stays(retention.split("</section>").next().unwrap());
}

#[tokio::test]
async fn an_owner_sets_how_much_keys_may_deliver() {
    let (house, token) = House::start().await;
    let key = house.key_with("a", &[]);
    let ann = Browser::of(&house, "ann").await;
    let rates = || async { house.get("/api/v1/rates", &token).await.json()["rates"].clone() };
    let before = rates().await;
    assert!(!ann.page("/settings").await.contains("As WAKE has it"));
    let set = |keys, rate| [("keys", keys), ("set", "rate"), ("rate", rate)];
    ann.done("/settings/rates", &set("live", "60/1"), "/settings")
        .await;
    assert_eq!(rates().await["live"], json!({ "burst": 1, "per_hour": 60 }));
    let page = ann.page("/settings").await;
    assert!(
        page.contains("60 an hour, 1 at once") && page.contains("As WAKE has it"),
        "{page}"
    );
    assert!(ann.page("/agents").await.contains("60 an hour, 1 at once"));
    house.deliver(&key, "a", json!({})).await;
    let refused = house
        .post("/wake/v1/deliver", &key, delivery("a", json!({})))
        .await;
    refused.is_problem(429, "rate_limited", None);
    for (keys, rate, status, words) in [
        ("live", "", 422, "such as 500/50"),
        ("live", "0/1", 422, "both at least 1"),
        ("live", "many", 422, "such as 500/50"),
        ("other", "1/1", 404, "nothing here"),
    ] {
        ann.refused("/settings/rates", &set(keys, rate), status, words)
            .await;
    }
    let usual = [("keys", "live"), ("set", "usual"), ("rate", "60/1")];
    ann.done("/settings/rates", &usual, "/settings").await;
    assert_eq!(rates().await, before);
}

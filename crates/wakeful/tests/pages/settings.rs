//! Settings.

use serde_json::{Value, json};

use crate::{browser::Browser, harness::House};

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
        "1024 KiB",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    let set = [("type", "update"), ("keep", "days"), ("days", "30")];
    ann.done("/settings/retention", &set, "/settings").await;
    assert_eq!(rules(&house, &token).await, json!({ "update": 30 }));
    assert!(ann.page("/settings").await.contains("30 days"));
    for (kind, days, words) in [
        ("update", "", "or choose to keep it for good"),
        ("update", "0", "1 to 36500 days"),
        ("update", "99999", "1 to 36500 days"),
        ("update", "-1", "or choose"),
        ("other", "3", "not a delivery type"),
    ] {
        let set = [("type", kind), ("keep", "days"), ("days", days)];
        ann.refused("/settings/retention", &set, 422, words).await;
    }
    assert_eq!(rules(&house, &token).await, json!({ "update": 30 }));
    let keep = [("type", "update"), ("keep", "always"), ("days", "30")];
    ann.done("/settings/retention", &keep, "/settings").await;
    assert_eq!(rules(&house, &token).await, json!({}));
}

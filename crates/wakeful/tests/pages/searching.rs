//! What a search of the inbox and its filters show.

use serde_json::json;

use crate::{
    browser::{Browser, reached},
    harness::{House, until},
};

#[tokio::test]
async fn a_search_shows_each_type_in_its_section_and_leads_on_to_the_rest() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let mut all = Vec::new();
    for kind in ["alert", "question"] {
        let delivery = json!({ "type": kind, "headline": "sesame" });
        all.push(house.deliver(&key, "a", delivery).await);
    }
    let [alert, question] = [all[0].clone(), all[1].clone()];
    for _ in 0..60 {
        let work = json!({ "type": "output", "headline": "sesame" });
        all.push(house.deliver(&key, "a", work).await);
        house.deliver(&key, "a", json!({ "type": "alert" })).await;
    }
    let ann = Browser::of(&house, "ann").await;
    let last = all.last().unwrap();
    until("the last is indexed", || async {
        ann.page("/?q=sesame").await.contains(last)
    })
    .await;
    let page = ann.page("/?q=sesame").await;
    let place = |id: &String| page.find(id.as_str()).unwrap();
    assert!(place(&alert) < place(&question) && place(&question) < place(last));
    assert_eq!(page.matches("rel=\"next\"").count(), 1, "{page}");
    let (pages, mut found) = reached(&ann, "/?q=sesame").await;
    found.sort_unstable();
    all.sort_unstable();
    assert_eq!((pages, found), (2, all));
    // Of one type alone nothing else is offered.
    for (path, pages, found) in [
        ("/?q=sesame&type=output", 2, 60),
        ("/?q=sesame&type=alert", 1, 1),
        ("/?q=sesame&type=update", 1, 0),
    ] {
        let (looked_at, rows) = reached(&ann, path).await;
        assert_eq!((looked_at, rows.len()), (pages, found), "{path}");
    }
}

#[tokio::test]
async fn tests_can_be_left_out_or_looked_at_alone() {
    let (house, _) = House::start().await;
    let trial = house.json(&["key", "create", "--agent", "trial", "--test"]);
    let trial = house
        .deliver(trial["key"].as_str().unwrap(), "trial", json!({}))
        .await;
    let real = house.deliver(&house.key("real"), "real", json!({})).await;
    let ann = Browser::of(&house, "ann").await;
    for (path, found) in [
        ("/", vec![&real, &trial]),
        ("/?tests=no", vec![&real]),
        ("/?tests=only", vec![&trial]),
        ("/?tests=only&group=agent", vec![&trial]),
    ] {
        let (_, rows) = reached(&ann, path).await;
        assert_eq!(rows.iter().collect::<Vec<_>>(), found, "{path}");
    }
}

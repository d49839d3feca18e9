//! What is put aside is out of sight, and hides nothing else.

use serde_json::json;

use crate::{
    browser::{Browser, reached},
    harness::House,
};

#[tokio::test]
async fn what_is_put_aside_hides_nothing_older_and_is_all_found_again() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let question = json!({ "type": "question", "headline": "sesame" });
    let old = house.deliver(&key, "a", question.clone()).await;
    let ann = Browser::of(&house, "ann").await;
    let mut aside = Vec::new();
    for _ in 0..55 {
        let id = house.deliver(&key, "a", question.clone()).await;
        ann.done(&format!("/items/{id}/snooze"), &[("hours", "4")], "/")
            .await;
        aside.push(id);
    }
    // Newer than all that is put aside: these alone are in between.
    for _ in 0..52 {
        house.deliver(&key, "a", json!({ "type": "output" })).await;
    }
    for path in [
        "/?type=question",
        "/?type=question&agent=a",
        "/?group=agent&type=question",
        "/?type=question&days=7",
    ] {
        let (pages, found) = reached(&ann, path).await;
        assert_eq!((pages, found), (1, vec![old.clone()]), "{path}");
    }
    let page = ann.page("/").await;
    assert!(
        page.contains(&old) && page.contains("55 put aside"),
        "{page}"
    );

    // All of it is found again, however old.
    aside.reverse();
    for path in [
        "/?snoozed=1",
        "/?snoozed=1&group=agent",
        "/?snoozed=1&agent=a",
    ] {
        let (pages, found) = reached(&ann, path).await;
        assert_eq!((pages, &found), (2, &aside), "{path}");
    }
    // Another person sees everything, and has put nothing aside.
    house.user("rob", "reviewer");
    let rob = Browser::of(&house, "rob").await;
    let (_, found) = reached(&rob, "/?type=question").await;
    assert_eq!(found.len(), 56);
    assert!(!rob.page("/").await.contains("put aside</a>"));
    let page = rob.page("/?snoozed=1").await;
    assert!(page.contains("Nothing is put aside."), "{page}");
    // What is answered is not put aside any more.
    house
        .respond(
            &house.user("bob", "reviewer"),
            &aside[0],
            json!({ "status": "approved" }),
        )
        .await;
    assert!(ann.page("/").await.contains("54 put aside"));
}

//! The trail.

use serde_json::json;

use crate::{browser::Browser, harness::House};

fn positions(page: &str) -> Vec<u64> {
    let after = page.split("data-position=\"").skip(1);
    after
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[tokio::test]
async fn the_trail_is_shown_newest_first_in_pages_and_by_agent() {
    let (house, _) = House::start().await;
    let (key, other) = (house.key("a"), house.key("b"));
    for n in 0..60 {
        house
            .deliver(&key, "a", json!({ "headline": format!("<img src=x> {n}") }))
            .await;
    }
    house.deliver(&other, "b", json!({})).await;
    let ann = Browser::of(&house, "ann").await;
    let mut path = "/trail".to_owned();
    let mut all = Vec::new();
    loop {
        let page = ann.page(&path).await;
        assert!(!page.contains("<img"), "{page}");
        all.extend(positions(&page));
        let Some((_, rest)) = page.split_once("rel=\"next\" href=\"") else {
            break;
        };
        path = rest.split('"').next().unwrap().replace("&amp;", "&");
    }
    let newest = all[0];
    assert_eq!(all, (0..=newest).rev().collect::<Vec<_>>());
    let of_b = ann.page("/trail?agent=b").await;
    assert!(
        of_b.contains("delivery received") && !of_b.contains("on agent/a"),
        "{of_b}"
    );
    assert!(
        ann.page("/trail?agent=nobody")
            .await
            .contains("Nothing to show")
    );
    ann.page("/trail?before=18446744073709551615").await;
    let proof = ann.get(&format!("/api/v1/trail/{newest}/proof")).await;
    assert_eq!(proof.status, 200);
}

#[tokio::test]
async fn who_does_not_own_the_server_sees_only_what_agents_and_answers_are() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    house.user("vic", "viewer");
    house.deliver(&key, "a", json!({})).await;
    let vic = Browser::of(&house, "vic").await;
    let page = vic.page("/trail").await;
    assert!(page.contains("delivery received"), "{page}");
    for hidden in [
        "user created",
        "session opened",
        "key created",
        "log started",
        "Verify now",
    ] {
        assert!(!page.contains(hidden), "{hidden} in {page}");
    }
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page("/trail").await;
    for shown in [
        "user created",
        "session opened",
        "key created",
        "Verify now",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
}

#[tokio::test]
async fn an_owner_verifies_the_trail_while_it_grows_and_has_what_others_need_for_it() {
    let (house, token) = House::start().await;
    let key = house.key("a");
    let ann = Browser::of(&house, "ann").await;
    let log_key = house.get("/checkpoint/key", &token).await;
    let page = ann.page("/trail").await;
    assert!(page.contains(log_key.text().trim()), "{page}");
    let delivering = async {
        for _ in 0..200 {
            house.deliver(&key, "a", json!({})).await;
        }
    };
    let verifying = async {
        for _ in 0..10 {
            let page = ann.shown("/trail/verify", &[]).await;
            assert!(page.contains("Verified: "), "{page}");
        }
    };
    tokio::join!(delivering, verifying);
    let checkpoint = house.get("/checkpoint", &token).await;
    let page = ann.shown("/trail/verify", &[]).await;
    assert!(
        page.contains(checkpoint.text().lines().nth(2).unwrap()),
        "{page}"
    );
}

#[tokio::test]
async fn verifying_names_the_first_entry_that_was_changed() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    house.deliver(&key, "a", json!({})).await;
    let ann = Browser::of(&house, "ann").await;
    let database = rusqlite::Connection::open(house.data().join("wakeful.db")).unwrap();
    let ours = "CAST(facts AS TEXT) LIKE '%Report%'";
    let find = format!("SELECT position, facts FROM entries WHERE {ours}");
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (position, original): (i64, Vec<u8>) = database.query_row(&find, [], read).unwrap();
    let changed = String::from_utf8(original.clone())
        .unwrap()
        .replace("Report", "Reform");
    let change = "UPDATE entries SET facts = ?1 WHERE position = ?2";
    database
        .execute(change, (changed.into_bytes(), position))
        .unwrap();
    let page = ann.shown("/trail/verify", &[]).await;
    assert!(
        page.contains("It does not verify") && page.contains(&format!("entry {position}")),
        "{page}"
    );
    // As it was: the house is verified when it is left.
    database.execute(change, (original, position)).unwrap();
    assert!(ann.shown("/trail/verify", &[]).await.contains("Verified: "));
}

//! The trail.

use serde_json::json;

use crate::{
    browser::Browser,
    harness::{House, until},
};

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
    let of_b = ann.page("/trail?stream=agent/b").await;
    assert!(
        of_b.contains("delivery received") && !of_b.contains("on agent/a"),
        "{of_b}"
    );
    assert!(
        ann.page("/trail?stream=agent/nobody")
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

/// Has the trail verified; gives the page once it says what came of it.
async fn verified(ann: &Browser) -> String {
    ann.done("/trail/verify", &[], "/trail/verify").await;
    loop {
        let page = ann.page("/trail/verify").await;
        if !page.contains("<progress") {
            return page;
        }
        assert!(page.contains("See how far it is"), "{page}");
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
            let page = verified(&ann).await;
            assert!(page.contains("Verified: "), "{page}");
        }
    };
    tokio::join!(delivering, verifying);
    let checkpoint = house.get("/checkpoint", &token).await;
    let size = checkpoint.text().lines().nth(1).unwrap();
    let page = verified(&ann).await;
    assert!(
        page.contains(&format!("Verified: {size} entries")),
        "{page}"
    );
    let said = house.get("/api/v1/trail/verification", &token).await.json();
    assert_eq!(said["last"]["verified"], true, "{said}");
    assert_eq!(said["last"]["entries"].to_string(), size);
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
    let page = verified(&ann).await;
    assert!(
        page.contains("It does not verify") && page.contains(&format!("entry {position}")),
        "{page}"
    );
    // As it was: the house is verified when it is left.
    database.execute(change, (original, position)).unwrap();
    assert!(verified(&ann).await.contains("Verified: "));
}

/// The events of a page, oldest first, with where the next page is.
fn events(page: &str) -> (Vec<String>, Option<String>) {
    let entries = page.split("data-position=\"").skip(1);
    let name = |rest: &str| {
        let (_, rest) = rest.split_once("<strong>").unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.reverse();
    let next = page.split_once("rel=\"next\" href=\"");
    let next = next.map(|(_, rest)| rest.split('"').next().unwrap().replace("&amp;", "&"));
    (names, next)
}

#[tokio::test]
async fn the_trail_is_searched_by_stream_event_actor_text_and_day() {
    let (house, token) = House::start().await;
    let (key, other) = (house.key("a"), house.key("b"));
    let id = house
        .deliver(&key, "a", json!({ "headline": "Quarterly \"Numbers\" Ä" }))
        .await;
    house
        .deliver(&other, "b", json!({ "headline": "Others" }))
        .await;
    house
        .respond(&token, &id, json!({ "status": "approved" }))
        .await;
    let ann = Browser::of(&house, "ann").await;
    let today = house.get("/api/v1/trail?limit=1", &token).await.json();
    let today = today["entries"][0]["time"].as_str().unwrap()[..10].to_owned();
    let page = ann.page("/trail?from=banana&to=2026-01-31").await;
    assert!(page.contains("“banana” is not a day"), "{page}");
    assert_eq!(page.matches("is not a day").count(), 1);
    let received = "delivery received";
    for (query, found) in [
        ("stream=agent/a", vec![received, "delivery answered"]),
        ("stream=agent/b", vec![received]),
        ("type=delivery_received", vec![received, received]),
        ("type=delivery_received&stream=agent/b", vec![received]),
        (
            "actor=ann&type=delivery_answered",
            vec!["delivery answered"],
        ),
        ("actor=agent/b", vec![received]),
        ("type=no_such_event", vec![]),
        // Whatever entries say, however it is written.
        ("q=quarterly+%22numbers%22+%C3%A4", vec![received]),
        ("q=others", vec![received]),
        ("q=agent/b&type=delivery_received", vec![received]),
        (&format!("q={id}"), vec![received, "delivery answered"]),
        (&format!("q={id}&actor=ann"), vec!["delivery answered"]),
        (&format!("q={id}&stream=agent/b"), vec![]),
        // Days.
        (
            &format!("from={today}&q={id}"),
            vec![received, "delivery answered"],
        ),
        (&format!("to={today}&stream=agent/b"), vec![received]),
        ("from=2001-01-01&to=2001-01-31", vec![]),
        ("to=2001-01-31&stream=agent/a", vec![]),
        ("from=9999-12-30", vec![]),
        // What is no day is no bound.
        ("from=whenever&stream=agent/b", vec![received]),
    ] {
        let page = ann.page(&format!("/trail?{query}")).await;
        assert_eq!(
            events(&page),
            (found.iter().map(|name| (*name).to_owned()).collect(), None),
            "{query}"
        );
        // The form shows again what was asked for.
        assert!(!query.contains("stream=agent/b") || page.contains("value=\"agent/b\""));
    }
    let page = ann.page("/trail?stream=admin").await;
    assert_eq!(events(&page).0[0], "log started");
    // Every registered event can be chosen.
    for name in wake::Event::TYPES
        .iter()
        .chain(inbox::Event::TYPES)
        .chain(account::Event::TYPES)
    {
        assert!(
            page.contains(&format!("<option value=\"{name}\"")),
            "{name}"
        );
    }
    // Who is no owner neither finds nor chooses what owners do.
    house.user("vic", "viewer");
    let vic = Browser::of(&house, "vic").await;
    let page = vic.page("/trail").await;
    assert!(
        !page.contains("user_created") && !page.contains("account/ann"),
        "{page}"
    );
    for hidden in [
        "stream=admin",
        "stream=account/ann",
        "type=user_created",
        "q=log_started",
        "actor=operator",
    ] {
        let page = vic.page(&format!("/trail?{hidden}")).await;
        assert_eq!(events(&page), (vec![], None), "{hidden}");
    }
}

#[tokio::test]
async fn one_page_looks_only_so_far_and_the_next_goes_on() {
    let (house, token) = House::start().await;
    let more = engine::look::LOOKED_AT + 100;
    let key = house.key_with("busy", &["--rate", "1000000/100000"]);
    let rare = house.key("rare");
    house
        .deliver(&rare, "rare", json!({ "headline": "Needle" }))
        .await;
    let body = |n: usize| json!({ "headline": format!("Number {n}") });
    futures_util::future::join_all((0..more).map(|n| {
        let (house, key) = (&house, &key);
        async move { house.deliver(key, "busy", body(n)).await }
    }))
    .await;
    let ann = Browser::of(&house, "ann").await;
    for query in ["q=needle", "actor=agent/rare", "q=needle&stream=agent/rare"] {
        let mut path = format!("/trail?{query}");
        let (mut pages, mut found) = (0, Vec::new());
        loop {
            let page = ann.page(&path).await;
            let (names, next) = events(&page);
            (pages, found) = (pages + 1, [found, names].concat());
            let Some(next) = next else { break };
            assert!(page.contains("Look further back"), "{page}");
            path = next;
        }
        assert_eq!(found, ["delivery received"], "{query}");
        // Along its stream it is found at once.
        assert_eq!(
            pages,
            if query.contains("stream") { 1 } else { 2 },
            "{query}"
        );
    }
    // The API does the same; from a moment on, a stream has to be found first.
    let until = "&until=2999-01-01T00:00:00Z";
    let path = format!("/api/v1/trail?stream=agent/rare{until}");
    let page = house.get(&path, &token).await.json();
    assert_eq!(page["entries"], json!([]));
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = house.get(&format!("{path}&cursor={cursor}"), &token).await;
    assert_eq!(page.json()["entries"][0]["facts"]["headline"], "Needle");
}

#[tokio::test]
async fn an_owner_downloads_the_whole_trail_and_it_verifies_elsewhere() {
    let (house, token) = House::start().await;
    let key = house.key("a");
    for n in 0..50 {
        let details = "word ".repeat(n * 100);
        house
            .deliver(&key, "a", json!({ "details": details }))
            .await;
    }
    let ann = Browser::of(&house, "ann").await;
    let answer = ann.post("/trail/export", &[]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    let named = answer.header("content-disposition").unwrap();
    assert!(
        named.starts_with("attachment; filename=\"wakeful-trail-"),
        "{named}"
    );
    let file = house.data().join("export.jsonl");
    std::fs::write(&file, answer.text()).unwrap();
    let log_key = house.get("/checkpoint/key", &token).await;
    let log_key = log_key.text().trim().to_owned();
    let verify = ["trail", "verify", file.to_str().unwrap(), "--key", &log_key];
    let said = house.json(&verify);
    assert_eq!(said["verified"], true, "{said}");
    // Byte for byte what the command writes, when nothing came between.
    let again = house.data().join("again.jsonl");
    house.command(&["trail", "export", again.to_str().unwrap()], &[]);
    let by_api = house
        .send("POST", "/api/v1/trail/export", Some(&token), None)
        .await;
    assert_eq!(by_api.text(), std::fs::read_to_string(again).unwrap());
}

#[tokio::test]
async fn the_whole_log_is_read_for_one_at_a_time() {
    let (house, token) = House::start().await;
    let key = house.key("a");
    // More than what is kept for someone who takes nothing of it.
    for _ in 0..8 {
        let details = "x".repeat(900 << 10);
        house
            .deliver(&key, "a", json!({ "details": details }))
            .await;
    }
    let ann = Browser::of(&house, "ann").await;
    let address = house.address();
    let stuck = reqwest::Client::builder().no_proxy().build().unwrap();
    let stuck = stuck.post(format!("{address}/api/v1/trail/export"));
    let stuck = stuck.bearer_auth(&token).send().await.unwrap();
    assert_eq!(stuck.status(), 200);
    for path in ["/trail/verify", "/trail/export"] {
        let refused = ann.post(path, &[]).await;
        assert_eq!(refused.status, 409, "{path}");
        assert!(refused.text().contains("Try again when that has ended"));
    }
    for path in ["verification", "export"] {
        let path = format!("/api/v1/trail/{path}");
        let refused = house.send("POST", &path, Some(&token), None).await;
        refused.is_problem(409, "one_at_a_time", None);
    }
    // Other work goes on, and whoever goes away makes room.
    house.deliver(&key, "a", json!({})).await;
    drop(stuck);
    until("there is room again", || async {
        ann.post("/trail/verify", &[]).await.status == 303
    })
    .await;
}

//! The inbox: filters, search, pages, what is noted, receipts, one answer.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use crate::harness::{House, until};

async fn page(house: &House, token: &str, query: &str) -> Value {
    let answer = house.get(&format!("/api/v1/inbox?{query}"), token).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn filters_combine_and_bad_ones_are_refused() {
    let (house, ann) = House::start().await;
    let (a, b) = (house.key("a"), house.key("b"));
    let question = house.deliver(&a, "a", json!({ "type": "question" })).await;
    let alert = house.deliver(&a, "a", json!({ "type": "alert" })).await;
    let other = house.deliver(&b, "b", json!({ "type": "alert" })).await;
    house
        .respond(&ann, &alert, json!({ "status": "approved" }))
        .await;
    let table: [(&str, Vec<&String>); 9] = [
        ("", vec![&alert, &other, &question]),
        ("agent_id=a", vec![&alert, &question]),
        ("agent_id=nobody", vec![]),
        ("type=alert", vec![&alert, &other]),
        ("type=alert,question&agent_id=a", vec![&alert, &question]),
        ("status=pending", vec![&other, &question]),
        ("status=approved,rejected", vec![&alert]),
        ("status=pending&type=alert", vec![&other]),
        ("test=true", vec![]),
    ];
    for (query, expected) in table {
        let expected: Vec<String> = expected.into_iter().cloned().collect();
        assert_eq!(ids(&page(&house, &ann, query).await), expected, "{query}");
    }
    let long = format!("q={}", "x".repeat(201));
    for (query, field) in [
        ("type=memo", "type"),
        ("status=done", "status"),
        ("test=maybe", "test"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=-1", "cursor"),
        (long.as_str(), "q"),
    ] {
        let answer = house.get(&format!("/api/v1/inbox?{query}"), &ann).await;
        answer.is_problem(422, "bad_query", Some(field));
    }
}

#[tokio::test]
async fn search_finds_words_of_agent_headline_summary_and_details() {
    let (house, ann) = House::start().await;
    let key = house.key("research-01");
    let id = house.deliver(&key, "research-01", json!({ "headline": "Umbrella ready", "summary": "Counted competitors.", "details": { "note": "zeppelin über alles" } })).await;
    house
        .deliver(&key, "research-01", json!({ "headline": "Nothing here" }))
        .await;
    for word in [
        "umbrella",
        "COUNTED",
        "zeppelin",
        "umbrella%20zeppelin",
        "%C3%BCber",
    ] {
        let (house, ann, id) = (&house, &ann, &id);
        let what = format!("{word} is found");
        until(&what, || async move {
            ids(&page(house, ann, &format!("q={word}")).await) == [id.as_str()]
        })
        .await;
    }
    assert_eq!(ids(&page(&house, &ann, "q=research").await).len(), 2);
    for query in [
        "q=umbrella%20nothing",
        "q=umbrella&status=approved",
        "q=absent",
    ] {
        assert_eq!(
            page(&house, &ann, query).await["items"],
            json!([]),
            "{query}"
        );
    }
    // What means something to the index means nothing to a person.
    for odd in [
        "%22",
        "*",
        "umbrella*",
        "NEAR(a%20b)",
        "a%20OR%20b",
        "headline:x",
        "%27%3B--",
        "^x",
        "(",
        "%F0%9F%A6%80",
    ] {
        page(&house, &ann, &format!("q={odd}")).await;
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repeats() {
    let (house, ann) = House::start().await;
    let (a, b) = (house.key("a"), house.key("b"));
    for n in 0..90 {
        let (key, agent) = if n % 3 == 0 { (&b, "b") } else { (&a, "a") };
        let kind = ["update", "question", "output", "alert"][n % 4];
        let id = house.deliver(key, agent, json!({ "type": kind })).await;
        if n % 5 == 0 {
            house
                .respond(&ann, &id, json!({ "status": "approved" }))
                .await;
        }
    }
    for (filter, limit) in [
        ("", 7),
        ("", 200),
        ("agent_id=a&", 10),
        ("status=pending&type=update,alert&", 4),
        ("test=false&", 13),
    ] {
        let whole = ids(&page(&house, &ann, &format!("{filter}limit=200")).await);
        assert!(whole.len() > limit || limit == 200, "{filter} is one page");
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            // Something new at the front does not move what follows.
            house.deliver(&a, "a", json!({ "type": "question" })).await;
            let page = page(&house, &ann, &format!("{filter}limit={limit}{cursor}")).await;
            let mut these = ids(&page);
            if cursor.is_empty() {
                these.retain(|id| whole.contains(id));
            }
            found.extend(these);
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, whole, "{filter} by {limit}");
    }
}

#[tokio::test]
async fn looking_is_noted_once_for_each_person() {
    let (mut house, ann) = House::start().await;
    let bob = house.user("bob", "viewer");
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let path = format!("/api/v1/inbox/{id}/seen");
    for token in [&ann, &ann, &bob, &ann, &bob] {
        assert_eq!(
            house.send("POST", &path, Some(token), None).await.status,
            204
        );
    }
    house.kill();
    house.serve().await;
    assert_eq!(
        house.send("POST", &path, Some(&ann), None).await.status,
        204
    );
    let history = house
        .get(&format!("/api/v1/inbox/{id}/history"), &ann)
        .await
        .json();
    let entries = history["entries"].as_array().unwrap();
    let by: Vec<&str> = entries[1..]
        .iter()
        .map(|entry| entry["facts"]["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["ann", "bob"]);
    assert!(
        entries[1..]
            .iter()
            .all(|entry| entry["event_type"] == "delivery_seen")
    );
}

#[tokio::test]
async fn a_receipt_proves_the_answer_without_the_server_and_fails_when_changed() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let id = house
        .deliver(&key, "a", json!({ "details": "secret plan" }))
        .await;
    house
        .respond(
            &ann,
            &id,
            json!({ "status": "redirected", "feedback": "Wait a week." }),
        )
        .await;
    let log_key = house
        .send("GET", "/checkpoint/key", None, None)
        .await
        .text()
        .trim()
        .to_owned();
    let receipt = house
        .get(&format!("/api/v1/inbox/{id}/receipt"), &ann)
        .await;
    assert_eq!(receipt.status, 200);
    house.stop();

    let file = house.data().join("receipt.json");
    let elsewhere = House::empty();
    let verify = |content: &[u8]| {
        std::fs::write(&file, content).unwrap();
        elsewhere.command(
            &["trail", "verify", file.to_str().unwrap(), "--key", &log_key],
            &[],
        )
    };
    let output = verify(&receipt.body);
    assert!(output.status.success(), "{output:?}");
    // Another person; another text ("Wait a year."); another place in the log.
    for (from, to) in [
        ("\\\"ann\\\"", "\\\"bob\\\""),
        ("IldhaXQgYSB3ZWVrLiI=", "IldhaXQgYSB5ZWFyLiI="),
        ("\"position\":7", "\"position\":6"),
    ] {
        let forged = receipt.text().replace(from, to);
        assert_ne!(forged, receipt.text());
        assert_eq!(verify(forged.as_bytes()).status.code(), Some(3), "{to}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_answers_at_once_exactly_one_stands() {
    let (house, ann) = House::start().await;
    let mut tokens = vec![ann.clone()];
    tokens.extend((0..3).map(|n| house.user(&format!("r{n}"), "reviewer")));
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let house = Arc::new(house);
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let (house, token, id) = (Arc::clone(&house), tokens[n % 4].clone(), id.clone());
            let status = ["approved", "rejected"][n % 2];
            tokio::spawn(async move {
                let answer = house
                    .respond(
                        &token,
                        &id,
                        json!({ "status": status, "feedback": format!("{n}") }),
                    )
                    .await;
                (n, answer)
            })
        })
        .collect();
    let mut stood = Vec::new();
    let mut told = BTreeSet::new();
    for task in tasks {
        let (n, answer) = task.await.unwrap();
        match answer.status.as_u16() {
            200 => stood.push(n),
            _ => {
                answer.is_problem(409, "already_answered", None);
                told.insert(answer.json()["answered_by"].as_str().unwrap().to_owned());
            }
        }
    }
    let [winner] = stood[..] else {
        panic!("{stood:?} all stood")
    };
    let name = if winner % 4 == 0 {
        "ann".to_owned()
    } else {
        format!("r{}", winner % 4 - 1)
    };
    assert_eq!(told, BTreeSet::from([name]));
    assert_eq!(
        house.response(&key, &id).await["feedback"],
        winner.to_string()
    );
    assert_eq!(
        house.history(&ann, &id).await,
        ["delivery_received", "delivery_answered"]
    );
}

#[tokio::test]
async fn an_item_says_how_its_details_are_to_be_shown() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n";
    for (details, said, shown) in [
        (json!({ "a": 1 }), Value::Null, json!("json")),
        (json!("# Done"), Value::Null, json!("markdown")),
        (json!(diff), Value::Null, json!("diff")),
        (
            json!(format!("See:\n{diff}")),
            Value::Null,
            json!("markdown"),
        ),
        (json!(diff), json!("text"), json!("text")),
        (json!("no diff"), json!("diff"), json!("text")),
        (Value::Null, json!("text"), Value::Null),
    ] {
        let more = json!({ "details": details, "details_format": said });
        let id = house.deliver(&key, "a", more).await;
        let item = house.get(&format!("/api/v1/inbox/{id}"), &ann).await.json();
        assert_eq!(item["details_format"], said, "{details}");
        assert_eq!(item["shown_format"], shown, "{details}");
    }
}

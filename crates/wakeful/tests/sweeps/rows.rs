//! Every row of the sweep's table, one by one.

use serde_json::{Value, json};

use crate::harness::House;

async fn sweep(house: &House, key: &str, query: &str) -> Value {
    let answer = house.get(&format!("/wake/v1/responses?{query}"), key).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn ids(page: &Value) -> Vec<&str> {
    let deliveries = page["deliveries"].as_array().unwrap();
    deliveries
        .iter()
        .map(|one| one["delivery_id"].as_str().unwrap())
        .collect()
}

/// Delivers and answers with these statuses, in this order; gives the ids.
async fn deliveries(
    house: &House,
    key: &str,
    agent: &str,
    ann: &str,
    statuses: &[&str],
) -> Vec<String> {
    let mut made = Vec::new();
    for status in statuses {
        let id = house.deliver(key, agent, json!({})).await;
        if *status != "pending" {
            let answer = house
                .respond(ann, &id, json!({ "status": status, "feedback": "Why." }))
                .await;
            assert_eq!(answer.status, 200);
        }
        made.push(id);
    }
    made
}

#[tokio::test]
async fn statuses_filter_alone_and_in_lists() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let made = deliveries(
        &house,
        &key,
        "a",
        &ann,
        &["approved", "pending", "rejected", "redirected", "approved"],
    )
    .await;
    let table: [(&str, &[usize]); 9] = [
        ("", &[0, 1, 2, 3, 4]),
        ("status=", &[0, 1, 2, 3, 4]),
        ("status=pending", &[1]),
        ("status=approved", &[0, 4]),
        ("status=rejected", &[2]),
        ("status=redirected", &[3]),
        ("status=approved,rejected,redirected", &[0, 2, 3, 4]),
        ("status=redirected,%20approved,approved", &[0, 3, 4]),
        (
            "status=pending,approved,rejected,redirected&colour=blue",
            &[0, 1, 2, 3, 4],
        ),
    ];
    for (query, expected) in table {
        let page = sweep(&house, &key, query).await;
        let expected: Vec<&str> = expected.iter().map(|place| made[*place].as_str()).collect();
        assert_eq!(ids(&page), expected, "{query}");
        assert_eq!(page["total"], expected.len(), "{query}");
        assert_eq!(page["has_more"], false);
    }
}

#[tokio::test]
async fn an_item_of_a_sweep_is_the_response_itself() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let made = deliveries(&house, &key, "a", &ann, &["redirected", "pending"]).await;
    let page = sweep(&house, &key, "").await;
    for (place, id) in made.iter().enumerate() {
        assert_eq!(page["deliveries"][place], house.response(&key, id).await);
    }
    assert_eq!(page.as_object().unwrap().len(), 4);
}

#[tokio::test]
async fn a_delivery_is_listed_once_where_it_last_changed() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let made = deliveries(&house, &key, "a", &ann, &["pending", "pending", "pending"]).await;
    house
        .respond(&ann, &made[0], json!({ "status": "approved" }))
        .await;
    assert_eq!(
        ids(&sweep(&house, &key, "").await),
        [&made[1], &made[2], &made[0]]
    );
    // Looking at one, or holding an answer, is no change that an agent can see.
    house
        .send(
            "POST",
            &format!("/api/v1/inbox/{}/seen", made[1]),
            Some(&ann),
            None,
        )
        .await;
    house
        .respond(
            &ann,
            &made[1],
            json!({ "status": "approved", "hold_seconds": 30 }),
        )
        .await;
    assert_eq!(
        ids(&sweep(&house, &key, "").await),
        [&made[1], &made[2], &made[0]]
    );
}

#[tokio::test]
async fn since_is_exclusive_and_pages_follow_each_other_without_gaps() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let made = deliveries(
        &house,
        &key,
        "a",
        &ann,
        &["approved", "pending", "rejected", "approved", "pending"],
    )
    .await;
    let whole = sweep(&house, &key, "").await;
    let order: Vec<String> = ids(&whole).into_iter().map(str::to_owned).collect();
    assert_eq!(order, made);
    for limit in 1..=6usize {
        let (mut found, mut query) = (Vec::new(), format!("limit={limit}"));
        loop {
            let page = sweep(&house, &key, &query).await;
            let left = made.len() - found.len();
            assert_eq!(page["total"], left, "total counts all that is left");
            assert_eq!(page["has_more"], left > limit);
            found.extend(ids(&page).into_iter().map(str::to_owned));
            let next = page["next_since"].as_str().unwrap();
            query = format!("limit={limit}&since={next}");
            if page["has_more"] == false {
                assert_eq!(
                    sweep(&house, &key, &query).await,
                    json!({
                        "deliveries": [], "total": 0, "has_more": false, "next_since": next
                    })
                );
                break;
            }
        }
        assert_eq!(found, made);
    }
}

#[tokio::test]
async fn next_since_is_the_last_change_or_what_was_asked_or_null() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    assert_eq!(sweep(&house, &key, "").await["next_since"], Value::Null);
    let past = "2020-01-01T00:00:00.000000Z";
    assert_eq!(
        sweep(&house, &key, &format!("since={past}")).await["next_since"],
        past
    );
    let made = deliveries(&house, &key, "a", &ann, &["approved"]).await;
    let responded_at = &house.response(&key, &made[0]).await["responded_at"];
    assert_eq!(sweep(&house, &key, "").await["next_since"], *responded_at);
    assert_eq!(
        sweep(&house, &key, "status=rejected").await["next_since"],
        Value::Null
    );
    let future = "2099-01-01T00:00:00.000000Z";
    assert_eq!(
        sweep(&house, &key, &format!("since={future}")).await["next_since"],
        future
    );
}

#[tokio::test]
async fn a_moment_may_be_written_in_every_usual_way() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    deliveries(&house, &key, "a", &ann, &["approved"]).await;
    for (since, total) in [
        ("2020-01-01T00:00:00Z", 1),
        ("2020-01-01T00:00:00.5Z", 1),
        ("2020-01-01T00:00:00.123456789Z", 1),
        ("2020-01-01T02:00:00%2B02:00", 1),
        ("2020-01-01T02:00:00+02:00", 1),
        ("2019-12-31T22:00:00-02:00", 1),
        ("2099-01-01T00:00:00Z", 0),
        ("", 1),
    ] {
        assert_eq!(
            sweep(&house, &key, &format!("since={since}")).await["total"],
            total,
            "{since}"
        );
    }
}

#[tokio::test]
async fn bad_parameters_are_refused_by_name() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    for (query, code, field) in [
        ("limit=0", "limit_out_of_range", "limit"),
        ("limit=201", "limit_out_of_range", "limit"),
        ("limit=-1", "limit_out_of_range", "limit"),
        ("limit=ten", "limit_out_of_range", "limit"),
        ("limit=1.5", "limit_out_of_range", "limit"),
        ("limit=%2B5", "limit_out_of_range", "limit"),
        (
            "status=approved&status=rejected",
            "repeated_parameter",
            "status",
        ),
        ("limit=5&limit=5", "repeated_parameter", "limit"),
        ("status=done", "unknown_value", "status"),
        ("status=approved,", "unknown_value", "status"),
        ("status=Approved", "unknown_value", "status"),
        ("since=yesterday", "bad_since", "since"),
        ("since=2026-03", "bad_since", "since"),
        ("since=2026-03-08T11", "bad_since", "since"),
        ("since=1700000000", "bad_since", "since"),
    ] {
        let answer = house
            .get(&format!("/wake/v1/responses?{query}"), &key)
            .await;
        answer.is_problem(422, code, Some(field));
    }
    for limit in [1, 200] {
        sweep(&house, &key, &format!("limit={limit}")).await;
    }
    // What is empty or unknown counts as absent.
    sweep(&house, &key, "since=&limit=&status=&agent_id=&x=1&x=2").await;
}

#[tokio::test]
async fn without_a_limit_a_page_has_fifty() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    deliveries(&house, &key, "a", &ann, &["pending"; 51]).await;
    let page = sweep(&house, &key, "").await;
    assert_eq!(ids(&page).len(), 50);
    assert_eq!(
        (&page["total"], &page["has_more"]),
        (&json!(51), &json!(true))
    );
    assert_eq!(ids(&sweep(&house, &key, "limit=200").await).len(), 51);
}

#[tokio::test]
async fn an_orchestrator_sweeps_its_set_and_gets_nothing_outside_it() {
    let (house, ann) = House::start().await;
    let (a, b, c) = (house.key("a"), house.key("b"), house.key("c"));
    let boss = house.key_with("boss", &["--orchestrator", "a,b,never-seen"]);
    let of_a = deliveries(&house, &a, "a", &ann, &["approved", "pending"]).await;
    let of_b = deliveries(&house, &b, "b", &ann, &["rejected"]).await;
    deliveries(&house, &c, "c", &ann, &["approved"]).await;
    let own = deliveries(&house, &boss, "boss", &ann, &["pending"]).await;

    let all = sweep(&house, &boss, "").await;
    assert_eq!(ids(&all), [&of_a[0], &of_a[1], &of_b[0], &own[0]]);
    assert_eq!(
        ids(&sweep(&house, &boss, "agent_id=a").await),
        [&of_a[0], &of_a[1]]
    );
    assert_eq!(
        ids(&sweep(&house, &boss, "agent_id=b&status=rejected,approved").await),
        [&of_b[0]]
    );
    assert_eq!(ids(&sweep(&house, &boss, "agent_id=boss").await), [&own[0]]);
    for outside in ["c", "never-seen", "nobody", "%00"] {
        let nothing =
            json!({ "deliveries": [], "total": 0, "has_more": false, "next_since": null });
        assert_eq!(
            sweep(&house, &boss, &format!("agent_id={outside}")).await,
            nothing,
            "{outside}"
        );
        assert_eq!(
            sweep(&house, &a, &format!("agent_id={outside}")).await,
            nothing,
            "{outside}"
        );
    }
    // An ordinary key sees its own agent, named or not.
    for query in ["", "agent_id=a"] {
        assert_eq!(ids(&sweep(&house, &a, query).await), [&of_a[0], &of_a[1]]);
    }
}

#[tokio::test]
async fn change_times_keep_rising_across_a_restart() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let before = deliveries(&house, &key, "a", &ann, &["approved", "pending"]).await;
    let since = sweep(&house, &key, "").await["next_since"]
        .as_str()
        .unwrap()
        .to_owned();
    house.kill();
    house.serve().await;
    assert_eq!(
        sweep(&house, &key, &format!("since={since}")).await["total"],
        0
    );
    house
        .respond(&ann, &before[1], json!({ "status": "approved" }))
        .await;
    let after = deliveries(&house, &key, "a", &ann, &["pending"]).await;
    let page = sweep(&house, &key, &format!("since={since}")).await;
    assert_eq!(ids(&page), [&before[1], &after[0]]);
}

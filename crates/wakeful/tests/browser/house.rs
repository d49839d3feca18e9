//! The rest of the house, as people use it.

use serde_json::json;

use crate::{
    deciding::start,
    flow::Flow,
    guest::Guest,
    harness::{House, peer::python},
};

/// So many that verifying takes a moment that can be seen.
const DELIVERIES: &str = "20000";

#[tokio::test]
async fn the_trail_groups_rates_and_erasing_work_for_those_who_may() {
    let mut house = House::empty();
    let token = house.user("ann", "owner");
    let (scout, coder) = (house.key("scout"), house.key("coder"));
    let filled = house.command(
        &["__preload", "--agent", "scout", "--count", DELIVERIES],
        &[],
    );
    assert!(filled.status.success(), "{filled:?}");
    house.serve().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    let bob = Guest::come(&house, "bob", "reviewer").await;
    let key = house.command(&["trail", "key"], &[]);
    let more = json!({
        "keys": { "scout": scout, "coder": coder },
        "entries": DELIVERIES.parse::<u64>().unwrap(),
        "trail_key": String::from_utf8(key.stdout).unwrap().trim(),
    });
    Flow::start("house", &house, &[&ann, &bob], more).finish();
}

#[tokio::test]
async fn an_agent_connects_with_what_the_page_shows_and_the_page_notices() {
    let (house, ann, bob, mut more) = start().await;
    more["python"] = python().to_str().unwrap().into();
    Flow::start("connect", &house, &[&ann, &bob], more).finish();
}

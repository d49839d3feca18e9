//! The rest of the house, as people use it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use serde_json::json;

use crate::{
    deciding::{play, start},
    flow::Flow,
    guest::Guest,
    harness::{
        House,
        peer::python,
        receiver::{Receiver, Reply},
    },
};

/// So many that verifying takes a moment that can be seen.
const DELIVERIES: &str = "80000";

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

#[tokio::test]
async fn a_key_is_made_rotated_and_revoked_with_the_mouse_and_by_keys() {
    play("agents").await;
}

#[tokio::test]
async fn a_device_comes_goes_gets_a_token_and_is_removed_with_the_mouse_and_by_keys() {
    play("devices").await;
}

#[tokio::test]
async fn people_come_change_and_go_and_their_open_tabs_know() {
    play("people").await;
}

#[tokio::test]
async fn content_is_kept_and_keys_are_bounded_as_the_page_says() {
    play("settings").await;
}

#[tokio::test]
async fn what_is_for_owners_is_not_offered_to_others() {
    let (house, ann, bob, more) = start().await;
    let eve = Guest::come(&house, "eve", "viewer").await;
    Flow::start("not-offered", &house, &[&ann, &bob, &eve], more).finish();
}

/// How often the script lives through its story, and receives in each.
const RECEIVED: usize = 4 * 4;

/// The receiver answers while the script is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callbacks_go_where_the_page_allows_and_are_sent_again() {
    let (house, ann, bob, mut more) = start().await;
    let refused = Mutex::new(BTreeSet::new());
    let mut receiver = Receiver::answering(move |seen| {
        let once = seen.path.starts_with("/hook/refused-once/");
        let refuses = once && refused.lock().unwrap().insert(seen.path.clone());
        Reply::Status(if refuses { 410 } else { 200 })
    })
    .await;
    let authority = std::fs::read_to_string(receiver.identity.certificate_file());
    more["authority"] = authority.unwrap().into();
    more["hook"] = receiver.url("/hook").into();
    let mut flow = Flow::start("webhooks", &house, &[&ann, &bob], more);
    for _ in 0..RECEIVED {
        flow.until_asked("receive");
        let seen = receiver.next().await;
        let headers: BTreeMap<&str, &str> = seen
            .headers
            .keys()
            .map(|name| (name.as_str(), seen.header(name.as_str())))
            .collect();
        let body = String::from_utf8_lossy(&seen.body);
        flow.tell(&json!({ "path": seen.path, "headers": headers, "body": body }));
    }
    flow.finish();
    assert!(receiver.saw_nothing_more());
}

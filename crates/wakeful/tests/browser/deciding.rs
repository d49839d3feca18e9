//! The list, the item and the answer, each way one can work with them.

use serde_json::{Value, json};

use crate::{
    flow::Flow,
    guest::{Guest, link},
    harness::House,
};

/// A server with two people and two agents.
pub async fn start() -> (House, Guest, Guest, Value) {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    let bob = Guest::come(&house, "bob", "reviewer").await;
    let keys = json!({ "keys": {
        "scout": house.key("scout"), "coder": house.key("coder"),
        "trial": house.key_with("trial", &["--test"]),
    }});
    (house, ann, bob, keys)
}

/// Plays a flow that needs nothing but a server, two people and two agents.
pub async fn play(name: &'static str) {
    let (house, ann, bob, keys) = start().await;
    Flow::start(name, &house, &[&ann, &bob], keys).finish();
}

#[tokio::test]
async fn the_list_and_the_item_show_what_agents_delivered() {
    let (house, ann, bob, mut more) = start().await;
    let key = house.command(&["trail", "key"], &[]);
    more["trail_key"] = String::from_utf8(key.stdout).unwrap().trim().into();
    Flow::start("looking", &house, &[&ann, &bob], more).finish();
}

#[tokio::test]
async fn an_answer_by_mouse_reaches_the_agent_as_it_was_seen() {
    play("answering").await;
}

#[tokio::test]
async fn one_is_led_on_by_the_mouse_too_and_answers_nothing_unseen() {
    play("onward").await;
}

#[tokio::test]
async fn twenty_deliveries_are_answered_by_keys_alone() {
    play("keys").await;
}

#[tokio::test]
async fn many_are_answered_together_after_a_review() {
    play("many").await;
}

#[tokio::test]
async fn the_second_of_two_is_told_who_was_first_and_what_they_answered() {
    play("two-people").await;
}

#[tokio::test]
async fn new_deliveries_wait_behind_a_word_and_a_restart_is_survived() {
    let (mut house, ann, bob, keys) = start().await;
    let mut flow = Flow::start("live", &house, &[&ann, &bob], keys);
    flow.until_asked("stop the server");
    house.stop_for_a_while();
    flow.done();
    flow.until_asked("start the server");
    house.serve().await;
    flow.done();
    flow.finish();
}

#[tokio::test]
async fn without_javascript_everything_that_matters_works() {
    let (house, ann, bob, keys) = start().await;
    let mut flow = Flow::start("plain", &house, &[&ann, &bob], keys);
    for _ in 0..2 {
        flow.until_asked("make a link");
        flow.tell(&json!({ "link": link(&house, "ann") }));
    }
    flow.finish();
}

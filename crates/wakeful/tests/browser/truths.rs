//! What a page says is true: one flow for each thing that was not.

use crate::{
    deciding::{play, start},
    flow::Flow,
};

#[tokio::test]
async fn an_alert_appears_at_once_in_an_inbox_with_nothing_in_it() {
    play("emptied").await;
}

#[tokio::test]
async fn the_title_counts_what_waits() {
    play("title").await;
}

#[tokio::test]
async fn undoing_all_says_what_really_happened_to_each() {
    play("undo-all").await;
}

#[tokio::test]
async fn undoing_too_late_says_since_when_the_answer_is_final() {
    play("undo-late").await;
}

#[tokio::test]
async fn a_text_typed_for_one_item_is_never_sent_for_the_next() {
    play("typed").await;
}

#[tokio::test]
async fn nothing_is_green_under_an_answer_that_is_final() {
    play("not-green").await;
}

#[tokio::test]
async fn undoing_in_a_second_tab_says_why_nothing_happens() {
    play("second-tab").await;
}

#[tokio::test]
async fn an_answer_that_was_held_when_the_server_stopped_is_final_since_it_started_again() {
    play_with_a_stop("stopped").await;
}

#[tokio::test]
async fn a_verdict_that_cannot_be_taken_as_it_is_leads_on_by_the_keyboard() {
    play("pressed-twice").await;
}

#[tokio::test]
async fn a_lost_connection_is_visible_at_once() {
    play_with_a_stop("lost").await;
}

#[tokio::test]
async fn every_tab_says_soon_that_the_connection_is_back() {
    play_with_a_stop("back").await;
}

/// Plays a flow that has the server stopped once, and started again.
async fn play_with_a_stop(name: &'static str) {
    let (mut house, ann, bob, keys) = start().await;
    let mut flow = Flow::start(name, &house, &[&ann, &bob], keys);
    flow.until_asked("stop the server");
    house.stop_for_a_while();
    flow.done();
    flow.until_asked("start the server");
    house.serve().await;
    flow.done();
    flow.finish();
}

#[tokio::test]
async fn what_others_do_meanwhile_is_told_by_pages_that_are_open() {
    play("meanwhile").await;
}

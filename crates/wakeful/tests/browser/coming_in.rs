//! The first link, links for others, passwords, sessions.

use serde_json::json;

use crate::{
    flow::Flow,
    guest::link,
    harness::{House, until},
};

#[tokio::test]
async fn the_first_link_makes_an_owner_and_others_come_in_by_link_and_password() {
    let mut house = House::empty();
    house.serve().await;
    let log = || std::fs::read_to_string(house.log_file()).unwrap_or_default();
    until("the setup link is printed", || async {
        log().contains("/setup/")
    })
    .await;
    let said = log();
    let setup = said.lines().find(|line| line.contains("/setup/")).unwrap();
    let mut flow = Flow::start("coming-in", &house, &[], json!({ "setup": setup.trim() }));
    flow.until_asked("make bob");
    house.user("bob", "reviewer");
    flow.tell(&json!({ "link": link(&house, "bob") }));
    flow.finish();
}

//! The inbox under the names of agents.

use serde_json::json;

use crate::{browser::Browser, harness::House};

/// What stands between two marks, for every pair of them.
fn between<'a>(page: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let after = page.split(start).skip(1);
    after.map(|rest| rest.split(end).next().unwrap()).collect()
}

fn groups(page: &str) -> Vec<(String, Vec<String>)> {
    let sections = between(page, "<section class=\"group\"", "</section>");
    let group = |section: &&str| {
        let title = between(section, "<h2", "</h2>")[0]
            .split_once('>')
            .unwrap()
            .1;
        let kinds = between(section, "<span class=\"kind ", "\"");
        (
            title.to_owned(),
            kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        )
    };
    sections.iter().map(group).collect()
}

#[tokio::test]
async fn what_waits_stands_under_its_agent_with_kept_numbers_to_choose_by() {
    let (house, token) = House::start().await;
    let (a, b) = (house.key("a <i>"), house.key("b"));
    house.key("idle");
    for kind in ["output", "question", "output"] {
        house.deliver(&a, "a <i>", json!({ "type": kind })).await;
    }
    house.deliver(&b, "b", json!({ "type": "alert" })).await;
    house.deliver(&b, "b", json!({ "type": "update" })).await;
    let done = house.deliver(&b, "b", json!({})).await;
    house
        .respond(&token, &done, json!({ "status": "approved" }))
        .await;
    let ann = Browser::of(&house, "ann").await;
    assert!(groups(&ann.page("/").await).is_empty());
    let page = ann.page("/?group=agent").await;
    let found = groups(&page);
    // An alert comes first, whoever sent it; then each agent's own order.
    let expected = [
        ("b", vec!["alert"]),
        ("a &lt;i&gt;", vec!["question", "output", "output"]),
    ];
    let expected = expected.map(|(agent, kinds)| {
        let kinds: Vec<String> = kinds.into_iter().map(str::to_owned).collect();
        (agent.to_owned(), kinds)
    });
    assert_eq!(found, expected);
    assert!(
        page.contains("no answer needed"),
        "updates stay folded: {page}"
    );
    let nav = between(&page, "<nav class=\"agents\"", "</nav>")[0];
    let chosen = between(nav, "href=\"", "\"");
    assert_eq!(
        chosen,
        [
            "/?group=agent&amp;agent=a+%3Ci%3E",
            "/?group=agent&amp;agent=b"
        ]
    );
    assert_eq!(between(nav, "<span class=\"mark\">", "<"), ["3", "2"]);
    // One agent alone, and with another filter.
    let page = ann.page("/?group=agent&agent=b").await;
    assert_eq!(groups(&page), expected[..1]);
    let page = ann.page("/?group=agent&type=question").await;
    assert_eq!(
        groups(&page),
        [("a &lt;i&gt;".to_owned(), vec!["question".to_owned()])]
    );
}

#[tokio::test]
async fn an_agent_with_more_than_fits_leads_to_all_of_its_own_and_many_agents_to_more() {
    let (house, _) = House::start().await;
    let busy = house.key("busy");
    for _ in 0..60 {
        house
            .deliver(&busy, "busy", json!({ "type": "question" }))
            .await;
    }
    for n in 0..60 {
        let name = format!("agent-{n:02}");
        let key = house.key(&name);
        house.deliver(&key, &name, json!({})).await;
    }
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page("/?group=agent").await;
    assert!(page.contains("All of this agent"), "{page}");
    let mut all = Vec::new();
    let mut path = "/?group=agent".to_owned();
    loop {
        let page = ann.page(&path).await;
        let nav = between(&page, "<nav class=\"agents\"", "</nav>")[0];
        let links = between(nav, "href=\"", "\"");
        let (more, agents): (Vec<&str>, Vec<&str>) = links
            .into_iter()
            .partition(|link| link.contains("agents_after"));
        all.extend(agents.iter().map(|link| (*link).to_owned()));
        let Some(more) = more.first() else { break };
        assert!(nav.contains("More agents"));
        path = more.replace("&amp;", "&");
    }
    assert_eq!(all.len(), 61);
    assert!(all.is_sorted());
}

#[tokio::test]
async fn every_item_of_an_agent_can_be_reached() {
    let (house, _) = House::start().await;
    let busy = house.key("busy");
    let mut sent = Vec::new();
    for _ in 0..55 {
        let question = json!({ "type": "question" });
        sent.push(house.deliver(&busy, "busy", question).await);
    }
    let other = house.key("other");
    sent.push(house.deliver(&other, "other", json!({})).await);
    let ann = Browser::of(&house, "ann").await;
    // All, and of one agent alone: under the names of agents to the end.
    for (start, count) in [("/?group=agent", 56), ("/?group=agent&agent=busy", 55)] {
        let mut found = Vec::new();
        let mut next = Some(start.to_owned());
        while let Some(path) = next {
            let page = ann.page(&path).await;
            assert!(!groups(&page).is_empty(), "{path}: {page}");
            let ids = between(&page, "data-id=\"", "\"");
            found.extend(ids.iter().map(|id| (*id).to_owned()));
            let more = between(&page, "rel=\"next\" href=\"", "\"");
            next = more.first().map(|more| more.replace("&amp;", "&"));
            assert!(next.iter().all(|next| next.contains("group=agent")));
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), count, "{start}");
    }
    let page = ann.page("/?group=agent&agent=busy").await;
    assert!(!page.contains("of this agent"), "{page}");
}

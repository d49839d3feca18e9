//! People.

use serde_json::Value;

use crate::{
    browser::{Browser, secret},
    harness::House,
};

async fn person(house: &House, token: &str, name: &str) -> Value {
    let users = house.get("/api/v1/users", token).await.json();
    let users = users["users"].as_array().unwrap().clone();
    users
        .into_iter()
        .find(|user| user["name"] == name)
        .unwrap_or_default()
}

#[tokio::test]
async fn an_owner_brings_someone_in_by_a_link_that_is_shown_once() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann
        .shown("/people", &[("name", "bob"), ("role", "viewer")])
        .await;
    let link = secret(&page, "http");
    assert_eq!(person(&house, &token, "bob").await["role"], "viewer");
    let list = ann.page("/people").await;
    let private = link.rsplit('/').next().unwrap();
    assert!(
        list.contains("data-name=\"bob\"") && !list.contains(private),
        "{list}"
    );
    let mut bob = Browser::new(&house);
    assert_eq!(bob.follow(&link).await, 303);
    bob.page("/agents").await;
    assert_eq!(Browser::new(&house).follow(&link).await, 401);
    // Another link, for another device.
    let again = secret(&ann.shown("/people/link", &[("name", "bob")]).await, "http");
    assert_eq!(Browser::new(&house).follow(&again).await, 303);
    assert!(ann.page("/people").await.contains("signed in at 2 places"));

    ann.done("/people/sessions", &[("name", "bob")], "/people")
        .await;
    assert_eq!(bob.get("/agents").await.status, 303);
    assert!(!ann.page("/people").await.contains("signed in at 2"));
    assert_eq!(
        house.entries(&token, "session_closed").await[0]["actor"],
        "ann"
    );
}

#[tokio::test]
async fn an_owner_changes_roles_and_states() {
    let (house, token) = House::start().await;
    house.user("bob", "viewer");
    let (ann, bob) = (
        Browser::of(&house, "ann").await,
        Browser::of(&house, "bob").await,
    );
    ann.done(
        "/people/role",
        &[("name", "bob"), ("role", "owner")],
        "/people",
    )
    .await;
    bob.page("/people").await;
    ann.done(
        "/people/role",
        &[("name", "bob"), ("role", "reviewer")],
        "/people",
    )
    .await;
    assert_eq!(bob.get("/people").await.status, 403);
    for (state, is_shown) in [
        ("suspended", "Resume"),
        ("active", "Suspend"),
        ("deactivated", "deactivated"),
    ] {
        ann.done(
            "/people/state",
            &[("name", "bob"), ("state", state)],
            "/people",
        )
        .await;
        assert_eq!(person(&house, &token, "bob").await["state"], state);
        let page = ann.page("/people").await;
        let (_, bob) = page.split_once("data-name=\"bob\"").unwrap();
        assert!(bob.contains(is_shown), "{bob}");
    }
    assert_eq!(bob.get("/agents").await.status, 303);
}

#[tokio::test]
async fn what_cannot_be_is_refused_on_the_page() {
    let (house, token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    for (path, fields, status, words) in [
        (
            "/people",
            [("name", "ann"), ("role", "viewer")],
            409,
            "already a user",
        ),
        (
            "/people",
            [("name", "A <b>"), ("role", "viewer")],
            422,
            "A &lt;b&gt;",
        ),
        (
            "/people/role",
            [("name", "ann"), ("role", "viewer")],
            409,
            "last active owner",
        ),
        ("/people/role", [("name", "ann"), ("role", "king")], 404, ""),
        (
            "/people/role",
            [("name", "eve"), ("role", "viewer")],
            404,
            "no user",
        ),
        (
            "/people/state",
            [("name", "ann"), ("state", "deactivated")],
            409,
            "last active owner",
        ),
        (
            "/people/state",
            [("name", "ann"), ("state", "asleep")],
            404,
            "",
        ),
        ("/people/link", [("name", "eve"), ("", "")], 404, "no user"),
        (
            "/people/sessions",
            [("name", "eve"), ("", "")],
            404,
            "no user",
        ),
    ] {
        ann.refused(path, &fields, status, words).await;
    }
    assert_eq!(person(&house, &token, "ann").await["role"], "owner");
    assert_eq!(person(&house, &token, "ann").await["state"], "active");
}

#[tokio::test]
async fn a_forgotten_password_is_replaced_by_whoever_comes_by_a_link() {
    let (house, token) = House::start().await;
    let first = Browser::of(&house, "ann").await;
    first
        .done("/you", &[("new", "the first password")], "/you")
        .await;
    let said = first.page("/you").await;
    assert!(said.contains("Your password was set."), "{said}");
    // An open session alone replaces none.
    let mut open = Browser::new(&house);
    assert_eq!(open.sign_in("ann", "the first password").await, 303);
    assert!(open.page("/you").await.contains("name=\"old\""));
    let refused = open.post("/you", &[("new", "of a passer-by")]).await;
    assert!(
        refused.text().contains("That is not your password now."),
        "{}",
        refused.text()
    );
    // A fresh link does; the other sessions end, and the trail has all of it.
    let again = Browser::of(&house, "ann").await;
    assert!(!again.page("/you").await.contains("name=\"old\""));
    again
        .done("/you", &[("new", "the second password")], "/you")
        .await;
    let said = again.page("/you").await;
    assert!(said.contains("Your password was changed."), "{said}");
    assert_eq!(open.get("/").await.status, 303);
    let mut ann = Browser::new(&house);
    assert_eq!(ann.sign_in("ann", "the first password").await, 401);
    assert_eq!(ann.sign_in("ann", "the second password").await, 303);
    assert_eq!(house.entries(&token, "password_set").await.len(), 2);
    let opened = house.entries(&token, "session_opened").await;
    assert!(
        opened
            .iter()
            .any(|entry| entry["facts"]["method"] == "link"),
        "{opened:?}"
    );
}

#[tokio::test]
async fn a_link_that_does_not_work_says_so_when_it_is_opened_and_one_that_works_is_not_used_up() {
    let (house, _) = House::start().await;
    let make = || house.json(&["user", "sign-in-link", "ann"])["url"].clone();
    let opened = async |link: &serde_json::Value| {
        let path = link.as_str().unwrap().strip_prefix(&house.address());
        Browser::new(&house).get(path.unwrap()).await
    };
    let (replaced, link) = (make(), make());
    for _ in 0..2 {
        let page = opened(&link).await;
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(page.text().contains("<button"), "{}", page.text());
    }
    let mut ann = Browser::new(&house);
    assert_eq!(ann.follow(link.as_str().unwrap()).await, 303);
    let unknown = format!("{}/sign-in/wks_of-nobody", house.address()).into();
    for link in [&replaced, &link, &unknown] {
        let page = opened(link).await;
        assert_eq!(page.status, 401, "{}", page.text());
        assert!(page.text().contains("This link does not work"));
        assert!(!page.text().contains("<button"), "{}", page.text());
    }
}

#[tokio::test]
async fn signing_in_where_there_is_no_owner_says_how_to_make_the_first() {
    let mut house = House::empty();
    house.serve().await;
    let page = Browser::new(&house).page("/sign-in").await;
    for said in [
        "has no owner yet",
        "the link that the server printed when it started",
        "wakeful user create NAME",
    ] {
        assert!(page.contains(said), "{said} in {page}");
    }
    assert!(!page.contains("an owner gave you"), "{page}");
    assert!(!page.contains("<form"), "{page}");
    // As the page says.
    house.user("ann", "owner");
    assert_eq!(Browser::of(&house, "ann").await.get("/").await.status, 200);
    let page = Browser::new(&house).page("/sign-in").await;
    assert!(
        page.contains("<form") && !page.contains("has no owner yet"),
        "{page}"
    );
}

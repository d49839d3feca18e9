//! Whoever was handed a person's session cookie, and nothing else.

use std::io::Read as _;

use serde_json::json;

use crate::{
    crowd::{ask, resident_kib, saying},
    harness::{
        House,
        way::{Socket, Way},
    },
};

/// Signs ann in by a link, with this page key; gives her cookie.
async fn sign_in(house: &House, page_key: &str) -> String {
    sign_in_as(house, "ann", page_key).await
}

async fn sign_in_as(house: &House, name: &str, page_key: &str) -> String {
    let link = house.json(&["user", "sign-in-link", name]);
    let (_, link) = link["url"]
        .as_str()
        .unwrap()
        .split_once("/sign-in/")
        .unwrap();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let form = format!("page={page_key}");
    let path = format!("/sign-in/{link}");
    let entered = house.raw("POST", &path, &[kind], form).await;
    assert_eq!(entered.status, 303, "{}", entered.text());
    let cookies = entered.headers.get_all("set-cookie").iter();
    let pairs = cookies.map(|set| set.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// Sockets on which this was answered, however it was.
fn hold(house: &House, count: usize, request: &str) -> Vec<Socket> {
    let answered = |_| {
        let mut socket = saying(house, request);
        let _ = socket.read(&mut [0; 64]);
        socket
    };
    (0..count).map(answered).collect()
}

#[tokio::test]
async fn a_cookie_without_its_page_key_keeps_the_person_from_nothing() {
    for way in Way::ALL {
        a_cookie_keeps_the_person_from_nothing(way).await;
    }
}

async fn a_cookie_keeps_the_person_from_nothing(way: Way) {
    let (house, _) = House::start_by(way).await;
    let id = house.deliver(&house.key("a"), "a", json!({})).await;
    let page_key = "ab".repeat(32);
    let cookie = format!("cookie: {}\r\n", sign_in(&house, &page_key).await);
    let streams = hold(&house, 70, &get("/api/v1/events", &cookie));
    let reads = hold(&house, 140, &get("/api/v1/me", &cookie));
    let keyed = format!("{cookie}wakeful-form: {page_key}\r\n");
    for path in ["/api/v1/me", "/api/v1/events", "/"] {
        let (status, _) = ask(&house, &get(path, &keyed));
        assert_eq!(status, "HTTP/1.1 200", "{way:?}: {path} with the key");
    }
    let (status, _) = ask(&house, &get(&format!("/~{page_key}/"), &cookie));
    assert_eq!(status, "HTTP/1.1 200", "{way:?}: a page with the key");
    let (status, _) = ask(&house, &get("/", &cookie));
    assert_eq!(status, "HTTP/1.1 200", "{way:?}: a page without the key");
    let json = format!("{keyed}content-type: application/json\r\n");
    let path = format!("/api/v1/inbox/{id}/respond");
    let (status, _) = ask(&house, &post(&path, &json, r#"{"status":"approved"}"#));
    assert_eq!(status, "HTTP/1.1 200", "{way:?}: an answer");
    let other_key = "cd".repeat(32);
    let other = format!("cookie: {}\r\n", sign_in(&house, &other_key).await);
    let (status, _) = ask(&house, &get("/", &other));
    assert_eq!(status, "HTTP/1.1 200", "{way:?}: a new sign-in");
    // The person ends the session that was taken from them.
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let body = format!("token={page_key}");
    let (status, _) = ask(&house, &post("/sign-out", &(cookie.clone() + form), &body));
    assert_eq!(status, "HTTP/1.1 303", "{way:?}: signing out");
    let (status, _) = ask(&house, &get("/api/v1/me", &cookie));
    assert_eq!(status, "HTTP/1.1 401", "{way:?}: afterwards");
    drop((streams, reads));
}

#[tokio::test]
async fn answers_that_a_viewer_does_not_take_stay_few_in_memory() {
    let (house, ann) = House::start_by(Way::Plain).await;
    house.user("bob", "viewer");
    let details = json!({ "details": "&".repeat(1_000_000) });
    let id = house.deliver(&house.key("a"), "a", details).await;
    let page_key = "ab".repeat(32);
    let cookie = sign_in_as(&house, "bob", &page_key).await;
    let cookie = format!("cookie: {cookie}\r\n");
    let keyed = format!("{cookie}wakeful-form: {page_key}\r\n");
    let process = house.process_id();
    let before = resident_kib(process);
    let mut held = Vec::new();
    for headers in [&keyed, &cookie] {
        let raw = get(&format!("/items/{id}/raw"), headers);
        held.extend(hold(&house, 60, &raw));
        let (status, _) = ask(&house, &get(&format!("/items/{id}"), headers));
        assert_eq!(status, "HTTP/1.1 200");
    }
    let more = (resident_kib(process) - before) >> 10;
    // Two shares, and what the allocator keeps at hand.
    assert!(more < 160, "{more} MiB more than before");
    let approved = house.respond(&ann, &id, json!({ "status": "approved" }));
    assert_eq!(approved.await.status, 200);
    drop(held);
}

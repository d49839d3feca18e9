//! A request that is on its way while its sender's secret is taken away: what
//! counts is what holds when it is decided.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    browser::{Browser, encode},
    harness::House,
};

/// A request whose sender was recognised, and whose body the server waits for.
struct Begun {
    connection: TcpStream,
    body: String,
}

impl Begun {
    async fn new(house: &House, path: &str, headers: &[(&str, &str)], body: &str) -> Begun {
        let address = house.address();
        let host = address.trim_start_matches("http://");
        let mut connection = TcpStream::connect(host).await.unwrap();
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        // Who asks is looked at before the body is asked for.
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        let mut said = [0; 25];
        connection.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
        Begun {
            connection,
            body: body.to_owned(),
        }
    }

    /// Sends the body; gives the head of the answer.
    async fn end(mut self) -> String {
        self.connection
            .write_all(self.body.as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        self.connection.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

const JSON: (&str, &str) = ("Content-Type", "application/json");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn a_token_that_is_taken_away_while_a_request_arrives_does_nothing() {
    let (house, ann) = House::start().await;
    let bob = bearer(&house.user("bob", "reviewer"));
    let eve = bearer(&house.user("eve", "owner"));
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let respond = format!("/api/v1/inbox/{id}/respond");
    let (bobs, eves) = (("Authorization", &*bob), ("Authorization", &*eve));
    let begun = [
        Begun::new(&house, &respond, &[bobs, JSON], r#"{"status":"approved"}"#).await,
        Begun::new(
            &house,
            "/api/v1/agents",
            &[bobs, JSON],
            r#"{"agent_id":"d"}"#,
        )
        .await,
        Begun::new(
            &house,
            "/api/v1/users",
            &[eves, JSON],
            r#"{"name":"mal","role":"owner"}"#,
        )
        .await,
        Begun::new(
            &house,
            "/api/v1/keys",
            &[eves, JSON],
            r#"{"agent_id":"mal"}"#,
        )
        .await,
    ];
    house.json(&["user", "token", "bob"]);
    house.json(&["user", "token", "eve"]);
    for request in begun {
        let answer = request.end().await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    let users = house.get("/api/v1/users", &ann).await.json();
    assert!(!users.to_string().contains("mal"), "{users}");
    let agents = house.get("/api/v1/agents", &ann).await.json();
    assert_eq!(agents["agents"].as_array().unwrap().len(), 1, "{agents}");
}

#[tokio::test]
async fn someone_suspended_while_their_answer_arrives_has_not_answered() {
    let (house, _) = House::start().await;
    let bob = bearer(&house.user("bob", "reviewer"));
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let respond = format!("/api/v1/inbox/{id}/respond");
    let headers = [("Authorization", &*bob), JSON];
    let begun = Begun::new(&house, &respond, &headers, r#"{"status":"approved"}"#).await;
    house.json(&["user", "suspend", "bob"]);
    let answer = begun.end().await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert_eq!(house.response(&key, &id).await["status"], "pending");
}

#[tokio::test]
async fn a_session_that_is_ended_while_a_request_arrives_does_nothing() {
    let (house, _) = House::start().await;
    house.user("bob", "reviewer");
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let (ann, bob) = (
        Browser::of(&house, "ann").await,
        Browser::of(&house, "bob").await,
    );
    let cookie = ("Cookie", bob.cookie());
    let page_key = ("wakeful-form", bob.key());
    let form = |fields: &[(&str, &str)]| {
        let token = [("token", bob.token.as_str())];
        encode(&token.iter().chain(fields).copied().collect::<Vec<_>>())
    };
    let respond = format!("/api/v1/inbox/{id}/respond");
    let answer = format!("/items/{id}/answer");
    let snooze = format!("/items/{id}/snooze");
    let json = [cookie, page_key, JSON];
    let approve = form(&[("status", "approved"), ("feedback", "")]);
    let password = form(&[("new", "mallory has a new one")]);
    let begun = [
        Begun::new(&house, &respond, &json, r#"{"status":"approved"}"#).await,
        Begun::new(&house, &answer, &[cookie, FORM], &approve).await,
        Begun::new(&house, "/you", &[cookie, FORM], &password).await,
        Begun::new(&house, &snooze, &[cookie, FORM], &form(&[("hours", "1")])).await,
    ];
    ann.done("/people/sessions", &[("name", "bob")], "/people")
        .await;
    for request in begun {
        let answer = request.end().await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    let inbox = Browser::of(&house, "bob").await.page("/").await;
    assert!(inbox.contains(&format!("/items/{id}")), "{inbox}");
    let mut mallory = Browser::new(&house);
    let status = mallory.sign_in("bob", "mallory has a new one").await;
    assert_eq!(status, 401);
}

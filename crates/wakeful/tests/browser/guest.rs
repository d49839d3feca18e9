//! Someone signed in to the pages, by a link and over plain HTTP.

use std::sync::LazyLock;

use reqwest::{Client, redirect::Policy};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Answer, House};

pub struct Guest {
    pub name: String,
    /// For the API.
    pub token: String,
    /// `NAME=SECRET`, as the browser sends it back.
    pub cookie: String,
    /// The page key, which the script on the sign-in page chooses.
    pub key: String,
}

/// A page key that no other session has.
fn new_key() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Making one takes longer than most requests. It keeps no connections, which
/// would belong to the test that opened them.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let client = Client::builder().no_proxy().redirect(Policy::none());
    client.pool_max_idle_per_host(0).build().unwrap()
});

/// A client that shows redirects instead of following them.
pub fn client() -> Client {
    CLIENT.clone()
}

/// A one-time link for this person.
pub fn link(house: &House, name: &str) -> String {
    let made = house.json(&["user", "sign-in-link", name]);
    made["url"].as_str().unwrap().to_owned()
}

impl Guest {
    /// A new person of this role, signed in.
    pub async fn come(house: &House, name: &str, role: &str) -> Guest {
        let token = house.user(name, role);
        Guest::enter(house, name, &token).await
    }

    /// Signs in whoever is there already.
    pub async fn enter(house: &House, name: &str, token: &str) -> Guest {
        let key = new_key();
        let request = client()
            .post(link(house, name))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("page={key}"));
        let answer = Answer::read(request.send().await.unwrap()).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        Guest {
            name: name.to_owned(),
            token: token.to_owned(),
            cookie: cookie(&answer),
            key,
        }
    }

    /// What a script is told of this person.
    pub fn given(&self) -> Value {
        let (name, value) = self.cookie.split_once('=').unwrap();
        json!({ "token": self.token, "key": self.key, "cookie": { "name": name, "value": value } })
    }
}

/// The cookie that an answer sets, without what is said about it.
pub fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie").expect("no cookie is set");
    set.split(';').next().unwrap().to_owned()
}

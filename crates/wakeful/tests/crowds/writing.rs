//! Everything that a person can write has a rate.

use serde_json::{Value, json};

use crate::{crowd::configured, harness::House};

#[tokio::test]
async fn a_viewer_cannot_fill_the_trail() {
    let (house, _) = House::start().await;
    let mut bob = house.user("bob", "viewer");
    for n in 0..2_000 {
        let answer = house
            .send("POST", "/api/v1/me/token", Some(&bob), None)
            .await;
        if answer.status == 429 {
            answer.is_problem(429, "writes_limited", None);
            assert!(answer.header("retry-after").is_some());
            assert!(n >= 100, "after only {n}");
            return;
        }
        assert_eq!(answer.status, 201, "{}", answer.text());
        bob = answer.json()["token"].as_str().unwrap().to_owned();
    }
    panic!("2000 tokens were made in a row");
}

/// The unsafe methods of the paths that the document names.
async fn documented(house: &House) -> Vec<(String, String)> {
    let document: Value = house.send("GET", "/openapi.json", None, None).await.json();
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            if ["POST", "PUT", "DELETE", "PATCH"].contains(&method.as_str()) {
                let path = path.split('/').map(|part| match part.starts_with('{') {
                    true => "x",
                    false => part,
                });
                found.push((method, path.collect::<Vec<_>>().join("/")));
            }
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

#[tokio::test]
async fn no_route_of_the_api_is_without_a_rate_for_a_person() {
    let (house, ann) = configured("[people]\nwrites-at-once = 1\nwrites-per-hour = 1\nanswers-at-once = 1\nanswers-per-hour = 1\n").await;
    let bob = house.user("bob", "viewer");
    for token in [&ann, &bob] {
        // The one that there is of each.
        for path in ["/api/v1/inbox/x/seen", "/api/v1/inbox/x/undo"] {
            let first = house.send("POST", path, Some(token), None).await;
            assert_ne!(first.status, 429, "{}", first.text());
        }
        for (method, path) in documented(&house).await {
            // An agent's door knows no people; its keys have rates of their own.
            if path.starts_with("/wake/") {
                continue;
            }
            let answer = house
                .send(&method, &path, Some(token), Some(json!({})))
                .await;
            assert_eq!(answer.status, 429, "{method} {path}: {}", answer.text());
            assert!(answer.header("retry-after").is_some(), "{method} {path}");
        }
    }
}

/// What the pages take forms at, as the router names it.
fn forms() -> Vec<String> {
    let router = include_str!("../../../server/src/pages/mod.rs");
    let routes = router.split(".route(").skip(1);
    let forms = routes.filter(|route| route.contains("post("));
    let paths = forms.map(|route| route.split('"').nth(1).unwrap().replace("{id}", "x"));
    paths.collect()
}

#[tokio::test]
async fn no_form_is_without_a_rate_for_a_person() {
    let (house, _) = configured("[people]\nwrites-at-once = 1\nwrites-per-hour = 1\nanswers-at-once = 1\nanswers-per-hour = 1\n").await;
    let link = house.json(&["user", "sign-in-link", "ann"]);
    let browser = Browser::of(&house, link["url"].as_str().unwrap()).await;
    for path in ["/you/sessions", "/items/x/undo"] {
        assert_ne!(browser.post(path).await.0, 429);
    }
    let strangers = ["/sign-in", "/sign-in/{secret}", "/setup/{secret}"];
    let all = forms();
    assert!(all.len() > 20);
    for path in all {
        if !strangers.contains(&path.as_str()) {
            let (status, retry) = browser.post(&path).await;
            assert_eq!(status, 429, "{path}");
            assert!(retry, "{path} does not say when to try again");
        }
    }
}

/// Someone signed in at the pages.
struct Browser {
    http: reqwest::Client,
    address: String,
    cookie: String,
    token: String,
}

impl Browser {
    async fn of(house: &House, link: &str) -> Browser {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let form = ("content-type", "application/x-www-form-urlencoded");
        // The page key, which the script on the sign-in page chooses.
        let key = "ab".repeat(32);
        let entered = http.post(link).header(form.0, form.1);
        let entered = entered.body(format!("page={key}")).send().await.unwrap();
        let cookies = entered.headers().get_all("set-cookie").iter();
        let cookies = cookies.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap());
        let cookie = cookies.collect::<Vec<_>>().join("; ");
        Browser {
            http,
            address: house.address(),
            cookie,
            token: key,
        }
    }

    /// Sends an empty form; gives the status, and whether it says when to come back.
    async fn post(&self, path: &str) -> (u16, bool) {
        let request = self.http.post(format!("{}{path}", self.address));
        let request = request
            .header("cookie", &self.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("token={}", self.token));
        let answer = request.send().await.unwrap();
        let retry = answer.headers().contains_key("retry-after");
        (answer.status().as_u16(), retry)
    }
}

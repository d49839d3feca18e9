//! Someone at a browser whose address the proxy tells.

use reqwest::{Client, redirect::Policy};

use crate::harness::{Answer, House, PROXY_SECRET, PROXY_SECRET_HEADER};

pub const PASSWORD: &str = "a quiet place to work";
pub const WRONG: &str = "not that quiet at all";

pub struct Door {
    pub http: Client,
    pub base: String,
    /// The client's address as the proxy tells it; none without a proxy.
    pub from: Option<String>,
    /// `NAME=VALUE`, as the browser sends them back.
    pub cookies: Vec<String>,
}

impl Door {
    pub fn new(house: &House, from: Option<&str>) -> Door {
        let http = Client::builder().no_proxy().redirect(Policy::none());
        Door {
            http: http.build().unwrap(),
            base: house.address(),
            from: from.map(str::to_owned),
            cookies: Vec::new(),
        }
    }

    pub fn at(&self, from: &str) -> Door {
        Door {
            http: self.http.clone(),
            base: self.base.clone(),
            from: Some(from.to_owned()),
            cookies: Vec::new(),
        }
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let method = method.parse().unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(from) = &self.from {
            request = request
                .header("x-forwarded-proto", "https")
                .header("x-forwarded-for", from)
                .header(PROXY_SECRET_HEADER, PROXY_SECRET);
        }
        if !self.cookies.is_empty() {
            request = request.header("cookie", self.cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::read(request.body(body).send().await.unwrap()).await
    }

    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let address = reqwest::Url::parse_with_params("http://localhost", fields).unwrap();
        let body = address.query().unwrap_or_default().to_owned();
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &kind, body).await
    }

    /// Tries a password; gives the status.
    pub async fn tries(&self, name: &str, password: &str) -> u16 {
        let fields = [("name", name), ("password", password)];
        self.form("/sign-in", &fields).await.status.as_u16()
    }

    /// The same, and keeps the cookies that are set.
    pub async fn signs_in(&mut self, name: &str, password: &str) -> u16 {
        let fields = [("name", name), ("password", password)];
        let answer = self.form("/sign-in", &fields).await;
        self.keep(&answer);
        answer.status.as_u16()
    }

    /// Comes in by a link from the command line.
    pub async fn follows_link(&mut self, house: &House, name: &str) {
        let link = house.json(&["user", "sign-in-link", name]);
        let (_, path) = link["url"]
            .as_str()
            .unwrap()
            .split_once("/sign-in/")
            .unwrap();
        let answer = self.form(&format!("/sign-in/{path}"), &[]).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        self.keep(&answer);
    }

    pub fn keep(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let (name, _) = pair.split_once('=').unwrap();
            self.cookies
                .retain(|kept| kept.split('=').next() != Some(name));
            self.cookies.push(pair.to_owned());
        }
    }

    /// What a form of this session must carry, read off one's own page.
    pub async fn form_token(&self) -> String {
        let page = self.send("GET", "/you", &[], String::new()).await;
        let (_, after) = page.text().split_once("name=\"token\" value=\"").unwrap();
        after.split('"').next().unwrap().to_owned()
    }

    /// Sends a form of the session's own pages.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.form_token().await;
        let fields: Vec<_> = [("token", token.as_str())]
            .into_iter()
            .chain(fields.iter().copied())
            .collect();
        self.form(path, &fields).await
    }
}

/// A server behind a proxy, whose owner `ann` has a password; her token.
pub async fn house() -> (House, String) {
    let (house, token) = House::start_behind(&["127.0.0.1/32"]).await;
    give_password(&house, "ann", Some("198.51.100.1")).await;
    (house, token)
}

/// Has someone come by a link and choose a password.
pub async fn give_password(house: &House, name: &str, from: Option<&str>) {
    let mut door = Door::new(house, from);
    door.follows_link(house, name).await;
    let set = door.post("/you", &[("new", PASSWORD)]).await;
    assert_eq!(set.status, 303, "{}", set.text());
}

//! Someone at a browser: a cookie, and the token that the pages put into forms.

use reqwest::{Client, redirect::Policy};
use uuid::Uuid;

use crate::harness::{Answer, House};

pub struct Browser {
    http: Client,
    address: String,
    cookie: String,
    /// The page key, which the script on the sign-in page chooses.
    key: String,
    pub token: String,
}

/// As a browser sends it.
pub fn encode(fields: &[(&str, &str)]) -> String {
    let address = reqwest::Url::parse_with_params("http://localhost", fields).unwrap();
    address.query().unwrap_or_default().to_owned()
}

impl Browser {
    /// Nobody yet.
    pub fn new(house: &House) -> Browser {
        let http = Client::builder().no_proxy().redirect(Policy::none());
        Browser {
            http: http.build().unwrap(),
            address: house.address(),
            cookie: String::new(),
            key: format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()),
            token: String::new(),
        }
    }

    /// Signed in by a link from the command line.
    pub async fn of(house: &House, name: &str) -> Browser {
        let link = house.json(&["user", "sign-in-link", name]);
        let mut browser = Browser::new(house);
        browser.follow(link["url"].as_str().unwrap()).await;
        browser
    }

    /// Signs in with a link; gives the status.
    pub async fn follow(&mut self, link: &str) -> u16 {
        let path = link.strip_prefix(&self.address).unwrap();
        let page = encode(&[("page", &self.key)]);
        let entered = self.send_form(path, &page).await;
        self.enter(&entered).await;
        entered.status.as_u16()
    }

    /// Signs in with a password; gives the status.
    pub async fn sign_in(&mut self, name: &str, password: &str) -> u16 {
        let page = ("page", self.key.as_str());
        let fields = encode(&[("name", name), ("password", password), page]);
        let entered = self.send_form("/sign-in", &fields).await;
        self.enter(&entered).await;
        entered.status.as_u16()
    }

    async fn enter(&mut self, entered: &Answer) {
        let Some(cookie) = entered.header("set-cookie") else {
            return;
        };
        self.cookie = cookie.split(';').next().unwrap().to_owned();
        let page = self.get("/you").await;
        let (_, rest) = page
            .text()
            .split_once("name=\"form-token\" content=\"")
            .unwrap();
        self.token = rest.split('"').next().unwrap().to_owned();
        assert_eq!(self.token.len(), 64);
    }

    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub async fn get(&self, path: &str) -> Answer {
        let request = self.http.get(format!("{}{path}", self.address));
        let request = request
            .header("cookie", &self.cookie)
            .header("wakeful-form", &self.key);
        Answer::read(request.send().await.unwrap()).await
    }

    /// A page, which must be there.
    pub async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text().to_owned()
    }

    /// A form with exactly these bytes.
    pub async fn send_form(&self, path: &str, body: &str) -> Answer {
        let request = self.http.post(format!("{}{path}", self.address));
        let request = request
            .header("cookie", &self.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.to_owned());
        Answer::read(request.send().await.unwrap()).await
    }

    /// A form as the page sends it.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = [("token", self.token.as_str())];
        let fields: Vec<_> = token.iter().chain(fields).copied().collect();
        self.send_form(path, &encode(&fields)).await
    }

    /// The same, which must lead back to a page.
    pub async fn done(&self, path: &str, fields: &[(&str, &str)], to: &str) {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.status, 303, "{path}: {}", answer.text());
        assert_eq!(answer.header("location"), Some(to));
    }

    /// The same, which must answer with a page that nothing keeps.
    pub async fn shown(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.text().to_owned()
    }

    /// The same, which must be refused on the page, with these words.
    pub async fn refused(&self, path: &str, fields: &[(&str, &str)], status: u16, words: &str) {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(
            answer.text().contains("role=\"alert\""),
            "{}",
            answer.text()
        );
        assert!(answer.text().contains(words), "{}", answer.text());
    }
}

/// The secrets that a page shows this once.
pub fn secrets(page: &str) -> Vec<String> {
    let after = page.split("<code class=\"copy\">").skip(1);
    after
        .map(|rest| rest.split('<').next().unwrap().to_owned())
        .collect()
}

/// The one that starts so.
#[track_caller]
pub fn secret(page: &str, prefix: &str) -> String {
    let found = secrets(page)
        .into_iter()
        .find(|secret| secret.starts_with(prefix));
    found.unwrap_or_else(|| panic!("no {prefix} in {page}"))
}

/// The items on a page and on all that follow from it.
pub async fn reached(browser: &Browser, start: &str) -> (usize, Vec<String>) {
    let (mut pages, mut found) = (0, Vec::new());
    let mut next = Some(start.to_owned());
    while let Some(path) = next {
        let page = browser.page(&path).await;
        let rows = page.split("data-id=\"").skip(1);
        found.extend(rows.map(|rest| rest.split('"').next().unwrap().to_owned()));
        let more = page.split_once("rel=\"next\" href=\"");
        next = more.map(|(_, rest)| rest.split('"').next().unwrap().replace("&amp;", "&"));
        pages += 1;
    }
    (pages, found)
}

//! What an open session may do to the account only with the password at hand.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use axum::{body::Body, http::Request};
use engine::{Clock, Engine, Keys, Setup, Vault};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use server::{
    App, Settings,
    transport::{Door as ServerDoor, Listener},
};
use tempfile::TempDir;
use trail::Micros;

use crate::{
    door::{Door, KEY, PASSWORD, WRONG, give_password},
    harness::{Answer, House},
};

const NEW: &str = "another quiet place";

/// A browser of ann's that has signed in with her password.
async fn open_session(house: &House) -> Door {
    let mut door = Door::new(house, None);
    assert_eq!(door.signs_in("ann", PASSWORD).await, 303);
    door
}

async fn mint(door: &Door, path: &str, body: Value) -> Answer {
    let headers = [("wakeful-form", KEY), ("content-type", "application/json")];
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    door.send("POST", path, &headers, body).await
}

#[tokio::test]
async fn an_open_session_makes_a_token_only_with_the_password() {
    let (house, token) = House::start().await;
    give_password(&house, "ann", None).await;
    let door = open_session(&house).await;
    for body in [
        json!(null),
        json!({}),
        json!({ "password": "" }),
        json!({ "password": WRONG }),
    ] {
        let answer = mint(&door, "/api/v1/me/token", body).await;
        answer.is_problem(403, "password_required", None);
    }
    assert_eq!(house.get("/api/v1/me", &token).await.status, 200);
    let made = mint(&door, "/api/v1/me/token", json!({ "password": PASSWORD })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let fresh = made.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(house.get("/api/v1/me", &fresh).await.status, 200);
    assert_eq!(house.get("/api/v1/me", &token).await.status, 401);
    // Who holds the token may replace it: it proves itself.
    let made = house.post("/api/v1/me/token", &fresh, json!(null)).await;
    assert_eq!(made.status, 201);
}

#[tokio::test]
async fn an_owners_open_session_makes_no_way_in_without_the_password() {
    let (house, _) = House::start().await;
    house.user("bob", "reviewer");
    give_password(&house, "ann", None).await;
    let door = open_session(&house).await;
    let user = json!({ "name": "eve", "role": "owner" });
    for (path, body) in [
        ("/api/v1/users/ann/token", json!(null)),
        ("/api/v1/users/bob/token", json!(null)),
        ("/api/v1/users/ann/sign-in-link", json!(null)),
        ("/api/v1/users", user),
    ] {
        let answer = mint(&door, path, body).await;
        answer.is_problem(403, "password_required", None);
    }
    for (path, fields) in [
        ("/people/link", [("name", "ann"), ("role", "")]),
        ("/people/link", [("name", "bob"), ("role", "")]),
        ("/people", [("name", "eve"), ("role", "owner")]),
    ] {
        let answer = door.post(path, &fields).await;
        assert_eq!(answer.status, 403, "{path}");
        let page = answer.text();
        assert!(!page.contains("/sign-in/"), "{page}");
        // The page that asks sends all of it again, with the password.
        assert!(page.contains("name=\"password\""), "{page}");
        let wrong: Vec<_> = fields
            .iter()
            .copied()
            .chain([("password", WRONG)])
            .collect();
        assert_eq!(door.post(path, &wrong).await.status, 403, "{path}");
        let right: Vec<_> = fields
            .iter()
            .copied()
            .chain([("password", PASSWORD)])
            .collect();
        let answer = door.post(path, &right).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(answer.text().contains("/sign-in/"), "{path}");
    }
}

#[tokio::test]
async fn a_new_password_needs_the_old_one_ends_other_sessions_and_takes_tokens_if_told_to() {
    let (house, token) = House::start().await;
    give_password(&house, "ann", None).await;
    let (door, other) = (open_session(&house).await, open_session(&house).await);
    for old in ["", WRONG] {
        let refused = door.post("/you", &[("new", NEW), ("old", old)]).await;
        assert!(refused.text().contains("That is not your password now."));
    }
    let page = door.send("GET", "/you", &[], String::new()).await;
    assert!(page.text().contains("name=\"revoke\""), "{}", page.text());
    let set = door.post("/you", &[("new", NEW), ("old", PASSWORD)]).await;
    assert_eq!(set.status, 303, "{}", set.text());
    let here = door.send("GET", "/you", &[], String::new()).await;
    assert_eq!(here.status, 200);
    for said in [
        "Your password was changed.",
        // That of the link by which the first one was set, and the other one.
        "2 other sessions of yours have ended.",
        "If you have a token, it was not revoked",
    ] {
        assert!(here.text().contains(said), "{said} in {}", here.text());
    }
    let gone = other.send("GET", "/you", &[], String::new()).await;
    assert_eq!(gone.status, 303);
    assert_eq!(house.get("/api/v1/me", &token).await.status, 200);
    let fields = [("new", PASSWORD), ("old", NEW), ("revoke", "yes")];
    assert_eq!(door.post("/you", &fields).await.status, 303);
    assert_eq!(house.get("/api/v1/me", &token).await.status, 401);
    let here = door.send("GET", "/you", &[], String::new()).await;
    for said in [
        "You were signed in nowhere else.",
        "No token of yours works any more",
    ] {
        assert!(here.text().contains(said), "{said} in {}", here.text());
    }
}

#[tokio::test]
async fn what_a_new_password_did_is_told_once_where_it_was_set_and_offers_to_revoke_the_token() {
    let (house, token) = House::start().await;
    give_password(&house, "ann", None).await;
    let door = open_session(&house).await;
    let you = async || door.send("GET", "/you", &[], String::new()).await;
    let set = door.post("/you", &[("new", NEW), ("old", PASSWORD)]).await;
    assert_eq!(set.status, 303, "{}", set.text());
    let said = you().await;
    assert!(
        said.text().contains("action=\"/you/token\""),
        "{}",
        said.text()
    );
    assert!(!you().await.text().contains("was changed"), "told twice");
    assert_eq!(house.get("/api/v1/me", &token).await.status, 200);
    let revoked = door.post("/you/token", &[]).await;
    assert_eq!(revoked.status, 303, "{}", revoked.text());
    assert!(
        you()
            .await
            .text()
            .contains("No token of yours works any more")
    );
    assert_eq!(house.get("/api/v1/me", &token).await.status, 401);
}

/// The server in this process, whose clock the test turns.
struct Later {
    now: Arc<AtomicI64>,
    door: ServerDoor,
    app: App,
    _directory: TempDir,
}

impl Later {
    async fn start() -> Later {
        let directory = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_790_000_000_000_000));
        let keys = Keys::open(directory.path()).unwrap();
        let clock = Arc::clone(&now);
        let setup = Setup {
            store: store::open(&directory.path().into(), &keys.seal.row_seal())
                .await
                .unwrap(),
            vault: Vault::new(&keys.seal, &[]),
            keys,
            clock: Clock::new(move || Micros(clock.load(Ordering::SeqCst))),
        };
        let app = App::new(Engine::start(setup).await.unwrap(), Settings::default());
        Later {
            now,
            door: ServerDoor::new(app.clone(), Listener::Plain),
            app,
            _directory: directory,
        }
    }

    async fn ask(&self, listener: Listener, request: Request<Body>) -> (u16, String, Vec<String>) {
        let door = match listener {
            Listener::Local => ServerDoor::new(self.app.clone(), listener),
            _ => self.door.clone(),
        };
        let response = door.answer(request).await;
        let status = response.status().as_u16();
        let cookies = response.headers().get_all("set-cookie").iter();
        let cookies =
            cookies.map(|set| set.to_str().unwrap().split(';').next().unwrap().to_owned());
        let cookies = cookies.collect();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned(), cookies)
    }

    async fn operator(&self, path: &str, body: Value) -> Value {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/json");
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let (status, body, _) = self.ask(Listener::Local, request.body(body).unwrap()).await;
        assert_eq!(status, 201, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn form(
        &self,
        path: &str,
        cookies: &[String],
        fields: &str,
    ) -> (u16, String, Vec<String>) {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("cookie", cookies.join("; "))
            .header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Body::from(fields.to_owned())).unwrap();
        self.ask(Listener::Plain, request).await
    }

    /// Signs ann in by a link: her cookies, and what her forms carry.
    async fn come(&self) -> (Vec<String>, String) {
        let link = self
            .operator("/api/v1/users/ann/sign-in-link", json!(null))
            .await;
        let (_, path) = link["url"]
            .as_str()
            .unwrap()
            .split_once("/sign-in/")
            .unwrap();
        let (status, body, cookies) = self
            .form(&format!("/sign-in/{path}"), &[], &format!("page={KEY}"))
            .await;
        assert_eq!(status, 303, "{body}");
        (cookies, KEY.to_owned())
    }
}

#[tokio::test]
async fn without_a_password_a_link_of_the_last_quarter_of_an_hour_is_the_proof() {
    let later = Later::start().await;
    let ann = json!({ "name": "ann", "role": "owner" });
    later.operator("/api/v1/users", ann).await;
    let mint = async |cookies: &[String], token: &str, body: &'static str| {
        let request = Request::post("/api/v1/me/token")
            .header("host", "localhost")
            .header("cookie", cookies.join("; "))
            .header("wakeful-form", token)
            .header("content-type", "application/json");
        let request = request.body(Body::from(body)).unwrap();
        later.ask(Listener::Plain, request).await
    };
    let new = |token: &str| format!("token={token}&new={}", NEW.replace(' ', "+"));
    let (cookies, token) = later.come().await;
    later.now.fetch_add(14 * 60 * 1_000_000, Ordering::SeqCst);
    assert_eq!(mint(&cookies, &token, "").await.0, 201);
    later.now.fetch_add(2 * 60 * 1_000_000, Ordering::SeqCst);
    let (status, body, _) = mint(&cookies, &token, "").await;
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("fresh_link_required"), "{body}");
    let (status, body, _) = later.form("/you", &cookies, &new(&token)).await;
    assert_eq!(status, 200, "an old session sets a password: {body}");
    assert!(body.contains("role=\"alert\""), "{body}");

    // With a fresh one it works, and with a password a link is good for that alone.
    let (cookies, token) = later.come().await;
    let (status, body, _) = later.form("/you", &cookies, &new(&token)).await;
    assert_eq!(status, 303, "{body}");
    let (cookies, token) = later.come().await;
    let (status, body, _) = mint(&cookies, &token, "").await;
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("password_required"), "{body}");
    let (status, body, _) = later.form("/you", &cookies, &new(&token)).await;
    assert_eq!(status, 303, "{body}");
}

#[tokio::test]
async fn a_sign_in_that_is_on_its_way_with_the_old_password_does_not_outlive_it() {
    let (house, _) = House::start().await;
    give_password(&house, "ann", None).await;
    let mut passwords = [PASSWORD, NEW];
    for _ in 0..4 {
        let [old, new] = passwords;
        let mut here = Door::new(&house, None);
        assert_eq!(here.signs_in("ann", old).await, 303);
        let mut others: Vec<Door> = (0..4).map(|_| Door::new(&house, None)).collect();
        let fields = [("new", new), ("old", old)];
        let sign_ins = others.iter_mut().map(|door| door.signs_in("ann", old));
        let sign_ins = futures_util::future::join_all(sign_ins);
        let (set, _) = tokio::join!(here.post("/you", &fields), sign_ins);
        assert_eq!(set.status, 303, "{}", set.text());
        for door in &others {
            let me = door.send("GET", "/api/v1/me", &[], String::new()).await;
            assert_eq!(me.status, 401, "{}", me.text());
        }
        passwords.swap(0, 1);
    }
}

#[tokio::test]
async fn after_a_restore_without_keys_a_link_leads_to_a_new_password() {
    let (mut house, _) = House::start().await;
    give_password(&house, "ann", None).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = elsewhere.path().join("backup.db");
    house.json(&["backup", backup.to_str().unwrap()]);
    house.stop();

    let mut restored = House::empty();
    restored.json(&["restore", backup.to_str().unwrap()]);
    restored.serve().await;
    give_password(&restored, "ann", None).await;
    let door = open_session(&restored).await;
    let made = mint(&door, "/api/v1/me/token", json!({ "password": PASSWORD })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    restored.verify();
}

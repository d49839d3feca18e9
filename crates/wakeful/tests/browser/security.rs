//! What a browser, another site or a stranger must not be able to do, over
//! plain HTTP where every header is ours to choose.

use reqwest::{Client, redirect::Policy};
use serde_json::json;

use crate::{
    guest::{Guest, client, cookie, link},
    harness::{Answer, House, install_tls},
};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// Every path of a page that one reaches by signing in.
const PAGES: [&str; 13] = [
    "/",
    "/?group=agent",
    "/done",
    "/you",
    "/agents",
    "/agents/a/prompt",
    "/connect",
    "/trail",
    "/trail?q=report",
    "/trail/verify",
    "/webhooks",
    "/people",
    "/settings",
];
/// Forms that are not about one item.
const FORMS: [&str; 25] = [
    "/answers",
    "/answers/undo",
    "/you",
    "/you/sessions",
    "/you/token",
    "/sign-out",
    "/agents/keys",
    "/agents/keys/rotate",
    "/agents/keys/revoke",
    "/agents/devices/rotate",
    "/agents/devices/remove",
    "/connect",
    "/trail/verify",
    "/trail/export",
    "/webhooks/allow",
    "/webhooks/remove",
    "/webhooks/replay",
    "/webhooks/secret",
    "/people",
    "/people/role",
    "/people/state",
    "/people/link",
    "/people/sessions",
    "/settings/retention",
    "/settings/rates",
];
/// Those about one.
const ITEM_FORMS: [&str; 5] = ["answer", "preview", "undo", "snooze", "erase"];
const PASSWORD: &str = "a very long password";

/// Whoever adds a page adds it to these lists, or says here why not.
#[test]
fn no_page_and_no_form_is_left_out_of_these_tests() {
    let source = include_str!("../../../server/src/pages/mod.rs");
    let (_, routes) = source.split_once("Router::new()").unwrap();
    let mut paths = 0;
    for route in routes.split(".route(").skip(1) {
        let path = route.split('"').nth(1).unwrap();
        let without_session = [
            "/sign-in",
            "/sign-in/{secret}",
            "/setup/{secret}",
            "/assets/{name}",
        ];
        if without_session.contains(&path) {
            continue;
        }
        paths += 1;
        let path = path.replace("/agents/{id}", "/agents/a");
        let about_item = path.strip_prefix("/items/{id}");
        // Where only a form is sent to, one who comes by is led away.
        let leads_away = [
            "get(item::back_to)",
            "get(inbox::onward)",
            "get(item::to_inbox)",
        ];
        let leads_away = leads_away.iter().any(|away| route.contains(away));
        if route.contains("get(") && !leads_away {
            let item = about_item.is_some_and(|rest| ["", "/raw"].contains(&rest));
            assert!(item || PAGES.contains(&path.as_str()), "the page {path}");
        }
        if route.contains("post(") {
            let form = about_item.and_then(|rest| rest.strip_prefix('/'));
            let item = form.is_some_and(|form| ITEM_FORMS.contains(&form));
            assert!(item || FORMS.contains(&path.as_str()), "the form {path}");
        }
    }
    assert!(paths > 30, "{paths}");
}

async fn get(house: &House, path: &str, headers: &[(&str, &str)]) -> Answer {
    send(house, "GET", path, headers, "").await
}

async fn send(
    house: &House,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut request = client().request(
        method.parse().unwrap(),
        format!("{}{path}", house.address()),
    );
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::read(request.body(body.to_owned()).send().await.unwrap()).await
}

/// What a form of this session must carry, read off one of its pages.
async fn form_token(house: &House, guest: &Guest) -> String {
    let headers = [("cookie", &*guest.cookie), ("wakeful-form", &*guest.key)];
    let page = get(house, "/", &headers).await;
    let (_, after) = page.text().split_once("name=\"token\" value=\"").unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// Gives someone a password, as they do on their own page.
async fn choose_password(house: &House, guest: &Guest) {
    let token = form_token(house, guest).await;
    let body = format!("token={token}&new={}", PASSWORD.replace(' ', "+"));
    let answer = send(
        house,
        "POST",
        "/you",
        &[FORM, ("cookie", &guest.cookie)],
        &body,
    )
    .await;
    assert_eq!(answer.status, 303, "{}", answer.text());
}

async fn sign_in(house: &House, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers = [&[FORM], headers].concat();
    send(house, "POST", "/sign-in", &headers, body).await
}

fn credentials(password: &str) -> String {
    format!("name=ann&password={}", password.replace(' ', "+"))
}

#[tokio::test]
async fn a_session_cookie_is_for_this_server_and_no_script() {
    let (house, ann) = House::start().await;
    let request = client().post(link(&house, "ann")).header(FORM.0, FORM.1);
    let answer = Answer::read(request.send().await.unwrap()).await;
    let set = answer.header("set-cookie").unwrap();
    let flags: Vec<&str> = set.split("; ").skip(1).collect();
    assert_eq!(
        flags,
        ["Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"]
    );
    assert!(set.starts_with("wakeful="), "{set}");
    drop(ann);

    // Over TLS it is never sent without, and no other host can set it.
    install_tls();
    let mut house = House::empty();
    house.user("ann", "owner");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (cert, key) = (house.data().join("cert.pem"), house.data().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let flags = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    house.try_serve(&flags).await.unwrap();
    let certificate = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    let client = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .tls_certs_only([certificate])
        .build()
        .unwrap();
    let request = client.post(link(&house, "ann")).header(FORM.0, FORM.1);
    let answer = Answer::read(request.send().await.unwrap()).await;
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-wakeful="), "{set}");
    let flags: Vec<&str> = set.split("; ").skip(1).collect();
    assert_eq!(
        flags,
        [
            "Path=/",
            "Max-Age=2592000",
            "HttpOnly",
            "SameSite=Lax",
            "Secure"
        ]
    );
}

#[tokio::test]
async fn a_session_that_someone_else_chose_is_not_taken_over() {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    choose_password(&house, &ann).await;
    let planted = "wakeful=wks_chosen_by_someone_else";
    let answer = sign_in(&house, &[("cookie", planted)], &credentials(PASSWORD)).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let fresh = cookie(&answer);
    assert_ne!(fresh, planted);
    assert_ne!(fresh, ann.cookie, "a new session has a new secret");
    let by = |cookie: String| {
        let house = &house;
        async move { get(house, "/you", &[("cookie", &cookie)]).await.status }
    };
    assert_eq!(by(planted.to_owned()).await, 303);
    assert_eq!(by(fresh.clone()).await, 200);

    // An open session that is signed in over is no way into the new one either.
    let answer = sign_in(&house, &[("cookie", &fresh)], &credentials(PASSWORD)).await;
    assert_ne!(cookie(&answer), fresh);

    // Nor can another site sign someone in as whom it likes.
    for elsewhere in [
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
    ] {
        let answer = sign_in(&house, &[elsewhere], &credentials(PASSWORD)).await;
        assert_eq!(answer.status, 403, "{elsewhere:?}");
        assert_eq!(answer.header("set-cookie"), None);
    }

    // After signing out the old cookie is worth nothing.
    let token = form_token(&house, &ann).await;
    let headers = [FORM, ("cookie", &*ann.cookie)];
    let out = send(
        &house,
        "POST",
        "/sign-out",
        &headers,
        &format!("token={token}"),
    )
    .await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(by(ann.cookie.clone()).await, 303);
}

#[tokio::test]
async fn another_site_cannot_answer_in_someones_name() {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    let bob = Guest::come(&house, "bob", "reviewer").await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let (own, others) = (
        form_token(&house, &ann).await,
        form_token(&house, &bob).await,
    );
    assert_ne!(own, others);
    let sessions = ann.cookie.as_str();
    let about_it = ITEM_FORMS.map(|form| format!("/items/{id}/{form}"));
    let forms = about_it.into_iter().chain(FORMS.map(str::to_owned));
    for path in &forms.collect::<Vec<_>>() {
        let with = |token: &str| {
            format!(
                "token={token}&status=approved&id={id}&confirmed=yes&new=long-enough-password&hours=1"
            )
        };
        let cross: [(&str, &str); 2] = [
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.example"),
        ];
        let tries: Vec<(String, Vec<(&str, &str)>)> = vec![
            ("status=approved".to_owned(), vec![]),
            (with(""), vec![]),
            (with("wrong"), vec![]),
            (with(&others), vec![]),
            (with(&own), vec![cross[0]]),
            (with(&own), vec![("sec-fetch-site", "same-site")]),
            (with(&own), vec![cross[1]]),
            (with(&own), vec![("origin", "null")]),
        ];
        for (body, more) in tries {
            let headers = [&[FORM, ("cookie", sessions)], &more[..]].concat();
            let answer = send(&house, "POST", path, &headers, &body).await;
            assert_eq!(answer.status, 403, "{path} {body} {more:?}");
        }
        // A form that pretends to be something else.
        for kind in ["text/plain", "application/json", "multipart/form-data"] {
            let headers = [("content-type", kind), ("cookie", sessions)];
            let answer = send(&house, "POST", path, &headers, &with(&own)).await;
            assert_eq!(answer.status, 403, "{path} as {kind}");
        }
        let asked = get(&house, path, &[("cookie", sessions)]).await.status;
        assert!(
            asked == 405 || asked == 303 || PAGES.contains(&path.as_str()),
            "{path} answers to GET"
        );
    }

    // The API takes the cookie, but changes nothing without what only a page knows.
    let respond = format!("/api/v1/inbox/{id}/respond");
    let body = json!({ "status": "approved" }).to_string();
    for more in [
        None,
        Some(("wakeful-form", "wrong")),
        Some(("wakeful-form", &*others)),
    ] {
        let mut headers = vec![("content-type", "application/json"), ("cookie", sessions)];
        headers.extend(more);
        let answer = send(&house, "POST", &respond, &headers, &body).await;
        answer.is_problem(401, "unauthenticated", None);
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
    let headers = [
        ("content-type", "application/json"),
        ("cookie", sessions),
        ("wakeful-form", &*own),
    ];
    let answer = send(&house, "POST", &respond, &headers, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn no_page_can_be_framed_stored_or_made_to_load_from_elsewhere() {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    let id = house.deliver(&house.key("a"), "a", json!({})).await;
    let item = format!("/items/{id}");
    let raw = format!("{item}/raw");
    let mut paths = vec![
        "/sign-in",
        "/sign-in/x",
        "/setup/x",
        "/items/x",
        &item,
        &raw,
    ];
    paths.extend(PAGES);
    for path in paths {
        let answer = get(&house, path, &[("cookie", &ann.cookie)]).await;
        let header = |name: &str| answer.header(name).unwrap_or_default().to_owned();
        let policy = header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy:?} without {rule}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
    }
}

#[tokio::test]
async fn signing_in_leads_to_a_path_of_this_server() {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    choose_password(&house, &ann).await;
    for (next, to) in [
        ("/done%3Fq%3Da", "/done?q=a"),
        ("", "/"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/%5Cevil.example", "/"),
        ("/%09/evil.example", "/"),
        ("%09//evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/%0d%0aset-cookie:a=b", "/"),
        ("evil.example", "/"),
    ] {
        let body = format!("{}&next={next}", credentials(PASSWORD));
        let answer = sign_in(&house, &[], &body).await;
        assert_eq!(answer.status, 303);
        assert_eq!(answer.header("location"), Some(to), "{next:?}");
    }
    // What a page remembers of where one was going is a path too.
    let answer = get(&house, "//evil.example/", &[]).await;
    let to = answer.header("location").unwrap_or("/sign-in");
    assert!(to.starts_with("/sign-in"), "{to}");
}

#[tokio::test]
async fn a_viewer_reads_and_answers_nothing() {
    let (house, _) = House::start().await;
    let eve = Guest::come(&house, "eve", "viewer").await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let token = form_token(&house, &eve).await;
    let session = ("cookie", &*eve.cookie);
    let item = get(&house, &format!("/items/{id}"), &[session]).await;
    assert_eq!(item.status, 200);
    assert!(
        !item.text().contains("Approve"),
        "a viewer is offered an answer"
    );
    let list = get(&house, "/", &[session]).await;
    assert!(
        !list.text().contains("checkbox"),
        "a viewer is offered to tick"
    );
    let body = format!("token={token}&status=approved&id={id}&confirmed=yes");
    for path in [
        format!("/items/{id}/answer"),
        format!("/items/{id}/undo"),
        "/answers".to_owned(),
    ] {
        let answer = send(&house, "POST", &path, &[FORM, session], &body).await;
        assert_eq!(answer.status, 403, "{path}");
    }
    for path in ["respond", "undo"] {
        let path = format!("/api/v1/inbox/{id}/{path}");
        let headers = [
            ("content-type", "application/json"),
            session,
            ("wakeful-form", &*token),
        ];
        let body = json!({ "status": "approved" }).to_string();
        let answer = send(&house, "POST", &path, &headers, &body).await;
        assert_eq!(answer.status, 403, "{path}");
        let answer = house
            .post(&path, &eve.token, json!({ "status": "approved" }))
            .await;
        assert_eq!(answer.status, 403, "{path}");
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
}

#[tokio::test]
async fn an_agents_key_opens_no_page_and_decides_nothing() {
    let (house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let bearer = format!("Bearer {key}");
    let as_cookie = format!("wakeful={key}");
    for headers in [
        [("authorization", &*bearer), FORM],
        [("cookie", &*as_cookie), FORM],
    ] {
        let item = format!("/items/{id}");
        let raw = format!("{item}/raw");
        for path in PAGES.into_iter().chain([&*item, &*raw]) {
            let answer = get(&house, path, &headers).await;
            assert_eq!(answer.status, 303, "{path}");
            assert!(answer.header("location").unwrap().starts_with("/sign-in"));
        }
        let body = format!("status=approved&id={id}&confirmed=yes&token=");
        for path in ITEM_FORMS {
            let path = format!("/items/{id}/{path}");
            let answer = send(&house, "POST", &path, &headers, &body).await;
            assert_eq!(answer.header("location"), Some("/sign-in"), "{path}");
        }
        for path in FORMS {
            let answer = send(&house, "POST", path, &headers, &body).await;
            assert_eq!(answer.header("location"), Some("/sign-in"), "{path}");
        }
    }
    for (method, path) in [
        ("POST", format!("/api/v1/inbox/{id}/respond")),
        ("POST", format!("/api/v1/inbox/{id}/undo")),
        ("GET", "/api/v1/inbox".to_owned()),
        ("GET", "/api/v1/events".to_owned()),
        ("POST", "/api/v1/users/ann/sign-in-link".to_owned()),
        ("DELETE", format!("/api/v1/inbox/{id}/content")),
        ("PUT", "/api/v1/rates/live".to_owned()),
        ("POST", "/api/v1/trail/export".to_owned()),
        ("POST", "/api/v1/trail/verification".to_owned()),
        ("GET", "/api/v1/trail".to_owned()),
    ] {
        let body = (method == "POST").then(|| json!({ "status": "approved" }));
        let answer = house.send(method, &path, Some(&key), body).await;
        assert_eq!(answer.status, 403, "{path}");
    }
    // A person's token and a link are no session either.
    for secret in [&ann, "", "wkl_0000"] {
        let answer = get(&house, "/", &[("cookie", &format!("wakeful={secret}"))]).await;
        assert_eq!(answer.status, 303);
    }
    assert_eq!(house.response(&key, &id).await["status"], "pending");
}

#[tokio::test]
async fn guessing_a_password_gets_slower_whatever_the_guess() {
    let (house, token) = House::start().await;
    let ann = Guest::enter(&house, "ann", &token).await;
    choose_password(&house, &ann).await;
    let mut refused = 0;
    let answer = loop {
        let answer = sign_in(&house, &[], &credentials("guess")).await;
        if answer.status != 401 {
            break answer;
        }
        refused += 1;
        assert!(refused < 20, "nobody slows guesses down");
    };
    assert_eq!(answer.status, 429);
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=900).contains(&wait));
    // The right one has to wait as well, or the wait would tell which it is.
    let answer = sign_in(&house, &[], &credentials(PASSWORD)).await;
    assert_eq!(answer.status, 429);
    // A page that is open already is not in the way of anyone.
    let open = get(&house, "/", &[("cookie", &ann.cookie)]).await;
    assert_eq!(open.status, 200);
}

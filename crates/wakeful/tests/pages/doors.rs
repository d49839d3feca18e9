//! Who may open which page and send which form.

use serde_json::{Value, json};

use crate::{
    browser::{Browser, encode},
    harness::House,
};

const OWNERS_PAGES: [&str; 5] = [
    "/connect",
    "/webhooks",
    "/people",
    "/settings",
    "/trail/verify",
];
const PAGES: [&str; 3] = ["/agents", "/agents/a/prompt", "/trail"];

/// Every form of an owner, filled in so that it would change something.
fn forms(key_id: &str) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let field = |name, value: &str| (name, value.to_owned());
    vec![
        ("/agents/keys", vec![field("agent_id", "eve")]),
        (
            "/agents/keys/rotate",
            vec![field("key_id", key_id), field("overlap_seconds", "0")],
        ),
        ("/agents/keys/revoke", vec![field("key_id", key_id)]),
        ("/connect", vec![field("agent_id", "eve")]),
        ("/trail/verify", vec![]),
        ("/webhooks/allow", vec![field("pattern", "eve.example")]),
        ("/webhooks/remove", vec![field("pattern", "a.example")]),
        ("/webhooks/replay", vec![field("callback", "1")]),
        ("/webhooks/secret", vec![field("agent_id", "a")]),
        (
            "/people",
            vec![field("name", "eve"), field("role", "owner")],
        ),
        (
            "/people/role",
            vec![field("name", "vic"), field("role", "owner")],
        ),
        (
            "/people/state",
            vec![field("name", "vic"), field("state", "deactivated")],
        ),
        ("/people/link", vec![field("name", "vic")]),
        ("/people/sessions", vec![field("name", "vic")]),
        ("/trail/export", vec![]),
        (
            "/settings/rates",
            vec![field("keys", "live"), field("rate", "1/1")],
        ),
        (
            "/settings/retention",
            vec![field("type", "update"), field("days", "1")],
        ),
    ]
}

struct Scene {
    house: House,
    ann: String,
    key: String,
    key_id: String,
}

async fn scene() -> Scene {
    let (house, ann) = House::start().await;
    house.user("vic", "viewer");
    house.user("rob", "reviewer");
    let made = house.json(&["key", "create", "--agent", "a"]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    house.json(&["webhook", "allow", "a.example"]);
    Scene {
        ann,
        key: text("key"),
        key_id: text("key_id"),
        house,
    }
}

/// All that a form could change.
async fn state(scene: &Scene) -> Vec<Value> {
    let mut state = Vec::new();
    for path in [
        "keys",
        "agents",
        "users",
        "webhooks/allowlist",
        "retention",
        "rates",
        "trail/verification",
    ] {
        state.push(
            scene
                .house
                .get(&format!("/api/v1/{path}"), &scene.ann)
                .await
                .json(),
        );
    }
    for event in ["sign_in_link_made", "session_closed", "webhook_secret_set"] {
        state.push(json!(scene.house.entries(&scene.ann, event).await.len()));
    }
    state
}

#[tokio::test]
async fn an_owner_opens_every_page_and_others_only_those_that_are_for_all() {
    let scene = scene().await;
    let ann = Browser::of(&scene.house, "ann").await;
    for path in OWNERS_PAGES.iter().chain(&PAGES) {
        let page = ann.page(path).await;
        assert!(page.contains("href=\"/people\""), "{path}");
    }
    for name in ["vic", "rob"] {
        let other = Browser::of(&scene.house, name).await;
        for path in PAGES {
            let page = other.page(path).await;
            assert!(!page.contains("href=\"/people\""), "{path}");
            assert!(!page.contains("action=\"/agents") && !page.contains("action=\"/trail/"));
        }
        for path in OWNERS_PAGES {
            let answer = other.get(path).await;
            assert_eq!(answer.status, 403, "{path}");
            assert!(
                answer.text().contains("for the owners"),
                "{}",
                answer.text()
            );
        }
    }
    let denial = scene.house.denial(&scene.ann, "role_refused").await;
    let opened = denial["what"].as_str().unwrap().strip_prefix("GET ");
    assert!(OWNERS_PAGES.contains(&opened.unwrap()), "{denial}");
}

#[tokio::test]
async fn only_an_owners_own_page_can_send_an_owners_form() {
    let scene = scene().await;
    let owner = Browser::of(&scene.house, "ann").await;
    let (vic, rob) = (
        Browser::of(&scene.house, "vic").await,
        Browser::of(&scene.house, "rob").await,
    );
    let nobody = Browser::new(&scene.house);
    let before = state(&scene).await;
    for (path, fields) in forms(&scene.key_id) {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        for other in [&vic, &rob] {
            assert_eq!(other.post(path, &fields).await.status, 403, "{path}");
        }
        // No token, someone else's, and none of anybody's.
        assert_eq!(
            owner.send_form(path, &encode(&fields)).await.status,
            403,
            "{path}"
        );
        for token in [vic.token.as_str(), "", "0"] {
            let forged = [&[("token", token)], fields.as_slice()].concat();
            assert_eq!(
                owner.send_form(path, &encode(&forged)).await.status,
                403,
                "{path}"
            );
        }
        let stranger = nobody.post(path, &fields).await;
        assert_eq!(stranger.status, 303, "{path}");
        assert_eq!(stranger.header("location"), Some("/sign-in"), "{path}");
    }
    assert_eq!(state(&scene).await, before);
}

#[tokio::test]
async fn a_key_or_a_token_opens_no_page() {
    let scene = scene().await;
    for secret in [&scene.key, &scene.ann] {
        let bearer = format!("Bearer {secret}");
        let cookie = format!("wakeful={secret}");
        let named = [
            ("authorization", bearer.as_str()),
            ("cookie", cookie.as_str()),
        ];
        for path in OWNERS_PAGES.iter().chain(&PAGES) {
            let answer = scene.house.raw("GET", path, &named, "").await;
            assert!(
                answer.text().contains("<h1>Sign in</h1>"),
                "{path}: {}",
                answer.text()
            );
        }
    }
    let before = state(&scene).await;
    let bearer = format!("Bearer {}", scene.key);
    let form = "application/x-www-form-urlencoded";
    let headers = [("authorization", bearer.as_str()), ("content-type", form)];
    for (path, fields) in forms(&scene.key_id) {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        scene
            .house
            .raw("POST", path, &headers, encode(&fields))
            .await;
    }
    assert_eq!(state(&scene).await, before);
}

#[tokio::test]
async fn what_an_owner_typed_is_there_again_when_it_is_refused() {
    let (house, _) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    let typed = [
        ("pattern", "not a host"),
        ("networks", "10.0.0.0/8 nonsense"),
        ("ca_pem", "no certificate"),
    ];
    let answer = ann.post("/webhooks/allow", &typed).await;
    assert_eq!(answer.status, 422);
    for (_, text) in typed {
        assert!(answer.text().contains(text), "{text}: {}", answer.text());
    }
    assert!(!answer.text().contains("In &quot;"), "{}", answer.text());
    let typed = [
        ("agent_id", "keeper"),
        ("rate", "many"),
        ("orchestrates", "a, b"),
    ];
    let answer = ann.post("/agents/keys", &typed).await;
    assert_eq!(answer.status, 422);
    for (_, text) in typed {
        let field = format!("value=\"{text}\"");
        assert!(answer.text().contains(&field), "{text}: {}", answer.text());
    }
    // With a rate that is one, the key reads for the others too.
    let fields = [("agent_id", "keeper"), ("orchestrates", " a, b ,")];
    ann.shown("/agents/keys", &fields).await;
    let keys = house.json(&["key", "list"]);
    let mut keeper = keys["keys"].as_array().unwrap().iter();
    let keeper = keeper.rfind(|key| key["agent_id"] == "keeper");
    assert_eq!(keeper.unwrap()["orchestrates"], json!(["a", "b"]));
}

#[tokio::test]
async fn a_viewer_who_tries_to_answer_is_refused_and_on_the_trail() {
    let scene = scene().await;
    let id = scene.house.deliver(&scene.key, "a", json!({})).await;
    let vic = Browser::of(&scene.house, "vic").await;
    let approve = [("status", "approved"), ("id", &*id), ("undo", "all")];
    let paths = [
        format!("/items/{id}/answer"),
        format!("/items/{id}/undo"),
        "/answers".to_owned(),
        "/answers/undo".to_owned(),
    ];
    for path in &paths {
        let answer = vic.post(path, &approve).await;
        assert_eq!(answer.status, 403, "{path}");
        let why = "A viewer reads and does not answer.";
        assert!(answer.text().contains(why), "{path}: {}", answer.text());
    }
    let what = "each try is on the trail";
    scene
        .house
        .heard(&scene.ann, what, || async {
            let denied = scene.house.entries(&scene.ann, "access_denied").await;
            let denied: Vec<_> = denied.iter().map(|entry| &entry["facts"]["what"]).collect();
            paths
                .iter()
                .all(|path| denied.contains(&&json!(format!("POST {path}"))))
        })
        .await;
    let pending = scene.house.response(&scene.key, &id).await;
    assert_eq!(pending["status"], "pending");
}

/// Whoever had taken our port would be sent the cookie and the page key.
#[tokio::test]
async fn no_page_loads_itself_again() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let ann = Browser::of(&house, "ann").await;
    // Enough that the verification still runs when its page is looked at.
    for _ in 0..300 {
        house.deliver(&key, "a", json!({})).await;
    }
    ann.done("/trail/verify", &[], "/trail/verify").await;
    let item = format!("/items/{id}");
    for path in [
        "/trail/verify",
        "/",
        "/done",
        &item,
        "/next",
        "/agents",
        "/connect",
        "/trail",
        "/webhooks",
        "/people",
        "/settings",
        "/you",
        "/sign-in",
        "/setup/x",
        "/nothing",
    ] {
        let answer = ann.get(path).await;
        assert_eq!(answer.header("refresh"), None, "{path}");
        let page = answer.text().to_lowercase();
        assert!(!page.contains("http-equiv"), "{path}: {page}");
    }
}

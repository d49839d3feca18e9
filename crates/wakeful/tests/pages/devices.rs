//! Devices among the agents: presence, traffic, tokens, and whose they are.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::{
    browser::{Browser, encode, secret, secrets},
    harness::{House, until},
};

const NOT_SEEN: &str = "never seen";

/// One end of the relay.
struct Wire(WebSocketStream<TcpStream>);

impl Wire {
    /// Comes in with this; gives what the server says to it.
    async fn enter(house: &House, auth: Value) -> (Wire, Value) {
        let address = house.address().replace("http://", "");
        let stream = TcpStream::connect(&address).await.unwrap();
        let url = format!("ws://{address}/wss");
        let (socket, _) = client_async(url, stream).await.unwrap();
        let mut wire = Wire(socket);
        wire.say(&auth.to_string()).await;
        let told = serde_json::from_str(&wire.hear().await).unwrap();
        (wire, told)
    }

    async fn device(house: &House, agent_id: &str, token: &str) -> Wire {
        let (wire, told) = Wire::enter(house, as_device(agent_id, token)).await;
        assert_eq!(told["status"], "authenticated", "{told}");
        wire
    }

    async fn say(&mut self, text: &str) {
        self.0.send(Message::Text(text.into())).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let heard = self.0.next().await.unwrap().unwrap();
        heard.into_text().unwrap().as_str().to_owned()
    }

    /// What comes next ends it.
    async fn is_ended(&mut self) -> bool {
        matches!(self.0.next().await, Some(Ok(Message::Close(_))))
    }
}

fn as_device(agent_id: &str, token: &str) -> Value {
    json!({ "type": "auth", "api_token": token, "client_type": "device", "agent_id": agent_id })
}

/// A new device of the one whose token this is; gives its own token.
async fn add(house: &House, token: &str, agent_id: &str) -> String {
    let body = json!({ "agent_id": agent_id });
    let made = house.post("/api/v1/agents", token, body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["token"].as_str().unwrap().to_owned()
}

async fn until_shown(browser: &Browser, words: &str) {
    until(words, || async {
        browser.page("/agents").await.contains(words)
    })
    .await;
}

#[tokio::test]
async fn whose_device_it_is_sees_it_come_and_go_and_how_much_passed() {
    let (mut house, ann_token) = House::start().await;
    let token = add(&house, &ann_token, "lamp").await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page("/agents").await;
    for words in [
        "offline",
        NOT_SEEN,
        "0 to it (0 bytes), 0 from it (0 bytes), 0 refused",
        "What this server sees of a device",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
    for misplaced in ["No key works.", "No delivery yet", "/prompt\""] {
        assert!(!page.contains(misplaced), "{misplaced} in {page}");
    }
    assert!(page.contains("wakeful link add NAME"), "{page}");

    let mut device = Wire::device(&house, "lamp", &token).await;
    until_shown(&ann, "online</span>").await;
    assert!(!ann.page("/agents").await.contains(NOT_SEEN));
    let auth = json!({ "type": "auth", "api_token": ann_token, "client_type": "client" });
    let (mut client, _) = Wire::enter(&house, auth).await;
    client.hear().await;
    let relay = |payload: &str| json!({ "type": "relay", "agent_id": "lamp", "payload": payload });
    let private = format!("{{\"sid\":\"s\",\"p\":\"{}\"}}", "sealed".repeat(500));
    client.say(&relay(&private).to_string()).await;
    assert_eq!(device.hear().await, private);
    device.say("{\"sid\":\"s\"}").await;
    client.hear().await;
    until_shown(&ann, "1 to it (3 kB), 1 from it (11 bytes), 0 refused").await;
    assert!(
        !ann.page("/agents")
            .await
            .contains("sealed".repeat(2).as_str())
    );

    drop(device);
    until_shown(&ann, "offline").await;
    assert!(ann.page("/agents").await.contains("last seen <time"));
    client.say(&relay("{}").to_string()).await;
    client.hear().await;
    until_shown(&ann, "1 refused").await;

    // All of that is kept.
    house.stop();
    house.serve().await;
    let page = Browser::of(&house, "ann").await.page("/agents").await;
    for words in [
        "last seen <time",
        "1 to it (3 kB), 1 from it (11 bytes), 1 refused",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[tokio::test]
async fn a_device_token_is_rotated_and_shown_once_and_the_old_one_is_out() {
    let (house, ann_token) = House::start().await;
    let old = add(&house, &ann_token, "lamp").await;
    let ann = Browser::of(&house, "ann").await;
    let mut connected = Wire::device(&house, "lamp", &old).await;
    let lamp = [("agent_id", "lamp")];
    let made = ann.shown("/agents/devices/rotate", &lamp).await;
    let new = secret(&made, "wld_");
    let endpoint = house.address().replace("http://", "ws://") + "/wss";
    assert_eq!(secrets(&made), ["lamp", new.as_str(), endpoint.as_str()]);
    assert_ne!(new, old);
    assert!(connected.is_ended().await);
    let (_, told) = Wire::enter(&house, as_device("lamp", &old)).await;
    assert_eq!(told["status"], "failed");
    let mut connected = Wire::device(&house, "lamp", &new).await;
    let page = ann.page("/agents").await;
    assert!(!page.contains("wld_"), "{page}");
    let issued = house.entries(&ann_token, "device_token_issued").await;
    assert_eq!(issued.len(), 2);
    assert!(issued.iter().all(|entry| entry["actor"] == "ann"));

    ann.done("/agents/devices/remove", &lamp, "/agents").await;
    assert!(connected.is_ended().await);
    let page = ann.page("/agents").await;
    assert!(page.contains("No agent yet."), "{page}");
    assert!(!page.contains("What this server sees"), "{page}");
}

#[tokio::test]
async fn a_device_that_also_delivers_loses_its_token_only_after_its_keys() {
    let (house, ann_token) = House::start().await;
    let made = house.json(&["key", "create", "--agent", "crew"]);
    let key_id = made["key_id"].as_str().unwrap();
    let rotate = "/api/v1/agents/crew/rotate-token";
    assert_eq!(
        house.post(rotate, &ann_token, json!(null)).await.status,
        201
    );
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page("/agents").await;
    assert!(page.contains("revoke its keys first"), "{page}");
    assert!(!page.contains("/agents/devices/remove"), "{page}");
    let crew = [("agent_id", "crew")];
    ann.refused("/agents/devices/remove", &crew, 409, "crew")
        .await;
    ann.done("/agents/keys/revoke", &[("key_id", key_id)], "/agents")
        .await;
    assert!(
        ann.page("/agents")
            .await
            .contains("What it delivered stays.")
    );
    ann.done("/agents/devices/remove", &crew, "/agents").await;
    let page = ann.page("/agents").await;
    assert!(
        page.contains(key_id) && !page.contains("device</span>"),
        "{page}"
    );
}

#[tokio::test]
async fn a_device_is_its_persons_own_and_who_administers_can_only_remove_it() {
    let (house, ann_token) = House::start().await;
    let bob_token = house.user("bob", "reviewer");
    house.user("rob", "reviewer");
    house.user("eve", "viewer");
    add(&house, &bob_token, "lamp").await;
    let (ann, bob) = (
        Browser::of(&house, "ann").await,
        Browser::of(&house, "bob").await,
    );
    let (rob, eve) = (
        Browser::of(&house, "rob").await,
        Browser::of(&house, "eve").await,
    );
    let page = bob.page("/agents").await;
    for offered in [NOT_SEEN, "/agents/devices/rotate", "/agents/devices/remove"] {
        assert!(page.contains(offered), "{offered} in {page}");
    }
    let page = ann.page("/agents").await;
    assert!(
        page.contains("only bob sees whether it is online"),
        "{page}"
    );
    assert!(page.contains("/agents/devices/remove"), "{page}");
    for hidden in [NOT_SEEN, "dev_", "to it (", "/agents/devices/rotate"] {
        assert!(!page.contains(hidden), "{hidden} in {page}");
    }
    for other in [&rob, &eve] {
        let page = other.page("/agents").await;
        assert!(page.contains("lamp"), "{page}");
        for hidden in ["device</span>", "dev_", "line</span>", "/agents/devices"] {
            assert!(!page.contains(hidden), "{hidden} in {page}");
        }
    }

    let lamp = [("agent_id", "lamp")];
    let before = house.get("/api/v1/agents/lamp", &bob_token).await.json();
    let none = "There is no agent";
    ann.refused("/agents/devices/rotate", &lamp, 404, none)
        .await;
    rob.refused("/agents/devices/rotate", &lamp, 404, none)
        .await;
    rob.refused("/agents/devices/remove", &lamp, 404, none)
        .await;
    for path in ["/agents/devices/rotate", "/agents/devices/remove"] {
        let answer = eve.post(path, &lamp).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.text().contains("A viewer reads"), "{path}");
        // Nor by a form that no page of bob's made.
        for token in ["", "wrong", rob.token.as_str()] {
            let fields = [("token", token), lamp[0]];
            let answer = bob.send_form(path, &encode(&fields)).await;
            assert_eq!(answer.status, 403, "{path} with {token:?}");
        }
        let answer = Browser::new(&house).post(path, &lamp).await;
        assert_eq!(answer.header("location"), Some("/sign-in"), "{path}");
    }
    let denial = house.denial(&ann_token, "role_refused").await;
    assert_eq!(denial["who"], "eve", "{denial}");
    let after = house.get("/api/v1/agents/lamp", &bob_token).await.json();
    assert_eq!(before, after);

    ann.done("/agents/devices/remove", &lamp, "/agents").await;
    let removed = &house.entries(&ann_token, "agent_removed").await[0];
    assert_eq!(
        (&removed["actor"], &removed["stream"]),
        (&json!("ann"), &json!("account/bob"))
    );
    assert!(bob.page("/agents").await.contains("No agent yet."));
}

#[tokio::test]
async fn whoever_became_a_viewer_still_sees_their_device_and_changes_nothing() {
    let (house, _) = House::start().await;
    let bob_token = house.user("bob", "reviewer");
    add(&house, &bob_token, "lamp").await;
    let ann = Browser::of(&house, "ann").await;
    let fields = [("name", "bob"), ("role", "viewer")];
    ann.done("/people/role", &fields, "/people").await;
    let page = Browser::of(&house, "bob").await.page("/agents").await;
    assert!(page.contains(NOT_SEEN), "{page}");
    assert!(!page.contains("/agents/devices"), "{page}");
}

#[tokio::test]
async fn a_device_of_any_name_is_shown_as_text_and_its_forms_mean_it() {
    let (house, ann_token) = House::start().await;
    let ann = Browser::of(&house, "ann").await;
    for name in [
        "\"><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "'; a & b = c + d %20/../?",
        "\u{202e}pmal\u{202c}",
        "лампа 💡",
    ] {
        add(&house, &ann_token, name).await;
        let page = ann.page("/agents").await;
        assert!(
            !page.contains("<script>alert") && !page.contains("<img"),
            "{page}"
        );
        let field = [("agent_id", name)];
        let made = ann.shown("/agents/devices/rotate", &field).await;
        assert!(
            !made.contains("<script>alert") && !made.contains("<img"),
            "{made}"
        );
        Wire::device(&house, name, &secret(&made, "wld_")).await;
        ann.done("/agents/devices/remove", &field, "/agents").await;
        assert!(ann.page("/agents").await.contains("No agent yet."));
    }
}

#[tokio::test]
async fn a_link_that_a_browser_follows_shows_no_token() {
    let (house, ann_token) = House::start().await;
    add(&house, &ann_token, "lamp").await;
    let ann = Browser::of(&house, "ann").await;
    assert_eq!(ann.get("/api/v1/agents").await.status, 200);
    let export = "/api/v1/agents/lamp/export";
    assert_eq!(ann.get(export).await.status, 401);
    let read = house.entries(&ann_token, "device_token_exported").await;
    assert!(read.is_empty(), "{read:?}");
    assert_eq!(house.get(export, &ann_token).await.status, 200);
}

/// The live events of the one whose token this is, as they are written.
struct Live(reqwest::Response, String);

impl Live {
    async fn of(house: &House, token: &str) -> Live {
        let address = format!("{}/api/v1/events", house.address());
        let response = house.http.get(address).bearer_auth(token).send().await;
        let mut live = Live(response.unwrap(), String::new());
        live.hears("id: ").await;
        live
    }

    async fn hears(&mut self, words: &str) {
        while !self.1.contains(words) {
            let more = self.0.chunk().await.unwrap().expect("the stream ended");
            self.1.push_str(std::str::from_utf8(&more).unwrap());
        }
    }
}

#[tokio::test]
async fn the_pages_of_its_owner_hear_when_a_device_comes_and_goes_and_nobody_elses() {
    let (house, ann_token) = House::start().await;
    let bob_token = house.user("bob", "owner");
    let token = add(&house, &ann_token, "lamp").await;
    let mut ann = Live::of(&house, &ann_token).await;
    let mut bob = Live::of(&house, &bob_token).await;
    let said = |online: bool| {
        format!("event: agent_status\ndata: {{\"agent_id\":\"lamp\",\"online\":{online}}}\n\n")
    };
    let device = Wire::device(&house, "lamp", &token).await;
    ann.hears(&said(true)).await;
    // A second connection takes the place of the first: nobody came or went.
    let second = Wire::device(&house, "lamp", &token).await;
    drop((device, second));
    ann.hears(&said(false)).await;
    assert_eq!(ann.1.matches("agent_status").count(), 2, "{}", ann.1);
    add(&house, &ann_token, "door").await;
    bob.hears("door").await;
    assert!(!bob.1.contains("agent_status"), "{}", bob.1);
}

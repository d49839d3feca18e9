//! What an owner can do with an item whose time is over.

use account::command::NewKey;
use engine::{
    Clock, Engine, Keys, Reply, Setup, Vault,
    command::{Account, Deliver, Wake},
};
use serde_json::json;
use trail::Micros;

use crate::{browser::Browser, harness::House};

/// Delivers into a directory with nothing in it, ten minutes ago, with a minute's
/// time for the answer. Gives the ids, in the order of `details`.
async fn delivered_ten_minutes_ago(house: &House, details: &[Option<&str>]) -> Vec<String> {
    let keys = Keys::open(house.data()).unwrap();
    let store = store::open(&house.data().into(), &keys.seal.row_seal()).await;
    let system = Clock::system();
    let setup = Setup {
        store: store.unwrap(),
        vault: Vault::new(&keys.seal, &[]),
        keys,
        clock: Clock::new(move || Micros(system.now().0 - 600_000_000)),
    };
    let engine = Engine::start(setup).await.unwrap();
    let key = NewKey {
        agent_id: "writer".to_owned(),
        owner: None,
        key_id: "k".to_owned(),
        hash: account::secret::hash("writer"),
        test: false,
        orchestrates: Vec::new(),
        rate: None,
    };
    let ann = account::Command::CreateUser {
        name: "ann".to_owned(),
        role: None,
        token_id: "t".to_owned(),
        token_hash: account::secret::hash("ann"),
    };
    for command in [ann, account::Command::CreateKey(key)] {
        let actor = account::Actor::Operator;
        let administer = Account::Administer { actor, command };
        engine.submit(administer).await.unwrap();
    }
    let mut ids = Vec::new();
    for details in details {
        let kind = wake::Kind::Question;
        let delivery = wake::NewDelivery {
            details: details.map(|details| json!(details).to_string().into_bytes()),
            timeout_seconds: Some(60),
            ..wake::NewDelivery::new("writer", kind, "Which?", "One of two.")
        };
        let deliver = Deliver {
            key_id: "k".to_owned(),
            delivery,
            idempotency: None,
        };
        match engine.submit(Wake::Deliver(deliver)).await.unwrap() {
            Reply::Received { delivery_id, .. } => ids.push(delivery_id.to_string()),
            other => panic!("{other:?}"),
        }
    }
    engine.stop().await;
    ids
}

#[tokio::test]
async fn an_owner_erases_an_item_whose_time_is_over_by_the_page_and_by_the_api() {
    let mut house = House::empty();
    let details = [Some("sesame one"), Some("sesame two"), None];
    let ids = delivered_ten_minutes_ago(&house, &details).await;
    house.serve().await;
    let made = house.json(&["user", "create", "olga", "--role", "owner"]);
    let token = made["token"].as_str().unwrap();
    let olga = Browser::of(&house, "olga").await;
    let item = |id: &str| format!("/items/{id}");
    let api = |id: &str| format!("/api/v1/inbox/{id}");
    for id in &ids {
        house
            .heard(token, "its time is over", || async {
                house.get(&api(id), token).await.json()["timed_out"] == true
            })
            .await;
    }
    // Whoever answers late is told so before, and whoever looks afterwards.
    let page = olga.page(&item(&ids[2])).await;
    assert!(
        page.contains("The agent has gone on without an answer."),
        "{page}"
    );
    let late = json!({ "status": "approved" });
    house.respond(token, &ids[2], late).await;
    let page = olga.page(&item(&ids[2])).await;
    assert!(
        page.contains("This was answered after the agent had gone on."),
        "{page}"
    );
    // Nothing can be erased where there is nothing.
    assert!(!olga.page(&item(&ids[2])).await.contains("Erase"));

    assert!(olga.page(&item(&ids[0])).await.contains("Erase it now"));
    let erase = format!("{}/erase", item(&ids[0]));
    olga.done(&erase, &[], &item(&ids[0])).await;
    let content = format!("{}/content", api(&ids[1]));
    let erased = house.send("DELETE", &content, Some(token), None).await;
    assert_eq!(erased.status, 204);
    for id in &ids[..2] {
        let page = olga.page(&item(id)).await;
        assert!(page.contains("Its content was erased."), "{page}");
        assert!(
            !page.contains("sesame") && !page.contains("Erase it now"),
            "{page}"
        );
        let seen = house.get(&api(id), token).await.json();
        assert_eq!(
            (&seen["status"], &seen["content_erased"]),
            (&json!("pending"), &json!(true))
        );
    }
    assert_eq!(house.entries(token, "content_erased").await.len(), 2);
}

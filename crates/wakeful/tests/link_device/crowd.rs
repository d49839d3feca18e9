//! Whoever has an account token and no secret, and says hello without end.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::{client_async, tungstenite::Message};
use wakelink::ewsp::{Draw, Initiator, Sid};

use crate::scene::{AGENT, Scene};

/// Says hello to the device as fast as it is let, until it is aborted.
async fn hellos(address: String, token: String, who: u8) {
    let stream = TcpStream::connect(&address).await.unwrap();
    let url = format!("ws://{address}/wss");
    let (socket, _) = client_async(url, stream).await.unwrap();
    let (mut say, mut hear) = socket.split();
    let auth = json!({ "type": "auth", "api_token": token, "client_type": "client" });
    say.send(Message::text(auth.to_string())).await.unwrap();
    tokio::spawn(async move { while let Some(Ok(_)) = hear.next().await {} });
    for n in 0_u32.. {
        let mut sid = [who; 8];
        sid[..4].copy_from_slice(&n.to_be_bytes());
        let hello = Initiator::new(Sid::new(sid), Draw::new(&[7; 64]))
            .hello()
            .text();
        let relay = json!({ "type": "relay", "agent_id": AGENT, "payload": hello });
        if say.send(Message::text(relay.to_string())).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hellos_without_end_do_not_keep_the_owner_from_the_device() {
    let scene = Scene::start().await;
    let _device = scene.device();
    let address = scene.house.address().replace("http://", "");
    let crowd: Vec<_> = (1..=4)
        .map(|who| tokio::spawn(hellos(address.clone(), scene.ann.clone(), who)))
        .collect();
    for _ in 0..8 {
        assert_eq!(scene.done(&["link", "send", AGENT, "ping"]), "ok\n");
    }
    assert!(crowd.iter().all(|one| !one.is_finished()));
    crowd.iter().for_each(tokio::task::JoinHandle::abort);
}

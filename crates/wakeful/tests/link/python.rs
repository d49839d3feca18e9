//! The same with a client that others wrote: Python's `websockets`.

use serde_json::json;

use crate::{harness::peer::Peer, scene::Scene};

#[tokio::test]
async fn an_independent_client_is_a_device_and_a_client_by_the_document_alone() {
    let scene = Scene::start().await;
    let device = scene.device(&scene.ann, "WL35080814").await;
    let url = scene
        .house
        .address()
        .replace("https://127.0.0.1", "wss://localhost")
        + "/wss";
    let rest = scene.house.address().replace("127.0.0.1", "localhost");
    let certificate = scene.certificate_file();
    let environment = [
        ("LINK_URL", url.as_str()),
        ("LINK_REST", rest.as_str()),
        ("LINK_CA", certificate.as_str()),
        ("LINK_TOKEN", scene.ann.as_str()),
        ("LINK_DEVICE_TOKEN", device.token.as_str()),
        ("LINK_AGENT_ID", device.agent_id.as_str()),
    ];
    let mut peer = Peer::start("link.py", &[], &environment);
    assert_eq!(peer.expect("plain"), 426);
    let session = peer.expect("session");
    assert_eq!(
        (&session["expires_in"], &session["max_requests"]),
        (&json!(86400), &json!(10000))
    );
    let entered = peer.expect("client");
    assert_eq!(entered["status"], "authenticated");
    assert_eq!(entered["session_token"], session["session_token"]);
    assert_eq!(peer.expect("snapshot")["online"], false);
    assert_eq!(peer.expect("device")["status"], "authenticated");
    assert_eq!(peer.expect("online")["online"], true);
    let payload = peer.expect("payload");
    assert_eq!(payload["sent"], payload["received"]);
    let reply = peer.expect("reply");
    assert_eq!(reply["sent"], reply["received"]);
    let packet = peer.expect("packet");
    assert_eq!(packet["sent"], packet["received"]);
    let codes = ["UNKNOWN_AGENT", "UNKNOWN_SESSION", "BAD_FRAME"];
    assert_eq!(peer.expect("errors"), json!(codes));
    assert_eq!(peer.expect("offline")["online"], false);
    assert_eq!(peer.expect("refused"), json!(["failed", 1008]));
    assert_eq!(peer.expect("large"), 1009);
    peer.finish();
}

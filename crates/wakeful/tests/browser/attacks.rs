//! What an agent could do with a server of its own on the person's machine: on
//! another port, or on ours while we are down. Each flow signs people in for
//! real and runs in Chromium and in Firefox. What takes long and differs little is
//! built for the full run alone.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    deciding,
    flow::Flow,
    guest::link,
    harness::{House, way::Way},
};

/// What is other than usual.
#[derive(Clone, Copy, PartialEq)]
enum With {
    Nothing,
    /// The server, and the agent's, speak TLS.
    Tls,
    NoScripts,
}

/// A server with ann, mallory, an agent, and an owner who looks at the trail.
async fn start(with: With) -> (House, Value) {
    let mut house = House::empty();
    house.user("ann", "owner");
    house.user("mallory", "reviewer");
    let watcher = house.user("olga", "owner");
    let mut more = json!({ "keys": { "scout": house.key("scout") }, "watcher": watcher });
    if with != With::Tls {
        house.serve().await;
        return (house, more);
    }
    house.serve_by(Way::Tls).await;
    let [file, key] = ["cert.pem", "key.pem"].map(|name| house.data().join(name));
    let text = |file: &Path| std::fs::read_to_string(file).unwrap();
    more["tls"] = json!({ "cert": text(&file), "key": text(&key), "file": file });
    (house, more)
}

/// Plays a flow in a browser, and does what it asks for.
async fn play(name: &'static str, browser: &str, with: With) {
    let (mut house, mut more) = start(with).await;
    more["browser"] = browser.into();
    more["plain"] = (with == With::NoScripts).into();
    let mut flow = Flow::start(name, &house, &[], more);
    while let Some(asked) = flow.asked() {
        let mut told = Value::Null;
        match asked.as_str() {
            "kill the server" => house.kill_for_a_while(),
            "start the server" => house.serve().await,
            "move the server" => {
                house.kill();
                house.serve().await;
                told = json!({ "address": house.address() });
            }
            other => {
                let name = other.strip_prefix("make a link for ").expect(other);
                told = json!({ "link": link(&house, name) });
            }
        }
        flow.tell(&told);
    }
    flow.finish();
}

#[tokio::test]
async fn another_port_gets_nothing_to_act_with_in_chromium() {
    play("elsewhere", "chromium", With::Nothing).await;
}

#[tokio::test]
async fn another_port_gets_nothing_to_act_with_in_firefox() {
    play("elsewhere", "firefox", With::Nothing).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn another_port_gets_nothing_to_act_with_over_tls_in_chromium() {
    play("elsewhere", "chromium", With::Tls).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn another_port_gets_nothing_to_act_with_over_tls_in_firefox() {
    play("elsewhere", "firefox", With::Tls).await;
}

#[tokio::test]
async fn another_port_gets_nothing_to_act_with_without_javascript_in_chromium() {
    play("elsewhere", "chromium", With::NoScripts).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn another_port_gets_nothing_to_act_with_without_javascript_in_firefox() {
    play("elsewhere", "firefox", With::NoScripts).await;
}

#[tokio::test]
async fn a_link_to_this_machine_or_network_cannot_be_clicked() {
    deciding::play("courtesy").await;
}

#[tokio::test]
async fn a_cookie_of_another_port_signs_nobody_in_as_someone_else_in_chromium() {
    play("planted", "chromium", With::Nothing).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn a_cookie_of_another_port_signs_nobody_in_as_someone_else_in_firefox() {
    play("planted", "firefox", With::Nothing).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn a_cookie_of_another_port_signs_nobody_in_as_someone_else_over_tls_in_chromium() {
    play("planted", "chromium", With::Tls).await;
}

#[tokio::test]
async fn a_cookie_of_another_port_signs_nobody_in_as_someone_else_over_tls_in_firefox() {
    play("planted", "firefox", With::Tls).await;
}

#[tokio::test]
async fn an_address_with_a_key_leads_nobody_in_as_someone_else_in_chromium() {
    play("led-in", "chromium", With::Nothing).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn an_address_with_a_key_leads_nobody_in_as_someone_else_in_firefox() {
    play("led-in", "firefox", With::Nothing).await;
}

#[tokio::test]
async fn an_address_with_a_key_leads_nobody_in_as_someone_else_without_javascript() {
    play("led-in", "chromium", With::NoScripts).await;
}

#[tokio::test]
async fn whoever_takes_the_port_gets_no_credential_in_chromium() {
    play("taken", "chromium", With::Nothing).await;
}

#[tokio::test]
async fn whoever_takes_the_port_gets_no_credential_in_firefox() {
    play("taken", "firefox", With::Nothing).await;
}

#[tokio::test]
async fn whoever_takes_the_port_gets_no_credential_over_tls_in_chromium() {
    play("taken", "chromium", With::Tls).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn whoever_takes_the_port_gets_no_credential_over_tls_in_firefox() {
    play("taken", "firefox", With::Tls).await;
}

#[tokio::test]
async fn whoever_passes_our_proof_on_gets_no_credential_in_chromium() {
    play("relayed", "chromium", With::Nothing).await;
}

#[cfg(feature = "full")]
#[tokio::test]
async fn whoever_passes_our_proof_on_gets_no_credential_in_firefox() {
    play("relayed", "firefox", With::Nothing).await;
}

//! The small things around a device: its token, its file, patience, and what
//! is in the way when something else answers in the server's place.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use serde_json::json;

use crate::{
    harness::House,
    scene::{AGENT, Scene},
};

/// Something that answers every request with this.
fn portal(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    address
}

#[tokio::test]
async fn what_is_no_token_is_not_taken_for_one() {
    let scene = Scene::start().await;
    let file = scene.device_side.path().join("token");
    let before = std::fs::read(&file).unwrap();
    let there = file.to_str().unwrap();
    for body in ["<html>Welcome", "{}", r#"{"agent_id":"x","token":"wl_x"}"#] {
        let portal = portal("200 OK", body);
        for renew in [&[][..], &["--renew"]] {
            for kept in [&[][..], &["--token-file", there]] {
                let mut token = scene.command(&["link", "token", AGENT, "--server", &portal]);
                token.args(renew).args(kept).env_remove("WAKEFUL_DATA");
                let output = token.output().unwrap();
                assert_eq!(output.status.code(), Some(2), "{output:?}");
                assert_eq!(output.stdout, b"");
                let said = String::from_utf8(output.stderr).unwrap();
                let why = match body.starts_with('{') {
                    true => "answer holds no token",
                    false => "the answer is not from a Wakeful server",
                };
                assert!(said.contains(why), "{said}");
            }
        }
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
    // A server that is away for a moment refuses nobody.
    let away = portal("502 Bad Gateway", "");
    let mut send = scene.command(&["link", "send", AGENT, "ping", "--server", &away]);
    let output = send.env_remove("WAKEFUL_DATA").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("answered 502"), "{said}");
}

#[tokio::test]
async fn a_device_whose_token_cannot_be_kept_is_not_made() {
    let scene = Scene::start().await;
    let nowhere = scene.client_side.path().join("file");
    std::fs::write(&nowhere, "").unwrap();
    let nowhere = nowhere.join("token");
    let add = [
        "link",
        "add",
        "WL1",
        "--token-file",
        nowhere.to_str().unwrap(),
    ];
    scene.ends(2, &add, "could not write");
    assert!(scene.done(&["link", "add", "WL1"]).starts_with("wld_"));
    scene.done(&["link", "remove", "WL1"]);
    scene.ends(1, &["link", "token", "WL1"], "WL1");
}

#[tokio::test]
async fn a_file_with_another_token_is_known_before_the_server_is_asked() {
    let scene = Scene::start().await;
    let file = scene.device_side.path().join("token");
    let config = scene.config();
    for text in ["", "\n", "wl_abc\n", "wls_abc\n"] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let device = ["link", "device", "--config", config.to_str().unwrap()];
        scene.ends(2, &device, "holds no token of a device");
    }
    let text = std::fs::read_to_string(&config).unwrap();
    let (before, _) = text.split_once("port = ").unwrap();
    std::fs::write(&config, format!("{before}port = 0\n")).unwrap();
    let device = ["link", "device", "--config", config.to_str().unwrap()];
    scene.ends(2, &device, "port");
}

#[tokio::test]
async fn patience_and_ids_have_their_bounds() {
    let scene = Scene::start().await;
    for wait in ["0", "3601", "18446744073709551615"] {
        let send = ["link", "send", AGENT, "ping", "--wait", wait];
        scene.ends(2, &send, "--wait");
    }
    let named = r#"{"id":"mine","do":"ping"}"#;
    scene.ends(2, &["link", "send", AGENT, named], "id");
}

#[tokio::test]
async fn a_person_is_told_in_words_what_was_woken() {
    let scene = Scene::start().await;
    let _device = scene.device();
    let said = scene.done(&["link", "wake", AGENT, "nas"]);
    assert!(said.starts_with("A packet for nas ("), "{said}");
    scene.woken();
}

#[tokio::test]
async fn sessions_of_commands_that_ended_make_no_crowd() {
    let mut house = House::empty();
    let ann = house.user("ann", "owner");
    let config = house.data().join("wakeful.toml");
    std::fs::write(&config, "[link]\nsessions-per-person = 2\n").unwrap();
    let flags = ["--config", config.to_str().unwrap()];
    house.try_serve(&flags).await.unwrap();
    let mut scene = Scene::in_house(house, ann, "");
    let path = "/api/v1/auth/session";
    let made = scene.house.post(path, &scene.ann, json!(null)).await;
    let phones = made.json()["session_token"].as_str().unwrap().to_owned();
    let _device = scene.device();
    for _ in 0..3 {
        scene.done(&["link", "send", AGENT, "ping"]);
    }
    // A session token signs in as it is, and its use does not end it.
    scene.ann = phones;
    for _ in 0..2 {
        scene.done(&["link", "send", AGENT, "ping"]);
    }
}

#[tokio::test]
async fn everyone_renews_their_own_token_from_a_shell() {
    let mut scene = Scene::start().await;
    let bob = scene.house.user("bob", "reviewer");
    let ann = std::mem::replace(&mut scene.ann, bob);
    let renewed = scene.done(&["user", "token", "bob"]).trim().to_owned();
    assert!(renewed.starts_with("wl_"), "{renewed}");
    scene
        .house
        .get("/api/v1/me", &scene.ann)
        .await
        .is_problem(401, "unauthenticated", None);
    scene.ann = renewed;
    assert_eq!(
        scene.house.get("/api/v1/me", &scene.ann).await.json()["name"],
        "bob"
    );
    scene.ann = ann;
    assert!(scene.done(&["user", "token", "bob"]).starts_with("wl_"));
}

#[tokio::test]
async fn who_watches_goes_on_while_a_proxy_has_no_server_behind_it() {
    let scene = Scene::start().await;
    let away = portal("503 Service Unavailable", "");
    let mut watch = scene.command(&["link", "watch", "--server", &away]);
    watch.env_remove("WAKEFUL_DATA").stderr(Stdio::piped());
    let mut watch = watch.spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.take().unwrap()).lines();
    for _ in 0..2 {
        let line = lines.next().expect("it ended").unwrap();
        assert!(line.contains("answered 503; trying again in"), "{line}");
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
}

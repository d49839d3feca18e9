//! A device and its owner's client, each a process, with the real server
//! between them.

use serde_json::json;

use crate::{
    harness::{House, WAKEFUL, receiver::Identity},
    scene::{AGENT, MAC, Scene},
};

#[tokio::test]
async fn a_device_that_runs_is_online_and_does_what_it_is_asked() {
    let scene = Scene::start().await;
    let device = scene.device();
    assert_eq!(scene.done(&["link", "send", AGENT, "ping"]), "ok\n");
    let info = scene.json(&["link", "send", AGENT, "info"]);
    assert_eq!(info["ok"], true);
    assert_eq!(
        info["result"]["targets"],
        json!([{ "name": "nas", "mac": MAC }])
    );
    let status = scene.json(&["link", "status"]);
    assert_eq!(status["devices"][0]["agent_id"], AGENT);
    assert_eq!(status["devices"][0]["link"]["online"], true);
    let table = scene.done(&["link", "status", AGENT]);
    assert!(table.contains("online"), "{table}");
    assert_eq!(device.stop(), Some(0));
    // And offline when it does not run.
    scene.ends(1, &["link", "send", AGENT, "ping"], "AGENT_OFFLINE");
    let output = scene.run(&["link", "status", AGENT]);
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("offline"), "{table}");
}

#[tokio::test]
async fn a_machine_is_woken_through_the_server_byte_for_byte() {
    let scene = Scene::start().await;
    let _device = scene.device();
    let mut expected = vec![0xff; 6];
    for _ in 0..16 {
        expected.extend([0x02, 0x4e, 0xa7, 0x93, 0x5c, 0xd1]);
    }
    for target in ["nas", MAC] {
        let woken = scene.json(&["link", "wake", AGENT, target]);
        assert_eq!(woken["result"]["name"], "nas");
        assert_eq!(scene.woken(), expected);
    }
    let as_json = format!(r#"{{"do":"wake","target":"{MAC}"}}"#);
    scene.done(&["link", "send", AGENT, &as_json]);
    assert_eq!(scene.woken(), expected);
    scene.ends(
        1,
        &["link", "wake", AGENT, "02:4e:a7:93:5c:d2"],
        "not on this device's list",
    );
}

#[tokio::test]
async fn what_cannot_be_done_says_why_and_ends_with_its_code() {
    let scene = Scene::start().await;
    let device = scene.device();
    let ping = ["link", "send", AGENT, "ping"];
    for (code, command, because) in [
        (1, r#"{"do":"dance"}"#, "no such command"),
        (1, r#"{"do":7}"#, "JSON object"),
        (2, "dance", "write ping, info"),
        (2, "{", "not a JSON object"),
    ] {
        scene.ends(code, &["link", "send", AGENT, command], because);
    }
    // Not paired here; paired, and not the server's.
    scene.ends(1, &["link", "send", "WL00000000", "ping"], "not paired");
    scene.done(&["link", "pair", "WL00000000"]);
    scene.ends(1, &["link", "send", "WL00000000", "ping"], "UNKNOWN_AGENT");
    // Another secret than the device's.
    let code = scene.done(&["link", "pair", AGENT, "--replace"]);
    scene.ends(1, &ping, "another secret");
    let kept = scene.device_side.path().join("secret");
    scene.pair(&std::fs::read_to_string(kept).unwrap());
    assert_eq!(scene.done(&ping), "ok\n");
    assert!(!code.is_empty());
    // Nobody, or somebody else.
    let nobody = scene.command(&ping).env("WAKEFUL_TOKEN", "wl_x").output();
    assert_eq!(nobody.unwrap().status.code(), Some(1));
    let bob = scene.house.user("bob", "owner");
    let output = scene.command(&ping).env("WAKEFUL_TOKEN", bob).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("UNKNOWN_AGENT")
    );
    drop(device);
}

#[tokio::test]
async fn a_token_that_is_renewed_shuts_the_old_device_out() {
    let scene = Scene::start().await;
    let device = scene.device();
    let file = scene.device_side.path().join("token");
    let before = std::fs::read_to_string(&file).unwrap();
    assert_eq!(scene.done(&["link", "token", AGENT]), before);
    let renewed = scene.done(&["link", "token", AGENT, "--renew"]);
    assert!(renewed.starts_with("wld_") && renewed != before);
    device.until("offline");
    // One that starts with the old token ends, and says why.
    let other = scene.run(&[
        "link",
        "device",
        "--config",
        scene.config().to_str().unwrap(),
    ]);
    assert_eq!(other.status.code(), Some(1));
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("Invalid token"), "{said}");
    std::fs::write(&file, renewed).unwrap();
    drop(device);
    let _device = scene.device();
    assert_eq!(scene.done(&["link", "send", AGENT, "ping"]), "ok\n");
}

#[tokio::test]
async fn it_all_goes_over_tls() {
    let identity = Identity::of(&["localhost"]);
    let (cert, key) = (identity.certificate_file(), identity.key_file());
    let flags = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let (house, ann) = House::start_with(&flags).await;
    let trusted = format!("server-ca = \"{}\"", cert.display());
    let scene = Scene::in_house(house, ann, &trusted);
    assert!(scene.house.address().starts_with("https://"));
    let _device = scene.device();
    let server = scene.house.address().replace("127.0.0.1", "localhost");
    let output = std::process::Command::new(WAKEFUL)
        .args(["link", "send", AGENT, "ping", "--server", &server])
        .arg("--server-ca")
        .arg(&cert)
        .env("XDG_STATE_HOME", scene.client_side.path())
        .env("WAKEFUL_TOKEN", &scene.ann)
        .env_remove("WAKEFUL_DATA")
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"ok\n", "{output:?}");
    // A device that does not trust the server tells it nothing.
    let config = std::fs::read_to_string(scene.config()).unwrap();
    std::fs::write(scene.config(), config.replace(&trusted, "")).unwrap();
    let stranger = scene.device_that_starts();
    let refused = stranger.until("offline");
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains("could not be reached"), "{said}");
}

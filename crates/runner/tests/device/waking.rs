//! Wake-on-LAN, byte for byte, on a real socket.

use std::time::Duration;

use runner::{Mac, Network, Target};
use serde_json::json;
use tokio::{net::UdpSocket, time::timeout};

use crate::line::Relay;

const MAC: &str = "00:11:22:aa:bb:cc";
const SECURED: &str = "02:00:5e:10:00:01";

fn targets() -> Vec<Target> {
    vec![
        Target {
            name: "nas".to_owned(),
            mac: MAC.parse().unwrap(),
            password: None,
        },
        Target {
            name: "vault".to_owned(),
            mac: SECURED.parse().unwrap(),
            password: Some([1, 2, 3, 4, 5, 6]),
        },
    ]
}

/// A machine that sleeps: a socket that everyone's broadcasts reach.
async fn sleeper() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

async fn received(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = vec![0; 2048];
    let receiving = socket.recv_from(&mut bytes);
    let (length, _) = timeout(Duration::from_secs(10), receiving)
        .await
        .unwrap()
        .unwrap();
    bytes.truncate(length);
    bytes
}

/// Written out here a second time, from what cards expect.
fn magic(mac: [u8; 6], password: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xff; 6];
    for _ in 0..16 {
        bytes.extend(mac);
    }
    bytes.extend(password);
    bytes
}

/// The loopback's broadcast, through a named interface where that can be done.
fn network(port: u16) -> Network {
    Network {
        interface: cfg!(target_os = "linux").then(|| "lo".to_owned()),
        broadcast: "127.255.255.255".parse().unwrap(),
        port,
    }
}

#[tokio::test]
async fn a_machine_on_the_list_is_woken_by_its_name_and_by_its_address() {
    let (socket, port) = sleeper().await;
    let relay = Relay::start().await;
    let _device = relay.device(targets(), vec![network(port)]);
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let plain = magic([0x00, 0x11, 0x22, 0xaa, 0xbb, 0xcc], &[]);
    assert_eq!(plain.len(), 102);
    for target in ["nas", MAC, "00-11-22-AA-BB-CC"] {
        let asked = json!({ "id": target, "do": "wake", "target": target }).to_string();
        let answer = line.ask(&mut client, &asked).await;
        assert_eq!(answer["ok"], true, "{answer}");
        assert_eq!(answer["result"]["name"], "nas");
        assert_eq!(answer["result"]["sent"].as_array().unwrap().len(), 1);
        assert_eq!(received(&socket).await, plain);
    }
    let asked = r#"{"id":"1","do":"wake","target":"vault"}"#;
    assert_eq!(line.ask(&mut client, asked).await["ok"], true);
    let secured = magic([0x02, 0x00, 0x5e, 0x10, 0x00, 0x01], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(received(&socket).await, secured);
}

#[tokio::test]
async fn nothing_leaves_for_a_machine_that_is_not_on_the_list() {
    let (socket, port) = sleeper().await;
    let relay = Relay::start().await;
    let _device = relay.device(targets(), vec![network(port)]);
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    for target in ["00:11:22:aa:bb:cd", "ff:ff:ff:ff:ff:ff", "NAS", "nas ", "*"] {
        let asked = json!({ "id": "1", "do": "wake", "target": target }).to_string();
        let answer = line.ask(&mut client, &asked).await;
        assert_eq!(answer["code"], "NOT_ALLOWED", "{target}");
    }
    // The first packet that arrives is the first that was allowed.
    let asked = r#"{"id":"1","do":"wake","target":"vault"}"#;
    assert_eq!(line.ask(&mut client, asked).await["ok"], true);
    let mac: Mac = SECURED.parse().unwrap();
    assert_eq!(received(&socket).await[6..12], mac.0);
}

#[tokio::test]
async fn every_network_gets_its_packet_and_one_that_fails_is_named() {
    let (first, first_port) = sleeper().await;
    let (second, second_port) = sleeper().await;
    let relay = Relay::start().await;
    let nowhere = Network {
        interface: Some("no-such-interface".to_owned()),
        ..network(9)
    };
    let networks = vec![network(first_port), nowhere.clone(), network(second_port)];
    let _device = relay.device(targets(), networks);
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let asked = r#"{"id":"1","do":"wake","target":"nas"}"#;
    let answer = line.ask(&mut client, asked).await;
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["result"]["sent"].as_array().unwrap().len(), 2);
    let not_sent = answer["result"]["not_sent"].as_array().unwrap();
    assert!(not_sent[0].as_str().unwrap().contains("no-such-interface"));
    assert_eq!(received(&first).await, received(&second).await);

    // If it can be sent nowhere, that is said.
    let relay = Relay::start().await;
    let _device = relay.device(targets(), vec![nowhere]);
    let mut line = relay.admit().await;
    let mut client = line.client(1).await;
    let answer = line.ask(&mut client, asked).await;
    assert_eq!(answer["code"], "FAILED");
}

//! HTTPS that the server speaks itself.

use reqwest::{Certificate, Client, Version};
use serde_json::json;

use crate::harness::{Answer, House, delivery};

/// A server with a certificate for localhost, its owner's token, and the
/// certificate.
pub async fn start() -> (House, String, Certificate) {
    start_with_log(None).await
}

pub async fn start_with_log(level: Option<&'static str>) -> (House, String, Certificate) {
    let mut house = House::empty();
    let ann = house.user("ann", "owner");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (cert, key) = (house.data().join("cert.pem"), house.data().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    house.log_level = level;
    let flags = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    house.try_serve(&flags).await.unwrap();
    let certificate = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    (house, ann, certificate)
}

#[tokio::test]
async fn the_door_is_open_over_http_1_and_2() {
    let (house, _, certificate) = start().await;
    let key = house.key("a");
    assert!(house.address().starts_with("https://"));
    let client = || {
        Client::builder()
            .no_proxy()
            .tls_certs_only([certificate.clone()])
    };
    let clients = [
        (client().http1_only().build().unwrap(), Version::HTTP_11),
        (client().build().unwrap(), Version::HTTP_2),
    ];
    for (client, version) in clients {
        let request = client
            .post(format!("{}/wake/v1/deliver", house.address()))
            .bearer_auth(&key);
        let request = request
            .header("content-type", "application/json")
            .body(delivery("a", json!({})).to_string());
        let response = request.send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.version()),
            (201, version)
        );
        // Over TLS a forwarding header is only a header, and any name will do.
        let request = client
            .get(format!("{}/healthz", house.address()))
            .header("x-forwarded-for", "192.0.2.1");
        let answer = Answer::read(request.send().await.unwrap()).await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn plain_http_to_a_tls_server_gets_no_answer_of_ours() {
    let (house, ann, _) = start().await;
    let plain = house.address().replace("https://", "http://");
    let request = Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .get(format!("{plain}/api/v1/me"));
    assert!(request.bearer_auth(&ann).send().await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_trust_the_certificate_gets_nowhere() {
    let (house, ann, _) = start().await;
    assert!(
        house
            .try_send("GET", "/api/v1/me", Some(&ann), None)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_command_line_reaches_a_tls_server_with_its_certificate() {
    let (house, ann, _) = start().await;
    let ca = house.data().join("cert.pem");
    let output = std::process::Command::new(crate::harness::WAKEFUL)
        .args([
            "inbox",
            "--json",
            "--server",
            &house.address(),
            "--server-ca",
            ca.to_str().unwrap(),
        ])
        .env("WAKEFUL_TOKEN", &ann)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

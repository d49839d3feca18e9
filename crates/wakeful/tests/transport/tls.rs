//! HTTPS that the server speaks itself.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

use reqwest::{Certificate, Client, Version};
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, NamedGroup, ProtocolVersion, RootCertStore,
    SupportedProtocolVersion,
    pki_types::{CertificateDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use serde_json::json;

use crate::harness::{Answer, House, delivery};

/// A server with a certificate for localhost, its owner's token, and the
/// certificate.
pub async fn start() -> (House, String, Certificate) {
    start_with_log(None).await
}

pub async fn start_with_log(level: Option<&'static str>) -> (House, String, Certificate) {
    start_with(level, &[]).await.unwrap()
}

/// The same with more flags; gives what the server said if it did not start.
async fn start_with(
    level: Option<&'static str>,
    more: &[&str],
) -> Result<(House, String, Certificate), String> {
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
    house.try_serve(&[&flags, more].concat()).await?;
    let certificate = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    Ok((house, ann, certificate))
}

/// Asks for `/healthz` by a client that offers these versions of TLS alone;
/// gives the one that was spoken, or how the handshake ended.
fn ask(
    house: &House,
    offered: &[&'static SupportedProtocolVersion],
) -> Result<ProtocolVersion, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_file(house.data().join("cert.pem")).unwrap();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_protocol_versions(offered)
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let address = house.address();
    let mut tcp = TcpStream::connect(address.trim_start_matches("https://")).unwrap();
    if let Err(error) = tls.complete_io(&mut tcp) {
        let cause = error.into_inner().unwrap();
        return Err(*cause.downcast::<rustls::Error>().unwrap());
    }
    let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    Ok(tls.protocol_version().unwrap())
}

/// The exchange of keys that a client gets which offers these, the first first.
fn exchanged(house: &House, offered: &[NamedGroup]) -> NamedGroup {
    let mut provider = server::tls::provider();
    let place = |group: NamedGroup| offered.iter().position(|offered| *offered == group);
    provider
        .kx_groups
        .retain(|group| place(group.name()).is_some());
    provider.kx_groups.sort_by_key(|group| place(group.name()));
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_file(house.data().join("cert.pem")).unwrap();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let address = house.address();
    let mut tcp = TcpStream::connect(address.trim_start_matches("https://")).unwrap();
    tls.complete_io(&mut tcp).unwrap();
    tls.negotiated_key_exchange_group().unwrap().name()
}

/// How curl, whose TLS is not ours, ends if it offers nothing newer than this.
fn curl(house: &House, newest: &str) -> Option<i32> {
    let output = std::process::Command::new("curl")
        .args(["--silent", "--fail", "--noproxy", "*", "--tls-max", newest])
        .arg("--cacert")
        .arg(house.data().join("cert.pem"))
        .arg(format!("{}/healthz", house.address()))
        .output();
    output.unwrap().status.code()
}

/// What curl ends with if there was no TLS connection.
const CURL_NO_TLS: i32 = 35;

#[tokio::test]
async fn a_client_that_offers_only_tls_1_2_is_served_unless_1_3_is_demanded() {
    for flags in [&[][..], &["--tls-min", "1.2"]] {
        let (house, _, _) = start_with(None, flags).await.unwrap();
        assert_eq!(ask(&house, &[&TLS12]), Ok(ProtocolVersion::TLSv1_2));
        assert_eq!(ask(&house, &[&TLS13]), Ok(ProtocolVersion::TLSv1_3));
        assert_eq!(ask(&house, &[&TLS12, &TLS13]), Ok(ProtocolVersion::TLSv1_3));
        assert_eq!([curl(&house, "1.2"), curl(&house, "1.3")], [Some(0); 2]);
    }
}

#[tokio::test]
async fn whoever_offers_the_exchange_that_outlasts_quantum_computers_first_gets_it() {
    use NamedGroup::{X25519, X25519MLKEM768};
    let (house, _, _) = start().await;
    for offered in [&[X25519MLKEM768][..], &[X25519MLKEM768, X25519], &[X25519]] {
        assert_eq!(exchanged(&house, offered), offered[0]);
    }
}

#[tokio::test]
async fn with_tls_min_1_3_a_client_that_offers_only_1_2_is_refused_in_the_handshake() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "tls-min = \"1.3\"\n").unwrap();
    let config = ["--config", file.path().to_str().unwrap()];
    for flags in [&["--tls-min", "1.3"], &config] {
        let (house, _, certificate) = start_with(None, flags).await.unwrap();
        let refused = rustls::Error::AlertReceived(AlertDescription::ProtocolVersion);
        assert_eq!(ask(&house, &[&TLS12]), Err(refused), "{flags:?}");
        assert_eq!(ask(&house, &[&TLS13]), Ok(ProtocolVersion::TLSv1_3));
        assert_eq!(curl(&house, "1.2"), Some(CURL_NO_TLS), "{flags:?}");
        assert_eq!(curl(&house, "1.3"), Some(0), "{flags:?}");
        let client = Client::builder().no_proxy().tls_certs_only([certificate]);
        let client = client.build().unwrap();
        let request = client.get(format!("{}/healthz", house.address()));
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    // A flag comes before the file.
    let flags = [&config[..], &["--tls-min", "1.2"]].concat();
    let (house, _, _) = start_with(None, &flags).await.unwrap();
    assert_eq!(ask(&house, &[&TLS12]), Ok(ProtocolVersion::TLSv1_2));
}

#[tokio::test]
async fn any_other_tls_min_is_refused_at_start_with_what_to_write() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = ["--config", file.path().to_str().unwrap()];
    for value in ["1.1", "1.4", "TLS1.3", ""] {
        let refused = start_with(None, &["--tls-min", value]).await;
        std::fs::write(file.path(), format!("tls-min = {value:?}\n")).unwrap();
        for refused in [refused, start_with(None, &config).await] {
            let said = refused.err().unwrap();
            assert!(said.contains(&format!("tls-min {value:?}")), "{said}");
            assert!(said.contains("1.2, which is the default, or 1.3"), "{said}");
        }
    }
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

/// What curl ends with and sees of the answer, with a key that nobody has, over
/// HTTP/2 and with a body of so many bytes.
fn refused(house: &House, bytes: usize) -> (Option<i32>, String) {
    let body = house.data().join("body.json");
    std::fs::write(&body, "x".repeat(bytes)).unwrap();
    let output = std::process::Command::new("curl")
        .args(["--silent", "--http2", "--noproxy", "*", "--cacert"])
        .arg(house.data().join("cert.pem"))
        .args(["--header", "authorization: Bearer wk_nobody"])
        .args(["--header", "content-type: application/json"])
        .arg("--data-binary")
        .arg(format!("@{}", body.display()))
        .args(["--output", "/dev/null"])
        .args(["--write-out", "%{http_version} %{http_code}"])
        .arg(format!("{}/wake/v1/deliver", house.address()))
        .output()
        .unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), seen)
}

#[tokio::test]
async fn a_client_that_still_sends_sees_a_refusal_over_http_2() {
    let (house, ..) = start().await;
    for bytes in [300, 60_000, 900_000, 4_000_000] {
        for _ in 0..10 {
            let expected = (Some(0), "2 401".to_owned());
            assert_eq!(refused(&house, bytes), expected, "{bytes} bytes");
        }
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

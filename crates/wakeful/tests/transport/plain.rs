//! Plain HTTP is for this machine alone.

use crate::harness::House;

#[tokio::test]
async fn plain_http_on_an_address_that_others_reach_is_refused_with_the_reason() {
    let house = House::empty();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let output = house.command(&["serve", "--listen", listen], &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for word in ["plain HTTP", "--tls-cert", "--behind-proxy", "127.0.0.1"] {
            assert!(said.contains(word), "{word} is not in {said}");
        }
    }
}

#[tokio::test]
async fn a_certificate_without_its_key_is_refused() {
    let house = House::empty();
    let output = house.command(&["serve", "--tls-cert", "x.pem"], &[]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--tls-key"));
}

#[tokio::test]
async fn a_request_under_a_name_that_is_not_loopback_is_refused_and_not_redirected() {
    let (house, ann) = House::start().await;
    let authorization = format!("Bearer {ann}");
    let port = house.address().rsplit(':').next().unwrap().to_owned();
    for host in [
        "example.com",
        "evil.example:7377",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "localhost.example",
        "[2001:db8::1]:80",
        "0.0.0.0",
        // What begins or ends like loopback is not yet loopback.
        "[::1].evil.com",
        "[::1]evil.com",
        "[::1",
        "[::1]:",
        "[::1]:80.evil.com",
        "[::1]:80@evil.com",
        "[::1]@evil.com",
        "[localhost]",
        "[127.0.0.1]",
        "::1",
        "localhost:1@evil.com",
        "localhost:80.evil.com",
        "localhost:",
        "localhost:x",
        "localhost:-1",
        "localhost:+1",
        "localhost:65536",
        "localhost:1:1",
        "localhost.",
        "localhost,evil.com",
        "localhost evil.com",
        "evil.com@localhost",
        "127.0.0.1:80@evil.com",
        "127.1",
        "127.0.0.01",
        "2130706433",
        "",
    ] {
        let headers = [("host", host), ("authorization", authorization.as_str())];
        for path in ["/api/v1/me", "/wake/v1/responses", "/healthz", "/nothing"] {
            let answer = house.raw("GET", path, &headers, "").await;
            answer.is_problem(403, "https_required", None);
            assert_eq!(answer.header("location"), None);
        }
    }
    for host in [
        "localhost",
        "LOCALHOST",
        &format!("localhost:{port}"),
        "127.0.0.1",
        "127.9.9.9:1",
        "[::1]",
        "[::1]:80",
    ] {
        let headers = [("host", host), ("authorization", authorization.as_str())];
        assert_eq!(
            house.raw("GET", "/api/v1/me", &headers, "").await.status,
            200,
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_forwarded_request_is_refused_without_a_proxy_setting() {
    let (house, ann) = House::start().await;
    let authorization = format!("Bearer {ann}");
    for (name, value) in [
        ("forwarded", "for=192.0.2.1"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "localhost"),
        ("x-forwarded-anything", "1"),
        ("x-real-ip", "127.0.0.1"),
        ("x-client-ip", "127.0.0.1"),
        ("true-client-ip", "127.0.0.1"),
        ("cf-connecting-ip", "127.0.0.1"),
        ("via", "1.1 proxy"),
    ] {
        let headers = [(name, value), ("authorization", authorization.as_str())];
        house
            .raw("GET", "/api/v1/me", &headers, "")
            .await
            .is_problem(403, "https_required", None);
    }
}

#[tokio::test]
async fn a_request_with_two_names_for_the_server_is_refused() {
    let (house, ann) = House::start().await;
    let authorization = format!("Bearer {ann}");
    let headers = [
        ("host", "localhost"),
        ("host", "evil.example"),
        ("authorization", authorization.as_str()),
    ];
    house
        .raw("GET", "/api/v1/me", &headers, "")
        .await
        .is_problem(400, "two_hosts", Some("Host"));
}

#[tokio::test]
async fn the_name_in_the_request_line_must_be_loopback_too() {
    let (house, _) = House::start().await;
    for (target, host, status) in [
        ("http://localhost/healthz", "localhost", "200"),
        ("http://[::1]:1/healthz", "127.0.0.1", "200"),
        ("http://evil.com/healthz", "localhost", "403"),
        ("http://localhost/healthz", "evil.com", "403"),
        ("http://[::1].evil.com/healthz", "localhost", "4"),
        ("http://localhost:1@evil.com/healthz", "localhost", "4"),
        ("http://evil.com@localhost/healthz", "localhost", "4"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = said(&house, request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{target} with {host}: {answer}"
        );
    }
}

/// What comes back for these bytes.
fn said(house: &House, request: &[u8]) -> String {
    use std::io::{Read as _, Write as _};
    let address = house.address();
    let address = address.rsplit('/').next().unwrap();
    let mut connection = std::net::TcpStream::connect(address).unwrap();
    connection.write_all(request).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn nobody_else_can_be_localhost_beside_us() {
    let (house, token) = House::start().await;
    let port: u16 = house.address().rsplit_once(':').unwrap().1.parse().unwrap();
    let other = format!("[::1]:{port}");
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let taken = std::net::TcpListener::bind(&other);
    assert!(taken.is_err(), "another program took {other}");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let me = http.get(format!("http://{other}/api/v1/me"));
    let me = me.bearer_auth(token).send().await.unwrap();
    assert_eq!(me.status(), 200);
}

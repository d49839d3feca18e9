//! `--behind-proxy`: the proxy speaks HTTPS to the world and says for whom.

use serde_json::json;

use crate::harness::{House, PROXY_SECRET, PROXY_SECRET_HEADER};

#[tokio::test]
async fn a_peer_that_is_not_the_proxy_is_refused() {
    let (house, ann) = House::start_with(&["--behind-proxy", "192.0.2.0/24"]).await;
    let authorization = format!("Bearer {ann}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-for", "192.0.2.9"),
    ];
    house
        .raw("GET", "/api/v1/me", &headers, "")
        .await
        .is_problem(403, "not_through_proxy", None);
}

#[tokio::test]
async fn what_the_proxy_did_not_get_by_https_is_refused() {
    let (house, ann) = House::start_behind(&["10.0.0.0/8,127.0.0.0/8"]).await;
    let authorization = format!("Bearer {ann}");
    for proto in [
        None,
        Some("http"),
        Some("HTTP"),
        Some("https, http"),
        Some(""),
    ] {
        let mut headers = vec![
            ("authorization", authorization.as_str()),
            ("host", "wakeful.example"),
        ];
        headers.extend(proto.map(|proto| ("x-forwarded-proto", proto)));
        let answer = house.raw("GET", "/api/v1/me", &headers, "").await;
        answer.is_problem(403, "https_required", None);
        assert_eq!(answer.header("location"), None);
        assert_eq!(answer.header("strict-transport-security"), None);
    }
    let headers = [
        ("authorization", authorization.as_str()),
        ("host", "wakeful.example"),
        ("x-forwarded-proto", "https"),
    ];
    assert_eq!(
        house.raw("GET", "/api/v1/me", &headers, "").await.status,
        200
    );
}

#[tokio::test]
async fn the_client_is_the_last_address_that_is_no_proxy() {
    let (mut house, ann) = House::start_behind(&["127.0.0.0/8", "10.0.0.0/8"]).await;
    // What stands left of the last stranger anyone can write.
    for (forwarded, times) in [
        ("203.0.113.7", 1),
        ("8.8.8.8, 203.0.113.7, 10.1.2.3", 2),
        ("2001:db8::7", 3),
        ("10.1.2.3", 4),
        ("nonsense", 5),
        ("6.6.6.6, 198.51.100.9:4444", 6),
    ] {
        for _ in 0..times {
            let headers = [
                ("x-forwarded-proto", "https"),
                ("x-forwarded-for", forwarded),
            ];
            assert_eq!(
                house.raw("GET", "/api/v1/me", &headers, "").await.status,
                401
            );
        }
    }
    // Counts are put on the trail once a minute, and when the server ends.
    house.stop();
    house.serve().await;
    let authorization = format!("Bearer {ann}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("x-forwarded-proto", "https"),
    ];
    let trail = house
        .raw(
            "GET",
            "/api/v1/trail?event_type=access_failed&limit=200",
            &headers,
            "",
        )
        .await
        .json();
    let mut failed: Vec<(String, u64)> = trail["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let facts = &entry["facts"];
            (
                facts["source"].as_str().unwrap().to_owned(),
                facts["count"].as_u64().unwrap(),
            )
        })
        .collect();
    failed.sort();
    // Only proxies: the leftmost of them. Nonsense: whoever sent it.
    let expected = [
        ("10.1.2.3", 4),
        ("127.0.0.1", 5),
        ("198.51.100.9", 6),
        ("2001:db8::7", 3),
        ("203.0.113.7", 3),
    ];
    assert_eq!(json!(failed), json!(expected));
}

#[tokio::test]
async fn a_proxy_on_this_machine_must_prove_that_it_is_the_proxy() {
    let (house, ann) = House::start_behind(&["127.0.0.1/32", "10.0.0.0/8"]).await;
    let authorization = format!("Bearer {ann}");
    let claims = |secret: &'static str| {
        let (authorization, house) = (authorization.clone(), &house);
        async move {
            let headers = [
                ("authorization", authorization.as_str()),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-for", "203.0.113.7"),
                (PROXY_SECRET_HEADER, secret),
            ];
            house.raw("GET", "/api/v1/me", &headers, "").await
        }
    };
    assert_eq!(claims(PROXY_SECRET).await.status, 200);
    let (shorter, _) = PROXY_SECRET.split_at(PROXY_SECRET.len() - 1);
    for wrong in ["", " ", "guessed", shorter] {
        claims(wrong)
            .await
            .is_problem(403, "not_through_proxy", None);
    }
    // Of two proofs one is a lie.
    let headers = [
        ("x-forwarded-proto", "https"),
        (PROXY_SECRET_HEADER, PROXY_SECRET),
        (PROXY_SECRET_HEADER, "guessed"),
    ];
    let answer = house.raw("GET", "/healthz", &headers, "").await;
    answer.is_problem(403, "not_through_proxy", None);
}

#[tokio::test]
async fn without_proof_a_proxy_on_this_machine_is_refused_at_the_start() {
    let house = House::empty();
    for network in [
        "127.0.0.1/32",
        "127.0.0.0/8",
        "127.9.9.9",
        "::1/128",
        "::/16",
        "::ffff:127.0.0.1/128",
        "::ffff:127.0.0.0/104",
        "10.0.0.0/8,127.0.0.1",
    ] {
        let said = refused(&house, &["--behind-proxy", network]);
        assert!(said.contains("--proxy-secret-file"), "{network}: {said}");
    }
}

#[tokio::test]
async fn a_network_that_is_nearly_everything_is_no_proxy() {
    let mut house = House::empty();
    house.go_behind(&[]);
    let secret = house.data().join("proxy-secret");
    for network in [
        "0.0.0.0/0",
        "::/0",
        "10.0.0.0/0",
        "::ffff:0.0.0.0/96",
        "0.0.0.0/1,128.0.0.0/1",
        "::/1",
        "8000::/1",
        "::ffff:0.0.0.0/97",
    ] {
        let flags = [
            "--proxy-secret-file",
            secret.to_str().unwrap(),
            "--behind-proxy",
            network,
        ];
        let said = refused(&house, &flags);
        assert!(said.contains("only the proxy's own"), "{network}: {said}");
    }
}

#[tokio::test]
async fn a_secret_that_others_can_read_or_guess_is_refused() {
    let house = House::empty();
    let file = house.data().join("secret");
    let flags = |file: &std::path::Path| {
        let file = file.to_str().unwrap().to_owned();
        ["--behind-proxy", "127.0.0.1", "--proxy-secret-file"]
            .map(str::to_owned)
            .into_iter()
            .chain([file])
            .collect::<Vec<_>>()
    };
    for (mode, content, word) in [
        (0o644, PROXY_SECRET, "chmod 600"),
        (0o600, "short", "32"),
        (0o600, "", "32"),
        (
            0o600,
            "thirty-two characters, and more, with spaces",
            "spaces",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&file, mode).unwrap();
        let flags = flags(&file);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let said = refused(&house, &flags);
        assert!(said.contains(word), "{content:?}: {said}");
    }
    std::fs::write(&file, PROXY_SECRET).unwrap();
    let said = refused(&house, &["--proxy-secret-file", file.to_str().unwrap()]);
    assert!(said.contains("--behind-proxy"), "{said}");
}

/// What the server says that does not start with these flags.
fn refused(house: &House, flags: &[&str]) -> String {
    // A server that starts all the same ends at this address.
    let arguments = [&["serve", "--listen", "192.0.2.1:1"], flags].concat();
    let output = house.command(&arguments, &[]);
    assert_eq!(output.status.code(), Some(2), "{flags:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

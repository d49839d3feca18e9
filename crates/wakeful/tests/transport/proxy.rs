//! `--behind-proxy`: the proxy speaks HTTPS to the world and says for whom.

use serde_json::json;

use crate::harness::House;

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
    let (house, ann) = House::start_with(&["--behind-proxy", "10.0.0.0/8,127.0.0.0/8"]).await;
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
    let flags = [
        "--behind-proxy",
        "127.0.0.0/8",
        "--behind-proxy",
        "10.0.0.0/8",
    ];
    let (mut house, ann) = House::start_with(&flags).await;
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

//! What an operator's tools ask, and what every answer carries.

use serde_json::json;

use crate::harness::House;

#[tokio::test]
async fn operators_tools_are_answered_without_a_token() {
    let (house, _) = House::start().await;
    for (path, content_type, word) in [
        ("/healthz", "text/plain; charset=utf-8", "ok"),
        ("/readyz", "text/plain; charset=utf-8", "ready"),
        (
            "/metrics",
            "text/plain; version=0.0.4; charset=utf-8",
            "wakeful_requests_total",
        ),
        ("/openapi.json", "application/json", "\"openapi\""),
        ("/checkpoint", "text/plain; charset=utf-8", "wakeful.local/"),
        (
            "/checkpoint/key",
            "text/plain; charset=utf-8",
            "wakeful.local/",
        ),
    ] {
        let answer = house.send("GET", path, None, None).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert!(answer.text().contains(word), "{path}: {}", answer.text());
    }
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_never_by_what_a_stranger_writes() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    for _ in 0..3 {
        house.response(&key, &id).await;
    }
    house.get("/wp-login.php", &key).await;
    let metrics = house.send("GET", "/metrics", None, None).await;
    let metrics = metrics.text();
    for line in [
        "wakeful_requests_total{route=\"/wake/v1/deliver\",status=\"2xx\"} 1",
        "wakeful_requests_total{route=\"/wake/v1/response/{delivery_id}\",status=\"2xx\"} 3",
        "wakeful_requests_total{route=\"other\",status=\"4xx\"} 1",
        "wakeful_degraded 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} is not in {metrics}"
        );
    }
    assert!(!metrics.contains("wp-login") && !metrics.contains(&id));
}

#[tokio::test]
async fn the_document_describes_every_path_that_answers() {
    let (house, ann) = House::start().await;
    let document = house.send("GET", "/openapi.json", None, None).await.json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 25, "{}", paths.len());
    for (path, methods) in paths {
        for method in methods
            .as_object()
            .unwrap()
            .keys()
            .filter(|name| *name != "parameters")
        {
            let concrete = path.replace(['{', '}'], "");
            if concrete == "/api/v1/events" {
                continue;
            }
            let answer = house
                .send(&method.to_uppercase(), &concrete, Some(&ann), None)
                .await;
            assert_ne!(answer.status, 405, "{method} {path}");
            let is_known =
                answer.status != 404 || answer.text().contains("no_such") || path.contains('{');
            assert!(is_known, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems_too() {
    let (house, ann) = House::start().await;
    for path in [
        "/nothing",
        "/wake/v1",
        "/wake/v1/",
        "/wake/v2/deliver",
        "/api/v1/",
        "/wake/v1/response/",
        "/%FF",
        "/wake/v1/response/a/b",
    ] {
        house
            .get(path, &ann)
            .await
            .is_problem(404, "not_found", None);
    }
    let slash = house.get("/wake/v1/deliver/", &ann).await;
    slash.is_problem(404, "wrong_address", None);
    for (method, path) in [
        ("GET", "/wake/v1/deliver"),
        ("PUT", "/wake/v1/deliver"),
        ("POST", "/wake/v1/responses"),
        ("DELETE", "/api/v1/inbox"),
        ("POST", "/healthz"),
    ] {
        let answer = house.send(method, path, Some(&ann), None).await;
        answer.is_problem(405, "wrong_method", None);
        assert!(answer.header("allow").is_some(), "{method} {path}");
    }
}

#[tokio::test]
async fn no_answer_can_be_run_framed_sniffed_or_kept_by_a_browser() {
    let (house, ann) = House::start().await;
    for (path, token) in [
        ("/api/v1/inbox", Some(ann.as_str())),
        ("/api/v1/inbox", None),
        ("/nothing", None),
        ("/healthz", None),
        ("/wake/v1/schema.json", None),
        ("/wake/v1/responses", None),
    ] {
        let answer = house.send("GET", path, token, None).await;
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("server"), None);
    }
    // A refusal of the transport itself is no exception.
    let answer = house.raw("GET", "/", &[("host", "evil.example")], "").await;
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

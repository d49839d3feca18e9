//! Callbacks: what is sent, where it may go, and what happens when it fails.

#![allow(clippy::unwrap_used)]

mod harness;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use harness::{
    House, delivery,
    receiver::{Identity, Receiver, Reply, Seen},
    until,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};
use trail::Micros;

/// A server, its owner's token, an agent's key and the agent's webhook secret.
async fn house() -> (House, String, String, String) {
    let (house, ann) = House::start().await;
    let made = house.json(&[
        "key",
        "create",
        "--agent",
        "a",
        "--rate",
        "100000000/1000000",
    ]);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let (key, secret) = (text("key"), text("webhook_secret"));
    (house, ann, key, secret)
}

async fn deliver(house: &House, key: &str, url: &str) -> String {
    house
        .deliver(key, "a", json!({ "callback_webhook": url }))
        .await
}

async fn approve(house: &House, token: &str, id: &str) {
    let answer = house
        .respond(token, id, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200);
}

/// Delivers with this callback and approves at once.
async fn answered(house: &House, token: &str, key: &str, url: &str) -> String {
    let id = deliver(house, key, url).await;
    approve(house, token, &id).await;
    id
}

fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn wake_signature(secret: &str, body: &[u8]) -> String {
    let digest = mac(secret.as_bytes(), body);
    format!("sha256={}", hex::HEXLOWER.encode(&digest))
}

/// As the Standard Webhooks specification says it.
fn standard_signature(secret: &str, seen: &Seen) -> String {
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    assert_eq!(key.len(), 32);
    let head = format!(
        "{}.{}.",
        seen.header("webhook-id"),
        seen.header("webhook-timestamp")
    );
    let signed = [head.as_bytes(), &seen.body].concat();
    format!("v1,{}", STANDARD.encode(mac(&key, &signed)))
}

fn micros(value: &Value) -> i64 {
    Micros::parse(value.as_str().unwrap()).unwrap().0
}

/// Seconds between an attempt and the next one that it announces.
fn wait_seconds(attempt: &Value) -> f64 {
    (micros(&attempt["next_attempt_at"]) - micros(&attempt["recorded_at"])) as f64 / 1e6
}

#[tokio::test]
async fn a_callback_carries_byte_for_byte_what_polling_gives() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    house.allow(&receiver);
    let id = deliver(&house, &key, &receiver.url("/wake-callback?of=a")).await;
    // Numbers and escapes that a lossy reader would write differently.
    let answer = r#"{"status":"redirected","feedback":"Gr\u00fc\u00dfe","edited_content":{"z":1.0,"a":1e3,"n":123456789012345678901234567890,"s":"\u00fc\/"}}"#;
    let sent = house
        .http
        .post(format!("{}/api/v1/inbox/{id}/respond", house.address()))
        .bearer_auth(&ann)
        .header("content-type", "application/json")
        .body(answer)
        .send();
    assert_eq!(sent.await.unwrap().status(), 200);
    let seen = receiver.next().await;
    let polled = house.get(&format!("/wake/v1/response/{id}"), &key).await;
    assert_eq!(
        String::from_utf8_lossy(&seen.body),
        String::from_utf8_lossy(&polled.body)
    );
    let text = String::from_utf8_lossy(&seen.body);
    assert!(
        text.contains(r#"{"z":1.0,"a":1e3,"n":123456789012345678901234567890,"s":"\u00fc\/"}"#)
    );
    assert_eq!(seen.method, "POST");
    assert_eq!(seen.path, "/wake-callback");
    let attempts = house.attempted(&ann, &id, 1).await;
    assert_eq!(attempts[0]["outcome"], "delivered");
    assert_eq!(attempts[0]["http_status"], 200);
    assert_eq!(attempts[0]["attempt"], 1);
    assert_eq!(attempts[0]["error"], Value::Null);
    assert_eq!(house.callback(&ann, &id).await["state"], "delivered");
}

#[tokio::test]
async fn a_callback_has_the_wake_headers_the_standard_ones_and_no_others_of_ours() {
    let (house, ann, key, secret) = house().await;
    let mut receiver = Receiver::start(204).await;
    house.allow(&receiver);
    let id = answered(&house, &ann, &key, &receiver.url("/")).await;
    let seen = receiver.next().await;
    let of_http: BTreeSet<&str> = ["accept", "content-length", "host"].into();
    let names: BTreeSet<&str> = seen
        .headers
        .keys()
        .map(|name| name.as_str())
        .filter(|name| !of_http.contains(name))
        .collect();
    let expected = BTreeSet::from([
        "content-type",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "x-wake-delivery-id",
        "x-wake-signature",
    ]);
    assert_eq!(names, expected);
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("x-wake-delivery-id"), id);
    assert_eq!(
        seen.header("x-wake-signature"),
        wake_signature(&secret, &seen.body)
    );
    assert_eq!(
        seen.header("webhook-signature"),
        standard_signature(&secret, &seen)
    );
    let sent_at: i64 = seen.header("webhook-timestamp").parse().unwrap();
    let attempt = &house.attempted(&ann, &id, 1).await[0];
    let recorded_at = micros(&attempt["recorded_at"]) / 1_000_000;
    assert!(
        (recorded_at - 5..=recorded_at).contains(&sent_at),
        "{sent_at} {recorded_at}"
    );
    assert_eq!(attempt["webhook_id"], seen.header("webhook-id"));
}

#[tokio::test]
async fn a_receiver_that_keeps_the_case_of_header_names_sees_them_as_wake_spells_them() {
    let (house, ann, key, _) = house().await;
    harness::install_tls();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let identity = Identity::local();
    let certificate = CertificateDer::from_pem_file(identity.certificate_file()).unwrap();
    let private = PrivateKeyDer::from_pem_file(identity.key_file()).unwrap();
    let tls = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(tls));
    let host = format!("localhost:{port}");
    house.allow_host(&host, &["127.0.0.0/8", "::1/128"], Some(&identity));
    let receiving = async {
        let (socket, _) = listener.accept().await.unwrap();
        let mut stream = tls.accept(socket).await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
        }
        let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8_lossy(&head).into_owned()
    };
    let url = format!("https://{host}/");
    let (head, _) = tokio::join!(receiving, answered(&house, &ann, &key, &url));
    for name in ["X-Wake-Signature", "X-Wake-Delivery-Id", "Content-Type"] {
        assert!(head.contains(&format!("\r\n{name}: ")), "{name} in {head}");
    }
}

#[tokio::test]
async fn after_rotation_the_wake_header_has_the_new_secret_and_the_standard_one_has_both() {
    let (house, ann, key, old) = house().await;
    let mut receiver = Receiver::start(200).await;
    house.allow(&receiver);
    let before = answered(&house, &ann, &key, &receiver.url("/")).await;
    assert_eq!(receiver.next().await.header("x-wake-delivery-id"), before);

    let rotated = house.json(&["webhook", "secret", "--agent", "a"]);
    let new = rotated["secret"].as_str().unwrap();
    assert!(new.starts_with("whsec_") && new != old);
    answered(&house, &ann, &key, &receiver.url("/")).await;
    let seen = receiver.next().await;
    assert_eq!(
        seen.header("x-wake-signature"),
        wake_signature(new, &seen.body)
    );
    let both: BTreeSet<&str> = seen.header("webhook-signature").split(' ').collect();
    let (with_new, with_old) = (
        standard_signature(new, &seen),
        standard_signature(&old, &seen),
    );
    assert_eq!(both, BTreeSet::from([with_new.as_str(), with_old.as_str()]));
}

#[tokio::test]
async fn of_two_rotations_at_once_none_is_lost() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    house.allow(&receiver);
    for _ in 0..5 {
        let path = "/api/v1/agents/a/webhook-secret";
        let rotate = || house.send("POST", path, Some(&ann), None);
        let (one, other) = tokio::join!(rotate(), rotate());
        answered(&house, &ann, &key, &receiver.url("/")).await;
        let seen = receiver.next().await;
        let expected: BTreeSet<String> = [one, other]
            .iter()
            .map(|made| standard_signature(made.json()["secret"].as_str().unwrap(), &seen))
            .collect();
        let signatures = seen.header("webhook-signature").split(' ');
        assert_eq!(
            signatures.map(str::to_owned).collect::<BTreeSet<_>>(),
            expected
        );
    }
}

#[tokio::test]
async fn a_callback_that_is_not_https_or_not_on_the_allowlist_is_refused_at_delivery() {
    let (house, _, key, _) = house().await;
    house.allow_host("hooks.example.com", &[], None);
    house.allow_host("*.example.org:8443", &[], None);
    for (url, code) in [
        ("http://hooks.example.com/x", "webhook_not_https"),
        ("ftp://hooks.example.com/x", "webhook_not_https"),
        ("hooks.example.com/x", "webhook_not_a_url"),
        (
            "https://me:pw@hooks.example.com/x",
            "webhook_has_credentials",
        ),
        ("https://other.example.com/x", "webhook_not_allowed"),
        ("https://hooks.example.com:8443/x", "webhook_not_allowed"),
        (
            "https://hooks.example.com.evil.test/x",
            "webhook_not_allowed",
        ),
        ("https://a.example.org/x", "webhook_not_allowed"),
        ("https://example.org:8443/x", "webhook_not_allowed"),
        ("https://127.0.0.1/x", "webhook_not_allowed"),
        ("https://2130706433/x", "webhook_not_allowed"),
        ("https://[::1]/x", "webhook_not_allowed"),
    ] {
        let body = delivery("a", json!({ "callback_webhook": url }));
        let refused = house.post("/wake/v1/deliver", &key, body).await;
        assert_eq!(refused.status, 422, "{url}");
        assert_eq!(refused.json()["code"], code, "{url}");
        assert_eq!(refused.json()["field"], "callback_webhook", "{url}");
    }
    deliver(&house, &key, "https://hooks.example.com/x").await;
    deliver(&house, &key, "https://HOOKS.example.com:443/x").await;
    deliver(&house, &key, "https://a.b.example.org:8443/x").await;
}

#[tokio::test]
async fn a_host_that_left_the_allowlist_is_refused_at_dispatch() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    house.allow(&receiver);
    let id = deliver(&house, &key, &receiver.url("/")).await;
    let host = format!("localhost:{}", receiver.port);
    house.json(&["webhook", "remove", &host]);
    approve(&house, &ann, &id).await;
    let attempts = house.attempted(&ann, &id, 1).await;
    assert_eq!(attempts[0]["outcome"], "will_retry");
    assert_eq!(attempts[0]["error"], "the host is not on the allowlist");
    assert!(receiver.saw_nothing_more());

    // Allowed again, and sent by hand: the answer was not lost.
    house.allow(&receiver);
    let callback = house.callback(&ann, &id).await;
    house.json(&["webhook", "replay", &callback["id"].to_string()]);
    assert_eq!(receiver.next().await.header("x-wake-delivery-id"), id);
}

#[tokio::test]
async fn an_address_that_is_not_public_is_refused_unless_its_network_is_named() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    let port = receiver.port;
    // On the allowlist, by name and as addresses, but without a network.
    house.allow_host(&format!("localhost:{port}"), &[], Some(&receiver.identity));
    let literals = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[fd00::1]",
        "[fe80::1]",
        "[::ffff:127.0.0.1]",
    ];
    for literal in literals {
        house.allow_host(&format!("{literal}:{port}"), &[], Some(&receiver.identity));
    }
    // The same addresses in other spellings are the same hosts.
    let spellings = ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"];
    let mut ids = Vec::new();
    for host in ["localhost"].iter().chain(&literals).chain(&spellings) {
        let url = format!("https://{host}:{port}/");
        ids.push((host, answered(&house, &ann, &key, &url).await));
    }
    for (host, id) in ids {
        let attempts = house.attempted(&ann, &id, 1).await;
        let reason = attempts[0]["error"].as_str().unwrap();
        assert!(
            reason.contains("is not a public address"),
            "{host}: {reason}"
        );
        let callback = house.callback(&ann, &id).await;
        assert_eq!(callback["state"], "owed", "{host}");
        assert_eq!(callback["last_error"], reason, "{host}");
    }
    assert!(receiver.saw_nothing_more());
}

#[tokio::test]
async fn an_address_in_a_named_network_is_reached_however_it_is_spelled() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    let port = receiver.port;
    house.allow_host(
        &format!("127.0.0.1:{port}"),
        &["127.0.0.1"],
        Some(&receiver.identity),
    );
    for host in ["127.0.0.1", "2130706433", "0x7f.1"] {
        let url = format!("https://{host}:{port}/");
        let id = answered(&house, &ann, &key, &url).await;
        assert_eq!(receiver.next().await.header("x-wake-delivery-id"), id);
    }
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_never_followed() {
    let (house, ann, key, _) = house().await;
    let mut elsewhere = Receiver::start(200).await;
    let target = elsewhere.url("/stolen");
    let mut receiver = Receiver::answering(move |seen| {
        let status: u16 = seen.path[1..].parse().unwrap();
        Reply::Header(status, "location", target.clone())
    })
    .await;
    house.allow(&receiver);
    house.allow(&elsewhere);
    for status in [301, 302, 303, 307, 308] {
        let url = receiver.url(&format!("/{status}"));
        let id = answered(&house, &ann, &key, &url).await;
        receiver.next().await;
        let attempts = house.attempted(&ann, &id, 1).await;
        assert_eq!(attempts[0]["http_status"], status);
        assert_eq!(attempts[0]["outcome"], "will_retry");
    }
    assert!(elsewhere.saw_nothing_more() && receiver.saw_nothing_more());
}

#[tokio::test]
async fn any_2xx_is_success_and_nothing_else_is() {
    let (house, ann, key, _) = house().await;
    let receiver = Receiver::answering(|seen| Reply::Status(seen.path[1..].parse().unwrap())).await;
    house.allow(&receiver);
    for status in [200, 201, 202, 204, 299, 304, 400, 401, 404, 429, 500, 503] {
        let url = receiver.url(&format!("/{status}"));
        let id = answered(&house, &ann, &key, &url).await;
        let attempts = house.attempted(&ann, &id, 1).await;
        let success = (200..300).contains(&status);
        let outcome = if success { "delivered" } else { "will_retry" };
        assert_eq!(attempts[0]["outcome"], outcome, "{status}");
        assert_eq!(attempts[0]["http_status"], status);
        assert_eq!(attempts[0]["error"].is_null(), success, "{status}");
        assert_eq!(attempts[0]["next_attempt_at"].is_null(), success);
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_left_after_ten_seconds_and_holds_up_nobody() {
    let (house, ann, key, _) = house().await;
    let mut silent = Receiver::answering(|_| Reply::Hang).await;
    let mut other = Receiver::start(200).await;
    house.allow(&silent);
    house.allow(&other);
    let id = answered(&house, &ann, &key, &silent.url("/")).await;
    silent.next().await;
    answered(&house, &ann, &key, &other.url("/")).await;
    other.next().await;
    assert_eq!(house.attempts(&ann, &id).await.len(), 0);
    let attempt = &house.attempted(&ann, &id, 1).await[0];
    let took_ms = attempt["took_ms"].as_u64().unwrap();
    assert!((9_900..15_000).contains(&took_ms), "{took_ms}");
    assert_eq!(attempt["error"], "no answer: it took longer than 10 s");
    assert_eq!(attempt["outcome"], "will_retry");
}

#[tokio::test]
async fn a_receiver_with_many_callbacks_that_does_not_answer_delays_no_other() {
    let (house, ann, key, _) = house().await;
    let mut silent = Receiver::answering(|_| Reply::Hang).await;
    let mut other = Receiver::start(200).await;
    house.allow(&silent);
    house.allow(&other);
    // More than are under way at once to all hosts together.
    for _ in 0..40 {
        answered(&house, &ann, &key, &silent.url("/")).await;
    }
    answered(&house, &ann, &key, &other.url("/")).await;
    other.next_within(Duration::from_secs(5)).await;
    for _ in 0..4 {
        silent.next().await;
    }
    assert!(silent.saw_nothing_more(), "it has more than its part");
}

#[tokio::test]
async fn a_retry_survives_a_kill_and_comes_at_the_recorded_time_with_the_same_id() {
    let (mut house, ann, key, secret) = house().await;
    let tries = AtomicUsize::new(0);
    let mut receiver = Receiver::answering(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Status(500),
        _ => Reply::Status(200),
    })
    .await;
    house.allow(&receiver);
    let id = answered(&house, &ann, &key, &receiver.url("/")).await;
    let first = receiver.next().await;
    let failed = house.attempted(&ann, &id, 1).await.remove(0);
    assert_eq!(failed["outcome"], "will_retry");
    let wait = wait_seconds(&failed);
    assert!((4.0..=6.0).contains(&wait), "{wait}");

    house.kill();
    house.serve().await;
    let callback = house.callback(&ann, &id).await;
    assert_eq!(callback["state"], "owed");
    assert_eq!(callback["attempts"], 1);
    assert_eq!(callback["next_attempt_at"], failed["next_attempt_at"]);

    let second = receiver.next().await;
    let delivered = house.attempted(&ann, &id, 2).await.remove(1);
    assert_eq!(delivered["outcome"], "delivered");
    assert_eq!(delivered["attempt"], 2);
    assert!(micros(&delivered["recorded_at"]) >= micros(&failed["next_attempt_at"]));
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(second.body, first.body);
    assert!(
        second.header("webhook-timestamp").parse::<i64>().unwrap()
            > first.header("webhook-timestamp").parse::<i64>().unwrap()
    );
    assert_eq!(
        second.header("webhook-signature"),
        standard_signature(&secret, &second)
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_ends_the_tries_and_a_person_may_send_it_again() {
    let (house, ann, key, _) = house().await;
    let tries = AtomicUsize::new(0);
    let mut receiver = Receiver::answering(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Status(410),
        _ => Reply::Status(200),
    })
    .await;
    house.allow(&receiver);
    let id = answered(&house, &ann, &key, &receiver.url("/")).await;
    let first = receiver.next().await;
    let attempts = house.attempted(&ann, &id, 1).await;
    assert_eq!(attempts[0]["outcome"], "gave_up");
    assert_eq!(attempts[0]["http_status"], 410);
    assert_eq!(attempts[0]["next_attempt_at"], Value::Null);
    let callback = house.callback(&ann, &id).await;
    assert_eq!(callback["state"], "gave_up");
    assert_eq!(callback["next_attempt_at"], Value::Null);

    let number = callback["id"].to_string();
    house.json(&["webhook", "replay", &number]);
    assert_eq!(
        receiver.next().await.header("webhook-id"),
        first.header("webhook-id")
    );
    house.attempted(&ann, &id, 2).await;

    let path = format!("/api/v1/webhooks/callbacks/{number}/replay");
    let replayed = house.send("POST", &path, Some(&ann), None).await;
    assert_eq!(replayed.status, 202);
    assert_eq!(
        receiver.next().await.header("webhook-id"),
        first.header("webhook-id")
    );
    house.attempted(&ann, &id, 3).await;
    assert_eq!(
        house.history(&ann, &id).await,
        [
            "delivery_received",
            "delivery_answered",
            "webhook_attempted",
            "webhook_replayed",
            "webhook_attempted",
            "webhook_replayed",
            "webhook_attempted",
        ]
    );
    // The command line lists it too, and says so when there is no such callback.
    let listed = house.json(&["webhook", "attempts"]);
    assert_eq!(listed["callbacks"][0]["state"], "delivered");
    let unknown = house.command(&["webhook", "replay", "999999"], &[]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[tokio::test]
async fn retry_after_lengthens_the_wait() {
    let (house, ann, key, _) = house().await;
    let receiver = Receiver::answering(|seen| {
        Reply::Header(503, "retry-after", seen.path[1..].replace("%20", " "))
    })
    .await;
    house.allow(&receiver);
    // In a path a blank is written as %20.
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    let date = date.replace(' ', "%20");
    for (asked, expected) in [
        (date.as_str(), 590.0..=601.0),
        ("120", 120.0..=120.5),
        ("1", 4.0..=6.0),
        ("999999999", 86_400.0..=86_400.5),
        ("-5", 4.0..=6.0),
        ("soon", 4.0..=6.0),
    ] {
        let url = receiver.url(&format!("/{asked}"));
        let id = answered(&house, &ann, &key, &url).await;
        let attempt = house.attempted(&ann, &id, 1).await.remove(0);
        let wait = wait_seconds(&attempt);
        assert!(expected.contains(&wait), "{asked}: {wait}");
    }
}

#[tokio::test]
async fn a_held_answer_sends_no_callback_until_it_is_final() {
    let (house, ann, key, _) = house().await;
    let mut receiver = Receiver::start(200).await;
    house.allow(&receiver);
    let id = deliver(&house, &key, &receiver.url("/")).await;
    let held = json!({ "status": "approved", "hold_seconds": 30 });
    assert_eq!(house.respond(&ann, &id, held).await.status, 200);
    let undo = format!("/api/v1/inbox/{id}/undo");
    let undone = house.send("POST", &undo, Some(&ann), None).await;
    assert_eq!(undone.status, 204);
    assert_eq!(house.response(&key, &id).await["status"], "pending");

    // Had the first one been sent, it would arrive before this one.
    let short = json!({ "status": "rejected", "hold_seconds": 1 });
    let short = house.respond(&ann, &id, short).await.json();
    let seen = receiver.next().await;
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(body["status"], "rejected");
    assert!(micros(&body["responded_at"]) >= micros(&short["held_until"]));
    house.attempted(&ann, &id, 1).await;
    assert!(receiver.saw_nothing_more());
    assert_eq!(
        house.history(&ann, &id).await,
        [
            "delivery_received",
            "answer_held",
            "answer_undone",
            "answer_held",
            "delivery_answered",
            "webhook_attempted",
        ]
    );
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_or_of_another_name_is_refused() {
    let (house, ann, key, _) = house().await;
    let networks = ["127.0.0.0/8", "::1/128"];
    let mut untrusted = Receiver::start(200).await;
    let mut of_another = Receiver::start(200).await;
    let misnamed = Identity::of(&["other.example.com"]);
    let mut misnamed = Receiver::with_identity(misnamed, |_| Reply::Status(200)).await;
    let host = |receiver: &Receiver| format!("localhost:{}", receiver.port);
    house.allow_host(&host(&untrusted), &networks, None);
    let stranger = Identity::local();
    house.allow_host(&host(&of_another), &networks, Some(&stranger));
    house.allow_host(&host(&misnamed), &networks, Some(&misnamed.identity));
    for receiver in [&mut untrusted, &mut of_another, &mut misnamed] {
        let url = receiver.url("/a-secret-path");
        let id = answered(&house, &ann, &key, &url).await;
        let attempts = house.attempted(&ann, &id, 1).await;
        let reason = attempts[0]["error"].as_str().unwrap();
        assert!(reason.contains("certificate"), "{reason}");
        assert!(!reason.contains("a-secret-path"), "{reason}");
        assert_eq!(attempts[0]["outcome"], "will_retry");
        assert!(receiver.saw_nothing_more());
    }
}

#[tokio::test]
async fn an_authority_that_shows_its_own_certificate_is_named_as_what_it_is() {
    let (house, ann, key, _) = house().await;
    let receiver = Receiver::with_identity(Identity::authority(), |_| Reply::Status(200)).await;
    house.allow(&receiver);
    let id = answered(&house, &ann, &key, &receiver.url("/")).await;
    let attempt = house.attempted(&ann, &id, 1).await.remove(0);
    let reason = attempt["error"].as_str().unwrap();
    assert!(
        reason.contains("the certificate of an authority"),
        "{reason}"
    );
}

#[tokio::test]
async fn an_entry_of_the_allowlist_is_removed_however_it_is_spelled() {
    let (house, ann, ..) = house().await;
    house.allow_host("hooks.example.com", &[], None);
    house.allow_host("*.example.org:8443", &[], None);
    house.json(&["webhook", "remove", "HOOKS.example.com:443"]);
    house.json(&["webhook", "remove", "*.Example.ORG:8443"]);
    let list = house.get("/api/v1/webhooks/allowlist", &ann).await.json();
    assert_eq!(list["allowlist"], json!([]));
    let path = "/api/v1/webhooks/allowlist/no%20host";
    let unknown = house.send("DELETE", path, Some(&ann), None).await;
    unknown.is_problem(404, "not_on_allowlist", None);
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_tried_again_and_the_reason_is_visible() {
    let (house, ann, key, _) = house().await;
    let receiver = Receiver::start(200).await;
    house.allow(&receiver);
    house.allow_host("no-such-host.invalid", &[], None);
    let url = receiver.url("/");
    drop(receiver);
    for url in [url.as_str(), "https://no-such-host.invalid/"] {
        let id = answered(&house, &ann, &key, url).await;
        let attempts = house.attempted(&ann, &id, 1).await;
        assert_eq!(attempts[0]["outcome"], "will_retry");
        let reason = attempts[0]["error"].as_str().unwrap();
        // Nobody was asked, so nobody failed to answer.
        assert!(reason.starts_with("no connection: "), "{reason}");
        until("the reason is shown", || async {
            house.callback(&ann, &id).await["last_error"] == reason
        })
        .await;
    }
}

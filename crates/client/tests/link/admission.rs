//! Getting in, or not.

use client::{
    Server,
    link::{Auth, Caller, LinkFault},
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::relay::{Line, connected, listen};

#[tokio::test]
async fn what_the_server_grants_is_known_and_never_printed() {
    let (caller, _line) = connected(std::time::Duration::from_secs(1)).await;
    let admission = caller.admission();
    assert_eq!(admission.session_token, "wls_x");
    assert_eq!(
        (admission.expires_in_seconds, admission.max_requests),
        (60, 7)
    );
    assert!(!format!("{caller:?}").contains("wls_x"));
}

#[tokio::test]
async fn each_pass_has_its_form() {
    let (listener, server) = listen().await;
    for (auth, expected) in [
        (
            Auth::client("wl_a"),
            json!({ "type": "auth", "api_token": "wl_a", "client_type": "client" }),
        ),
        (
            Auth::session("wls_b"),
            json!({ "type": "auth", "session_token": "wls_b", "client_type": "client" }),
        ),
    ] {
        let server = server.clone();
        let connecting = tokio::spawn(async move { Caller::connect(&server, auth).await });
        let (mut line, said) = Line::accept(&listener).await;
        assert_eq!(said, expected);
        line.say(&json!({
            "type": "auth_response", "status": "failed", "error": "Invalid token",
            "retry_after": 600
        }))
        .await;
        let fault = connecting.await.unwrap().unwrap_err();
        assert!(fault.is_refusal());
        let LinkFault::Refused {
            error,
            retry_after_seconds,
        } = fault
        else {
            panic!("{fault:?}");
        };
        assert_eq!(
            (error.as_str(), retry_after_seconds),
            ("Invalid token", Some(600))
        );
    }
}

#[tokio::test]
async fn what_is_no_websocket_is_told_from_one() {
    let (listener, server) = listen().await;
    for (answer, status) in [
        (
            "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n",
            426,
        ),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404),
        // One that upgrades and has not read what was asked.
        (
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-accept: AAAA\r\n\r\n",
            101,
        ),
    ] {
        let server = server.clone();
        let auth = Auth::client("wl_a");
        let connecting = tokio::spawn(async move { Caller::connect(&server, auth).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        let request = String::from_utf8(request[..length].to_vec()).unwrap();
        assert!(request.starts_with("GET /wss HTTP/1.1\r\n"), "{request}");
        // The token is for the socket, and not for whoever this is.
        assert!(!request.contains("wl_a"), "{request}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let fault = connecting.await.unwrap().unwrap_err();
        let LinkFault::NoSocket { status: found, .. } = fault else {
            panic!("{fault:?}");
        };
        assert_eq!(found, status);
    }
}

#[tokio::test]
async fn only_401_and_403_are_refusals_and_the_rest_is_said_as_it_is() {
    let problem = r#"{"detail":"No such token."}"#;
    for (status, more, body, refusal, said) in [
        ("401 Unauthorized", "", problem, true, "No such token."),
        ("403 Forbidden", "", "", true, "it gave no reason"),
        ("404 Not Found", "", "", false, "answered 404"),
        (
            "429 Too Many Requests",
            "retry-after: 7\r\n",
            r#"{"detail":"Slower."}"#,
            false,
            "answered 429: Slower.",
        ),
        ("500 Internal Server Error", "", "", false, "answered 500"),
        ("502 Bad Gateway", "", "<html>", false, "answered 502"),
        (
            "503 Service Unavailable",
            "retry-after: 7\r\n",
            "",
            false,
            "answered 503",
        ),
        (
            "200 OK",
            "",
            "<html>Welcome",
            false,
            "answered 200, and no session",
        ),
    ] {
        let (listener, server) = listen().await;
        let signing_in = tokio::spawn(async move { Caller::sign_in(&server).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        assert!(request[..length].starts_with(b"POST /api/v1/auth/session "));
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\n{more}content-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let fault = signing_in.await.unwrap().unwrap_err();
        assert_eq!(fault.is_refusal(), refusal, "{status}");
        assert_eq!(fault.may_pass(), !refusal, "{status}");
        let wait = (!more.is_empty()).then_some(7);
        assert_eq!(fault.retry_after_seconds(), wait, "{status}");
        assert!(fault.to_string().ends_with(said), "{fault}");
    }
}

#[tokio::test]
async fn a_client_gets_a_session_over_rest_and_its_own_token_never_enters_the_socket() {
    let (listener, _) = listen().await;
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::at(&address, Some("wl_mine".to_owned()), None).unwrap();
    let signing_in = tokio::spawn(async move { Caller::sign_in(&server).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 4096];
    let length = stream.read(&mut request).await.unwrap();
    let request = String::from_utf8(request[..length].to_vec()).unwrap();
    assert!(
        request.starts_with("POST /api/v1/auth/session "),
        "{request}"
    );
    let request = request.to_ascii_lowercase();
    assert!(
        request.contains("authorization: bearer wl_mine"),
        "{request}"
    );
    let body = json!({ "session_token": "wls_granted", "expires_in": 60, "max_requests": 7 });
    let body = body.to_string();
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    drop(stream);
    let (mut line, said) = Line::accept(&listener).await;
    assert_eq!(
        said,
        json!({ "type": "auth", "session_token": "wls_granted", "client_type": "client" })
    );
    line.say(&json!({
        "type": "auth_response", "status": "authenticated", "session_token": "wls_granted",
        "expires_in": 60, "max_requests": 7
    }))
    .await;
    let caller = signing_in.await.unwrap().unwrap();
    assert_eq!(caller.admission().session_token, "wls_granted");
}

#[tokio::test]
async fn a_lock_out_and_too_many_connections_pass_and_a_wrong_token_does_not() {
    for (answer, may_pass) in [
        (json!({ "error": "Invalid token" }), false),
        (
            json!({ "error": "Invalid token", "retry_after": 600 }),
            true,
        ),
        (
            json!({ "error": "Too many", "code": "TOO_MANY_CONNECTIONS" }),
            true,
        ),
    ] {
        let (listener, server) = listen().await;
        let auth = Auth::client("wl_a");
        let connecting = tokio::spawn(async move { Caller::connect(&server, auth).await });
        let (mut line, _) = Line::accept(&listener).await;
        let mut said = json!({ "type": "auth_response", "status": "failed" });
        for (name, value) in answer.as_object().unwrap() {
            said[name] = value.clone();
        }
        line.say(&said).await;
        let fault = connecting.await.unwrap().unwrap_err();
        assert!(fault.is_refusal());
        assert_eq!(fault.may_pass(), may_pass, "{fault}");
    }
}

#[tokio::test]
async fn a_session_that_is_used_up_says_so_when_it_ends() {
    let (mut caller, mut line) = connected(std::time::Duration::from_secs(1)).await;
    line.say(&json!({
        "type": "error", "error": "Session request limit exceeded", "code": "LIMIT_EXCEEDED"
    }))
    .await;
    let waiting = tokio::spawn(async move { caller.changed().await });
    line.close().await;
    let fault = waiting.await.unwrap().unwrap_err();
    assert!(matches!(fault, LinkFault::UsedUp { code, .. } if code == "LIMIT_EXCEEDED"));
}

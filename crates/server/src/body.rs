//! Request bodies: JSON, within a limit, within a time.

use std::time::Duration;

use axum::{
    body::{Body, Bytes, HttpBody as _},
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use trail::json;

use crate::Problem;

/// A sender slower than this holds a connection for nothing.
const TIME: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read before it is refused.
const DISCARDED: usize = 16 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(5);
/// For requests that carry no content of their own.
pub const SMALL: usize = 64 << 10;

/// Reads a JSON body of at most `limit` bytes.
pub async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    if !is_json(headers) {
        let detail = "Send JSON, with Content-Type: application/json.";
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json_content",
            detail,
        ));
    }
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        discard(body).await;
        return Err(too_large(limit));
    }
    match tokio::time::timeout(TIME, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Ok(Err(_)) => {
            let detail = "The body ended early. Send it again.";
            Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "body_incomplete",
                detail,
            ))
        }
        Err(_) => {
            let detail = "The body took too long to arrive. Send it again.";
            Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                detail,
            ))
        }
    }
}

/// Reads on for a while without keeping anything: a sender that is cut off
/// while it writes would see a broken connection and not the reason.
async fn discard(mut body: Body) {
    let mut read = 0;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > DISCARDED {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

fn too_large(limit: usize) -> Problem {
    let detail =
        format!("The body is larger than {limit} bytes. Send less, or a link to the rest.");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Reads a small JSON body into a type, for administration.
pub async fn read_as<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Problem> {
    let bytes = read(headers, body, SMALL).await?;
    let malformed = |code, detail: String| Problem::new(StatusCode::BAD_REQUEST, code, detail);
    json::scan(&bytes, json::Rules::REQUEST).map_err(|fault| match fault {
        json::Fault::DuplicateKey { key, .. } => malformed(
            "duplicate_key",
            format!("The body repeats the key \"{key}\". Send each key once."),
        ),
        other => malformed(
            "not_json",
            format!("The body is {other}. Send one JSON object."),
        ),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        use serde_json::error::Category;
        let detail = format!("The body does not fit: {error}.");
        match error.classify() {
            Category::Data => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_body", detail),
            _ => malformed("not_json", detail),
        }
    })
}

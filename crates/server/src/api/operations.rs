//! What an operator's tools ask.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{App, Problem, code::Code, metrics, openapi};

/// The process answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// It can do its work: what it reads and what it writes.
pub async fn readyz(State(app): State<App>) -> Response {
    let degraded = app.shared().health.is_degraded() || !app.engine.is_running();
    match app.shared().store.head().await {
        Ok(_) if !degraded => "ready\n".into_response(),
        _ => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Degraded,
            "Storage fails: writes are refused until it works again, reads go on.",
        )
        .retry_after(5)
        .into_response(),
    }
}

pub async fn metrics(State(app): State<App>) -> Response {
    let content = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (content, metrics::render(&app)).into_response()
}

pub async fn openapi() -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        openapi::document(),
    )
        .into_response()
}

//! `/api/v1`: everything a person can do, page or no page.

pub mod agents;
pub mod devices;
pub mod events;
pub mod fresh;
pub mod inbox;
pub mod keys;
pub mod operations;
pub mod rates;
pub mod retention;
pub mod sessions;
pub mod trail;
pub mod users;
pub mod webhooks;

use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::Problem;

/// A JSON answer.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => (
                [(axum::http::header::CONTENT_TYPE, "application/json")],
                body,
            )
                .into_response(),
            Err(_) => Problem::internal().into_response(),
        }
    }
}

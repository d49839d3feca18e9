//! `/api/v1`: everything a person can do, page or no page.

pub mod agents;
pub mod events;
pub mod fresh;
pub mod inbox;
pub mod keys;
pub mod operations;
pub mod retention;
pub mod trail;
pub mod users;
pub mod webhooks;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
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

/// A query parameter whose value is not acceptable.
pub(crate) fn bad_query(field: &'static str, expected: &str) -> Problem {
    let detail = format!("\"{field}\" must be {expected}.");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_query", detail).field(Some(field))
}

/// The pairs of a query string, without empty values.
pub(crate) fn pairs(query: &Option<String>) -> Vec<(String, String)> {
    let query = query.as_deref().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// An integer within a range.
pub(crate) fn number(
    field: &'static str,
    text: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, Problem> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    let expected = format!("an integer from {} to {}", range.start(), range.end());
    number.ok_or_else(|| bad_query(field, &expected))
}

/// A comma-separated list from a closed set.
pub(crate) fn list<T>(
    field: &'static str,
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Vec<T>, Problem> {
    let items: Option<Vec<T>> = text.split(',').map(|item| parse(item.trim())).collect();
    items.ok_or_else(|| bad_query(field, expected))
}

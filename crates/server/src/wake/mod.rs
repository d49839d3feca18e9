//! The WAKE door: `/wake/v1`, for agents and their keys.

pub mod astray;
mod deliver;
mod response;
mod responses;
mod signed;

pub use deliver::deliver;
pub use response::{receipt, response};
pub use responses::responses;
use signed::signed;

use axum::{http::header, response::IntoResponse};

/// The JSON Schema of what goes over this door.
pub async fn schema() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/schema+json")],
        ::wake::SCHEMA,
    )
}

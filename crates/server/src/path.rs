//! The variable part of an address. One that is not even text names nothing,
//! so it is not found, like any other that names nothing.

use axum::{extract::FromRequestParts, http::request::Parts};
use inbox::ItemId;
use uuid::Uuid;

use crate::{App, Problem};

#[derive(Clone, Debug)]
pub struct Path(pub String);

impl FromRequestParts<App> for Path {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Path, Problem> {
        axum::extract::Path::from_request_parts(parts, app)
            .await
            .map(|axum::extract::Path(text)| Path(text))
            .map_err(|_| Problem::not_found())
    }
}

/// An item's id, in the one form that we write. Any other names nothing,
/// and answers like an id that is not known.
pub fn item_id(text: &str) -> Result<ItemId, Problem> {
    ItemId::parse(text).ok_or_else(Problem::not_found)
}

/// The id of an item that must be a delivery.
pub fn delivery_id(text: &str) -> Result<Uuid, Problem> {
    let ItemId::Delivery(id) = item_id(text)?;
    Ok(id)
}

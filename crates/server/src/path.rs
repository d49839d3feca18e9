//! The variable part of an address. One that is not even text names nothing,
//! so it is not found, like any other that names nothing.

use axum::{extract::FromRequestParts, http::request::Parts};

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

//! The variable part of an address. One that is not even text names nothing,
//! so it is not found, like any other that names nothing.

use axum::{extract::FromRequestParts, http::request::Parts};
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

/// A delivery's id, in the one form that we write. Any other names nothing,
/// and answers like an id that is not known.
pub fn delivery_id(text: &str) -> Result<Uuid, Problem> {
    const HYPHENATED: usize = 36;
    Uuid::try_parse(text)
        .ok()
        .filter(|_| text.len() == HYPHENATED)
        .ok_or_else(Problem::not_found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form() {
        let id = "550e8400-e29b-41d4-a716-446655440000";
        assert!(delivery_id(id).is_ok());
        for other in [
            id.replace('-', ""),
            format!("{{{id}}}"),
            format!("urn:uuid:{id}"),
            format!("{id} "),
            id[1..].to_owned(),
            String::new(),
        ] {
            assert!(delivery_id(&other).is_err(), "{other}");
        }
    }
}

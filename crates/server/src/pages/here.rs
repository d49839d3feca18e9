//! The addresses that lead to this server, so that a link to another port of it
//! is not made one. Cookies go to every port of a host.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::App;

/// This server by its settings and by the name that the reader's browser used.
#[derive(Debug)]
pub struct Here(pub show::Here);

impl FromRequestParts<App> for Here {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Here, Infallible> {
        let named = parts.headers.get(header::HOST);
        let named = named.and_then(|host| host.to_str().ok());
        let authority = parts.uri.authority().map(|authority| authority.as_str());
        let scheme = match app.settings.is_secure() {
            true => "https",
            false => "http",
        };
        let here = of(app);
        Ok(Here(match authority.or(named) {
            Some(host) => here.and(&format!("{scheme}://{host}")),
            None => here,
        }))
    }
}

/// This server by its settings alone.
pub fn of(app: &App) -> show::Here {
    show::Here::default().and(&app.settings.address)
}

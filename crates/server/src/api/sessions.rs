//! What a person's programs come in with: a session for the relay, and the
//! account's own token.

use std::sync::Arc;

use account::{
    command::Command as Ask,
    secret::{self, Kind},
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use engine::command::Account;
use serde::Serialize;
use trail::Micros;

use crate::{
    App, Problem,
    api::{
        Json,
        fresh::{draw, short_id},
        users,
    },
    auth::{Asks as _, Human, TokenHolder},
    fields::Unread,
    link::Right,
    pages,
};

#[derive(Debug, Serialize)]
struct Session {
    session_token: String,
    expires_at: Micros,
    expires_in: u64,
    max_requests: u64,
}

/// A session for the relay: it opens that and nothing else.
pub async fn open(State(app): State<App>, holder: TokenHolder) -> Result<Response, Problem> {
    let expires_at = app.link.session_end(app.shared().clock.now());
    let name: Arc<str> = holder.user.name.as_str().into();
    let right = Right::Client {
        name: Arc::clone(&name),
        token_id: holder.token_id.as_str().into(),
    };
    let opened = app.link.open_session(name, right, false).await?;
    let body = Session {
        session_token: opened.token,
        expires_at,
        expires_in: app.link.limits.session_seconds,
        max_requests: opened.session.requests_left(),
    };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// Ends a session of one's own, if there is such a one. Who is connected with it
/// stays.
pub async fn end(
    State(app): State<App>,
    holder: TokenHolder,
    body: Unread,
) -> Result<StatusCode, Problem> {
    let mut fields = body.fields(&app, &holder.user.name).await?;
    let token: String = fields.required("session_token", "a string")?;
    fields.end()?;
    let hash = secret::hash(&token);
    app.link.sessions.end(&hash, &holder.user.name).await;
    Ok(StatusCode::NO_CONTENT)
}

/// A new token for oneself; the old one, and every session opened with it,
/// opens nothing from now on.
///
/// Whoever sends the token that is replaced has proved enough: the new one can
/// do what the old one could, and the old one is worth nothing from then on. A
/// session ends, and a token does not, so a session must come with the password.
pub async fn rotate(
    State(app): State<App>,
    human: Human,
    body: Unread,
) -> Result<Response, Problem> {
    if let Some(signed) = human.signed(body.headers(), &app)? {
        let password = password(&app, &human.user.name, body).await?;
        pages::proves(&app, &signed, &password).await?;
    }
    let (token, token_hash) = draw(Kind::User)?;
    let command = Ask::IssueToken {
        name: human.user.name.clone(),
        token_id: short_id("tok")?,
        token_hash,
    };
    let command = human.asks(Account::Enter { command });
    app.engine.submit(command).await?;
    Ok(users::shown_once(&app, human.user.name, token))
}

/// The password in the body, if there is a body.
async fn password(app: &App, name: &str, body: Unread) -> Result<String, Problem> {
    if body.is_empty() {
        return Ok(String::new());
    }
    let mut fields = body.fields(app, name).await?;
    let password: Option<String> = fields.optional("password", "a string")?;
    fields.end()?;
    Ok(password.unwrap_or_default())
}

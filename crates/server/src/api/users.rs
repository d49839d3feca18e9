//! People: who they are, what they may do, their tokens.

use account::{Role, command::Command as Ask, secret::Kind};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::{
    App, Problem,
    api::{
        Json,
        fresh::{draw, short_id},
    },
    auth::{Admin, Human, Reader},
    body,
    path::Path,
};

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    let accounts = app.shared().accounts();
    let users: Vec<&account::User> = accounts.users.values().collect();
    Json(serde_json::json!({ "users": users })).into_response()
}

/// Who the token belongs to.
pub async fn me(human: Human) -> Response {
    Json(human.user).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    name: String,
    #[serde(default)]
    role: Option<Role>,
}

#[derive(Debug, Serialize)]
struct Created {
    name: String,
    role: Role,
    /// Shown this once.
    token: String,
}

pub async fn create(
    State(app): State<App>,
    admin: Admin,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let New { name, role } = body::read_as(&headers, body).await?;
    let (token, token_hash) = draw(Kind::User)?;
    let token_id = short_id("tok")?;
    let command = Ask::CreateUser {
        name: name.clone(),
        role,
        token_id,
        token_hash,
    };
    admin.ask(&app, command).await?;
    Ok(shown_once(&app, name, token))
}

/// The one answer that carries a token.
fn shown_once(app: &App, name: String, token: String) -> Response {
    let accounts = app.shared().accounts();
    let role = accounts
        .users
        .get(&name)
        .map_or(Role::Viewer, |user| user.role);
    (StatusCode::CREATED, Json(Created { name, role, token })).into_response()
}

/// A new token, which replaces the old one.
pub async fn token(
    State(app): State<App>,
    admin: Admin,
    Path(name): Path,
) -> Result<Response, Problem> {
    let (token, token_hash) = draw(Kind::User)?;
    let token_id = short_id("tok")?;
    let command = Ask::IssueToken {
        name: name.clone(),
        token_id,
        token_hash,
    };
    admin.ask(&app, command).await?;
    Ok(shown_once(&app, name, token))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(default)]
    role: Option<Role>,
    #[serde(default)]
    state: Option<account::UserState>,
}

pub async fn change(
    State(app): State<App>,
    admin: Admin,
    Path(name): Path,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let Change { role, state } = body::read_as(&headers, body).await?;
    let role = role.map(|role| Ask::SetRole {
        name: name.clone(),
        role,
    });
    let state = state.map(|state| match state {
        account::UserState::Active => Ask::ResumeUser { name: name.clone() },
        account::UserState::Suspended => Ask::SuspendUser { name: name.clone() },
        account::UserState::Deactivated => Ask::DeactivateUser { name: name.clone() },
    });
    for command in role.into_iter().chain(state) {
        admin.ask(&app, command).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

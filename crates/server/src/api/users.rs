//! People: who they are, what they may do, their tokens.

use account::{Role, UserState, command::Command as Ask, secret::Kind};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use trail::Micros;

use crate::{
    App, Problem,
    api::{
        Json,
        fresh::{draw, short_id},
    },
    auth::{Admin, Human, Reader},
    code::Code,
    fields::Unread,
    pages::LINK_SECONDS,
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
    body: Unread,
) -> Result<Response, Problem> {
    admin.outlasts_session()?;
    let mut fields = body.fields(&app, admin.share()).await?;
    let name: String = fields.required("name", "a string")?;
    let role = fields.choice("role", Role::NAMES)?;
    fields.end()?;
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
pub fn shown_once(app: &App, name: String, token: String) -> Response {
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
    admin.outlasts_session()?;
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

#[derive(Debug, Serialize)]
pub struct SignInLink {
    pub name: String,
    /// Works once; shown this once.
    pub url: String,
    pub expires_at: Micros,
}

pub async fn sign_in_link(
    State(app): State<App>,
    admin: Admin,
    Path(name): Path,
) -> Result<Response, Problem> {
    admin.outlasts_session()?;
    let link = make_link(&app, &admin, name).await?;
    Ok((StatusCode::CREATED, Json(link)).into_response())
}

/// A link to sign in with, once; it replaces an earlier one.
pub async fn make_link(app: &App, admin: &Admin, name: String) -> Result<SignInLink, Problem> {
    let (secret, hash) = draw(Kind::Link)?;
    let expires_at = app.shared().clock.now().plus_seconds(LINK_SECONDS);
    let command = Ask::MakeLink {
        name: name.clone(),
        hash,
        expires_at,
    };
    admin.ask(app, command).await?;
    Ok(SignInLink {
        name,
        url: format!("{}/sign-in/{secret}", app.settings.address),
        expires_at,
    })
}

/// What brings someone into this state.
pub fn put_in(state: UserState, name: String) -> Ask {
    match state {
        UserState::Active => Ask::ResumeUser { name },
        UserState::Suspended => Ask::SuspendUser { name },
        UserState::Deactivated => Ask::DeactivateUser { name },
    }
}

/// Changes one thing: what is changed together could come undone by half.
pub async fn change(
    State(app): State<App>,
    admin: Admin,
    Path(name): Path,
    body: Unread,
) -> Result<StatusCode, Problem> {
    let mut fields = body.fields(&app, admin.share()).await?;
    let role = fields.choice("role", Role::NAMES)?;
    let state = fields.choice("state", UserState::NAMES)?;
    fields.end()?;
    let command = match (role, state) {
        (Some(role), None) => Ask::SetRole { name, role },
        (None, Some(state)) => put_in(state, name),
        (None, None) | (Some(_), Some(_)) => {
            let detail = "Send either \"role\" or \"state\": one change at a time.";
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::OneChange,
                detail,
            ));
        }
    };
    admin.ask(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! An agent's device token: made, read again, renewed and taken away, by the
//! one person that the agent belongs to.

use account::{Actor, NewDeviceToken, command::Command as Ask, secret::Kind};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use engine::command::Account;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    App, Problem,
    api::{
        Json,
        fresh::{draw, short_id},
    },
    auth::{Asks as _, Keeper, Remover, TokenHolder},
    fields::Unread,
    path::Path,
};

/// What a device connects with.
#[derive(Serialize)]
struct Shown<'a> {
    agent_id: &'a str,
    /// For `api_token` in the first frame.
    token: &'a str,
    /// Where it connects to.
    endpoint: String,
}

fn shown(app: &App, status: StatusCode, agent_id: &str, token: &str) -> Response {
    let shown = Shown {
        agent_id,
        token,
        endpoint: endpoint(&app.settings.address),
    };
    (status, Json(shown)).into_response()
}

/// The relay's address, from the server's.
pub fn endpoint(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let scheme = if scheme == "http" { "ws" } else { "wss" };
    let host = rest.split('/').next().unwrap_or(rest);
    format!("{scheme}://{host}/wss")
}

/// A new agent, which is a device of the one who asks.
pub async fn create(
    State(app): State<App>,
    keeper: Keeper,
    body: Unread,
) -> Result<Response, Problem> {
    let mut fields = body.fields(&app, keeper.name()).await?;
    let agent_id: Option<Option<String>> = fields.optional("agent_id", "a string or null")?;
    fields.end()?;
    let agent_id = match agent_id.flatten() {
        Some(agent_id) => agent_id,
        None => fresh_agent_id()?,
    };
    let token = keep(&app, &keeper, &agent_id, Ask::AddDevice).await?;
    Ok(shown(&app, StatusCode::CREATED, &agent_id, &token))
}

pub async fn rotate(
    State(app): State<App>,
    keeper: Keeper,
    Path(agent_id): Path,
) -> Result<Response, Problem> {
    let token = renew(&app, &keeper, &agent_id).await?;
    Ok(shown(&app, StatusCode::CREATED, &agent_id, &token))
}

/// A new token; the one before, and whoever came in with it, is out.
pub async fn renew(
    app: &App,
    keeper: &Keeper,
    agent_id: &str,
) -> Result<Zeroizing<String>, Problem> {
    keep(app, keeper, agent_id, Ask::IssueDeviceToken).await
}

/// The token as it is. That it was read is on the trail before it is given. A
/// browser's cookie is not enough: any link can make a browser ask.
pub async fn export(
    State(app): State<App>,
    _: TokenHolder,
    keeper: Keeper,
    Path(agent_id): Path,
) -> Result<Response, Problem> {
    let command = Ask::ExportDeviceToken {
        agent_id: agent_id.clone(),
        owner: keeper.name().to_owned(),
    };
    let command = keeper.asks(Account::Enter { command });
    app.engine.submit(command).await?;
    // Sealed with a key that is no longer here, after a restore without it.
    let token = app.shared().device_token(&agent_id).await?;
    let gone = || account::Rejection::DeviceTokenSealed(agent_id.clone());
    let token = token.ok_or_else(gone)?;
    Ok(shown(&app, StatusCode::OK, &agent_id, &token))
}

pub async fn remove(
    State(app): State<App>,
    remover: Remover,
    Path(agent_id): Path,
) -> Result<StatusCode, Problem> {
    take_away(&app, remover, agent_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes an agent away that nothing is delivered with.
pub async fn take_away(app: &App, remover: Remover, agent_id: String) -> Result<(), Problem> {
    let accounts = app.shared().accounts();
    let agent = accounts.agents.get(&agent_id);
    let is_owner = agent.is_some_and(|agent| Actor::person(&agent.owner) == remover.actor());
    if !is_owner && !remover.administers() {
        // Somebody else's is the same as none.
        return Err(account::Rejection::NoSuchAgent(agent_id).into());
    }
    let command = Account::RemoveAgent {
        actor: remover.actor(),
        agent_id: agent_id.clone(),
        as_owner: is_owner,
    };
    app.engine.submit(remover.asks(command)).await?;
    app.link.traffic.forget(&agent_id);
    Ok(())
}

/// Draws a token, keeps it sealed, and has it recorded.
async fn keep(
    app: &App,
    keeper: &Keeper,
    agent_id: &str,
    ask: impl FnOnce(NewDeviceToken) -> Ask,
) -> Result<Zeroizing<String>, Problem> {
    let (token, hash) = draw(Kind::Device)?;
    let token = Zeroizing::new(token);
    let sealed = app
        .shared()
        .seal_device_token(agent_id, &token)
        .map_err(|_| Problem::unavailable())?;
    let new = NewDeviceToken {
        agent_id: agent_id.to_owned(),
        owner: keeper.name().to_owned(),
        token_id: short_id("dev")?,
        hash,
    };
    let command = Account::SetDeviceToken {
        command: ask(new),
        agent_id: agent_id.to_owned(),
        sealed,
    };
    app.engine.submit(keeper.asks(command)).await?;
    Ok(token)
}

/// `WL` and eight digits: short enough to be typed.
fn fresh_agent_id() -> Result<String, Problem> {
    let random: [u8; 8] = engine::keys::random().map_err(|_| Problem::unavailable())?;
    Ok(format!("WL{:08}", u64::from_le_bytes(random) % 100_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relay_is_where_the_server_is() {
        for (address, expected) in [
            ("https://wake.example.com", "wss://wake.example.com/wss"),
            (
                "https://wake.example.com:7377",
                "wss://wake.example.com:7377/wss",
            ),
            (
                "https://wake.example.com/wake/v1",
                "wss://wake.example.com/wss",
            ),
            ("http://127.0.0.1:7377", "ws://127.0.0.1:7377/wss"),
        ] {
            assert_eq!(endpoint(address), expected);
        }
    }
}

//! Agents' keys: created, listed, revoked, rotated. A key is shown once.

use account::{
    Key, Rate,
    command::{Command as Ask, NewKey},
    secret::Kind,
};
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
        Json, agents,
        fresh::{draw, short_id},
    },
    auth::{Admin, Reader},
    code::Code,
    fields::Unread,
    path::Path,
};

/// How long a rotated key still works, unless said otherwise.
const OVERLAP_SECONDS: i64 = 24 * 3600;
const OVERLAP_MOST: i64 = 30 * 24 * 3600;
pub const RATE: &str = "null, or an object with the integers \"burst\" and \"per_hour\"";

/// A key without what opens with it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    key_id: &'a str,
    agent_id: &'a str,
    test: bool,
    orchestrates: &'a [String],
    rate: Rate,
    /// Whether the rate is the usual one of its kind, whatever that becomes.
    usual_rate: bool,
    created_at: Micros,
    expires_at: Option<Micros>,
    revoked_at: Option<Micros>,
}

impl<'a> Shown<'a> {
    pub fn of(key: &'a Key, accounts: &account::State) -> Shown<'a> {
        Shown {
            key_id: &key.key_id,
            agent_id: &key.agent_id,
            test: key.test,
            orchestrates: &key.orchestrates,
            rate: accounts.rate_of(key),
            usual_rate: key.usual_rate,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
        }
    }
}

pub async fn index(State(app): State<App>, _: Reader) -> Response {
    let accounts = app.shared().accounts();
    let mut keys: Vec<Shown<'_>> = accounts
        .keys
        .values()
        .map(|key| Shown::of(key, &accounts))
        .collect();
    keys.sort_by_key(|key| key.created_at);
    Json(serde_json::json!({ "keys": keys })).into_response()
}

/// A key at the one moment when it is known.
#[derive(Debug, Serialize)]
pub struct Created {
    pub key: String,
    pub key_id: String,
    pub agent_id: String,
    /// The secret that signs the agent's callbacks, if it was made just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<String>,
}

/// What a new key is to be.
#[derive(Debug, Default)]
pub struct Wanted {
    pub agent_id: String,
    pub owner: Option<String>,
    pub test: bool,
    pub orchestrates: Vec<String>,
    pub rate: Option<Rate>,
}

/// Makes a key, and for an agent that has none yet a webhook secret.
pub async fn make(app: &App, admin: &Admin, wanted: Wanted) -> Result<Created, Problem> {
    let Wanted {
        agent_id,
        owner,
        test,
        orchestrates,
        rate,
    } = wanted;
    let (key, hash) = draw(if test { Kind::TestKey } else { Kind::LiveKey })?;
    let key_id = short_id("key")?;
    let ask = Ask::CreateKey(NewKey {
        agent_id: agent_id.clone(),
        owner: owner.or_else(|| admin.user().map(str::to_owned)),
        key_id: key_id.clone(),
        hash,
        test,
        orchestrates,
        rate,
    });
    admin.ask(app, ask).await?;
    let webhook_secret = agents::first_secret(app, admin.acting(), &agent_id).await?;
    Ok(Created {
        key,
        key_id,
        agent_id,
        webhook_secret,
    })
}

pub async fn create(
    State(app): State<App>,
    admin: Admin,
    body: Unread,
) -> Result<Response, Problem> {
    let mut fields = body.fields(&app, admin.share()).await?;
    let agent_id: String = fields.required("agent_id", "a string")?;
    let test = fields.optional("test", "true or false")?.unwrap_or(false);
    let orchestrates = fields.optional("orchestrates", "a list of agent ids")?;
    let rate: Option<Option<Rate>> = fields.optional("rate", RATE)?;
    let owner: Option<Option<String>> = fields.optional("owner", "a string or null")?;
    fields.end()?;
    let wanted = Wanted {
        agent_id,
        owner: owner.flatten(),
        test,
        orchestrates: orchestrates.unwrap_or_default(),
        rate: rate.flatten(),
    };
    let created = make(&app, &admin, wanted).await?;
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

pub async fn revoke(
    State(app): State<App>,
    admin: Admin,
    Path(key_id): Path,
) -> Result<StatusCode, Problem> {
    let command = Ask::RevokeKey { key_id };
    admin.ask(&app, command).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn rotate(
    State(app): State<App>,
    admin: Admin,
    Path(key_id): Path,
    body: Unread,
) -> Result<Response, Problem> {
    let mut fields = body.fields(&app, admin.share()).await?;
    let overlap: Option<Option<i64>> = fields.optional("overlap_seconds", "an integer or null")?;
    fields.end()?;
    let overlap = overlap.flatten().unwrap_or(OVERLAP_SECONDS);
    let created = replace(&app, &admin, key_id, overlap).await?;
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// Makes the key that follows another, which works on for so many seconds.
pub async fn replace(
    app: &App,
    admin: &Admin,
    key_id: String,
    overlap: i64,
) -> Result<Created, Problem> {
    if !(0..=OVERLAP_MOST).contains(&overlap) {
        let fault = format!("must be from 0 to {OVERLAP_MOST}.");
        return Err(Problem::value(Code::BadOverlap, "overlap_seconds", &fault));
    }
    let accounts = app.shared().accounts();
    let old = accounts.keys.get(&key_id);
    let old = old.ok_or_else(|| Problem::from(account::Rejection::NoSuchKey(key_id.clone())))?;
    let (key, new_hash) = draw(if old.test {
        Kind::TestKey
    } else {
        Kind::LiveKey
    })?;
    let new_key_id = short_id("key")?;
    let old_expires_at = app.shared().clock.now().plus_seconds(overlap);
    let command = Ask::RotateKey {
        key_id,
        new_key_id: new_key_id.clone(),
        new_hash,
        old_expires_at,
    };
    admin.ask(app, command).await?;
    let agent_id = old.agent_id.clone();
    Ok(Created {
        key,
        key_id: new_key_id,
        agent_id,
        webhook_secret: None,
    })
}

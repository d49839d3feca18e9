//! Agents, what they have for each door, their prompt, and the secret that signs
//! their callbacks.

use std::collections::HashMap;

use ::wake::{Framework, environment, prompt::Prompt, signature};
use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::{command::Account, read::WebhookSecrets};
use serde::Serialize;
use trail::Micros;

use crate::{
    App, Problem,
    api::{Json, keys},
    auth::{Acting, Admin, Asks as _, Reader},
    link::traffic::Sums,
    path::Path,
    query,
};

/// An agent and what it has for each door.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    agent_id: &'a str,
    owner: &'a str,
    created_at: Micros,
    wake: Wake<'a>,
    /// Its owner's business alone.
    link: Option<Linked>,
}

/// The keys that work now.
#[derive(Debug, Default, Serialize)]
struct Wake<'a> {
    /// The door's address, the same for all: only where one agent is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    keys: Vec<keys::Shown<'a>>,
}

/// A device, as its owner sees it.
#[derive(Debug, Serialize)]
pub struct Linked {
    pub token_id: String,
    pub issued_at: Micros,
    pub online: bool,
    /// `None` if it was never there.
    pub last_seen_at: Option<Micros>,
    /// What passed since it was made.
    pub relayed: Sums,
}

impl<'a> Shown<'a> {
    fn of(app: &App, agent: &'a account::Agent, wake: Wake<'a>, reader: &Reader) -> Shown<'a> {
        let is_theirs = reader.name.as_deref() == Some(agent.owner.as_str());
        let device = agent.link.as_ref().filter(|_| is_theirs);
        Shown {
            agent_id: &agent.agent_id,
            owner: &agent.owner,
            created_at: agent.created_at,
            wake,
            link: device.map(|device| Linked::of(app, agent, device)),
        }
    }
}

impl Linked {
    pub fn of(app: &App, agent: &account::Agent, device: &account::Device) -> Linked {
        let (agent_id, owner) = (&agent.agent_id, &agent.owner);
        let online = app.link.is_online(owner, agent_id);
        let traffic = app.link.traffic.find(agent_id, owner);
        let seen = traffic.as_ref().and_then(|traffic| traffic.seen_at());
        Linked {
            token_id: device.token_id.clone(),
            issued_at: device.issued_at,
            online,
            last_seen_at: match online {
                true => Some(app.shared().clock.now()),
                false => seen,
            },
            relayed: traffic.map(|traffic| traffic.sums()).unwrap_or_default(),
        }
    }
}

pub async fn index(State(app): State<App>, reader: Reader) -> Response {
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let mut doors: HashMap<&str, Wake<'_>> = HashMap::new();
    for key in accounts.keys.values().filter(|key| key.is_active(now)) {
        doors
            .entry(&key.agent_id)
            .or_default()
            .keys
            .push(keys::Shown::of(key, &accounts));
    }
    let agents = accounts.agents.values();
    let agents: Vec<Shown<'_>> = agents
        .map(|agent| {
            let wake = doors.remove(agent.agent_id.as_str()).unwrap_or_default();
            Shown::of(&app, agent, wake, &reader)
        })
        .collect();
    Json(serde_json::json!({ "agents": agents })).into_response()
}

pub async fn show(
    State(app): State<App>,
    reader: Reader,
    Path(agent_id): Path,
) -> Result<Response, Problem> {
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let Some(agent) = accounts.agents.get(&agent_id) else {
        return Err(account::Rejection::NoSuchAgent(agent_id).into());
    };
    let keys = accounts.keys_of(&agent_id);
    let keys = keys.filter(|key| key.is_active(now));
    let wake = Wake {
        endpoint: Some(environment::endpoint(&app.settings.address)),
        keys: keys.map(|key| keys::Shown::of(key, &accounts)).collect(),
    };
    Ok(Json(Shown::of(&app, agent, wake, &reader)).into_response())
}

pub async fn prompt(
    State(app): State<App>,
    _: Reader,
    Path(agent_id): Path,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let framework = match query::known(&query, &["for"])?.pop() {
        Some((name, value)) => {
            let named = Framework::parse(&value);
            Some(named.ok_or_else(|| query::bad(name, &format!("one of {}", names())))?)
        }
        None => None,
    };
    let accounts = app.shared().accounts();
    if !accounts.agents.contains_key(&agent_id) {
        return Err(account::Rejection::NoSuchAgent(agent_id).into());
    }
    let prompt = Prompt {
        address: &app.settings.address,
        agent_id: &agent_id,
    };
    let text = match framework {
        Some(framework) => framework.guide(&prompt),
        None => prompt.text(),
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// The names of all frameworks that there is a prompt for.
fn names() -> String {
    Framework::ALL.map(Framework::as_str).join(", ")
}

/// Makes a webhook secret, or a new one that overlaps the old for a day.
pub async fn secret(
    State(app): State<App>,
    admin: Admin,
    Path(agent_id): Path,
) -> Result<Response, Problem> {
    let secret = secret_for(&app, &admin, &agent_id).await?;
    let body = serde_json::json!({ "agent_id": agent_id, "secret": secret });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

pub async fn secret_for(app: &App, admin: &Admin, agent_id: &str) -> Result<String, Problem> {
    if !app.shared().accounts().agents.contains_key(agent_id) {
        return Err(account::Rejection::NoSuchAgent(agent_id.to_owned()).into());
    }
    new_secret(app, admin.acting(), agent_id).await
}

/// Draws a secret for an agent and keeps it sealed; the one before signs on for
/// a day.
pub async fn new_secret(app: &App, acting: Acting, agent_id: &str) -> Result<String, Problem> {
    let _alone = app.rotating.lock().await;
    let old = app.shared().webhook_secrets(agent_id).await?;
    keep_new_secret(app, acting, agent_id, old).await
}

/// The same for an agent that has none yet; gives nothing if it has one.
pub async fn first_secret(
    app: &App,
    acting: Acting,
    agent_id: &str,
) -> Result<Option<String>, Problem> {
    let _alone = app.rotating.lock().await;
    match app.shared().webhook_secrets(agent_id).await? {
        Some(_) => Ok(None),
        None => keep_new_secret(app, acting, agent_id, None).await.map(Some),
    }
}

/// Reading the old secret and writing the new one are two steps: `rotating`
/// must be held around both.
async fn keep_new_secret(
    app: &App,
    acting: Acting,
    agent_id: &str,
    old: Option<WebhookSecrets>,
) -> Result<String, Problem> {
    let shared = app.shared();
    let secret = signature::secret(engine::keys::random().map_err(|_| Problem::unavailable())?);
    let secrets = match old {
        Some(old) => old.rotate(secret.clone(), shared.clock.now()),
        None => WebhookSecrets::new(secret.clone()),
    };
    let sealed = shared
        .seal_webhook_secrets(agent_id, &secrets)
        .map_err(|_| Problem::unavailable())?;
    let agent_id = agent_id.to_owned();
    let command = acting.asks(Account::SetSecret {
        actor: acting.actor.clone(),
        agent_id,
        sealed,
    });
    app.engine.submit(command).await?;
    Ok(secret)
}

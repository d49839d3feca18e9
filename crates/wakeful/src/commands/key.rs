//! Making an agent's key. What is shown with it is all that the agent needs, and
//! the key is shown even if the rest cannot be had: nobody can show it again.

use anyhow::{Result, bail};
use client::encode;
use serde_json::Value;
use wake::environment::Environment;

use crate::{
    Ending,
    cli::Place,
    connect::{As, Connection, connect},
    output::{line, lines, print_body, print_text, say},
};

/// Creates a key. The key alone goes to standard output, or with `env` the lines
/// for the agent's `.env` file.
pub async fn create(place: &Place, body: &Value, env: bool) -> Result<Ending> {
    if env && place.json {
        bail!("--env and --json exclude each other: give one of them");
    }
    let connection = connect(place, As::Operator).await?;
    let body = Some(body.to_string().into_bytes());
    let reply = connection.call("POST", "/api/v1/keys", body).await;
    let endpoint = match &reply {
        Ok(Ok(reply)) if !place.json => endpoint(&connection, &reply.json()).await,
        _ => None,
    };
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    match place.json {
        true => print_body(&reply.body),
        false => show(&reply.json(), endpoint.as_deref(), env),
    }
    Ok(Ending::Done)
}

/// The address of the door that a key opens, by which its agent's own requests
/// come; this command may have come by another.
async fn endpoint(connection: &Connection, made: &Value) -> Option<String> {
    let agent = made["agent_id"].as_str()?;
    let path = format!("/api/v1/agents/{}", encode(agent));
    let reply = connection.request("GET", &path, &[], None).await.ok()?;
    let endpoint = reply.json()["wake"]["endpoint"].as_str()?.to_owned();
    connection.warn_of_address();
    Some(endpoint)
}

fn show(made: &Value, endpoint: Option<&str>, env: bool) {
    let text = |name: &str| made[name].as_str().unwrap_or_default();
    let (id, agent) = (line(text("key_id")), line(text("agent_id")));
    say(&format!("Key {id} for {agent}. It is shown this once:"));
    let secret = made["webhook_secret"].as_str();
    let variables = Environment {
        address: endpoint,
        key: text("key"),
        webhook_secret: secret,
        agent_id: text("agent_id"),
    }
    .text();
    match env {
        true => print_text(variables.trim_end()),
        false => {
            print_text(text("key"));
            say("Paste this into the agent's .env file:");
            say(lines(&variables).trim_end());
        }
    }
    if endpoint.is_none() {
        say("The server did not say its address: set WAKE_ENDPOINT too.");
    }
    if secret.is_none() {
        say(
            "WAKE_WEBHOOK_SECRET was shown with the agent's first key and stays as it is; \
             `wakeful webhook secret --agent ID` makes a new one.",
        );
    }
}

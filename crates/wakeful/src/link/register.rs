//! Making a device known to the server, which gives it a token of its own.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use client::encode;
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::Place,
    connect::{As, connect},
    link::private,
    output::{line, print, print_json, print_text, say},
};

pub async fn add(place: &Place, device: Option<&str>, token_file: Option<&Path>) -> Result<Ending> {
    // It may hold another device's token, which would be lost.
    if let Some(file) = token_file.filter(|file| private::is_there(file)) {
        bail!("{} exists; choose another name", file.display());
    }
    let body = json!({ "agent_id": device }).to_string().into_bytes();
    let ending = ask(place, "POST", "/api/v1/agents", Some(body), token_file).await?;
    if let (false, Some(device)) = (place.json, ending.as_ref().ok()) {
        say(&format!("Next, on the device: wakeful link pair {device}"));
    }
    Ok(done(ending))
}

pub async fn token(
    place: &Place,
    device: &str,
    renew: bool,
    token_file: Option<&Path>,
) -> Result<Ending> {
    let path = format!("/api/v1/agents/{}", encode(device));
    let ending = match renew {
        true => {
            ask(
                place,
                "POST",
                &format!("{path}/rotate-token"),
                None,
                token_file,
            )
            .await?
        }
        false => ask(place, "GET", &format!("{path}/export"), None, token_file).await?,
    };
    if let (false, true, Ok(_)) = (place.json, renew, &ending) {
        say("The device needs the new token; its pairing stays as it is.");
    }
    Ok(done(ending))
}

/// Takes a device away: its token opens nothing from then on.
pub async fn remove(place: &Place, device: &str) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let path = format!("/api/v1/agents/{}", encode(device));
    let reply = connection.call("DELETE", &path, None).await;
    connection.close().await;
    match reply? {
        Ok(_) => {
            match place.json {
                true => print_json(&json!({ "done": true })),
                false => say(&format!("{} is removed.", line(device))),
            }
            Ok(Ending::Done)
        }
        Err(ending) => Ok(ending),
    }
}

fn done(ending: Result<String, Ending>) -> Ending {
    ending.map_or_else(|ending| ending, |_| Ending::Done)
}

async fn ask(
    place: &Place,
    method: &str,
    path: &str,
    body: Option<Vec<u8>>,
    token_file: Option<&Path>,
) -> Result<Result<String, Ending>> {
    // Before anything is made whose token could then not be kept.
    if let Some(file) = token_file {
        private::make_room(file)?;
    }
    let connection = connect(place, As::Human).await?;
    let reply = connection.call(method, path, body).await;
    connection.close().await;
    match reply? {
        Ok(reply) => show(place, reply.json(), token_file).map(Ok),
        Err(ending) => Ok(Err(ending)),
    }
}

/// Gives the device's name.
fn show(place: &Place, mut given: Value, token_file: Option<&Path>) -> Result<String> {
    let (Some(token), Some(device)) = (given["token"].as_str(), given["agent_id"].as_str()) else {
        bail!("the server's answer holds no token: is this address the server's?");
    };
    if !token.starts_with(private::DEVICE_TOKEN) {
        bail!("the server's answer holds no token of a device");
    }
    let (token, device) = (token.to_owned(), line(device));
    if let Some(file) = token_file {
        let kept = private::write(&token, file);
        kept.with_context(|| format!("{device} has its token: `wakeful link token {device}`"))?;
        given["token"] = Value::Null;
    }
    match (place.json, token_file) {
        (true, _) => print_json(&given),
        (false, Some(file)) => {
            print(&device);
            say(&format!("Its token is in {}.", file.display()));
        }
        (false, None) => {
            say(&format!("The token of {device}, for its token-file:"));
            print_text(&token);
        }
    }
    Ok(device)
}

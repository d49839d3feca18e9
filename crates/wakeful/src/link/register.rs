//! Making a device known to the server, which gives it a token of its own.

use anyhow::Result;
use client::encode;
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::Place,
    connect::{As, connect},
    link::{cli::TokenFile, private},
    output::{line, print, print_json, say},
};

pub async fn add(place: &Place, device: Option<&str>, to: &TokenFile) -> Result<Ending> {
    let body = json!({ "agent_id": device }).to_string().into_bytes();
    ask(place, "POST", "/api/v1/agents", Some(body), to).await
}

pub async fn token(place: &Place, device: &str, renew: bool, to: &TokenFile) -> Result<Ending> {
    let path = format!("/api/v1/agents/{}", encode(device));
    match renew {
        true => ask(place, "POST", &format!("{path}/rotate-token"), None, to).await,
        false => ask(place, "GET", &format!("{path}/export"), None, to).await,
    }
}

async fn ask(
    place: &Place,
    method: &str,
    path: &str,
    body: Option<Vec<u8>>,
    to: &TokenFile,
) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let reply = connection.call(method, path, body).await;
    connection.close().await;
    match reply? {
        Ok(reply) => show(place, reply.json(), to),
        Err(ending) => Ok(ending),
    }
}

fn show(place: &Place, mut given: Value, to: &TokenFile) -> Result<Ending> {
    let token = given["token"].as_str().unwrap_or_default().to_owned();
    if let Some(file) = &to.token_file {
        private::write(&token, file)?;
        given["token"] = Value::Null;
    }
    let device = line(given["agent_id"].as_str().unwrap_or_default());
    match (place.json, &to.token_file) {
        (true, _) => print_json(&given),
        (false, Some(file)) => {
            print(&device);
            say(&format!("Its token is in {}.", file.display()));
        }
        (false, None) => {
            say(&format!("The token of {device}, for its token-file:"));
            print(&token);
        }
    }
    if !place.json {
        say(&format!("Next, on the device: wakeful link pair {device}"));
    }
    Ok(Ending::Done)
}

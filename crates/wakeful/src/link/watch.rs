//! Which devices are online, once or as it changes.

use std::time::Duration;

use anyhow::Result;
use client::{
    Server,
    link::{Backoff, Caller, LinkFault, Presence},
};
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::Place,
    commands::shutdown,
    connect,
    link::ask::{self, explain},
    output::{line, print, print_json, print_json_line, say, table},
};

/// The longest that a server may ask to be left alone, in seconds.
const LONGEST: u64 = 3600;
/// Devices whose presence is remembered, to tell what is new.
const KNOWN: usize = 10_000;

/// Says so until it is stopped, whatever happens to the connection.
pub async fn watch(place: &Place) -> Result<Ending> {
    let server = ask::server(place).await?;
    let stop = shutdown()?;
    tokio::select! {
        () = stop => Ok(Ending::Done),
        fault = follow(place, &server) => match explain(fault)? {
            Ok(()) => Ok(Ending::Done),
            Err(ending) => Ok(ending),
        },
    }
}

/// Ends only when the server refuses us.
async fn follow(place: &Place, server: &Server) -> Result<(), LinkFault> {
    let mut backoff = Backoff::default();
    let mut was_lost = false;
    let mut known = std::collections::BTreeMap::new();
    loop {
        let fault = match Caller::sign_in(server).await {
            Ok(mut caller) => loop {
                if std::mem::take(&mut was_lost) {
                    say("connected again");
                }
                match caller.changed().await {
                    Ok(change) => {
                        backoff.reset();
                        // What was said before a connection was lost is not news.
                        if known.len() >= KNOWN {
                            known.clear();
                        }
                        let before = known.insert(change.agent_id.clone(), change.online);
                        if before != Some(change.online) {
                            tell(place, &change);
                        }
                    }
                    Err(fault) => break fault,
                }
            },
            Err(fault) => fault,
        };
        if !fault.may_pass() {
            return Err(fault);
        }
        let random = engine::keys::random().map_or(u32::MAX / 2, u32::from_be_bytes);
        let told = fault.retry_after_seconds().unwrap_or_default();
        let wait = backoff.next(random) + Duration::from_secs(told.min(LONGEST));
        say(&format!(
            "{}; trying again in {:.1} s",
            line(&fault.to_string()),
            wait.as_secs_f64()
        ));
        was_lost = true;
        tokio::time::sleep(wait).await;
    }
}

fn word(online: bool) -> &'static str {
    match online {
        true => "online",
        false => "offline",
    }
}

fn tell(place: &Place, change: &Presence) {
    let Presence { agent_id, online } = change;
    match place.json {
        true => print_json_line(&json!({ "agent_id": agent_id, "online": online })),
        false => print(&format!("{} {}", line(agent_id), word(*online))),
    }
}

/// All devices, or one of them.
pub async fn status(place: &Place, device: Option<&str>) -> Result<Ending> {
    let connection = connect::connect(place, connect::As::Human).await?;
    let reply = connection.call("GET", "/api/v1/agents", None).await;
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply.json(),
        Err(ending) => return Ok(ending),
    };
    let agents = reply["agents"].as_array().map_or(&[][..], Vec::as_slice);
    let devices: Vec<&Value> = agents
        .iter()
        .filter(|agent| agent["link"].is_object())
        .filter(|agent| device.is_none_or(|device| agent["agent_id"] == device))
        .collect();
    if let (Some(device), true) = (device, devices.is_empty()) {
        say(&format!("wakeful: you have no device {}", line(device)));
        return Ok(Ending::Refused);
    }
    match place.json {
        true => print_json(&json!({ "devices": devices })),
        false => show(&devices),
    }
    match device.is_none() || devices.iter().all(|device| is_online(device)) {
        true => Ok(Ending::Done),
        false => Ok(Ending::Refused),
    }
}

fn is_online(device: &Value) -> bool {
    device["link"]["online"] == true
}

fn show(devices: &[&Value]) {
    let mut rows = vec![["DEVICE", "NOW", "LAST SEEN"].map(str::to_owned).to_vec()];
    for device in devices {
        rows.push(vec![
            line(device["agent_id"].as_str().unwrap_or_default()),
            word(is_online(device)).to_owned(),
            line(device["link"]["last_seen_at"].as_str().unwrap_or("-")),
        ]);
    }
    table(&rows);
}

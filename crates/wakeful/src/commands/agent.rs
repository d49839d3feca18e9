//! Acting as an agent from a shell.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use client::{Reply, encode};
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::{Deliver, Place, Responses},
    connect::{self, As, Connection, connect, explain},
    output::{line, print, print_body, say, table},
};

pub async fn deliver(place: &Place, deliver: Deliver) -> Result<Ending> {
    let details = deliver.details.map(read_details).transpose()?;
    let body = json!({
        "agent_id": deliver.agent,
        "provider": deliver.provider,
        "type": deliver.r#type,
        "headline": deliver.headline,
        "summary": deliver.summary,
        "details": details,
        "callback_webhook": deliver.webhook,
        "timeout_seconds": deliver.timeout,
    });
    let mut log = open_log(place)?;
    let connection = connect(place, As::Agent).await?;
    let headers: Vec<(&str, &str)> = deliver
        .idempotency_key
        .as_deref()
        .map(|key| ("idempotency-key", key))
        .into_iter()
        .collect();
    let bytes = Some(body.to_string().into_bytes());
    let reply = match request(&connection, "POST", "/wake/v1/deliver", &headers, bytes).await? {
        Ok(reply) => reply,
        Err(ending) => {
            connection.close().await;
            return Ok(ending);
        }
    };
    connection.close().await;
    keep(
        &mut log,
        &json!({ "delivered": reply.json(), "delivery": body }),
    )?;
    match place.json {
        true => print_body(&reply.body),
        false => print(reply.json()["delivery_id"].as_str().unwrap_or_default()),
    }
    match (deliver.wait, reply.json()["delivery_id"].as_str()) {
        (Some(wait), Some(id)) => response(place, id, wait).await,
        _ => Ok(Ending::Done),
    }
}

/// One request as an agent must make it (WAKE, "Agent Behaviour Requirements"):
/// on 429 it waits as long as it is told, tries once more, and then says so.
async fn request(
    connection: &Connection,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Vec<u8>>,
) -> Result<std::result::Result<Reply, Ending>> {
    let mut reply = connection
        .request(method, path, headers, body.clone())
        .await?;
    if reply.status == 429 {
        let seconds = reply.retry_after_seconds.unwrap_or(60);
        say(&format!(
            "Too many requests; trying once more in {seconds} s."
        ));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        reply = connection.request(method, path, headers, body).await?;
        if reply.status == 429 {
            say("Still too many: raise one alert with your human, and do not loop.");
        }
    }
    explain(reply)
}

/// Keeps what was delivered and answered, one JSON text a line. Opened before
/// anything is sent, so that nothing is delivered that cannot be kept.
fn open_log(place: &Place) -> Result<File> {
    let file = match std::env::var_os("WAKE_LOG") {
        Some(file) => PathBuf::from(file),
        None => connect::directory(place)?.join("agent.log"),
    };
    let directory = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .and_then(|()| {
            OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(&file)
        })
        .with_context(|| format!("could not open the log {}; set WAKE_LOG", file.display()))
}

fn keep(log: &mut File, line: &Value) -> Result<()> {
    writeln!(log, "{line}").context("could not keep the log")
}

/// A JSON object is one; anything else is text.
fn read_details(text: String) -> Result<Value> {
    let text = match text.as_str() {
        "-" => {
            let mut input = String::new();
            std::io::stdin()
                .read_to_string(&mut input)
                .context("could not read standard input")?;
            input
        }
        _ => text,
    };
    let object = serde_json::from_str(&text).ok().filter(Value::is_object);
    Ok(object.unwrap_or(Value::String(text)))
}

pub async fn response(place: &Place, id: &str, wait: u64) -> Result<Ending> {
    let mut log = open_log(place)?;
    let connection = connect(place, As::Agent).await?;
    let mut left = wait;
    let reply = loop {
        let now = left.min(wake::limits::WAIT_SECONDS);
        let path = format!("/wake/v1/response/{}?wait={now}", encode(id));
        left -= now;
        match request(&connection, "GET", &path, &[], None).await? {
            Ok(reply) if left > 0 && reply.json()["status"] == "pending" => {}
            other => break other,
        }
    };
    connection.close().await;
    match reply {
        Err(ending) => Ok(ending),
        Ok(reply) => {
            let value = reply.json();
            if !value["delivery_id"]
                .as_str()
                .is_some_and(|own| own.eq_ignore_ascii_case(id))
            {
                bail!("the server answered for another delivery than {id}: do not act on it");
            }
            if value["status"] != "pending" {
                keep(&mut log, &json!({ "answered": value }))?;
            }
            match place.json {
                true => print_body(&reply.body),
                false => show_answer(&value),
            }
            Ok(Ending::Done)
        }
    }
}

fn show_answer(value: &Value) {
    print(&line(value["status"].as_str().unwrap_or_default()));
    for (label, field) in [("feedback", "feedback"), ("edited", "edited_content")] {
        match &value[field] {
            Value::Null => {}
            Value::String(text) => print(&format!("{label}: {}", crate::output::lines(text))),
            other => print(&format!("{label}: {}", line(&other.to_string()))),
        }
    }
}

pub async fn responses(place: &Place, responses: Responses) -> Result<Ending> {
    let mut query = Vec::new();
    let limit = responses.limit.map(|limit| limit.to_string());
    for (name, value) in [
        ("agent_id", responses.agent),
        ("status", responses.status),
        ("since", responses.since),
        ("limit", limit),
    ] {
        if let Some(value) = value {
            query.push(format!("{name}={}", encode(&value)));
        }
    }
    let connection = connect(place, As::Agent).await?;
    let path = format!("/wake/v1/responses?{}", query.join("&"));
    let reply = request(&connection, "GET", &path, &[], None).await;
    connection.close().await;
    match reply? {
        Err(ending) => Ok(ending),
        Ok(reply) => {
            let page = reply.json();
            if place.json {
                print_body(&reply.body);
                return Ok(Ending::Done);
            }
            let mut rows = Vec::new();
            for delivery in page["deliveries"].as_array().into_iter().flatten() {
                let cell = |field: &str| line(delivery[field].as_str().unwrap_or("-"));
                rows.push(vec![
                    cell("delivery_id"),
                    cell("status"),
                    cell("responded_at"),
                    cell("feedback"),
                ]);
            }
            table(&rows);
            if let Some(next) = page["next_since"].as_str() {
                crate::output::say(&format!("{} in all; next: --since {next}", page["total"]));
            }
            Ok(Ending::Done)
        }
    }
}

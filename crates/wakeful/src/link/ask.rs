//! Asking a device for something.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use client::{
    Server,
    link::{Caller, LinkFault},
};
use serde_json::{Map, Value, json};
use wakelink::{Answer, Command, command::Code};

use crate::{
    Ending,
    cli::Place,
    connect::{As, Connection, connect, directory},
    link::{cli::How, private},
    output::{content, line, print, print_json, say},
};

/// A command by its name, or as a JSON object.
pub fn read_command(text: &str) -> Result<Map<String, Value>> {
    match text {
        "ping" => Ok(Command::Ping.fields()),
        "info" => Ok(Command::Info.fields()),
        text if text.trim_start().starts_with('{') => {
            let fields: Map<String, Value> =
                serde_json::from_str(text).context("the command is not a JSON object")?;
            if fields.contains_key("id") {
                bail!("leave `id` out: it is chosen here, so that the answer is known by it");
            }
            Ok(fields)
        }
        _ => bail!("write ping, info or a JSON object; to wake there is `wakeful link wake`"),
    }
}

/// The running server, with a person's token.
pub async fn server(place: &Place) -> Result<Server> {
    match connect(place, As::Human).await? {
        Connection::Server(server) => {
            // The relay would say that a viewer's session has ended, which never began.
            let me = server.request("GET", "/api/v1/me", &[], None).await?;
            match me.json()["role"] == "viewer" {
                true => {
                    bail!("a viewer reads and has no devices: ask an owner for the role reviewer")
                }
                false => Ok(server),
            }
        }
        here @ Connection::Here { .. } => {
            here.close().await;
            bail!(
                "no server runs on {}: name one with --server URL",
                directory(place)?.display()
            )
        }
    }
}

/// A refusal becomes words and an exit code; a failure becomes an error.
pub fn explain<T>(result: Result<T, LinkFault>) -> Result<Result<T, Ending>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(fault) if fault.is_refusal() => {
            say(&format!("wakeful: {}", line(&fault.to_string())));
            Ok(Err(Ending::Refused))
        }
        // Part of it can be the server's words.
        Err(fault) => bail!("{}", line(&fault.to_string())),
    }
}

pub async fn ask(
    place: &Place,
    device: &str,
    fields: Map<String, Value>,
    how: &How,
) -> Result<Ending> {
    let file = private::secret_file(device, how.secret_file.as_deref())?;
    let Some(secret) = private::read_secret(device, &file)? else {
        say(&format!(
            "wakeful: {} is not paired here: run `wakeful link pair {0} --accept` with its code",
            line(device)
        ));
        return Ok(Ending::Refused);
    };
    let server = server(place).await?;
    let asking = async {
        let caller = Caller::sign_in(&server).await?;
        let mut caller = caller.patient(Duration::from_secs(how.wait));
        let answer = async {
            let mut conversation = caller.meet(device, &secret).await?;
            caller.call(&mut conversation, fields).await
        };
        let answer = answer.await;
        caller.close().await;
        answer
    };
    match explain(asking.await)? {
        Ok(answer) => show(place, &answer),
        Err(ending) => Ok(ending),
    }
}

fn show(place: &Place, answer: &Answer) -> Result<Ending> {
    if place.json {
        print_json(&json!(answer));
    }
    let error = answer.error.as_deref().unwrap_or_default();
    match (answer.ok, answer.code.as_deref()) {
        (true, _) => {
            if !place.json {
                print(&result(answer)?);
            }
            Ok(Ending::Done)
        }
        (false, Some(code)) if code == Code::Failed.as_str() => bail!("{}", line(error)),
        (false, _) => {
            say(&format!("wakeful: {}", line(error)));
            Ok(Ending::Refused)
        }
    }
}

fn result(answer: &Answer) -> Result<String> {
    match &answer.result {
        Some(value) if value["sent"].is_array() => Ok(woken(value)),
        Some(value) => Ok(content(serde_json::value::to_raw_value(value)?.as_ref())),
        None => Ok("ok".to_owned()),
    }
}

/// What became of waking, for a person.
fn woken(result: &Value) -> String {
    let list = |name: &str| {
        let items = result[name].as_array().map_or(&[][..], Vec::as_slice);
        items
            .iter()
            .map(|item| line(item.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let text = |name: &str| line(result[name].as_str().unwrap_or_default());
    let mut said = format!(
        "A packet for {} ({}) went to {}.",
        text("name"),
        text("mac"),
        list("sent").join(", ")
    );
    for fault in list("not_sent") {
        said.push_str(&format!("\nNone went to {fault}."));
    }
    said
}

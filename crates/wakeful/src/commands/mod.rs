//! Each command in a file by its noun.

mod admin;
mod agent;
mod backup;
mod demo;
mod files;
mod human;
mod key;
mod preload;
mod serve;
mod trail;

pub use serve::shutdown;

use anyhow::{Result, anyhow};

use crate::{
    Ending,
    cli::{Cli, Command, Place},
    connect::{self, As},
    link, manual, output,
};

pub async fn run(cli: Cli) -> Result<Ending> {
    let Cli { place, command } = cli;
    match command {
        Command::Demo(demo) => demo::demo(demo).await,
        Command::Serve(serve) => serve::serve(&place, serve).await,
        Command::User(user) => admin::user(&place, user).await,
        Command::Key(key) => admin::key(&place, key).await,
        Command::Webhook(webhook) => admin::webhook(&place, webhook).await,
        Command::Rate(rate) => admin::rate(&place, rate).await,
        Command::Retention(retention) => admin::retention(&place, retention).await,
        Command::Deliver(deliver) => agent::deliver(&place, deliver).await,
        Command::Response { id, wait, assume } => {
            agent::response(&place, &id, wait, assume.as_deref()).await
        }
        Command::Responses(responses) => agent::responses(&place, responses).await,
        Command::Inbox(inbox) => human::inbox(&place, inbox).await,
        Command::Respond(respond) => human::respond(&place, respond).await,
        Command::Undo { id } => human::undo(&place, &id).await,
        Command::Link(command) => link::link(&place, command).await,
        Command::Trail(command) => trail::trail(&place, command).await,
        Command::Prompt {
            agent,
            address,
            framework,
        } => prompt(&place, &agent, address, framework.as_deref()).await,
        Command::Backup { file, with_keys } => backup::backup(&place, &file, with_keys).await,
        Command::Restore { file } => backup::restore(&place, &file).await,
        Command::Completions { shell } => {
            output::print(manual::completions(shell).trim_end());
            Ok(Ending::Done)
        }
        Command::Man => {
            output::print(manual::page()?.trim_end());
            Ok(Ending::Done)
        }
        Command::Preload(preload) => preload::preload(&place, preload).await,
    }
}

async fn prompt(
    place: &Place,
    agent: &str,
    address: Option<String>,
    framework: Option<&str>,
) -> Result<Ending> {
    let framework = framework.and_then(wake::Framework::parse);
    let address = match address {
        Some(given) => Some(wake::base(&given).map_err(|fault| anyhow!("{given} is {fault}"))?),
        None => None,
    };
    // Asked also when the address is given: the server knows whether the agent exists.
    let connection = connect::connect(place, As::Operator).await?;
    let mut path = format!("/api/v1/agents/{}/prompt", client::encode(agent));
    if let Some(framework) = framework {
        path.push_str(&format!("?for={}", framework.as_str()));
    }
    let reply = connection.text(&path).await;
    if let (None, Ok(Ok(_))) = (&address, &reply) {
        connection.warn_of_address();
    }
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    let text = match address {
        Some(address) => {
            let prompt = wake::prompt::Prompt {
                address: &address,
                agent_id: agent,
            };
            match framework {
                Some(framework) => framework.guide(&prompt),
                None => prompt.text(),
            }
        }
        None => String::from_utf8_lossy(&reply.body).into_owned(),
    };
    match place.json {
        true => output::print_json(&serde_json::json!({ "prompt": text })),
        false => output::print(output::lines(&text).trim_end()),
    }
    Ok(Ending::Done)
}

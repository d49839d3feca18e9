//! How a command reaches its server: over the network, through the socket of
//! the one that runs here, or, when none runs, by opening the data directory
//! itself. All three answer the same requests.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use axum::body::Body;
use client::{Reply, Server};
use engine::Engine;
use http_body_util::BodyExt as _;
use serde_json::value::RawValue;
use server::{
    App, Settings,
    transport::{Door, Listener},
};

use crate::{Ending, cli::Place, house, output};

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// Administration: an owner's token, or the operator on this machine.
    Operator,
    /// The same, and it may be the first thing ever done in a data directory.
    Founder,
    /// A person, by WAKEFUL_TOKEN.
    Human,
    /// An agent, by WAKE_API_KEY.
    Agent,
}

#[derive(Debug)]
pub enum Connection {
    Server(Server),
    /// No server runs: this process is it, for one command.
    Here {
        door: Box<Door>,
        engine: Engine,
        token: Option<String>,
        _lock: house::Lock,
    },
}

pub fn directory(place: &Place) -> Result<PathBuf> {
    match &place.data {
        Some(data) => named_directory(data),
        None => house::default_directory(),
    }
}

/// The data directory by its path or by the name of the store in it.
pub fn named_directory(data: &Path) -> Result<PathBuf> {
    let Some(name) = data.to_str() else {
        return Ok(data.to_owned());
    };
    let location: store::Location = name.parse()?;
    Ok(location.directory().to_owned())
}

/// The data directory, for a command that works on it and asks no server.
pub fn own_directory(place: &Place, command: &str) -> Result<PathBuf> {
    if place.server.is_some() {
        bail!("{command} works on the data itself, on the server's machine: use --data DIR");
    }
    let directory = directory(place)?;
    match has_data(&directory)? {
        true => Ok(directory),
        false => bail!("there is no data in {}", directory.display()),
    }
}

/// Whether there is a database in a directory. One that cannot be looked into,
/// or that has lost it, is said to be so.
fn has_data(directory: &Path) -> Result<bool> {
    let location = store::Location::from(directory);
    let found = location
        .exists()
        .with_context(|| format!("could not look into {}", directory.display()))?;
    if !found && directory.join(engine::keys::DIRECTORY).exists() {
        bail!(
            "{} is missing, and its keys are here: put it back, or bring a backup with \
             `wakeful restore`",
            location.database().display()
        );
    }
    Ok(found)
}

pub async fn connect(place: &Place, who: As) -> Result<Connection> {
    let token = match who {
        As::Agent => Some(variable("WAKE_API_KEY", "the agent's key")?),
        As::Human => Some(variable("WAKEFUL_TOKEN", "your token")?),
        As::Operator | As::Founder if place.server.is_some() => {
            Some(variable("WAKEFUL_TOKEN", "an owner's token")?)
        }
        As::Operator | As::Founder => None,
    };
    if let Some(address) = &place.server {
        let ca = place
            .server_ca
            .as_ref()
            .map(std::fs::read)
            .transpose()
            .context("could not read --server-ca")?;
        return Ok(Connection::Server(Server::at(
            address,
            token,
            ca.as_deref(),
        )?));
    }
    let directory = directory(place)?;
    let socket = directory.join(house::SOCKET);
    if tokio::net::UnixStream::connect(&socket).await.is_ok() {
        return Ok(Connection::Server(Server::on_socket(&socket, token)?));
    }
    if who != As::Founder && !has_data(&directory)? {
        bail!(
            "there is no data in {}; `wakeful serve` or `wakeful user create` makes it",
            directory.display()
        );
    }
    let lock = house::lock(&directory)?;
    let engine = house::start(&directory, place.body_key.as_deref()).await?;
    let app = App::new(engine.clone(), Settings::default());
    server::link::traffic::resume(&app).await?;
    let door = Box::new(Door::new(app, Listener::Local));
    Ok(Connection::Here {
        door,
        engine,
        token,
        _lock: lock,
    })
}

fn variable(name: &str, what: &str) -> Result<String> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        _ => bail!("set {name} to {what}"),
    }
}

impl Connection {
    /// The key or token that requests carry.
    pub fn token(&self) -> Option<&str> {
        match self {
            Connection::Server(server) => server.token(),
            Connection::Here { token, .. } => token.as_deref(),
        }
    }

    /// Says that an address is a guess if no server runs that knows its own.
    pub fn warn_of_address(&self) {
        if matches!(self, Connection::Here { .. }) {
            let usual = Settings::default().address;
            output::say(&format!(
                "No server runs here, so {usual} stands for its address: replace it if it is another."
            ));
        }
    }

    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Reply> {
        let marked: Vec<(&str, &str)> = headers
            .iter()
            .copied()
            .chain([("wakeful-channel", "terminal")])
            .collect();
        match self {
            Connection::Server(server) => Ok(server.request(method, path, &marked, body).await?),
            Connection::Here { door, token, .. } => {
                let mut request = axum::http::Request::builder().method(method).uri(path);
                for (name, value) in marked {
                    request = request.header(name, value);
                }
                if let Some(token) = token {
                    request = request.header("authorization", format!("Bearer {token}"));
                }
                if body.is_some() {
                    request = request.header("content-type", "application/json");
                }
                let request = request.body(Body::from(body.unwrap_or_default()))?;
                let response = door.as_ref().clone().answer(request).await;
                let status = response.status().as_u16();
                let retry_after = response.headers().get("retry-after");
                let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
                let body = response.into_body().collect().await?.to_bytes().to_vec();
                Ok(Reply {
                    status,
                    retry_after_seconds: retry_after,
                    body,
                })
            }
        }
    }

    /// One request for a text; a refusal is explained on standard error.
    pub async fn text(&self, path: &str) -> Result<std::result::Result<Reply, Ending>> {
        explain_to_person(self.request("GET", path, &[], None).await?)
    }

    /// One request to the API; a refusal is explained on standard error.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<std::result::Result<Reply, Ending>> {
        let reply = self.request(method, path, &[], body).await?;
        if reply.is_success() && !is_of_the_api(&reply) {
            bail!(
                "the answer is not from a Wakeful server, so nothing may have been done. Check the \
                 address, and whether a proxy or the network's sign-in page answers instead"
            );
        }
        explain_to_person(reply)
    }

    /// Ends an engine of this process in an orderly way.
    pub async fn close(self) {
        if let Connection::Here { engine, .. } = self {
            engine.stop().await;
        }
    }
}

/// Whether an answer can be the API's: JSON, or an empty body whose status is not
/// 200. The sign-in page of a network is neither.
fn is_of_the_api(reply: &Reply) -> bool {
    match reply.body.trim_ascii() {
        b"" => reply.status != 200,
        body => serde_json::from_slice::<&RawValue>(body).is_ok(),
    }
}

/// The same to a person, whose token is in WAKEFUL_TOKEN: the server cannot know that
/// it is no agent whose key stopped working.
fn explain_to_person(reply: Reply) -> Result<std::result::Result<Reply, Ending>> {
    if reply.status == 401 {
        output::say(
            "wakeful: the server does not accept WAKEFUL_TOKEN: it is not one of its tokens, or \
             it was replaced or ended. An owner makes a new one with `wakeful user token NAME`, \
             and whoever has a password makes their own on the page of their account (/you).",
        );
        return Ok(Err(Ending::Refused));
    }
    explain(reply)
}

/// A refusal becomes words and an exit code; a failure becomes an error.
pub fn explain(reply: Reply) -> Result<std::result::Result<Reply, Ending>> {
    if reply.is_success() {
        return Ok(Ok(reply));
    }
    let refused = reply.problem();
    let detail = refused.detail.as_deref();
    let detail = output::line(detail.unwrap_or("the server gave no reason"));
    if reply.status >= 500 {
        bail!("{detail} ({})", reply.status);
    }
    output::say(&format!("wakeful: {detail}"));
    if let Some(by) = &refused.answered_by {
        let text = |text: &Option<String>| output::line(text.as_deref().unwrap_or_default());
        output::say(&format!(
            "  {}: {}, final since {}",
            output::line(by),
            text(&refused.status_given),
            text(&refused.responded_at)
        ));
        if let Some(feedback) = &refused.feedback {
            output::say(&format!("  feedback: {}", output::line(feedback)));
        }
        if let Some(edited) = &refused.edited_content {
            output::say(&format!("  edited: {}", output::line(edited.get())));
        }
    }
    if let Some(seconds) = reply.retry_after_seconds {
        output::say(&format!("  try again in {seconds} s"));
    }
    Ok(Err(Ending::Refused))
}

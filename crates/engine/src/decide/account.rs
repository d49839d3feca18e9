//! Administration, signing in, secrets, and what is recorded about those who ask.

use account::{
    Actor,
    event::{AccessDenied, AccessFailed, RelaysCounted},
    secret::SecretHash,
};
use store::Needs;
use trail::{Micros, Stream};

use crate::{
    command::{Account, Reply},
    core::Core,
    decide::need_stream,
    refusal::Refusal,
    stage::Stage,
};

pub fn needs(core: &Core, command: &Account, needs: &mut Needs) {
    if let Account::Deny { actor, .. } = command {
        need_stream(core, &stream_of(actor), needs);
    }
}

pub fn decide(stage: &mut Stage<'_>, command: Account) -> Result<Reply, Refusal> {
    match command {
        Account::Administer { actor, command } => administer(stage, &actor, &command),
        Account::Enter { command } => enter(stage, &command),
        Account::EnterByPassword {
            name,
            read_at,
            command,
        } => enter_by_password(stage, &name, read_at, &command),
        Account::SetPassword {
            name,
            keep,
            sealed,
            revoke,
        } => set_password(stage, name, keep, sealed, revoke),
        Account::KeepTries { sealed } => keep_tries(stage, sealed),
        Account::SetSecret {
            actor,
            agent_id,
            sealed,
        } => set_secret(stage, &actor, agent_id, sealed),
        Account::SetDeviceToken {
            command,
            agent_id,
            sealed,
        } => set_device_token(stage, &command, &agent_id, sealed),
        Account::RemoveAgent {
            actor,
            agent_id,
            as_owner,
        } => remove_agent(stage, &actor, agent_id, as_owner),
        Account::RecordRelays(counted) => record_relays(stage, counted),
        Account::RecordFailures { source, count } => record_failures(stage, source, count),
        Account::Deny { actor, what, code } => deny(stage, &actor, what, code),
    }
}

fn administer(
    stage: &mut Stage<'_>,
    actor: &Actor,
    command: &account::Command,
) -> Result<Reply, Refusal> {
    may_administer(stage, actor)?;
    record(stage, Some(actor), command)
}

/// Someone signs in or out, in their own name.
fn enter(stage: &mut Stage<'_>, command: &account::Command) -> Result<Reply, Refusal> {
    record(stage, None, command)
}

fn enter_by_password(
    stage: &mut Stage<'_>,
    name: &str,
    read_at: Micros,
    command: &account::Command,
) -> Result<Reply, Refusal> {
    let secret = password_name(name);
    let mut staged = stage.kept.secrets.iter();
    let is_replaced = staged.any(|(changed, _)| *changed == secret)
        || stage.shared.replaced.is_since(&secret, read_at);
    match is_replaced {
        true => Err(Refusal::PersonGone),
        false => enter(stage, command),
    }
}

/// Records what a command leads to. Without an actor, the person did it on whose
/// stream it stands.
fn record(
    stage: &mut Stage<'_>,
    actor: Option<&Actor>,
    command: &account::Command,
) -> Result<Reply, Refusal> {
    for event in account::decide(&stage.core.accounts, command, stage.now)? {
        let stream = event.stream();
        let own = match &stream {
            Stream::Account(name) => Actor::person(name),
            Stream::Admin | Stream::Agent(_) => Actor::System,
        };
        stage.record(&stream, actor.unwrap_or(&own), event, Vec::new())?;
    }
    Ok(Reply::Done)
}

fn set_password(
    stage: &mut Stage<'_>,
    name: String,
    keep: Option<String>,
    sealed: Vec<u8>,
    revoke: Option<(String, SecretHash)>,
) -> Result<Reply, Refusal> {
    let secret = password_name(&name);
    let record = account::Command::RecordPassword {
        name: name.clone(),
        keep,
    };
    enter(stage, &record)?;
    if let Some((token_id, token_hash)) = revoke {
        let command = account::Command::IssueToken {
            name,
            token_id,
            token_hash,
        };
        enter(stage, &command)?;
    }
    stage.kept.secrets.push((secret, sealed));
    Ok(Reply::Done)
}

/// Where the counts of wrong passwords are kept: one row, so that it stays bounded.
pub const SIGN_IN_TRIES: &str = "sign-in/tries";

fn keep_tries(stage: &mut Stage<'_>, sealed: Vec<u8>) -> Result<Reply, Refusal> {
    let name = SIGN_IN_TRIES.to_owned();
    stage.kept.secrets.push((name, sealed));
    Ok(Reply::Done)
}

const PASSWORD: &str = "password/";

/// Where the hash of someone's password is kept.
pub fn password_name(name: &str) -> String {
    format!("{PASSWORD}{name}")
}

/// Whether a password is kept under this name.
pub fn is_password(name: &str) -> bool {
    name.starts_with(PASSWORD)
}

pub fn may_administer(stage: &Stage<'_>, actor: &Actor) -> Result<(), Refusal> {
    match actor.may_administer(&stage.core.accounts) {
        true => Ok(()),
        false => Err(Refusal::PersonGone),
    }
}

fn set_secret(
    stage: &mut Stage<'_>,
    actor: &Actor,
    agent_id: String,
    sealed: Vec<u8>,
) -> Result<Reply, Refusal> {
    let name = secret_name(&agent_id);
    administer(stage, actor, &account::Command::RecordSecret { agent_id })?;
    stage.kept.secrets.push((name, sealed));
    Ok(Reply::Done)
}

const WEBHOOK_SECRET: &str = "webhook/";

/// Where an agent's webhook secret is kept.
pub fn secret_name(agent_id: &str) -> String {
    format!("{WEBHOOK_SECRET}{agent_id}")
}

/// Whose webhook secret is kept under this name.
pub fn agent_of_secret(name: &str) -> Option<&str> {
    name.strip_prefix(WEBHOOK_SECRET)
}

fn set_device_token(
    stage: &mut Stage<'_>,
    command: &account::Command,
    agent_id: &str,
    sealed: Vec<u8>,
) -> Result<Reply, Refusal> {
    enter(stage, command)?;
    stage.kept.secrets.push((device_name(agent_id), sealed));
    Ok(Reply::Done)
}

fn remove_agent(
    stage: &mut Stage<'_>,
    actor: &Actor,
    agent_id: String,
    as_owner: bool,
) -> Result<Reply, Refusal> {
    let name = device_name(&agent_id);
    let by = as_owner.then(|| actor.name().into_owned());
    let command = account::Command::RemoveAgent { agent_id, by };
    match as_owner {
        true => enter(stage, &command)?,
        false => administer(stage, actor, &command)?,
    };
    // An empty value marks the secret as deleted.
    stage.kept.secrets.push((name, Vec::new()));
    Ok(Reply::Done)
}

/// Where a device's token is kept.
pub fn device_name(agent_id: &str) -> String {
    format!("device/{agent_id}")
}

fn record_relays(stage: &mut Stage<'_>, counted: RelaysCounted) -> Result<Reply, Refusal> {
    let event = account::Event::from(counted);
    stage.record(&event.stream(), &Actor::System, event, Vec::new())?;
    Ok(Reply::Done)
}

fn record_failures(stage: &mut Stage<'_>, source: String, count: u64) -> Result<Reply, Refusal> {
    let event = account::Event::from(AccessFailed { count, source });
    stage.record(&Stream::Admin, &Actor::System, event, Vec::new())?;
    Ok(Reply::Done)
}

/// Where a denial is recorded: on the stream of whoever was denied.
fn stream_of(actor: &Actor) -> Stream {
    match actor {
        Actor::Person(name) => Stream::account(name),
        Actor::Agent(agent_id) => Stream::agent(agent_id),
        Actor::System | Actor::Operator => Stream::Admin,
    }
}

fn deny(
    stage: &mut Stage<'_>,
    actor: &Actor,
    what: String,
    code: String,
) -> Result<Reply, Refusal> {
    let stream = stream_of(actor);
    let event = AccessDenied {
        code,
        stream: stream.to_string(),
        what,
        who: actor.name().into_owned(),
    };
    stage.record(&stream, actor, account::Event::from(event), Vec::new())?;
    Ok(Reply::Done)
}

//! Administration, denials, and what retention erases.

use std::collections::BTreeMap;

use account::event::{AccessDenied, AccessFailed, RelaysCounted};
use account::{Role, secret::SecretHash};
use inbox::event::ContentErased;
use store::{DeliveryRow, Erased};
use uuid::Uuid;

use crate::{command::Reply, project, refusal::Refusal, stage::Stage};

pub fn administer(
    stage: &mut Stage<'_>,
    actor: &str,
    command: &account::Command,
) -> Result<Reply, Refusal> {
    may_administer(stage, actor)?;
    record(stage, Some(actor), command)
}

/// Someone comes in or goes out, in their own name.
pub fn enter(stage: &mut Stage<'_>, command: &account::Command) -> Result<Reply, Refusal> {
    record(stage, None, command)
}

/// Without an actor, whose stream it is did it.
fn record(
    stage: &mut Stage<'_>,
    actor: Option<&str>,
    command: &account::Command,
) -> Result<Reply, Refusal> {
    for event in account::decide(&stage.core.accounts, command, stage.now)? {
        let stream = event.stream();
        let actor = actor
            .or(stream.strip_prefix("account/"))
            .unwrap_or("system");
        stage.record(&stream, actor, event, Vec::new())?;
    }
    Ok(Reply::Done)
}

pub fn set_password(
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
    stage.changes.secrets.push((secret, sealed));
    Ok(Reply::Done)
}

/// Where the counts of wrong passwords are kept: one row, so that it stays bounded.
pub const SIGN_IN_TRIES: &str = "sign-in/tries";

pub fn keep_tries(stage: &mut Stage<'_>, sealed: Vec<u8>) -> Result<Reply, Refusal> {
    let name = SIGN_IN_TRIES.to_owned();
    stage.changes.secrets.push((name, sealed));
    Ok(Reply::Done)
}

/// Where the hash of someone's password is kept.
pub fn password_name(name: &str) -> String {
    format!("password/{name}")
}

/// The operator, the server itself, or an owner who still is one.
pub fn may_administer(stage: &Stage<'_>, actor: &str) -> Result<(), Refusal> {
    let is_ours = matches!(actor, "operator" | "system");
    match is_ours || stage.core.accounts.may_act_as(actor, Role::Owner) {
        true => Ok(()),
        false => Err(Refusal::PersonGone),
    }
}

pub fn set_secret(
    stage: &mut Stage<'_>,
    actor: &str,
    agent_id: String,
    sealed: Vec<u8>,
) -> Result<Reply, Refusal> {
    let name = secret_name(&agent_id);
    administer(stage, actor, &account::Command::RecordSecret { agent_id })?;
    stage.changes.secrets.push((name, sealed));
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

pub fn set_device_token(
    stage: &mut Stage<'_>,
    command: &account::Command,
    agent_id: &str,
    sealed: Vec<u8>,
) -> Result<Reply, Refusal> {
    enter(stage, command)?;
    stage.changes.secrets.push((device_name(agent_id), sealed));
    Ok(Reply::Done)
}

pub fn remove_agent(
    stage: &mut Stage<'_>,
    actor: String,
    agent_id: String,
    as_owner: bool,
) -> Result<Reply, Refusal> {
    let name = device_name(&agent_id);
    let by = as_owner.then(|| actor.clone());
    let command = account::Command::RemoveAgent { agent_id, by };
    match as_owner {
        true => enter(stage, &command)?,
        false => administer(stage, &actor, &command)?,
    };
    // Nothing is what is left of it.
    stage.changes.secrets.push((name, Vec::new()));
    Ok(Reply::Done)
}

/// Where a device's token is kept.
pub fn device_name(agent_id: &str) -> String {
    format!("device/{agent_id}")
}

pub fn record_relays(stage: &mut Stage<'_>, counted: RelaysCounted) -> Result<Reply, Refusal> {
    let event = account::Event::from(counted);
    stage.record(&event.stream(), "system", event, Vec::new())?;
    Ok(Reply::Done)
}

pub fn record_failures(
    stage: &mut Stage<'_>,
    source: String,
    count: u64,
) -> Result<Reply, Refusal> {
    let event = account::Event::from(AccessFailed { count, source });
    stage.record(account::event::ADMIN, "system", event, Vec::new())?;
    Ok(Reply::Done)
}

pub fn deny(
    stage: &mut Stage<'_>,
    who: String,
    stream: String,
    what: String,
    code: String,
) -> Result<Reply, Refusal> {
    let event = AccessDenied {
        code,
        stream: stream.clone(),
        what,
        who: who.clone(),
    };
    stage.record(&stream, &who, account::Event::from(event), Vec::new())?;
    Ok(Reply::Done)
}

/// Whether nobody waits for an answer any more: there is one, or it timed out and
/// none is held.
fn is_over(row: &DeliveryRow) -> bool {
    row.answered_by.is_some() || (row.timed_out && row.hold.is_none())
}

/// Whether an owner may erase the content, and something is left to erase.
pub fn may_erase_by_hand(row: &DeliveryRow) -> bool {
    is_over(row) && row.erased != Erased::All
}

/// Whether a retention rule may: also an update that nobody answered.
fn may_erase_by_rule(row: &DeliveryRow) -> bool {
    let is_update = project::kind(row.kind) == wake::Kind::Update;
    let is_left = is_update && row.hold.is_none() && row.erased != Erased::All;
    is_left || may_erase_by_hand(row)
}

/// Erases what a retention rule names. Skips what still waits for an answer.
pub fn erase(
    stage: &mut Stage<'_>,
    delivery_ids: &[Uuid],
    retention_days: u32,
) -> Result<Reply, Refusal> {
    let mut by_stream: BTreeMap<u64, Vec<Uuid>> = BTreeMap::new();
    for row in delivery_ids
        .iter()
        .filter_map(|id| stage.views.delivery(*id))
    {
        let ids = by_stream.entry(row.stream).or_default();
        if may_erase_by_rule(row) && !ids.contains(&row.id) {
            ids.push(row.id);
        }
    }
    by_stream.retain(|_, ids| !ids.is_empty());
    for (stream, delivery_ids) in by_stream {
        let stream = stage.stream_of(stream);
        let event = ContentErased {
            by: None,
            delivery_ids,
            retention_days,
        };
        stage.record(&stream, "system", inbox::Event::from(event), Vec::new())?;
    }
    Ok(Reply::Done)
}

/// Erases one delivery because an owner asks for it. Does nothing if its content is
/// erased already.
pub fn erase_now(
    stage: &mut Stage<'_>,
    actor: String,
    delivery_id: Uuid,
) -> Result<Reply, Refusal> {
    may_administer(stage, &actor)?;
    let row = stage.views.delivery(delivery_id).ok_or(Refusal::NotFound)?;
    if !is_over(row) {
        return Err(inbox::Rejection::StillOpen.into());
    }
    if row.erased == Erased::All {
        return Ok(Reply::Done);
    }
    let stream = stage.stream_of(row.stream);
    let event = ContentErased {
        by: Some(actor.clone()),
        delivery_ids: vec![delivery_id],
        retention_days: 0,
    };
    stage.record(&stream, &actor, inbox::Event::from(event), Vec::new())?;
    Ok(Reply::Done)
}

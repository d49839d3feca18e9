//! The switchboard: each command goes to the room that knows it.

mod answer;
mod callback;
mod deliver;
mod rest;

pub use callback::{DELIVERED, GAVE_UP, OWED, owed as owed_callback};
pub use rest::{
    SIGN_IN_TRIES, agent_of_secret, device_name, may_erase_by_hand, password_name, secret_name,
};

use store::Needs;

use crate::{
    command::{Command, Reply},
    core::Core,
    refusal::Refusal,
    stage::{Stage, Unsealed},
};

impl From<Unsealed> for Refusal {
    fn from(_: Unsealed) -> Refusal {
        Refusal::Unavailable
    }
}

/// The rows that a command needs, unless they are in memory already.
pub fn needs(core: &Core, command: &Command, needs: &mut Needs) {
    match command {
        Command::By(_, command) => self::needs(core, command, needs),
        Command::Deliver(deliver) => deliver::needs(core, deliver, needs),
        Command::Respond { delivery_id, .. }
        | Command::Undo { delivery_id, .. }
        | Command::Snooze { delivery_id, .. }
        | Command::EraseNow { delivery_id, .. }
        | Command::Expire { delivery_id } => needs.deliveries.push(*delivery_id),
        Command::See { name, delivery_id } => {
            needs.deliveries.push(*delivery_id);
            needs.seen.push((name.clone(), *delivery_id));
        }
        Command::RecordAttempt(attempt) => {
            needs.callbacks.push(attempt.callback);
            needs.deliveries.push(attempt.delivery_id);
        }
        Command::ReplayCallback {
            callback,
            delivery_id,
            ..
        } => {
            needs.callbacks.push(*callback);
            needs.deliveries.push(*delivery_id);
        }
        Command::Erase { delivery_ids, .. } => needs.deliveries.extend(delivery_ids),
        Command::Deny { stream, .. } => need_stream(core, stream.clone(), needs),
        Command::Administer { .. }
        | Command::Enter { .. }
        | Command::SetPassword { .. }
        | Command::KeepTries { .. }
        | Command::SetSecret { .. }
        | Command::SetDeviceToken { .. }
        | Command::RemoveAgent { .. }
        | Command::RecordRelays(_)
        | Command::RecordFailures { .. } => {}
    }
}

pub fn need_stream(core: &Core, name: String, needs: &mut Needs) {
    if !core.streams.contains_key(&name) && !needs.streams.contains(&name) {
        needs.streams.push(name);
    }
}

pub fn decide(stage: &mut Stage<'_>, command: Command) -> Result<Reply, Refusal> {
    match command {
        Command::By(presented, command) => {
            let user = presented.user(&stage.core.accounts, stage.now);
            user.ok_or(Refusal::PersonGone)?;
            decide(stage, *command)
        }
        Command::Deliver(command) => deliver::deliver(stage, command),
        Command::Respond {
            person,
            delivery_id,
            request,
        } => answer::respond(stage, &person, delivery_id, request),
        Command::Undo {
            person,
            delivery_id,
        } => answer::undo(stage, &person, delivery_id),
        Command::See { name, delivery_id } => answer::see(stage, name, delivery_id),
        Command::Snooze {
            name,
            delivery_id,
            until,
        } => answer::snooze(stage, name, delivery_id, until),
        Command::Expire { delivery_id } => answer::expire(stage, delivery_id),
        Command::RecordAttempt(attempt) => callback::record(stage, &attempt),
        Command::ReplayCallback {
            actor,
            callback,
            delivery_id,
        } => callback::replay(stage, &actor, callback, delivery_id),
        Command::Administer { actor, command } => rest::administer(stage, &actor, &command),
        Command::Enter { command } => rest::enter(stage, &command),
        Command::SetPassword {
            name,
            keep,
            sealed,
            revoke,
        } => rest::set_password(stage, name, keep, sealed, revoke),
        Command::KeepTries { sealed } => rest::keep_tries(stage, sealed),
        Command::SetSecret {
            actor,
            agent_id,
            sealed,
        } => rest::set_secret(stage, &actor, agent_id, sealed),
        Command::SetDeviceToken {
            command,
            agent_id,
            sealed,
        } => rest::set_device_token(stage, &command, &agent_id, sealed),
        Command::RemoveAgent {
            actor,
            agent_id,
            as_owner,
        } => rest::remove_agent(stage, actor, agent_id, as_owner),
        Command::RecordRelays(counted) => rest::record_relays(stage, counted),
        Command::RecordFailures { source, count } => rest::record_failures(stage, source, count),
        Command::Deny {
            actor,
            stream,
            what,
            code,
        } => rest::deny(stage, actor, stream, what, code),
        Command::EraseNow { actor, delivery_id } => rest::erase_now(stage, actor, delivery_id),
        Command::Erase {
            delivery_ids,
            retention_days,
        } => rest::erase(stage, &delivery_ids, retention_days),
    }
}

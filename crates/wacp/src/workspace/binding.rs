//! An agent is bound when it first reads its mail: the one of a new workspace,
//! and the one that takes another's place (WACP §6.3, §6.9).
//!
//! Until it comes the workspace is unbound, no longer than it may be idle.
//! Envelopes do not wait for that: the first one begins the work, and the work
//! fails if nobody comes. A suspended workspace expects nobody, since its agent
//! may do nothing in it; the time begins anew when it resumes.

use super::{
    Workspace, deadline, end, is_long,
    lifecycle::{Reason, State, Trigger},
    pause,
};
use crate::{
    command::Principal,
    event::{Event, MigrationCompleted, MigrationFailed},
    id::WorkspaceId,
    rejection::Refusal,
    role::{Text, delegation::runtime_only},
    signal::{self, SignalType},
    stage::{Decision, Stage},
    state::Run,
};

/// The agent has come. Once more changes nothing.
pub fn bind(stage: &mut Stage<'_>, principal: Principal, id: WorkspaceId) -> Decision {
    runtime_only(stage, principal)?;
    let open = stage.before().living(id)?;
    match open.state {
        _ if open.unbound_since.is_none() => {}
        State::Suspended => return Err(Refusal::InvalidState),
        State::Migrating => replace(stage, id, open),
        _ => {
            // Its own word, which reading the mail stands for.
            stage.actor = stage.before().agent_actor(id);
            signal::say(stage, id, SignalType::Ready, None, None);
            signal::begin(stage, id);
        }
    }
    Ok(())
}

/// The new agent is bound: back to the state before, meter and inbox as they were.
fn replace(stage: &mut Stage<'_>, id: WorkspaceId, open: &Workspace) {
    let (Some(before), Some(migration)) = (open.before, &open.migration) else {
        return;
    };
    stage.push(
        Some(id),
        MigrationCompleted {
            duration_us: pause::elapsed(stage, migration.started),
            new_agent: migration.new_agent.clone(),
            old_agent: open.agent.clone(),
            workspace: id,
        },
    );
    stage.transition(id, before, Trigger::MigrationSucceeded, None);
    pause::wake(stage, id);
}

/// The agent of a new workspace could not be bound; the runtime says so.
pub fn fail_creation(stage: &mut Stage<'_>, principal: Principal, id: WorkspaceId) -> Decision {
    runtime_only(stage, principal)?;
    let run = stage.before();
    let state = run.state_of(id).ok_or(Refusal::TargetNotFound)?;
    let is_unbound = run
        .open(id)
        .is_some_and(|open| open.unbound_since.is_some());
    match state {
        State::Idle => {}
        State::Active if is_unbound => {}
        _ => return Err(Refusal::InvalidState),
    }
    end::fail(stage, id, Reason::CreationError);
    Ok(())
}

/// The new agent could not be bound; the runtime says so.
pub fn fail_migration(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    error: &Text,
) -> Decision {
    runtime_only(stage, principal)?;
    let open = stage.before().living(id)?;
    if open.state != State::Migrating {
        return Err(Refusal::InvalidState);
    }
    if is_long(error) {
        return Err(Refusal::TooLong);
    }
    give_up(stage, id, error);
    Ok(())
}

/// Nobody came in time.
pub fn expire(stage: &mut Stage<'_>, id: WorkspaceId) {
    give_up(stage, id, &Text::from("no agent came"));
}

fn give_up(stage: &mut Stage<'_>, id: WorkspaceId, error: &Text) {
    let Some(open) = stage.before().open(id) else {
        return;
    };
    let Some(migration) = &open.migration else {
        end::fail(stage, id, Reason::CreationError);
        return;
    };
    stage.push(
        Some(id),
        MigrationFailed {
            error: error.clone(),
            new_agent: migration.new_agent.clone(),
            old_agent: open.agent.clone(),
            workspace: id,
        },
    );
    end::fail(stage, id, Reason::MigrationError);
}

/// An agent that acts is there, whether or not the runtime saw it come.
pub(crate) fn apply(run: &mut Run, event: &Event) {
    let acts = match event {
        Event::CheckpointCreated(e) => Some(e.workspace),
        Event::EnvelopeCreated(e) => e.from,
        // What a merge announces is said for a delegate.
        Event::SignalEmitted(e) if e.signal_type != SignalType::Integrate => Some(e.from),
        _ => None,
    };
    let is_unbound = |id: &WorkspaceId| {
        run.open(*id)
            .is_some_and(|open| open.unbound_since.is_some())
    };
    if let Some(id) = acts.filter(is_unbound) {
        deadline::reschedule(run, id, |open| open.unbound_since = None);
    }
}

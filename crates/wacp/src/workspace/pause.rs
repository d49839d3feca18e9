//! Suspension, resumption and migration: a workspace stops and goes back to
//! exactly where it was (WACP §6.2, §6.9). How a migration ends is in `binding`.

use crate::{
    command::Principal,
    envelope,
    event::{MigrationStarted, Reference, SuspensionResumed, SuspensionStarted},
    id::WorkspaceId,
    rejection::Refusal,
    role::{
        Text,
        delegation::{Act, coordinator_only, managed},
    },
    signal::{self, SignalType},
    stage::{Decision, Stage},
    workspace::{
        is_long,
        lifecycle::{State, Trigger},
        meter,
    },
};

/// The state of a workspace that may be paused, or why it may not.
fn pausable(stage: &mut Stage<'_>, id: WorkspaceId) -> Result<State, Refusal> {
    if id == WorkspaceId::ROOT {
        return Err(Refusal::RootIsFixed);
    }
    match stage.before().state_of(id) {
        None => Err(Refusal::TargetNotFound),
        Some(state @ (State::Active | State::Blocked)) => Ok(state),
        Some(state) if state.is_terminal() => Err(Refusal::TargetTerminal),
        Some(_) => Err(Refusal::InvalidState),
    }
}

pub fn elapsed(stage: &Stage<'_>, since: trail::Micros) -> u64 {
    u64::try_from(stage.now.0 - since.0).unwrap_or(0)
}

pub fn suspend(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    reason: &Text,
) -> Decision {
    managed(stage, principal, Act::Suspend, id)?;
    let before = pausable(stage, id)?;
    if is_long(reason) {
        return Err(Refusal::TooLong);
    }
    announce(stage, principal, SignalType::Suspend, id);
    stage.push(
        Some(id),
        SuspensionStarted {
            pre_suspension_state: before,
            reason: reason.clone(),
            workspace: id,
        },
    );
    stage.transition(id, State::Suspended, Trigger::Suspended, None);
    Ok(())
}

/// The coordinator's own signal about a workspace, in the root's trail. A
/// person's act is no signal.
fn announce(stage: &mut Stage<'_>, principal: Principal, signal: SignalType, about: WorkspaceId) {
    if principal == Principal::Coordinator {
        let reference = Some(Reference::Workspace(about));
        signal::say(stage, WorkspaceId::ROOT, signal, None, reference);
    }
}

pub fn resume(stage: &mut Stage<'_>, principal: Principal, id: WorkspaceId) -> Decision {
    managed(stage, principal, Act::Suspend, id)?;
    let open = stage.before().living(id)?;
    let (State::Suspended, Some(before)) = (open.state, open.before) else {
        return Err(Refusal::InvalidState);
    };
    stage.push(
        Some(id),
        SuspensionResumed {
            duration_us: elapsed(stage, open.since),
            resumed_to_state: before,
            workspace: id,
        },
    );
    stage.transition(id, before, Trigger::Resumed, None);
    wake(stage, id);
    Ok(())
}

/// What waited while the workspace could not listen arrives now.
pub fn wake(stage: &mut Stage<'_>, id: WorkspaceId) {
    meter::enforce(stage, id);
    if stage.state_of(id).is_none_or(State::is_terminal) {
        return;
    }
    signal::deliver_queued(stage, id);
    envelope::drain(stage, id);
}

pub fn migrate(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    new_agent: &Text,
    reason: &Text,
) -> Decision {
    coordinator_only(stage, principal, Some(id))?;
    pausable(stage, id)?;
    if new_agent.is_empty() {
        return Err(Refusal::AgentRequired);
    }
    if stage
        .before()
        .agents
        .get(new_agent)
        .is_some_and(|at| *at != id)
    {
        return Err(Refusal::AgentBound);
    }
    if is_long(new_agent) || is_long(reason) {
        return Err(Refusal::TooLong);
    }
    let open = stage.before().open(id).ok_or(Refusal::TargetNotFound)?;
    announce(stage, principal, SignalType::Migrate, id);
    stage.push(
        Some(id),
        MigrationStarted {
            new_agent: new_agent.clone(),
            old_agent: open.agent.clone(),
            reason: reason.clone(),
            workspace: id,
        },
    );
    stage.transition(id, State::Migrating, Trigger::MigrationInitiated, None);
    Ok(())
}

//! A run begins with its root, does what is due, and ends with its root.

use std::sync::Arc;

use crate::{
    command::Principal,
    envelope, escalation,
    event::{RunStarted, Scope, SystemDegraded, WorkspaceCreated},
    gate,
    id::{Party, WorkspaceId},
    integration,
    rejection::Refusal,
    right::{self, RightKind},
    role::{Role, Text, delegation::runtime_only},
    stage::{Decision, Stage},
    workspace::{
        Band, Deadline, NewRun, binding,
        budget::Budget,
        end, is_long,
        lifecycle::{Reason, State, Trigger},
        meter,
    },
};

/// The algorithm that links a run's trail, named in its first entry.
pub const HASH_ALGORITHM: &str = "sha-256";

pub fn start(stage: &mut Stage<'_>, principal: Principal, new: &NewRun) -> Decision {
    // Nothing can be recorded before the first entry, nor after the last.
    if stage.before().is_running() {
        runtime_only(stage, principal)?;
    } else if principal != Principal::Runtime {
        return Err(Refusal::PermissionDenied);
    }
    if stage.before().setup.is_some() {
        return Err(Refusal::AlreadyStarted);
    }
    if new.taxonomy.resolve().is_err() {
        return Err(Refusal::InvalidTaxonomy);
    }
    if !new.highway.is_valid() {
        return Err(Refusal::InvalidHighway);
    }
    if !new.limits.are_valid() {
        return Err(Refusal::InvalidLimits);
    }
    if new.agent.is_empty() {
        return Err(Refusal::AgentRequired);
    }
    if is_long(&new.agent) {
        return Err(Refusal::TooLong);
    }
    let root = stage.new_workspace();
    stage.push(
        Some(root),
        Box::new(WorkspaceCreated {
            agent: new.agent.clone(),
            authority: Arc::from([]),
            budget: Budget::default(),
            cause: None,
            context: None,
            delegate: false,
            directive: new.directive,
            group: None,
            liveness_us: None,
            metered: false,
            mounts: Arc::from([]),
            originator: Party::System,
            owner: Party::System,
            parent: None,
            priority: Band::Normal,
            role: Role::Coordinator,
            run: Some(Box::new(RunStarted {
                hash_algorithm: Text::from(HASH_ALGORITHM),
                highway: new.highway,
                limits: new.limits,
                taxonomy: new.taxonomy.clone(),
            })),
            task: None,
            timeout_us: 0,
            visibility: Arc::from([]),
            workspace: root,
        }),
    );
    right::create(stage, root, root, RightKind::Receive);
    Ok(())
}

/// Does the earliest thing that is due.
pub fn tick(stage: &mut Stage<'_>, principal: Principal) -> Decision {
    runtime_only(stage, principal)?;
    let Some(&(at, deadline)) = stage.before().deadlines.first() else {
        return Err(Refusal::NothingDue);
    };
    if at > stage.now {
        return Err(Refusal::NothingDue);
    }
    match deadline {
        Deadline::Timeout(id) => {
            let reason = match stage.before().state_of(id) {
                Some(State::Conflicted) => Reason::ConflictTimeout,
                _ => Reason::Timeout,
            };
            end::fail(stage, id, reason);
        }
        Deadline::Binding(id) => binding::expire(stage, id),
        Deadline::WallTime(id) => meter::stop_wall_time(stage, id),
        Deadline::WallTimeWarning(id) => meter::warn_wall_time(stage, id),
        Deadline::Grace(id) => end::expire(stage, id),
        Deadline::Liveness(id) => meter::warn_silence(stage, id),
        Deadline::Gate(id) => gate::time_out(stage, id),
        Deadline::Escalation(id) => escalation::time_out(stage, id),
        Deadline::Redelivery(to, id) => envelope::redeliver(stage, to, id),
    }
    Ok(())
}

/// Ends the run: normally when all work has ended, or by force.
pub fn shut_down(stage: &mut Stage<'_>, principal: Principal, forced: bool) -> Decision {
    let allowed = match principal {
        Principal::Runtime => true,
        Principal::Coordinator => !forced,
        _ => false,
    };
    if !allowed {
        runtime_only(stage, principal)?;
    }
    let root = WorkspaceId::ROOT;
    if forced {
        let affected = open_workspaces(stage);
        stage.push(
            None,
            SystemDegraded {
                affected,
                coordinator_action: None,
                reason: Text::from("forced_shutdown"),
                scope: Scope::Run,
            },
        );
        let children: Vec<WorkspaceId> = stage.before().open_children(root).collect();
        for child in children {
            fail_all(stage, child);
        }
        end::fail(stage, root, Reason::SystemShutdown);
        return Ok(());
    }
    if stage.before().open_count > 1 {
        return Err(Refusal::WorkspacesOpen);
    }
    if stage.before().state_of(root) != Some(State::Active) {
        return Err(Refusal::InvalidState);
    }
    // Nothing more is merged into the root.
    integration::abandon(stage, root, Reason::SystemShutdown);
    // It completes and closes along the table like everyone else; there is
    // nothing above it to merge into.
    stage.transition(root, State::Integrating, Trigger::CompleteSignal, None);
    gate::invalidate_all(stage);
    end::settle(stage, root, crate::event::Undeliverable::WorkspaceSealed);
    stage.transition(root, State::Closed, Trigger::IntegrationSucceeded, None);
    Ok(())
}

/// Everything below first, each for the same reason and whoever owns it.
fn fail_all(stage: &mut Stage<'_>, id: WorkspaceId) {
    let children: Vec<WorkspaceId> = stage.before().open_children(id).collect();
    for child in children {
        fail_all(stage, child);
    }
    end::fail(stage, id, Reason::SystemShutdown);
}

/// Everything that has not ended, oldest first.
pub fn open_workspaces(stage: &Stage<'_>) -> Arc<[WorkspaceId]> {
    let root = stage
        .before()
        .open(WorkspaceId::ROOT)
        .map(|_| WorkspaceId::ROOT);
    let below = stage.before().children.iter().map(|(_, child)| *child);
    let mut open: Vec<WorkspaceId> = root.into_iter().chain(below).collect();
    open.sort_unstable();
    open.into()
}

//! What may change about a workspace while it lives: what it sees, how urgent
//! it is, how much it may use (WACP §6.4, §6.6, §6.8).

use std::sync::Arc;

use crate::{
    command::Principal,
    event::{BatchPriorityChanged, BudgetModified, PriorityChanged, VisibilityGranted},
    id::WorkspaceId,
    rejection::Refusal,
    role::{
        Text,
        delegation::{Act, coordinator_only, managed},
    },
    stage::{Decision, Stage},
    workspace::{
        Band, LARGEST, MAX_LIST, Seen, Workspace,
        budget::Dimension,
        end::members,
        is_long,
        lifecycle::State,
        visibility::{authority_contains, sees, sees_resource},
    },
};

/// The workspace, if it is in one of these states.
fn in_state<'a>(
    stage: &Stage<'a>,
    id: WorkspaceId,
    states: &[State],
) -> Result<&'a Workspace, Refusal> {
    match (stage.before().workspace(id), stage.before().open(id)) {
        (None, _) => Err(Refusal::TargetNotFound),
        (_, None) => Err(Refusal::TargetTerminal),
        (_, Some(open)) if states.contains(&open.state) => Ok(open),
        _ => Err(Refusal::InvalidState),
    }
}

/// Adds to what a workspace may read; nothing is ever taken away.
pub fn grant_visibility(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    targets: &Arc<[Seen]>,
    reason: Option<&Text>,
) -> Decision {
    coordinator_only(stage, principal, Some(id))?;
    let open = in_state(stage, id, &[State::Idle, State::Active, State::Blocked])?;
    if targets.is_empty() || targets.len() + open.visibility.len() > MAX_LIST {
        return Err(Refusal::InvalidStructure);
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    let run = stage.before();
    for target in targets.iter() {
        if matches!(target, Seen::Resource(resource) if is_long(resource)) {
            return Err(Refusal::TooLong);
        }
        // Containment: no wider than the parent sees.
        let parent = open.parent.unwrap_or(WorkspaceId::ROOT);
        let fits = match target {
            Seen::Workspace(target) if run.workspace(*target).is_none() => {
                return Err(Refusal::TargetNotFound);
            }
            Seen::Workspace(target) => sees(run, parent, *target),
            Seen::Resource(resource) => sees_resource(run, parent, resource),
        };
        if !fits {
            return Err(Refusal::VisibilityNotContained);
        }
    }
    stage.push(
        Some(id),
        VisibilityGranted {
            authority: Arc::from([]),
            reason: reason.cloned(),
            targets: targets.clone(),
            workspace: id,
        },
    );
    Ok(())
}

/// Authority can be adjusted before work begins and is frozen then.
pub fn grant_authority(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    resources: &Arc<[Text]>,
) -> Decision {
    coordinator_only(stage, principal, Some(id))?;
    let open = in_state(stage, id, &[State::Idle])?;
    if resources.is_empty() || resources.len() + open.authority.len() > MAX_LIST {
        return Err(Refusal::InvalidStructure);
    }
    if resources.iter().any(|resource| is_long(resource)) {
        return Err(Refusal::TooLong);
    }
    let parent = open.parent.unwrap_or(WorkspaceId::ROOT);
    let fits = parent == WorkspaceId::ROOT
        || stage.before().open(parent).is_some_and(|parent| {
            resources
                .iter()
                .all(|resource| authority_contains(&parent.authority, resource))
        });
    if !fits {
        return Err(Refusal::AuthorityNotContained);
    }
    stage.push(
        Some(id),
        VisibilityGranted {
            authority: resources.clone(),
            reason: None,
            targets: Arc::from([]),
            workspace: id,
        },
    );
    Ok(())
}

pub fn set_priority(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    priority: Band,
) -> Decision {
    coordinator_only(stage, principal, Some(id))?;
    let open = in_state(stage, id, &[State::Active, State::Blocked])?;
    stage.push(
        Some(id),
        PriorityChanged {
            new_priority: priority,
            old_priority: open.priority,
            workspace: id,
        },
    );
    Ok(())
}

/// Moves every member at work to another band.
pub fn set_group_priority(
    stage: &mut Stage<'_>,
    principal: Principal,
    group: &Text,
    priority: Band,
) -> Decision {
    coordinator_only(stage, principal, None)?;
    let size = stage
        .before()
        .group_sizes
        .get(group)
        .ok_or(Refusal::UnknownGroup)?;
    let affected: Arc<[WorkspaceId]> = members(stage, group)
        .iter()
        .copied()
        .filter(|id| {
            matches!(
                stage.before().state_of(*id),
                Some(State::Active | State::Blocked)
            )
        })
        .collect();
    stage.push(
        None,
        BatchPriorityChanged {
            skipped: size - affected.len() as u32,
            affected,
            group: group.clone(),
            new_priority: priority,
        },
    );
    Ok(())
}

/// Raises one limit; what the parent has left must cover the difference.
pub fn raise_budget(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: WorkspaceId,
    dimension: Dimension,
    limit: u64,
) -> Decision {
    managed(stage, principal, Act::Budget, id)?;
    let open = in_state(stage, id, &[State::Idle, State::Active, State::Blocked])?;
    let old_limit = open
        .meter
        .as_ref()
        .and_then(|meter| meter.limits.limit(dimension))
        .ok_or(Refusal::NoLimit)?;
    if limit <= old_limit {
        return Err(Refusal::NotAnIncrease);
    }
    if limit > LARGEST {
        return Err(Refusal::InvalidStructure);
    }
    let parent = open.parent.and_then(|parent| stage.before().open(parent));
    if let Some((parent, meter)) = parent.and_then(|open| Some((open, open.meter.as_ref()?)))
        && let Some(most) = meter.limits.limit(dimension)
    {
        let measured = open.parent.map(|parent| stage.measured(parent));
        let measured = measured.unwrap_or_default();
        let (wanted, room) = match dimension {
            Dimension::Context => (limit, most),
            Dimension::WallTime => (
                limit.saturating_sub(open.wall_time(stage.now)),
                most.saturating_sub(parent.wall_time(stage.now)),
            ),
            _ => (
                limit - old_limit,
                meter.remaining(dimension, &measured).unwrap_or(most),
            ),
        };
        // What it used elsewhere, before it was moved here, counts as its own.
        if wanted > room || limit > most {
            return Err(Refusal::BudgetNotContained(dimension));
        }
    }
    stage.push(
        Some(id),
        BudgetModified {
            dimension,
            new_limit: limit,
            old_limit,
            workspace: id,
        },
    );
    Ok(())
}

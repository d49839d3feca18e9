//! A workspace comes to be: checked against its parent, perhaps held at a gate,
//! then created with its rights and bound to its task (WACP §4.8, §5.4, §6.4).

use crate::{
    command::Principal,
    event::{Grantor, TaskAssigned, WorkspaceCreated, WorkspaceRejected},
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::{Party, UserId, WorkspaceId},
    rejection::Refusal,
    right::{self, RightKind},
    role::{
        BaseRole, Role,
        delegation::{Act, managed},
    },
    stage::{Decision, Stage},
    state::{Run, Slot},
    task::{self, Status},
    user::{self, Capability, UserState},
    workspace::{
        LONGEST_US, MAX_DEPTH, MAX_LIST, MAX_QUESTIONS, NewWorkspace, Seen, is_long,
        lifecycle::State,
        visibility::{authority_contains, sees, sees_resource},
    },
};

pub fn create(stage: &mut Stage<'_>, principal: Principal, new: &NewWorkspace) -> Decision {
    let parent = new.parent;
    match principal {
        // A person creates for themselves, or for anyone with the wider
        // capability, directly under the root.
        Principal::User(user) => {
            let owner = new.owner.map_or(Party::User(user), Party::User);
            let (own, any) = Act::Create.capabilities();
            let place = match parent {
                WorkspaceId::ROOT => Ok(()),
                _ => Err((Refusal::WrongScope, own)),
            };
            let allowed = user::check(stage.before(), user, own, any, Some(owner));
            allowed.and(place).map_err(|denial| {
                crate::role::delegation::deny(stage, principal, Some(parent), denial)
            })?;
            stage.actor = crate::event::Actor::User(user);
        }
        _ => managed(stage, principal, Act::Create, parent)?,
    }
    let (owner, originator) =
        check(stage, principal, new).map_err(|refusal| reject(stage, parent, refusal))?;
    // The gate is for what agents want. It asks for the same capability over
    // the same owner that brought this person here: they would only be asked
    // what they have just said.
    if matches!(principal, Principal::User(_)) {
        let id = stage.new_workspace();
        perform(stage, id, new, owner, originator);
        return Ok(());
    }
    let proposal = Proposal::WorkspaceCreate {
        by: principal,
        new: Box::new(new.clone()),
        originator,
        owner,
    };
    match gate::guard(
        stage,
        GateType::WorkspaceCreate,
        Subject::Proposal,
        proposal,
    )? {
        Verdict::Paused => Ok(()),
        Verdict::Proceed => {
            let id = stage.new_workspace();
            perform(stage, id, new, owner, originator);
            Ok(())
        }
    }
}

/// Records that a workspace was not created; returns the refusal.
fn reject(stage: &mut Stage<'_>, parent: WorkspaceId, reason: Refusal) -> Refusal {
    let place = stage.before().workspace(parent).map(|_| parent);
    stage.push_protocol(place, WorkspaceRejected { parent, reason });
    reason
}

/// Everything a new workspace must satisfy; gives its owner and originator.
pub fn check(
    stage: &Stage<'_>,
    principal: Principal,
    new: &NewWorkspace,
) -> Result<(Party, Party), Refusal> {
    let run = stage.before();
    let parent = run.living(new.parent)?;
    let works = match parent.state {
        State::Active | State::Blocked => true,
        State::Idle => new.parent == WorkspaceId::ROOT,
        _ => false,
    };
    if !works {
        return Err(Refusal::InvalidState);
    }
    let permissions = run
        .permissions(new.role)
        .filter(|_| new.role != Role::Coordinator)
        .ok_or(Refusal::UnknownRole)?;
    check_shape(new)?;
    // Who only watches changes nothing, through others neither (WACP §5.2): it
    // is no delegate, and nothing is merged into it.
    let watches = new.delegate && permissions.base == BaseRole::Observer;
    if watches || run.is_observer(new.parent) {
        return Err(Refusal::InvalidStructure);
    }
    // An agent's identity names one agent (WACP §11.3): it works in one
    // workspace at a time, in another only afterwards.
    if run.agents.contains_key(&new.agent) {
        return Err(Refusal::AgentBound);
    }
    let is_full = run.open_count >= run.limits().max_open_workspaces;
    if is_full || run.next.workspaces == u32::MAX || parent.gates.len() >= MAX_QUESTIONS {
        return Err(Refusal::CapacityExhausted);
    }
    if run.depth(new.parent) + 1 > MAX_DEPTH {
        return Err(Refusal::TreeTooDeep);
    }
    let parties = parties(run, principal, new, parent.owner, parent.originator)?;
    contained(stage, new)?;
    match principal {
        Principal::Agent(delegate) => by_delegate(run, delegate, new, parent.owner)?,
        Principal::User(user) => by_person(run, user, new, parties.0)?,
        _ => {}
    }
    if let Some(task) = new.task {
        task::is_dispatchable(run, task)?;
    }
    Ok(parties)
}

/// A delegate makes what its part of the tree needs (WACP §5.4): whom it
/// belongs to and which tasks are given out stays with the coordinator.
fn by_delegate(
    run: &Run,
    delegate: WorkspaceId,
    new: &NewWorkspace,
    inherited: Party,
) -> Result<(), Refusal> {
    let names_another = new.owner.is_some_and(|user| Party::User(user) != inherited);
    if new.task.is_some() || names_another {
        return Err(Refusal::PermissionDenied);
    }
    let may_grant = run
        .open(delegate)
        .is_some_and(|open| open.may_grant_delegation);
    if new.delegate && !may_grant {
        return Err(Refusal::DelegationNotApproved);
    }
    Ok(())
}

/// A person's capability to create is none to show what they may not see
/// themselves, to delegate, or to give out the coordinator's tasks.
fn by_person(run: &Run, user: UserId, new: &NewWorkspace, owner: Party) -> Result<(), Refusal> {
    if new.task.is_some() {
        return Err(Refusal::PermissionDenied);
    }
    let grant = Some(Capability::GrantDelegation);
    if new.delegate && user::check(run, user, grant, None, Some(owner)).is_err() {
        return Err(Refusal::DelegationNotApproved);
    }
    if !new.visibility.iter().all(|seen| may_show(run, user, seen)) {
        return Err(Refusal::VisibilityNotContained);
    }
    Ok(())
}

/// Whether a person may let a workspace see this: their own, or anything with
/// the wider capability. A resource is read wherever it is, so it counts as
/// anything.
pub fn may_show(run: &Run, user: UserId, seen: &Seen) -> bool {
    let owner = match seen {
        Seen::Workspace(id) => run.workspace(*id).map(Slot::owner),
        Seen::Resource(_) => None,
    };
    let (own, any) = (Capability::ViewTrailOwn, Capability::ViewTrailAny);
    user::check(run, user, Some(own), Some(any), owner).is_ok()
}

/// Every interval of silence is an entry; more of them would only fill the trail.
const SHORTEST_LIVENESS_US: u64 = 1_000_000;

fn check_shape(new: &NewWorkspace) -> Result<(), Refusal> {
    if new.timeout_us == 0 {
        return Err(Refusal::TimeoutRequired);
    }
    if new.agent.is_empty() {
        return Err(Refusal::AgentRequired);
    }
    let lists = [new.authority.len(), new.visibility.len(), new.mounts.len()];
    let seen = new.visibility.iter().filter_map(|seen| match seen {
        Seen::Resource(resource) => Some(resource),
        Seen::Workspace(_) => None,
    });
    let mut names = new.authority.iter().chain(&*new.mounts).chain(seen);
    if is_long(&new.agent)
        || new.group.as_deref().is_some_and(is_long)
        || lists.into_iter().any(|length| length > MAX_LIST)
        || names.any(|name| is_long(name))
    {
        return Err(Refusal::TooLong);
    }
    let content = new.directive.is_acceptable() && new.context.is_none_or(|c| c.is_acceptable());
    let waits = |us: u64| (1..=LONGEST_US).contains(&us);
    let hears = |us: u64| (SHORTEST_LIVENESS_US..=LONGEST_US).contains(&us);
    let lasts = waits(new.timeout_us) && new.liveness_us.is_none_or(hears);
    if !content || !lasts || !new.budget.is_valid() {
        return Err(Refusal::InvalidStructure);
    }
    Ok(())
}

/// WACP §4.8: the owner is named or inherited, the originator is inherited
/// unless a person's injection is the cause.
fn parties(
    run: &Run,
    principal: Principal,
    new: &NewWorkspace,
    parent_owner: Party,
    parent_originator: Party,
) -> Result<(Party, Party), Refusal> {
    let injector = match new.cause {
        Some(envelope) => Some(*run.injected.get(&envelope).ok_or(Refusal::UnknownCause)?),
        None => match principal {
            Principal::User(user) => Some(user),
            _ => None,
        },
    };
    // Only the coordinator acts on another's injection: below it origin is
    // inherited, and a person is the cause of what they create themselves.
    let acts = match (principal, injector) {
        (Principal::Agent(_), Some(_)) => false,
        (Principal::User(user), Some(injector)) => user == injector,
        _ => true,
    };
    if !acts {
        return Err(Refusal::UnknownCause);
    }
    let originator = injector.map_or(parent_originator, Party::User);
    let owner = match (new.owner, parent_owner, injector) {
        (Some(user), _, _) => Party::User(user),
        (None, Party::User(user), _) => Party::User(user),
        (None, Party::System, Some(user)) => Party::User(user),
        (None, Party::System, None) => return Err(Refusal::OwnerRequired),
    };
    let person = owner.user().and_then(|user| run.user(user));
    match person {
        None => Err(Refusal::UnknownUser),
        Some(person) if person.state != UserState::Active => Err(Refusal::UserNotActive),
        Some(_) => Ok((owner, originator)),
    }
}

/// WACP §6.5.3: visibility, authority and budget are parts of the parent's.
fn contained(stage: &Stage<'_>, new: &NewWorkspace) -> Result<(), Refusal> {
    let run = stage.before();
    let parent = run.open(new.parent).ok_or(Refusal::TargetNotFound)?;
    for seen in new.visibility.iter() {
        let fits = match seen {
            Seen::Workspace(target) => {
                run.workspace(*target).is_some() && sees(run, new.parent, *target)
            }
            Seen::Resource(resource) => sees_resource(run, new.parent, resource),
        };
        if !fits {
            return Err(Refusal::VisibilityNotContained);
        }
    }
    // A tool that the parent does not have is not its to give.
    let is_held = |mount| parent.mounts.contains(mount);
    if new.parent != WorkspaceId::ROOT && !new.mounts.iter().all(is_held) {
        return Err(Refusal::VisibilityNotContained);
    }
    if new.parent != WorkspaceId::ROOT
        && !new
            .authority
            .iter()
            .all(|resource| authority_contains(&parent.authority, resource))
    {
        return Err(Refusal::AuthorityNotContained);
    }
    match &parent.meter {
        Some(meter) => {
            let measured = stage.measured(new.parent);
            meter.admits(&new.budget, parent.wall_time(stage.now), &measured)
        }
        None => Ok(()),
    }
}

/// Writes the entries of a checked creation.
pub fn perform(
    stage: &mut Stage<'_>,
    id: WorkspaceId,
    new: &NewWorkspace,
    owner: Party,
    originator: Party,
) {
    stage.push(
        Some(id),
        Box::new(WorkspaceCreated {
            agent: new.agent.clone(),
            authority: new.authority.clone(),
            budget: new.budget,
            cause: new.cause,
            context: new.context,
            delegate: new.delegate,
            directive: new.directive,
            group: new.group.clone(),
            liveness_us: new.liveness_us,
            metered: new.metered,
            mounts: new.mounts.clone(),
            originator,
            owner,
            parent: Some(new.parent),
            priority: new.priority,
            role: new.role,
            run: None,
            task: new.task,
            timeout_us: new.timeout_us,
            visibility: new.visibility.clone(),
            workspace: id,
        }),
    );
    right::create(stage, id, id, RightKind::Receive);
    for superior in right::superiors(stage.before(), new.parent) {
        right::connect(stage, superior, id, new.role);
    }
    if let Some(task) = new.task {
        let attempt_number = stage
            .before()
            .task(task)
            .map_or(1, |task| task.history.len() as u32 + 1);
        stage.push_protocol(
            Some(id),
            TaskAssigned {
                attempt_number,
                task,
                workspace: id,
            },
        );
        task::set_status(stage, task, Status::Assigned, Some(id));
    }
}

/// Lets a delegate make delegates of its children.
pub fn approve_delegation(
    stage: &mut Stage<'_>,
    principal: Principal,
    delegate: WorkspaceId,
) -> Decision {
    managed(stage, principal, Act::Delegate, delegate)?;
    let open = stage.before().living(delegate)?;
    if !open.delegate {
        return Err(Refusal::InvalidState);
    }
    let granted_by = match principal {
        Principal::User(user) => Grantor::User(user),
        _ => Grantor::Coordinator,
    };
    stage.push(
        Some(delegate),
        crate::event::CapabilityGranted {
            capability: Capability::GrantDelegation,
            granted_by,
            holder: crate::event::Holder::Workspace {
                role: open.role,
                workspace: delegate,
            },
        },
    );
    Ok(())
}

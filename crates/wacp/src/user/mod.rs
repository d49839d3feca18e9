//! People: four states, seventeen capabilities, and who may change them.

use serde::{Deserialize, Serialize};

use crate::{
    command::Principal,
    event::{
        AuthenticationFailed, AuthenticationSucceeded, CapabilityGranted, CapabilityRevoked, Entry,
        Event, Grantor, Holder, UserBlocked, UserCreated, UserDeactivated, UserReactivated,
        UserResumed, UserSuspended, UserUnblocked,
    },
    id::{Party, UserId, WorkspaceId},
    rejection::Refusal,
    role::{
        Text,
        delegation::{deny, forbid, runtime_only},
    },
    stage::{Decision, Stage},
    state::Run,
    workspace::is_long,
};

trail::closed! {
    UserState {
        Active,
        Suspended,
        Blocked,
        Deactivated,
    }
}

trail::closed! {
    /// What a person may do to the run; the set is closed.
    Capability {
        CreateWorkspace,
        CreateWorkspaceAny,
        SuspendOwn,
        SuspendAny,
        AbortOwn,
        AbortAny,
        TransferOwnership,
        InjectDirective,
        InjectDirectiveAny,
        ApproveIntegration,
        ApproveIntegrationAny,
        ModifyBudget,
        ModifyBudgetAny,
        /// Everyone's, always.
        ViewTrailOwn,
        ViewTrailAny,
        GrantDelegation,
        DeactivateUser,
    }
}

impl Capability {
    fn bit(self) -> u32 {
        1 << self as u32
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub name: Text,
    pub state: UserState,
    /// A bit for each capability.
    pub capabilities: u32,
}

impl User {
    pub fn holds(&self, capability: Capability) -> bool {
        capability == Capability::ViewTrailOwn || self.capabilities & capability.bit() != 0
    }
}

trail::closed! {
    /// How a person's state can be changed.
    UserChange {
        Suspend,
        Resume,
        Block,
        Unblock,
        Deactivate,
        Reactivate,
    }
}

impl UserChange {
    /// Where it leads, if it leads anywhere from here.
    pub fn from(self, state: UserState) -> Option<UserState> {
        use UserState::{Active, Blocked, Deactivated, Suspended};
        match (self, state) {
            (UserChange::Suspend, Active | Blocked) => Some(Suspended),
            (UserChange::Resume, Suspended) => Some(Active),
            (UserChange::Block, Active | Suspended) => Some(Blocked),
            (UserChange::Unblock, Blocked) => Some(Active),
            (UserChange::Deactivate, Active | Suspended | Blocked) => Some(Deactivated),
            (UserChange::Reactivate, Deactivated) => Some(Active),
            _ => None,
        }
    }
}

/// Whether a person may do something: active first, then the capability, then
/// its reach.
pub fn check(
    run: &Run,
    user: UserId,
    own: Option<Capability>,
    any: Option<Capability>,
    owner: Option<Party>,
) -> Result<(), (Refusal, Option<Capability>)> {
    let wanted = own.or(any);
    let Some(person) = run.user(user) else {
        return Err((Refusal::UnknownUser, wanted));
    };
    if person.state != UserState::Active {
        return Err((Refusal::UserNotActive, wanted));
    }
    if any.is_some_and(|any| person.holds(any)) {
        return Ok(());
    }
    match own {
        Some(own) if person.holds(own) => {
            if owner == Some(Party::User(user)) {
                Ok(())
            } else {
                Err((Refusal::WrongScope, Some(own)))
            }
        }
        _ => Err((Refusal::MissingCapability, wanted)),
    }
}

/// Names that mean something else in a trail.
const RESERVED: [&str; 7] = [
    "system",
    "protocol",
    "fallback",
    "coordinator",
    "worker",
    "observer",
    "human",
];

/// Who administers: the operator, a person in the operator's place, and for
/// deactivation a person of the run who may. The deployment answers for the
/// second, whatever their state in the run.
fn administrator(
    stage: &mut Stage<'_>,
    principal: Principal,
    change: Option<UserChange>,
) -> Result<Grantor, Refusal> {
    use UserChange::{Deactivate, Reactivate};
    match (principal, change) {
        (Principal::Operator, _) => Ok(Grantor::Operator),
        (Principal::Runtime, _) => Ok(Grantor::Protocol),
        (Principal::Administrator(user), _) => Ok(Grantor::User(user)),
        (Principal::User(user), Some(Deactivate | Reactivate)) => {
            let any = Some(Capability::DeactivateUser);
            let allowed = check(stage.before(), user, None, any, None);
            allowed.map_err(|denial| deny(stage, principal, None, denial))?;
            Ok(Grantor::User(user))
        }
        _ => Err(forbid(stage, principal, None)),
    }
}

pub fn create(
    stage: &mut Stage<'_>,
    principal: Principal,
    name: &Text,
    capabilities: &[Capability],
) -> Decision {
    let created_by = administrator(stage, principal, None)?;
    let started = stage.before().started();
    let is_role = started.is_some_and(|started| started.taxonomy.role(name).is_some());
    if name.is_empty() || name.chars().count() > 128 || RESERVED.contains(&&**name) || is_role {
        return Err(Refusal::ReservedName);
    }
    if stage.before().user_names.contains_key(name) {
        return Err(Refusal::UserExists);
    }
    let user = stage.new_user();
    let given = Capability::ALL.into_iter();
    stage.push(
        None,
        UserCreated {
            capabilities: given.filter(|one| capabilities.contains(one)).collect(),
            created_by,
            name: name.clone(),
            user,
        },
    );
    Ok(())
}

pub fn change(
    stage: &mut Stage<'_>,
    principal: Principal,
    user: UserId,
    change: UserChange,
    reason: Option<&Text>,
) -> Decision {
    let by = administrator(stage, principal, Some(change))?;
    let person = stage.before().user(user).ok_or(Refusal::UnknownUser)?;
    if change.from(person.state).is_none() {
        return Err(Refusal::InvalidUserTransition);
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    let reason = reason.cloned();
    let event: Event = match change {
        UserChange::Suspend => UserSuspended { by, reason, user }.into(),
        UserChange::Resume => UserResumed { by, reason, user }.into(),
        UserChange::Block => UserBlocked {
            by,
            condition: reason,
            user,
        }
        .into(),
        UserChange::Unblock => UserUnblocked {
            by,
            condition: reason,
            user,
        }
        .into(),
        UserChange::Deactivate => UserDeactivated {
            by,
            prior_state: person.state,
            reason,
            user,
        }
        .into(),
        UserChange::Reactivate => UserReactivated { by, reason, user }.into(),
    };
    stage.push(None, event);
    Ok(())
}

pub fn grant(
    stage: &mut Stage<'_>,
    principal: Principal,
    user: UserId,
    capability: Capability,
) -> Decision {
    let granted_by = administrator(stage, principal, None)?;
    if stage.before().user(user).is_none() {
        return Err(Refusal::UnknownUser);
    }
    stage.push(
        None,
        CapabilityGranted {
            capability,
            granted_by,
            holder: Holder::User(user),
        },
    );
    Ok(())
}

pub fn revoke(
    stage: &mut Stage<'_>,
    principal: Principal,
    user: UserId,
    capability: Capability,
    reason: Option<&Text>,
) -> Decision {
    let revoked_by = administrator(stage, principal, None)?;
    let person = stage.before().user(user).ok_or(Refusal::UnknownUser)?;
    if capability == Capability::ViewTrailOwn {
        return Err(Refusal::Irrevocable);
    }
    if !person.holds(capability) {
        return Err(Refusal::NotHeld);
    }
    if reason.is_some_and(|text| is_long(text)) {
        return Err(Refusal::TooLong);
    }
    stage.push(
        None,
        CapabilityRevoked {
            capability,
            reason: reason.cloned(),
            revoked_by,
            user,
        },
    );
    Ok(())
}

pub fn record_authentication(
    stage: &mut Stage<'_>,
    principal: Principal,
    user: UserId,
    method: &Text,
) -> Decision {
    runtime_only(stage, principal)?;
    if stage.before().user(user).is_none() {
        return Err(Refusal::UnknownUser);
    }
    if is_long(method) {
        return Err(Refusal::TooLong);
    }
    stage.push(
        None,
        AuthenticationSucceeded {
            method: method.clone(),
            user,
        },
    );
    Ok(())
}

pub fn record_failure(
    stage: &mut Stage<'_>,
    principal: Principal,
    [entity, context, reason, source]: [&Text; 4],
) -> Decision {
    runtime_only(stage, principal)?;
    if [entity, context, reason, source]
        .into_iter()
        .any(|text| is_long(text))
    {
        return Err(Refusal::TooLong);
    }
    stage.push(
        None,
        AuthenticationFailed {
            context: context.clone(),
            entity: entity.clone(),
            reason: reason.clone(),
            source: source.clone(),
        },
    );
    Ok(())
}

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    let set = |run: &mut Run, user: UserId, state: UserState| {
        if let Some(person) = run.users.get_mut(user.0 as usize) {
            person.state = state;
        }
    };
    match &entry.event {
        Event::UserCreated(e) => {
            run.users.push(User {
                name: e.name.clone(),
                state: UserState::Active,
                capabilities: e.capabilities.iter().fold(0, |all, one| all | one.bit()),
            });
            run.user_names.insert(e.name.clone(), e.user);
            run.next.users = run.next.users.max(e.user.0.saturating_add(1));
        }
        Event::UserSuspended(e) => set(run, e.user, UserState::Suspended),
        Event::UserResumed(e) => set(run, e.user, UserState::Active),
        Event::UserBlocked(e) => set(run, e.user, UserState::Blocked),
        Event::UserUnblocked(e) => set(run, e.user, UserState::Active),
        Event::UserDeactivated(e) => set(run, e.user, UserState::Deactivated),
        Event::UserReactivated(e) => set(run, e.user, UserState::Active),
        Event::CapabilityGranted(e) => match e.holder {
            Holder::User(user) => {
                if let Some(person) = run.users.get_mut(user.0 as usize) {
                    person.capabilities |= e.capability.bit();
                }
            }
            Holder::Workspace { workspace, .. } => allow_delegation(run, workspace),
        },
        Event::CapabilityRevoked(e) => {
            if let Some(person) = run.users.get_mut(e.user.0 as usize) {
                person.capabilities &= !e.capability.bit();
            }
        }
        _ => {}
    }
}

fn allow_delegation(run: &mut Run, workspace: WorkspaceId) {
    if let Some(open) = run.open_mut(workspace) {
        open.may_grant_delegation = true;
    }
}

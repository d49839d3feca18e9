//! Parts of what an order must satisfy.

use wacp::{
    Principal, Refusal,
    gate::{GateType, Subject},
    id::{ConflictId, Party, TaskId, UserId, WorkspaceId},
    integration::Resolution,
    role::{Role, Text},
    signal::SignalType,
    user::{Capability, UserState},
    workspace::{MAX_TEXT, NewWorkspace, WindDown, lifecycle::State},
};

use super::{
    Expect, Model, ROOT, What, has_ended, is_at_work, outside,
    rights::is_acceptable,
    rules::{self, Does},
};

pub fn is_long(text: &Text) -> bool {
    text.chars().count() > MAX_TEXT
}

impl Model {
    /// The workspace must exist and not have ended.
    pub(super) fn living(&self, id: WorkspaceId, expect: &mut Expect) {
        match self.state(id) {
            None => expect.rule(true, Refusal::TargetNotFound),
            Some(state) => expect.rule(has_ended(state), Refusal::TargetTerminal),
        }
    }

    /// The workspace must be in one of these states.
    pub(super) fn in_state(&self, id: WorkspaceId, states: &[State]) -> Expect {
        let mut expect = Expect::decided();
        self.living(id, &mut expect);
        let wrong = self.open(id).is_some_and(|s| !states.contains(&s.state));
        expect.rule(wrong, Refusal::InvalidState);
        expect
    }

    /// The workspace must be at work and not be the root.
    pub(super) fn pausable(&self, id: WorkspaceId) -> Expect {
        match id {
            ROOT => Expect::refused(Refusal::RootIsFixed),
            id => self.in_state(id, &[State::Active, State::Blocked]),
        }
    }

    /// The request to finish; who reads envelopes must be reached by one.
    pub(super) fn expect_wind_down(&self, request: &WindDown) -> Expect {
        let mut expect = self.pausable(request.workspace);
        let sound = request.grace_us > 0 && is_acceptable(&request.payload);
        let sound = sound && !is_long(&request.reason);
        expect.rule(!sound, Refusal::InvalidStructure);
        let space = self.open(request.workspace);
        if space.is_some_and(|space| rules::corresponds(space.role)) {
            expect.rules(self.expect_send(ROOT, &request.envelope()).broken);
        }
        expect
    }

    pub(super) fn expect_signal(
        &self,
        by: Principal,
        signal: SignalType,
        reason: Option<&Text>,
    ) -> Expect {
        let id = match by {
            Principal::Agent(id) => id,
            _ => ROOT,
        };
        let Some(space) = self.space(id) else {
            return Expect::refused(Refusal::TargetNotFound);
        };
        if !rules::may_emit(space.role, signal) {
            return Expect::refused(Refusal::PermissionDenied);
        }
        let mut expect = Expect::decided();
        let silent = reason.is_none_or(|text| text.is_empty());
        let needs = rules::needs_reason(signal) && silent;
        expect.rule(needs, Refusal::ReasonRequired);
        expect.rule(reason.is_some_and(is_long), Refusal::TooLong);
        match rules::effect(space.state, signal) {
            Does::Denied => expect.rule(true, Refusal::SignalNotAllowed),
            // One's own children must have ended; others' are handed over.
            Does::Moves(State::Integrating) => {
                let owner = space.owner;
                let children = self.children(id);
                let own = children
                    .iter()
                    .filter_map(|child| self.space(*child))
                    .any(|s| s.owner == owner || s.state == State::Conflicted);
                expect.rule(own, Refusal::ChildrenOpen);
            }
            Does::Moves(_) | Does::Nothing => {}
        }
        if signal == SignalType::Escalation && !has_ended(space.state) {
            expect.outside = &[Refusal::EscalationDisabled, Refusal::GatePending];
        }
        expect
    }

    /// Nothing is merged into who only watches.
    fn watches(&self, id: WorkspaceId) -> bool {
        let space = self.space(id);
        space.is_some_and(|space| space.role == Role::Observer)
    }

    pub(super) fn expect_reparent(
        &self,
        id: WorkspaceId,
        parent: WorkspaceId,
        reason: &Text,
    ) -> Expect {
        if id == ROOT {
            return Expect::refused(Refusal::RootIsFixed);
        }
        let mut expect = Expect::unless(outside::PLACES);
        self.living(id, &mut expect);
        self.living(parent, &mut expect);
        let cycle = id == parent || self.is_beneath(parent, id);
        expect.rule(cycle, Refusal::ParentCycle);
        // Only orphans move, and only to someone at work.
        let movable = |s: &super::Space| s.parent == Some(ROOT) && s.state != State::Conflicted;
        let orphan = self.space(id).is_some_and(movable);
        let apt = parent != ROOT && self.state(parent).is_some_and(is_at_work);
        expect.rule(!orphan || !apt, Refusal::InvalidState);
        expect.rule(self.watches(parent), Refusal::InvalidStructure);
        expect.rule(is_long(reason), Refusal::TooLong);
        expect
    }

    pub(super) fn expect_creation(&self, by: Principal, new: &NewWorkspace) -> Expect {
        let mut expect = Expect::unless(outside::CREATION);
        self.living(new.parent, &mut expect);
        expect.rule(!self.works(new.parent), Refusal::InvalidState);
        expect.rule(!rules::is_role(new.role), Refusal::UnknownRole);
        expect.rule(self.watches(new.parent), Refusal::InvalidStructure);
        expect.rules(self.parties(by, new).err());
        if let Principal::Agent(delegate) = by {
            let may = self.open(delegate).is_some_and(|s| s.may_make_delegates);
            expect.rule(new.delegate && !may, Refusal::DelegationNotApproved);
            // Whose it is follows the parent, unless the coordinator says so.
            let parents = self.space(new.parent).map(|s| s.owner);
            let another = new
                .owner
                .is_some_and(|user| parents != Some(Party::User(user)));
            expect.rule(another, Refusal::PermissionDenied);
        }
        if let Principal::User(user) = by {
            let may = self.is_capable(user, Capability::GrantDelegation);
            let theirs =
                matches!(self.parties(by, new), Ok((Party::User(owner), _)) if owner == user);
            let refused = new.delegate && !(may && theirs);
            expect.rule(refused, Refusal::DelegationNotApproved);
        }
        // Plans are the coordinator's.
        let plans = by == Principal::Coordinator;
        expect.rule(new.task.is_some() && !plans, Refusal::PermissionDenied);
        expect
    }

    /// WACP §4.8: the owner is named or inherited; the originator is inherited
    /// unless a person caused it.
    pub(super) fn parties(
        &self,
        by: Principal,
        new: &NewWorkspace,
    ) -> Result<(Party, Party), Refusal> {
        let parent = self.space(new.parent).ok_or(Refusal::TargetNotFound)?;
        let person = match (new.cause, by) {
            (Some(cause), _) => {
                let injected = self.injected.iter().find(|(id, _)| *id == cause);
                Some(injected.ok_or(Refusal::UnknownCause)?.1)
            }
            (None, Principal::User(user)) => Some(user),
            (None, _) => None,
        };
        let speaks_for = match by {
            Principal::Agent(_) => person.is_none(),
            Principal::User(user) => person == Some(user),
            _ => true,
        };
        if !speaks_for {
            return Err(Refusal::UnknownCause);
        }
        let originator = person.map_or(parent.originator, Party::User);
        let inherited = match parent.owner {
            Party::User(user) => Some(user),
            Party::System => person,
        };
        let owner = new.owner.or(inherited).ok_or(Refusal::OwnerRequired)?;
        match self.absence(owner) {
            Some(why) => Err(why),
            None => Ok((Party::User(owner), originator)),
        }
    }

    /// Why nothing can be given to this person.
    pub(super) fn absence(&self, user: UserId) -> Option<Refusal> {
        match self.people.get(user.0 as usize) {
            None => Some(Refusal::UnknownUser),
            Some(person) if person.state != UserState::Active => Some(Refusal::UserNotActive),
            Some(_) => None,
        }
    }

    /// Why the coordinator cannot have this workspace aborted now.
    pub(super) fn abort_gate(&self, id: WorkspaceId) -> Option<Refusal> {
        Model::refusal(self.standing(
            Principal::Coordinator,
            GateType::WorkspaceAbort,
            Subject::Workspace(id),
        ))
    }

    /// Why this resolution cannot be proposed now. What is escalated is asked
    /// even where the gate is off.
    pub(super) fn conflict_gate(
        &self,
        by: Principal,
        conflict: ConflictId,
        resolution: &Resolution,
    ) -> Option<Refusal> {
        let waits = self.gates.iter().any(|question| match question.what {
            What::Settle {
                conflict: other, ..
            } => other == conflict,
            _ => false,
        });
        if waits {
            return Some(Refusal::GatePending);
        }
        let subject = Subject::Conflict(conflict, resolution.strategy());
        Model::refusal(match resolution {
            Resolution::Escalate(_) => self.asking(by, GateType::ConflictResolution, subject),
            _ => self.standing(by, GateType::ConflictResolution, subject),
        })
    }

    /// Whether a conflict is open and whoever is to hold what comes of it is at
    /// work. Work done again comes to nothing there.
    pub(super) fn can_settle(&self, id: WorkspaceId, conflict: ConflictId, rework: bool) -> bool {
        self.space(id).is_some_and(|space| {
            let target = space.salvaged_into.or(space.parent).unwrap_or(ROOT);
            let takes = target == ROOT
                || matches!(self.state(target), Some(State::Active | State::Blocked));
            space.conflicts.contains(&conflict) && (rework || takes)
        })
    }

    /// The workspace that works on a task now.
    pub(super) fn at_work_on(&self, task: TaskId) -> Option<WorkspaceId> {
        self.ids()
            .find(|id| self.open(*id).is_some_and(|space| space.task == Some(task)))
    }
}

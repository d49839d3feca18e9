//! What people may do, and who else may give which order (WACP §4.8, §5.4).

use wacp::{
    Command, Principal, Refusal,
    gate::GateType,
    id::{Party, UserId, WorkspaceId},
    user::{Capability, UserChange, UserState},
};

use super::{Model, ROOT, What, is_at_work};

/// A capability for one's own, and one for everybody's.
type Needs = (Option<Capability>, Option<Capability>);

impl Model {
    /// Why a person may not: unknown, away, without the capability, or with
    /// one that does not reach so far.
    pub(super) fn person_may(
        &self,
        user: UserId,
        (own, any): Needs,
        owner: Option<Party>,
    ) -> Result<(), Refusal> {
        let Some(person) = self.people.get(user.0 as usize) else {
            return Err(Refusal::UnknownUser);
        };
        if person.state != UserState::Active {
            return Err(Refusal::UserNotActive);
        }
        let holds =
            |wanted: Option<Capability>| wanted.is_some_and(|wanted| self.is_capable(user, wanted));
        match (holds(any), holds(own)) {
            (true, _) => Ok(()),
            (false, true) if owner == Some(Party::User(user)) => Ok(()),
            (false, true) => Err(Refusal::WrongScope),
            (false, false) => Err(Refusal::MissingCapability),
        }
    }

    pub(super) fn is_capable(&self, user: UserId, wanted: Capability) -> bool {
        // Seeing one's own is everyone's.
        let person = self.people.get(user.0 as usize);
        wanted == Capability::ViewTrailOwn
            || person.is_some_and(|person| person.holds.contains(&wanted))
    }

    fn owner(&self, id: WorkspaceId) -> Option<Party> {
        self.space(id).map(|space| space.owner)
    }

    /// A delegate at work does for what hangs beneath it what the coordinator
    /// does for all.
    fn is_delegate_of(&self, agent: WorkspaceId, id: WorkspaceId) -> bool {
        self.is_beneath(id, agent)
            && self
                .open(agent)
                .is_some_and(|space| space.delegate && is_at_work(space.state))
    }

    /// Whoever manages this workspace: the coordinator; a delegate, if it is
    /// about creating or integrating; a person with the capability.
    fn manages(
        &self,
        by: Principal,
        id: WorkspaceId,
        by_delegates: bool,
        needs: Needs,
    ) -> Result<(), Refusal> {
        match by {
            Principal::Coordinator => Ok(()),
            Principal::Agent(agent) if by_delegates && self.is_delegate_of(agent, id) => Ok(()),
            Principal::User(user) => self.person_may(user, needs, self.owner(id)),
            _ => Err(Refusal::PermissionDenied),
        }
    }

    /// Why this principal may not give this order, whatever it says.
    pub(super) fn may_order(&self, by: Principal, command: &Command) -> Result<(), Refusal> {
        use Capability as Ca;
        use Command as C;
        let only = |allowed: bool| match allowed {
            true => Ok(()),
            false => Err(Refusal::PermissionDenied),
        };
        let is_agent = matches!(by, Principal::Coordinator | Principal::Agent(_));
        let is_person = matches!(by, Principal::User(_));
        let administers = matches!(
            by,
            Principal::Operator | Principal::Runtime | Principal::Administrator(_)
        );
        let nobody: Needs = (None, None);
        match command {
            C::StartRun(_)
            | C::Tick
            | C::Bind { .. }
            | C::FailMigration { .. }
            | C::FailCreation { .. }
            | C::ReportViolation { .. }
            | C::Recover { .. }
            | C::ReportDegradation { .. }
            | C::Compact(_)
            | C::RecordSnapshot { .. }
            | C::RecordAuthenticationFailure { .. }
            | C::RecordAuthentication { .. } => only(by == Principal::Runtime),
            C::ShutDown { forced } => {
                only(by == Principal::Runtime || (by == Principal::Coordinator && !forced))
            }
            C::MeterUsage { .. } => only(by == Principal::Meter || by == Principal::Runtime),
            C::Acknowledge { workspace, .. } => only(match by {
                Principal::Runtime => true,
                Principal::Coordinator => *workspace == ROOT,
                Principal::Agent(id) => id == *workspace,
                _ => false,
            }),
            C::GrantVisibility { .. }
            | C::GrantAuthority { .. }
            | C::SetPriority { .. }
            | C::SetGroupPriority { .. }
            | C::Migrate { .. }
            | C::AbortGroup { .. }
            | C::TerminateGracefully(_)
            | C::Reparent { .. }
            | C::CreateRight { .. }
            | C::RevokeRight { .. }
            | C::SubmitGraph(_)
            | C::Decompose { .. }
            | C::RetryTask { .. }
            | C::CancelTask { .. }
            | C::DecideGate { .. } => only(by == Principal::Coordinator),
            C::CreateWorkspace(new) => match by {
                // A person creates directly under the root, for themselves or
                // for anyone.
                Principal::User(user) => {
                    let owner = new.owner.map_or(Party::User(user), Party::User);
                    let needs = (Some(Ca::CreateWorkspace), Some(Ca::CreateWorkspaceAny));
                    self.person_may(user, needs, Some(owner))?;
                    match new.parent {
                        ROOT => Ok(()),
                        _ => Err(Refusal::WrongScope),
                    }
                }
                Principal::Agent(agent) if agent == new.parent => only(
                    self.open(agent)
                        .is_some_and(|space| space.delegate && is_at_work(space.state)),
                ),
                _ => self.manages(by, new.parent, true, nobody),
            },
            C::Accept(acceptance) => self.manages(by, acceptance.workspace, true, nobody),
            C::Salvage(salvage) => self.manages(by, salvage.workspace, true, nobody),
            C::Revise { workspace }
            | C::Reject { workspace }
            | C::ResolveConflict { workspace, .. } => self.manages(by, *workspace, true, nobody),
            C::Suspend { workspace, .. } | C::Resume { workspace } => {
                let needs = (Some(Ca::SuspendOwn), Some(Ca::SuspendAny));
                self.manages(by, *workspace, false, needs)
            }
            C::Abort { workspace, .. } => {
                let needs = (Some(Ca::AbortOwn), Some(Ca::AbortAny));
                self.manages(by, *workspace, false, needs)
            }
            C::RaiseBudget { workspace, .. } => {
                let needs = (Some(Ca::ModifyBudget), Some(Ca::ModifyBudgetAny));
                self.manages(by, *workspace, false, needs)
            }
            C::TransferOwnership { workspace, .. } => {
                let needs = (None, Some(Ca::TransferOwnership));
                self.manages(by, *workspace, false, needs)
            }
            C::ApproveDelegation { delegate } => {
                let needs = (Some(Ca::GrantDelegation), None);
                self.manages(by, *delegate, false, needs)
            }
            C::Emit { .. } | C::Send(_) | C::CreateCheckpoint(_) => only(is_agent),
            C::ReportUsage { .. } => only(matches!(by, Principal::Agent(_))),
            C::ResolveGate { .. } | C::AnswerEscalation { .. } => only(is_person),
            C::Inject(new) => match by {
                Principal::User(user) => {
                    let needs = (Some(Ca::InjectDirective), Some(Ca::InjectDirectiveAny));
                    let owner = match new.to {
                        ROOT => Some(Party::User(user)),
                        to => self.owner(to),
                    };
                    self.person_may(user, needs, owner)
                }
                _ => Err(Refusal::PermissionDenied),
            },
            C::ChangeUser { change, .. } => match (by, change) {
                (Principal::User(user), UserChange::Deactivate | UserChange::Reactivate) => {
                    self.person_may(user, (None, Some(Ca::DeactivateUser)), None)
                }
                _ => only(administers),
            },
            C::CreateUser { .. } | C::GrantCapability { .. } | C::RevokeCapability { .. } => {
                only(administers)
            }
            // Reading is not modelled.
            C::Read { .. } | C::ReadTrail { .. } => Ok(()),
        }
    }

    /// Whether a person may answer this question.
    pub(super) fn may_answer(
        &self,
        user: UserId,
        gate_type: GateType,
        what: &What,
    ) -> Result<(), Refusal> {
        use Capability as Ca;
        let needs = match gate_type {
            // A plan is everybody's.
            GateType::TaskApproval => (Some(Ca::ViewTrailOwn), None),
            GateType::WorkspaceCreate => (Some(Ca::CreateWorkspace), Some(Ca::CreateWorkspaceAny)),
            GateType::EnvelopeDelivery => (Some(Ca::InjectDirective), Some(Ca::InjectDirectiveAny)),
            GateType::Integration | GateType::ConflictResolution => (
                Some(Ca::ApproveIntegration),
                Some(Ca::ApproveIntegrationAny),
            ),
            GateType::WorkspaceAbort => (Some(Ca::AbortOwn), Some(Ca::AbortAny)),
        };
        let owner = match what {
            What::Approve(_) => Some(Party::User(user)),
            What::Create(owner, ..) => Some(*owner),
            What::Deliver(letter) => self.letter(*letter).and_then(|l| self.owner(l.to)),
            What::Merge(id) | What::Salvage(id) | What::Abort(id) => self.owner(*id),
            What::Settle { workspace, .. } => self.owner(*workspace),
            What::WindDown(request) => self.owner(request.workspace),
        };
        self.person_may(user, needs, owner)
    }

    /// Where a change of state leads, if it leads anywhere.
    pub(super) fn change(&mut self, user: UserId, change: UserChange) {
        if let Some(person) = self.people.get_mut(user.0 as usize) {
            person.state = match change {
                UserChange::Suspend => UserState::Suspended,
                UserChange::Block => UserState::Blocked,
                UserChange::Deactivate => UserState::Deactivated,
                UserChange::Resume | UserChange::Unblock | UserChange::Reactivate => {
                    UserState::Active
                }
            };
        }
    }
}

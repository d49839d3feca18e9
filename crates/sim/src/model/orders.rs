//! What must become of each order, before it is known what did.

use trail::Micros;
use wacp::{
    Command, Order, Principal, Refusal,
    event::Reference,
    gate::{GateType, Subject},
    id::WorkspaceId,
    integration::Resolution,
    integrity::Check,
    right::RightKind,
    signal::SignalType,
    user::{UserChange, UserState},
    workspace::lifecycle::State,
};

use super::{Expect, Model, ROOT, checks::is_long, outside, rights::is_acceptable};

/// WACP §6.7: aborts do not wait for what is due, nor does reading.
pub fn goes_first(command: &Command) -> bool {
    matches!(
        command,
        Command::StartRun(_)
            | Command::Tick
            | Command::Abort { .. }
            | Command::AbortGroup { .. }
            | Command::ShutDown { .. }
            | Command::Recover { .. }
            | Command::Read { .. }
            | Command::ReadTrail { .. }
    )
}

/// After the end the trail can be read, kept and recovered.
fn is_for_later(command: &Command) -> bool {
    matches!(
        command,
        Command::Read { .. }
            | Command::ReadTrail { .. }
            | Command::Compact(_)
            | Command::RecordSnapshot { .. }
            | Command::Recover { .. }
    )
}

impl Model {
    pub(super) fn expect(&self, order: &Order, now: Micros) -> Expect {
        let (by, command) = (order.principal, &order.command);
        let is_start = matches!(command, Command::StartRun(_));
        if self.is_over() && !is_start && !is_for_later(command) {
            return Expect::refused(Refusal::RunEnded);
        }
        if !goes_first(command) && self.due().is_some_and(|(at, _)| at <= now) {
            return Expect::refused(Refusal::DueFirst);
        }
        match by {
            Principal::Agent(id) if self.space(id).is_none() => {
                return Expect::refused(Refusal::TargetNotFound);
            }
            Principal::User(user) if self.people.get(user.0 as usize).is_none() => {
                return Expect::refused(Refusal::UnknownUser);
            }
            Principal::Runtime if is_start => {
                return Expect::refused(Refusal::AlreadyStarted);
            }
            _ if is_start => return Expect::refused(Refusal::PermissionDenied),
            _ => {}
        }
        match self.may_order(by, command) {
            Err(why) => Expect::refused(why),
            Ok(()) => self.expect_content(by, command, now),
        }
    }

    fn expect_content(&self, by: Principal, command: &Command, now: Micros) -> Expect {
        use Command as C;
        match command {
            C::Emit {
                signal,
                reason,
                reference,
            } => {
                let mut expect = self.expect_signal(by, *signal, reason.as_ref());
                // The coordinator's is the acknowledgement itself.
                let about = (*signal, reference);
                if let (SignalType::Acknowledged, Some(Reference::Envelope(id))) = about
                    && sender(by) == ROOT
                {
                    expect.rules(self.expect_acknowledgement(ROOT, *id).broken);
                }
                expect
            }
            C::Send(new) => self.expect_send(sender(by), new),
            C::Acknowledge {
                workspace,
                envelope,
            } => self.expect_acknowledgement(*workspace, *envelope),
            C::Inject(new) => {
                let mut expect = Expect::decided();
                expect.rule(!self.highway.injection, Refusal::InjectionDisabled);
                self.check_shape(new, &mut expect);
                expect.rule(!new.rights.is_empty(), Refusal::InvalidStructure);
                self.check_target(new.to, &mut expect);
                let broken = new.check == Check::Invalid;
                expect.rule(broken, Refusal::IntegrityViolation);
                expect
            }
            C::CreateRight {
                holder,
                target,
                kind,
            } => {
                let mut expect = Expect::decided();
                self.living(*holder, &mut expect);
                self.living(*target, &mut expect);
                let fixed = *kind == RightKind::Receive;
                expect.rule(fixed, Refusal::ReceiveRightFixed);
                expect
            }
            C::RevokeRight {
                holder,
                target,
                kind,
            } => {
                let mut expect = Expect::decided();
                let fixed = *kind == RightKind::Receive;
                expect.rule(fixed, Refusal::ReceiveRightFixed);
                let none = !self.holds(*holder, *target, *kind);
                expect.rule(none && !fixed, Refusal::NoSendRight);
                expect
            }
            C::Suspend { workspace, reason } => {
                let mut expect = self.pausable(*workspace);
                expect.rule(is_long(reason), Refusal::TooLong);
                expect
            }
            C::Resume { workspace } => self.in_state(*workspace, &[State::Suspended]),
            C::Migrate {
                workspace,
                new_agent,
                reason,
            } => {
                let mut expect = self.pausable(*workspace);
                expect.rule(new_agent.is_empty(), Refusal::AgentRequired);
                let long = is_long(reason) || is_long(new_agent);
                expect.rule(long, Refusal::TooLong);
                expect.outside = &[Refusal::AgentBound];
                expect
            }
            C::CompleteMigration { workspace } | C::FailMigration { workspace, .. } => {
                self.in_state(*workspace, &[State::Migrating])
            }
            C::FailCreation { workspace } => match self.state(*workspace) {
                None => Expect::refused(Refusal::TargetNotFound),
                Some(State::Idle) => Expect::decided(),
                Some(_) => Expect::refused(Refusal::InvalidState),
            },
            C::Abort { workspace, reason } => {
                let mut expect = Expect::decided();
                expect.rule(*workspace == ROOT, Refusal::RootIsFixed);
                expect.rule(reason.as_ref().is_some_and(is_long), Refusal::TooLong);
                self.living(*workspace, &mut expect);
                if by == Principal::Coordinator {
                    expect.rules(self.abort_gate(*workspace));
                }
                expect
            }
            C::AbortGroup { group } | C::SetGroupPriority { group, .. } => {
                let mut spaces = self.spaces.iter();
                match spaces.any(|space| space.group.as_ref() == Some(group)) {
                    true => Expect::decided(),
                    false => Expect::refused(Refusal::UnknownGroup),
                }
            }
            C::SetPriority { workspace, .. } => {
                self.in_state(*workspace, &[State::Active, State::Blocked])
            }
            C::TerminateGracefully(request) => {
                let mut expect = self.expect_wind_down(request);
                let subject = Subject::WindDown(request.workspace, request.grace_us);
                let standing = self.standing(by, GateType::WorkspaceAbort, subject);
                expect.rules(Model::refusal(standing));
                expect
            }
            C::TransferOwnership {
                workspace,
                to,
                reason,
            } => {
                let mut expect = Expect::decided();
                expect.rule(*workspace == ROOT, Refusal::RootIsFixed);
                self.living(*workspace, &mut expect);
                expect.rules(self.absence(*to));
                expect.rule(reason.as_ref().is_some_and(is_long), Refusal::TooLong);
                expect
            }
            C::Reparent {
                workspace,
                parent,
                reason,
            } => self.expect_reparent(*workspace, *parent, reason),
            C::ApproveDelegation { delegate } => {
                let mut expect = Expect::decided();
                self.living(*delegate, &mut expect);
                let plain = self.open(*delegate).is_some_and(|space| !space.delegate);
                expect.rule(plain, Refusal::InvalidState);
                expect
            }
            C::CreateWorkspace(new) => self.expect_creation(by, new),
            C::Accept(acceptance) => {
                let id = acceptance.workspace;
                let mut expect = self.in_state(id, &[State::Integrating]);
                let gate = self.standing(by, GateType::Integration, Subject::Workspace(id));
                expect.rules(Model::refusal(gate));
                expect.outside = outside::MERGES;
                expect
            }
            C::Revise { workspace } | C::Reject { workspace } => {
                self.in_state(*workspace, &[State::Integrating])
            }
            C::ResolveConflict {
                workspace,
                conflict,
                resolution,
            } => {
                let found = self
                    .space(*workspace)
                    .is_some_and(|space| space.conflicts.contains(conflict));
                if !found {
                    return Expect::refused(Refusal::UnknownConflict);
                }
                let mut expect = Expect::decided();
                let rework = *resolution == Resolution::AgentRework;
                let possible = self.can_settle(*workspace, *conflict, rework);
                expect.rule(!possible, Refusal::InvalidState);
                expect.rules(self.conflict_gate(by, *conflict, resolution));
                let sound = match resolution {
                    Resolution::CoordinatorResolve(words) | Resolution::Escalate(words) => {
                        is_acceptable(words)
                    }
                    Resolution::AgentRework => true,
                };
                expect.rule(!sound, Refusal::InvalidStructure);
                expect
            }
            C::Salvage(salvage) => match self.state(salvage.workspace) {
                None => Expect::refused(Refusal::TargetNotFound),
                Some(State::Failed) => {
                    let mut expect = Expect::unless(outside::SALVAGE);
                    if let Some(subject) = self.salvage_subject(salvage) {
                        let gate = self.standing(by, GateType::Integration, subject);
                        expect.rules(Model::refusal(gate));
                    }
                    expect
                }
                Some(_) => Expect::refused(Refusal::NothingToSalvage),
            },
            C::CreateCheckpoint(_) => {
                let mut expect = self.in_state(sender(by), &[State::Active]);
                expect.outside = outside::CHECKPOINTS;
                expect
            }
            C::SubmitGraph(_) => Expect::unless(outside::PLANS),
            C::Decompose { task, .. } | C::RetryTask { task } => {
                let mut expect = Expect::unless(outside::PLANS);
                let known = (task.0 as usize) < self.tasks.len();
                expect.rule(!known, Refusal::UnknownTask);
                expect
            }
            C::CancelTask { task } => {
                let mut expect = Expect::unless(&[Refusal::InvalidTaskStatus]);
                let known = (task.0 as usize) < self.tasks.len();
                expect.rule(!known, Refusal::UnknownTask);
                if let Some(id) = self.at_work_on(*task) {
                    expect.rules(self.abort_gate(id));
                }
                expect
            }
            C::ResolveGate {
                gate,
                answer,
                modification,
            } => match (by, self.pending(*gate)) {
                (Principal::User(user), Some(question)) => {
                    let may = self.may_answer(user, question.gate_type, &question.what);
                    if let Err(why) = may {
                        return Expect::refused(why);
                    }
                    let mut expect = Expect::decided();
                    expect.rules(Model::misfit(question, *answer, modification.as_ref()));
                    // A changed plan or workspace is checked like a new one.
                    expect.outside = match question.gate_type {
                        GateType::TaskApproval => &[Refusal::InvalidEstimate],
                        GateType::WorkspaceCreate if modification.is_some() => {
                            outside::CHANGED_CREATION
                        }
                        GateType::Integration => &[Refusal::IntegrationUnderWay],
                        _ => &[],
                    };
                    expect
                }
                _ => Expect::refused(Refusal::UnknownGate),
            },
            C::DecideGate { gate, proceed } => {
                let handed = self.handed.iter().find(|question| question.id == *gate);
                let Some(question) = handed else {
                    return Expect::refused(Refusal::UnknownGate);
                };
                let mut expect = Expect::decided();
                let possible = self.is_possible(question, &super::Facts::default());
                expect.rule(*proceed && !possible, Refusal::InvalidState);
                if *proceed && is_decided_outside(question.gate_type) {
                    expect.outside = &[Refusal::InvalidState];
                }
                expect
            }
            C::AnswerEscalation { .. } => Expect::unless(outside::ANSWERS),
            C::Tick => match self.due() {
                Some((at, _)) if at <= now => Expect::decided(),
                _ => Expect::unless(&[Refusal::NothingDue]),
            },
            C::ShutDown { forced } => {
                let mut expect = Expect::decided();
                let open = self.ids().filter(|id| self.open(*id).is_some()).count();
                expect.rule(!forced && open > 1, Refusal::WorkspacesOpen);
                let ready = self.state(ROOT) == Some(State::Active);
                expect.rule(!forced && !ready, Refusal::InvalidState);
                expect
            }
            C::ChangeUser {
                user,
                change,
                reason,
            } => {
                let Some(person) = self.people.get(user.0 as usize) else {
                    return Expect::refused(Refusal::UnknownUser);
                };
                let mut expect = Expect::decided();
                let leads = leads(person.state, *change);
                expect.rule(!leads, Refusal::InvalidUserTransition);
                expect.rule(reason.as_ref().is_some_and(is_long), Refusal::TooLong);
                expect
            }
            // Outside the model, whatever the reason.
            _ => Expect::anything(),
        }
    }
}

/// WACP user specification: where a person's state can go.
fn leads(state: UserState, change: UserChange) -> bool {
    use UserState::{Active, Blocked, Deactivated, Suspended};
    match change {
        UserChange::Suspend => state == Active || state == Blocked,
        UserChange::Block => state == Active || state == Suspended,
        UserChange::Resume => state == Suspended,
        UserChange::Unblock => state == Blocked,
        UserChange::Deactivate => state != Deactivated,
        UserChange::Reactivate => state == Deactivated,
    }
}

/// Whether something can be created or merged is not the model's matter alone.
fn is_decided_outside(gate_type: GateType) -> bool {
    matches!(gate_type, GateType::WorkspaceCreate | GateType::Integration)
}

pub(super) fn sender(by: Principal) -> WorkspaceId {
    match by {
        Principal::Agent(id) => id,
        _ => ROOT,
    }
}

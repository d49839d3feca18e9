//! What an accepted order does.

use trail::Micros;
use wacp::{
    Command, Order, Principal,
    checkpoint::Status,
    envelope::Priority,
    escalation,
    event::{Damaged, Reference},
    gate::{GateType, Subject},
    id::WorkspaceId,
    signal::SignalType,
    task::NewGraph,
    user::UserState,
    workspace::lifecycle::State,
};

use super::{Facts, Model, Person, Plan, ROOT, Right, What, gates::Standing, orders::sender};

impl Model {
    pub(super) fn perform(&mut self, order: &Order, now: Micros, facts: &mut Facts) {
        use Command as C;
        let by = order.principal;
        match &order.command {
            C::Emit {
                signal: SignalType::Acknowledged,
                reference: Some(Reference::Envelope(envelope)),
                ..
            } => self.acknowledge(ROOT, *envelope),
            C::Emit { signal, .. } => self.emit(by, *signal, facts),
            C::Send(new) => {
                let Some(id) = facts.envelope() else { return };
                let from = match by {
                    Principal::Agent(from) => from,
                    _ => ROOT,
                };
                self.send(from, new, id, facts);
            }
            C::Inject(new) => {
                if let Some(id) = facts.envelope() {
                    self.inject(by, id, new.to, new.priority, new.payload);
                }
            }
            C::CreateRight {
                holder,
                target,
                kind,
            } => self.give(Right {
                holder: *holder,
                target: *target,
                kind: *kind,
            }),
            C::RevokeRight {
                holder,
                target,
                kind,
            } => {
                let gone = Right {
                    holder: *holder,
                    target: *target,
                    kind: *kind,
                };
                self.rights.retain(|right| *right != gone);
            }
            C::Recover { downtime_us, .. } => self.put_off(*downtime_us),
            C::Suspend { workspace, .. } => self.enter(*workspace, State::Suspended, facts),
            C::Migrate { workspace, .. } => self.enter(*workspace, State::Migrating, facts),
            C::Resume { workspace } | C::CompleteMigration { workspace } => {
                let before = self.space(*workspace).and_then(|space| space.before);
                if let Some(before) = before {
                    self.enter(*workspace, before, facts);
                }
            }
            C::FailMigration { workspace, .. }
            | C::FailCreation { workspace }
            | C::Revise { workspace }
            | C::Reject { workspace } => self.fail(*workspace, facts),
            C::Abort { workspace, .. } => match by {
                Principal::Coordinator => {
                    if self.may_abort(*workspace, facts) {
                        self.fail(*workspace, facts);
                    }
                }
                _ => self.fail(*workspace, facts),
            },
            C::AbortGroup { group } => {
                let is_member = |id: &WorkspaceId| {
                    self.open(*id)
                        .is_some_and(|s| s.group.as_ref() == Some(group))
                };
                let members: Vec<_> = self.ids().filter(is_member).collect();
                for id in members {
                    let (kind, subject) = (GateType::WorkspaceAbort, Subject::Workspace(id));
                    match self.standing(by, kind, subject) {
                        // One may have ended with another of the group.
                        _ if self.open(id).is_none() => {}
                        Standing::Free => {
                            self.take_up(kind, subject);
                            self.fail(id, facts);
                        }
                        Standing::Asks => self.ask(kind, subject, What::Abort(id), facts),
                        Standing::Waits | Standing::FellBack => {}
                    }
                }
            }
            C::TerminateGracefully(request) => {
                let (kind, subject) = (
                    GateType::WorkspaceAbort,
                    Subject::WindDown(request.workspace, request.grace_us),
                );
                match self.standing(by, kind, subject) {
                    Standing::Asks => {
                        self.ask(kind, subject, What::WindDown(request.clone()), facts);
                    }
                    _ => {
                        self.take_up(kind, subject);
                        self.wind_down(request, facts);
                    }
                }
            }
            C::TransferOwnership { workspace, to, .. } => {
                self.spaces[workspace.0 as usize].owner = wacp::id::Party::User(*to);
            }
            C::Reparent {
                workspace, parent, ..
            } => {
                self.move_to(*workspace, *parent);
                self.reconnect(*workspace);
            }
            C::ApproveDelegation { delegate } => {
                self.spaces[delegate.0 as usize].may_make_delegates = true;
            }
            C::CreateWorkspace(new) => {
                let is_gated = self.highway.gate(GateType::WorkspaceCreate).enabled;
                let is_person = matches!(by, Principal::User(_));
                match self.parties(by, new) {
                    Ok((owner, _)) if is_gated && !is_person => {
                        let what = What::Create(owner, by, new.clone());
                        self.ask(GateType::WorkspaceCreate, Subject::Proposal, what, facts);
                    }
                    _ => self.create(by, new, facts),
                }
            }
            C::Accept(acceptance) => {
                let id = acceptance.workspace;
                let (kind, subject) = (GateType::Integration, Subject::Workspace(id));
                match self.standing(by, kind, subject) {
                    Standing::Asks => self.ask(kind, subject, What::Merge(id), facts),
                    _ => {
                        self.take_up(kind, subject);
                        self.merge(id, facts);
                    }
                }
            }
            C::ResolveConflict {
                workspace,
                conflict,
                resolution,
            } => self.propose(by, *workspace, *conflict, resolution, facts),
            C::Salvage(salvage) => {
                let (id, kind) = (salvage.workspace, GateType::Integration);
                if let Some(subject) = self.salvage_subject(salvage) {
                    match self.standing(by, kind, subject) {
                        Standing::Asks => self.ask(kind, subject, What::Salvage(id), facts),
                        _ => {
                            self.take_up(kind, subject);
                            self.salvage(id, subject, facts);
                        }
                    }
                }
            }
            C::SubmitGraph(NewGraph { tasks, .. }) | C::Decompose { tasks, .. } => {
                self.tasks.extend(tasks.iter().map(|_| Plan::Draft));
                for task in std::mem::take(&mut facts.tasks) {
                    let (kind, subject) = (GateType::TaskApproval, Subject::Task(task));
                    match self.standing(by, kind, subject) {
                        Standing::Asks => self.ask(kind, subject, What::Approve(task), facts),
                        _ => self.set_plan(task, Plan::Approved),
                    }
                }
            }
            C::CancelTask { task } => match self.at_work_on(*task) {
                Some(id) => {
                    if self.may_abort(id, facts) {
                        self.set_plan(*task, Plan::Cancelled);
                        self.fail(id, facts);
                    }
                }
                None => self.set_plan(*task, Plan::Cancelled),
            },
            C::ResolveGate {
                gate,
                answer,
                modification,
            } => self.answer(*gate, *answer, modification.as_ref(), facts),
            C::DecideGate { gate, proceed } => {
                let Some(at) = self.handed.iter().position(|q| q.id == *gate) else {
                    return;
                };
                let question = self.handed.remove(at);
                match proceed {
                    true => self.go_ahead(&question, facts),
                    false => self.call_off(&question, facts),
                }
            }
            C::AnswerEscalation { signal, answer } => {
                let about = self.escalations.iter().find(|(id, _)| id == signal);
                let about = about.map(|(_, workspace)| *workspace);
                match (answer, about) {
                    (escalation::Answer::Abort, Some(id)) => self.fail(id, facts),
                    (escalation::Answer::Envelope { payload, .. }, Some(id)) => {
                        if let Some(envelope) = facts.envelope() {
                            self.inject(by, envelope, id, Priority::Normal, *payload);
                        }
                    }
                    _ => {}
                }
            }
            C::ReportViolation {
                subject: Damaged::Envelope(letter),
                ..
            } => {
                self.lose(*letter);
            }
            C::Acknowledge {
                workspace,
                envelope,
            } => self.acknowledge(*workspace, *envelope),
            C::Tick => self.tick(now, facts),
            C::ShutDown { forced } => {
                if *forced {
                    // The root takes everyone along, whoever owns them.
                    self.fail(ROOT, facts);
                } else {
                    self.complete(ROOT, facts);
                    self.close(ROOT, facts);
                }
            }
            // What is put away is not asked about, and not guarded.
            C::Compact(done) => {
                let id = done.workspace;
                let is_over = |subject: &Subject| match subject {
                    Subject::Salvage(about, ..) => *about == id,
                    _ => false,
                };
                self.settled.retain(|(_, subject, _)| !is_over(subject));
                self.drop_questions(|question| is_over(&question.subject));
                self.spaces[id.0 as usize].checkpoints.clear();
            }
            C::CreateCheckpoint(new) => {
                let is_final = new.status == Status::Final;
                let made = facts.checkpoint.map(|id| (id, is_final));
                self.spaces[sender(by).0 as usize].checkpoints.extend(made);
            }
            C::CreateUser { .. } => self.people.push(Person {
                state: UserState::Active,
                holds: Vec::new(),
            }),
            C::ChangeUser { user, change, .. } => self.change(*user, *change),
            C::GrantCapability { user, capability } => {
                self.people[user.0 as usize].holds.push(*capability);
            }
            C::RevokeCapability {
                user, capability, ..
            } => {
                let holds = &mut self.people[user.0 as usize].holds;
                holds.retain(|held| held != capability);
            }
            _ => {}
        }
        self.escalations.append(&mut facts.escalated);
    }
}

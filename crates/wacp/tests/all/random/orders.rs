//! What is ordered: talk, merging and people, management, and rare things.

use std::sync::Arc;

use wacp::{
    Command, Order, Principal,
    checkpoint::{NewCheckpoint, Status},
    command::Compaction,
    content::Content,
    envelope::NewEnvelope,
    escalation,
    gate::{Answer, GateType, Modification, TaskModification, WorkspaceModification},
    id::{ConflictId, EnvelopeId, GateId, SignalId, TaskId, WorkspaceId},
    integration::{Acceptance, ConflictType, Declared, Resolution, Salvage, Strategy},
    integrity::Check,
    right::RightKind,
    role::EnvelopeType,
    signal::SignalType,
    task::{DependsOn, NewGraph, NewTask},
    user::{Capability, UserChange},
    workspace::{
        Band, Seen,
        budget::{Dimension, Usage},
        lifecycle::State,
    },
};

use crate::world::{artifact, text};

use super::player::Player;

/// Who usually gives such an order.
struct Usual {
    coordinator: Principal,
    runtime: Principal,
    human: Principal,
}

impl Player<'_> {
    pub fn order(&mut self) -> Order {
        let human = Principal::User(self.user());
        let by = Usual {
            coordinator: self.principal(Principal::Coordinator),
            runtime: self.principal(Principal::Runtime),
            human: self.principal(human),
        };
        let (principal, command) = match self.dice.roll(44) {
            roll @ 0..=22 => self.talk(roll, &by),
            roll @ 23..=33 => self.merge(roll, &by),
            roll => self.manage(roll, &by),
        };
        Order::new(principal, command)
    }

    /// Workspaces, signals, envelopes and checkpoints.
    fn talk(&mut self, roll: u64, by: &Usual) -> (Principal, Command) {
        let Usual {
            coordinator,
            runtime,
            human,
        } = *by;
        let work = [State::Active, State::Blocked];
        match roll {
            0..=3 => {
                let new = self.new_workspace();
                let parent = new.parent;
                let by = if self.dice.chance(70) {
                    coordinator
                } else {
                    Principal::Agent(parent)
                };
                let by = if self.dice.chance(8) { human } else { by };
                (by, Command::CreateWorkspace(Box::new(new)))
            }
            4..=7 => {
                let id = self.in_state(&[State::Idle, State::Active, State::Blocked]);
                let mut signal = self.dice.pick(&SignalType::ALL);
                // The root's failure ends the run: once in a while is enough.
                if id == WorkspaceId::ROOT && signal == SignalType::Failed && !self.dice.chance(1) {
                    signal = SignalType::Started;
                }
                let command = Command::Emit {
                    signal,
                    reason: (signal.needs_reason() || self.dice.chance(10)).then(|| text("why")),
                    reference: None,
                };
                (Principal::Agent(id), command)
            }
            8..=9 => {
                let id = self.in_state(&[State::Active]);
                let command = Command::Emit {
                    signal: SignalType::Complete,
                    reason: None,
                    reference: None,
                };
                (Principal::Agent(id), command)
            }
            10..=13 => {
                let to =
                    self.in_state(&[State::Idle, State::Active, State::Blocked, State::Suspended]);
                let mut new = self.envelope(to);
                new.envelope_type = self
                    .dice
                    .pick(&[EnvelopeType::Directive, EnvelopeType::Feedback]);
                let parent = self.run.workspace(to).and_then(|slot| slot.parent());
                let by = if self.dice.chance(70) {
                    coordinator
                } else {
                    Principal::Agent(parent.unwrap_or(to))
                };
                (by, Command::Send(Box::new(new)))
            }
            14..=15 => {
                let from = self.in_state(&work);
                let to = if self.dice.chance(70) {
                    WorkspaceId::ROOT
                } else {
                    self.workspace()
                };
                let mut new = self.envelope(to);
                new.envelope_type = self.dice.pick(&[
                    EnvelopeType::Query,
                    EnvelopeType::Query,
                    EnvelopeType::Registered(0),
                    EnvelopeType::Registered(9),
                ]);
                (Principal::Agent(from), Command::Send(Box::new(new)))
            }
            16..=19 => {
                let pending: Vec<_> = self.run.inboxes.keys().copied().collect();
                let (workspace, envelope) = if pending.is_empty() {
                    (self.workspace(), EnvelopeId(self.dice.roll(9)))
                } else {
                    self.dice.pick(&pending)
                };
                (
                    runtime,
                    Command::Acknowledge {
                        workspace,
                        envelope,
                    },
                )
            }
            20..=22 => {
                let id = self.in_state(&[State::Active]);
                let head = self.run.open(id).and_then(|open| open.register.head());
                let resource = self.dice.pick(&["src/a", "src/b", "etc/x"]);
                let base = self.dice.chance(50).then_some("1");
                let version = self.dice.pick(&["1", "2", "3"]);
                let new = NewCheckpoint {
                    check: if self.dice.chance(3) {
                        Check::Invalid
                    } else {
                        Check::Valid
                    },
                    resource_usage: self.dice.chance(50).then(|| Usage {
                        tokens: self.dice.roll(20),
                        ..Usage::default()
                    }),
                    status: self.dice.pick(&[Status::Final, Status::Provisional]),
                    ..NewCheckpoint::last(head, vec![artifact(resource, base, version)])
                };
                (
                    Principal::Agent(id),
                    Command::CreateCheckpoint(Box::new(new)),
                )
            }
            _ => self.rare(coordinator, runtime, human),
        }
    }

    /// Integration, gates, escalations and injection.
    fn merge(&mut self, roll: u64, by: &Usual) -> (Principal, Command) {
        let Usual {
            coordinator,
            runtime,
            human,
        } = *by;
        let content = Content::markdown("content");
        match roll {
            23..=24 => {
                let id = self.in_state(&[State::Integrating]);
                let strategy =
                    self.dice
                        .pick(&[Strategy::Direct, Strategy::Layered, Strategy::Evaluated]);
                let mut accept = Acceptance::of(id, strategy);
                if self.dice.chance(30) {
                    accept.conflicts.push(Declared {
                        conflict_type: self.dice.pick(&[
                            ConflictType::DependencyViolation,
                            ConflictType::ContentOverlap,
                        ]),
                        description: text("d"),
                        resource: None,
                    });
                }
                accept.check = if self.dice.chance(3) {
                    Check::Invalid
                } else {
                    Check::Valid
                };
                let parent = self.run.workspace(id).and_then(|slot| slot.parent());
                let by = if self.dice.chance(70) {
                    coordinator
                } else {
                    Principal::Agent(parent.unwrap_or(id))
                };
                (by, Command::Accept(Box::new(accept)))
            }
            25 => {
                let workspace = self.in_state(&[State::Integrating, State::Conflicted]);
                let command = if self.dice.chance(50) {
                    Command::Revise { workspace }
                } else {
                    Command::Reject { workspace }
                };
                (coordinator, command)
            }
            26 => {
                let open: Vec<(WorkspaceId, ConflictId)> = self
                    .run
                    .merges
                    .iter()
                    .flat_map(|(id, merge)| merge.open.iter().map(|open| (*id, open.id)))
                    .collect();
                let (workspace, conflict) = if open.is_empty() {
                    (self.workspace(), ConflictId(0))
                } else {
                    self.dice.pick(&open)
                };
                let resolution = match self.dice.roll(3) {
                    0 => Resolution::CoordinatorResolve(content),
                    1 => Resolution::Escalate(content),
                    _ => Resolution::AgentRework,
                };
                (
                    coordinator,
                    Command::ResolveConflict {
                        workspace,
                        conflict,
                        resolution,
                    },
                )
            }
            27 => {
                let id = self.in_state(&[State::Failed]);
                let salvage = Salvage {
                    check: Check::Valid,
                    checkpoint: None,
                    conflicts: vec![],
                    strategy: self.dice.pick(&[
                        Strategy::Evaluated,
                        Strategy::Evaluated,
                        Strategy::Direct,
                    ]),
                    synthesis: None,
                    usable: self.dice.chance(80),
                    workspace: id,
                };
                (coordinator, Command::Salvage(Box::new(salvage)))
            }
            28..=30 => {
                let gates: Vec<GateId> = self.run.gates.keys().copied().collect();
                let gate = if gates.is_empty() {
                    GateId(0)
                } else {
                    self.dice.pick(&gates)
                };
                let answer = self.dice.pick(&[
                    Answer::Approve,
                    Answer::Approve,
                    Answer::Reject,
                    Answer::Modify,
                ]);
                let kind = self.run.gates.get(&gate).map(|gate| gate.gate_type);
                let modification = (answer == Answer::Modify).then(|| match kind {
                    Some(GateType::TaskApproval) => Modification::Task(TaskModification {
                        name: Some(text("other")),
                        ..TaskModification::default()
                    }),
                    Some(GateType::WorkspaceCreate) => {
                        Modification::Workspace(WorkspaceModification {
                            priority: Some(Band::Critical),
                            ..WorkspaceModification::default()
                        })
                    }
                    Some(GateType::ConflictResolution) => Modification::Resolution(content),
                    _ => Modification::Payload(content),
                });
                (
                    human,
                    Command::ResolveGate {
                        gate,
                        answer,
                        modification,
                    },
                )
            }
            31 => {
                let handed: Vec<GateId> = self.run.escalated_gates.keys().copied().collect();
                let gate = if handed.is_empty() {
                    GateId(0)
                } else {
                    self.dice.pick(&handed)
                };
                (
                    coordinator,
                    Command::DecideGate {
                        gate,
                        proceed: self.dice.chance(70),
                    },
                )
            }
            32 => {
                let open: Vec<SignalId> = self.run.escalations.keys().copied().collect();
                let signal = if open.is_empty() {
                    SignalId(0)
                } else {
                    self.dice.pick(&open)
                };
                let answer = match self.dice.roll(3) {
                    0 => escalation::Answer::Envelope {
                        envelope_type: EnvelopeType::Feedback,
                        payload: content,
                    },
                    1 => escalation::Answer::Abort,
                    _ => escalation::Answer::Delegate,
                };
                (human, Command::AnswerEscalation { signal, answer })
            }
            33 => {
                let to = if self.dice.chance(40) {
                    WorkspaceId::ROOT
                } else {
                    self.workspace()
                };
                let new = self.envelope(to);
                (
                    human,
                    Command::Inject(Box::new(NewEnvelope {
                        rights: Arc::from([]),
                        ..new
                    })),
                )
            }
            _ => self.rare(coordinator, runtime, human),
        }
    }

    /// The coordinator's management, tasks, usage and people's states.
    fn manage(&mut self, roll: u64, by: &Usual) -> (Principal, Command) {
        let Usual {
            coordinator,
            runtime,
            human,
        } = *by;
        let work = [State::Active, State::Blocked];
        match roll {
            34 => {
                let workspace = self.workspace();
                let by = if self.dice.chance(50) {
                    coordinator
                } else {
                    human
                };
                (
                    by,
                    Command::Abort {
                        workspace,
                        reason: None,
                    },
                )
            }
            35 => {
                let workspace = self.in_state(&work);
                let by = if self.dice.chance(50) {
                    coordinator
                } else {
                    human
                };
                (
                    by,
                    Command::Suspend {
                        workspace,
                        reason: text("s"),
                    },
                )
            }
            36 => {
                let workspace = self.in_state(&[State::Suspended]);
                (coordinator, Command::Resume { workspace })
            }
            37 => {
                let workspace = self.in_state(&work);
                (
                    coordinator,
                    Command::Migrate {
                        workspace,
                        new_agent: text("n"),
                        reason: text("m"),
                    },
                )
            }
            38 => {
                let workspace = self.in_state(&[State::Migrating]);
                if self.dice.chance(80) {
                    (runtime, Command::CompleteMigration { workspace })
                } else {
                    (
                        runtime,
                        Command::FailMigration {
                            workspace,
                            error: text("e"),
                        },
                    )
                }
            }
            39 => {
                let tasks = (0..1 + self.dice.roll(4))
                    .map(|at| {
                        let on = (at > 0 && self.dice.chance(60))
                            .then(|| DependsOn::New(self.dice.roll(at) as u32));
                        NewTask::named("task", on.into_iter().collect())
                    })
                    .collect();
                if self.dice.chance(60) || self.run.tasks.is_empty() {
                    (
                        coordinator,
                        Command::SubmitGraph(NewGraph { root: 0, tasks }),
                    )
                } else {
                    let task = TaskId(self.dice.roll(self.run.tasks.len() as u64) as u32);
                    (coordinator, Command::Decompose { task, tasks })
                }
            }
            40 => {
                let task = TaskId(self.dice.roll(self.run.tasks.len() as u64 + 1) as u32);
                let command = if self.dice.chance(60) {
                    Command::RetryTask { task }
                } else {
                    Command::CancelTask { task }
                };
                (coordinator, command)
            }
            41 => {
                let workspace = self.in_state(&work);
                let totals = Usage {
                    tokens: self.dice.roll(120),
                    ..Usage::default()
                };
                if self.dice.chance(50) {
                    (Principal::Meter, Command::MeterUsage { workspace, totals })
                } else {
                    (Principal::Agent(workspace), Command::ReportUsage { totals })
                }
            }
            42 => self.rare(coordinator, runtime, human),
            _ => {
                let user = self.user();
                let change = self.dice.pick(&UserChange::ALL);
                (
                    Principal::Operator,
                    Command::ChangeUser {
                        user,
                        change,
                        reason: None,
                    },
                )
            }
        }
    }

    fn rare(
        &mut self,
        coordinator: Principal,
        runtime: Principal,
        human: Principal,
    ) -> (Principal, Command) {
        let workspace = self.workspace();
        let other = self.workspace();
        let user = self.user();
        match self.dice.roll(18) {
            0 => (
                coordinator,
                Command::SetPriority {
                    workspace,
                    priority: Band::Background,
                },
            ),
            1 => (
                coordinator,
                Command::SetGroupPriority {
                    group: text("g"),
                    priority: Band::Critical,
                },
            ),
            2 => (coordinator, Command::AbortGroup { group: text("g") }),
            3 => {
                let targets = Arc::from([Seen::Workspace(other)]);
                (
                    coordinator,
                    Command::GrantVisibility {
                        workspace,
                        targets,
                        reason: None,
                    },
                )
            }
            4 => {
                let dimension = self.dice.pick(&Dimension::ALL);
                (
                    human,
                    Command::RaiseBudget {
                        workspace,
                        dimension,
                        limit: self.dice.roll(1000),
                    },
                )
            }
            5 => (
                coordinator,
                Command::TransferOwnership {
                    workspace,
                    to: user,
                    reason: None,
                },
            ),
            6 => (
                coordinator,
                Command::Reparent {
                    workspace,
                    parent: other,
                    reason: text("r"),
                },
            ),
            7 => {
                let kind = self.dice.pick(&[RightKind::Send, RightKind::SendOnce]);
                (
                    coordinator,
                    Command::CreateRight {
                        holder: workspace,
                        target: other,
                        kind,
                    },
                )
            }
            8 => {
                let kind = self.dice.pick(&[RightKind::Send, RightKind::SendOnce]);
                (
                    coordinator,
                    Command::RevokeRight {
                        holder: workspace,
                        target: other,
                        kind,
                    },
                )
            }
            9 => (
                coordinator,
                Command::TerminateGracefully {
                    workspace,
                    grace_us: 10_000_000,
                    reason: text("r"),
                    payload: Content::markdown("stop"),
                },
            ),
            10 => (
                coordinator,
                Command::ApproveDelegation {
                    delegate: workspace,
                },
            ),
            11 => (
                runtime,
                Command::Recover {
                    downtime_us: 1,
                    examined: 2,
                    quarantined: 0,
                },
            ),
            12 => (runtime, Command::FailCreation { workspace }),
            13 => (
                Principal::Agent(workspace),
                Command::Read {
                    workspace: other,
                    resource: None,
                },
            ),
            14 => (
                Principal::Agent(workspace),
                Command::ReadTrail {
                    workspace: Some(other),
                },
            ),
            15 => {
                let capability = self.dice.pick(&Capability::ALL);
                (
                    Principal::Operator,
                    Command::GrantCapability { user, capability },
                )
            }
            16 => {
                let ended = self.in_state(&[State::Closed, State::Failed]);
                let done = Compaction {
                    workspace: ended,
                    archived: 1,
                    preserved: 1,
                    from: 0,
                    to: 1,
                    hash: trail::Hash::ZERO,
                };
                (runtime, Command::Compact(done))
            }
            _ => (
                coordinator,
                Command::GrantAuthority {
                    workspace,
                    resources: Arc::from([text("docs/")]),
                },
            ),
        }
    }
}

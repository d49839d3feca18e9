//! What people answer and send, and what the operator does about people.

use std::sync::Arc;

use wacp::{
    Command, Principal,
    envelope::NewEnvelope,
    escalation,
    gate::{Answer, GateType, Modification, TaskModification, WorkspaceModification},
    id::{GateId, SignalId, WorkspaceId},
    role::EnvelopeType,
    task::Estimate,
    user::{Capability, UserChange, UserState},
    workspace::Band,
};

use super::{Kind, kind};
use crate::player::{Player, text};

pub const KINDS: &[Kind] = &[
    kind("resolve_gate", 45, resolve_gate),
    kind("decide_gate", 15, decide_gate),
    kind("inject", 18, inject),
    kind("answer_escalation", 15, answer_escalation),
    kind("create_user", 3, create_user),
    kind("change_user", 16, change_user),
    kind("grant_capability", 20, grant_capability),
    kind("revoke_capability", 5, revoke_capability),
];

fn resolve_gate(player: &mut Player<'_>) -> (Principal, Command) {
    let other = GateId(player.dice.roll(9) as u32);
    let gate = player.one_of(player.run.gates.keys().copied(), other);
    (player.human(), player.answer_to(gate))
}

impl Player<'_> {
    /// How a person might answer a gate.
    pub(crate) fn answer_to(&mut self, gate: GateId) -> Command {
        let answers = [
            Answer::Approve,
            Answer::Approve,
            Answer::Approve,
            Answer::Modify,
            Answer::Modify,
            Answer::Reject,
        ];
        let answer = self.dice.pick(&answers);
        let kind = self.run.gates.get(&gate).map(|gate| gate.gate_type);
        let changes = (answer == Answer::Modify) != self.dice.chance(3);
        Command::ResolveGate {
            gate,
            answer,
            modification: changes.then(|| self.modification(kind)),
        }
    }

    fn modification(&mut self, kind: Option<GateType>) -> Modification {
        let content = self.content();
        match kind {
            Some(GateType::TaskApproval) => Modification::Task(TaskModification {
                name: Some(self.words("another name")),
                resource_estimate: self.dice.chance(20).then(|| Estimate {
                    cost_micros: None,
                    tokens: None,
                    wall_time_us: Some(self.dice.roll(3)),
                }),
                ..TaskModification::default()
            }),
            Some(GateType::WorkspaceCreate) => Modification::Workspace(WorkspaceModification {
                budget: self.dice.chance(30).then(|| self.budget()),
                priority: Some(Band::Critical),
                visibility: self.dice.chance(20).then(|| self.visibility()),
            }),
            Some(GateType::ConflictResolution) => Modification::Resolution(content),
            _ => Modification::Payload(content),
        }
    }

    /// How a person might answer an escalation.
    pub(crate) fn answer_for(&mut self, signal: SignalId) -> Command {
        let answer = match self.dice.roll(6) {
            0..=2 => escalation::Answer::Envelope {
                envelope_type: if self.dice.chance(3) {
                    EnvelopeType::Registered(9)
                } else {
                    EnvelopeType::Feedback
                },
                payload: self.content(),
            },
            3 => escalation::Answer::Abort,
            _ => escalation::Answer::Delegate,
        };
        Command::AnswerEscalation { signal, answer }
    }
}

fn decide_gate(player: &mut Player<'_>) -> (Principal, Command) {
    let other = GateId(player.dice.roll(9) as u32);
    let handed = player.run.escalated_gates.keys().copied();
    let command = Command::DecideGate {
        gate: player.one_of(handed, other),
        proceed: player.dice.chance(70),
    };
    (Principal::Coordinator, command)
}

fn inject(player: &mut Player<'_>) -> (Principal, Command) {
    let to = if player.dice.chance(40) {
        WorkspaceId::ROOT
    } else {
        player.workspace()
    };
    let kind = player.dice.pick(&[
        EnvelopeType::Directive,
        EnvelopeType::Directive,
        EnvelopeType::Feedback,
        EnvelopeType::Registered(9),
    ]);
    let mut new = player.envelope(to, kind);
    // People hold no rights to pass on.
    if !player.dice.chance(10) {
        new = NewEnvelope {
            rights: Arc::from([]),
            ..new
        };
    }
    (player.human(), Command::Inject(Box::new(new)))
}

fn answer_escalation(player: &mut Player<'_>) -> (Principal, Command) {
    let other = SignalId(player.dice.roll(9));
    let signal = player.one_of(player.run.escalations.keys().copied(), other);
    (player.human(), player.answer_for(signal))
}

fn create_user(player: &mut Player<'_>) -> (Principal, Command) {
    let names = ["ann", "bob", "cid", "dee", "eve", "worker"];
    let name = text(player.dice.pick(&names));
    let capabilities = (0..player.dice.roll(3)).map(|_| player.dice.pick(&Capability::ALL));
    let capabilities = capabilities.collect();
    let create = Command::CreateUser { name, capabilities };
    (administrator(player), create)
}

/// The operator, or a person in their place.
fn administrator(player: &mut Player<'_>) -> Principal {
    let person = Principal::Administrator(player.user());
    player.either(Principal::Operator, person)
}

fn change_user(player: &mut Player<'_>) -> (Principal, Command) {
    let user = player.user();
    // Away for a while, then back: most people are there most of the time.
    let state = player.run.user(user).map(|user| user.state);
    let change = match state {
        _ if player.dice.chance(20) => player.dice.pick(&UserChange::ALL),
        Some(UserState::Suspended) => UserChange::Resume,
        Some(UserState::Blocked) => UserChange::Unblock,
        Some(UserState::Deactivated) => UserChange::Reactivate,
        _ => player.dice.pick(&[
            UserChange::Suspend,
            UserChange::Block,
            UserChange::Deactivate,
        ]),
    };
    let command = Command::ChangeUser {
        user,
        change,
        reason: player.dice.chance(50).then(|| player.words("on leave")),
    };
    let human = player.human();
    let by = if player.dice.chance(85) {
        administrator(player)
    } else {
        human
    };
    (by, command)
}

fn grant_capability(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::GrantCapability {
        user: player.user(),
        capability: player.dice.pick(&Capability::ALL),
    };
    (administrator(player), command)
}

fn revoke_capability(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::RevokeCapability {
        user: player.user(),
        capability: player.dice.pick(&Capability::ALL),
        reason: None,
    };
    (administrator(player), command)
}

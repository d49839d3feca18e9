//! Short names for orders and forms that several tests use.

use wacp::{
    Command, Principal,
    content::Content,
    envelope::NewEnvelope,
    gate::{
        Answer, GateType,
        config::{Fallback, Highway},
    },
    id::{GateId, UserId, WorkspaceId},
    integration::{ConflictType, Declared, Salvage, Strategy},
    integrity::Check,
    role::EnvelopeType,
    task::{NewGraph, NewTask},
    user::Capability,
    workspace::{
        NewWorkspace,
        budget::{Budget, Usage},
    },
};

use crate::world::{SECOND, World, text};

/// A highway on which one gate is on and waits a minute.
pub fn asks(kind: GateType, fallback: Fallback) -> Highway {
    let mut highway = Highway::open();
    let gate = highway.gate_mut(kind);
    gate.enabled = true;
    gate.fallback = fallback;
    gate.timeout_us = Some(60 * SECOND as u64);
    highway
}

pub fn tokens(limit: u64) -> Budget {
    Budget {
        token_limit: Some(limit),
        ..Budget::default()
    }
}

pub fn abort(workspace: WorkspaceId) -> Command {
    Command::Abort {
        workspace,
        reason: None,
    }
}

pub fn suspend(workspace: WorkspaceId) -> Command {
    Command::Suspend {
        workspace,
        reason: text("wait"),
    }
}

pub fn reparent(workspace: WorkspaceId, parent: WorkspaceId) -> Command {
    Command::Reparent {
        workspace,
        parent,
        reason: text("better there"),
    }
}

pub fn transfer(workspace: WorkspaceId, to: UserId) -> Command {
    Command::TransferOwnership {
        workspace,
        to,
        reason: None,
    }
}

pub fn migrate(workspace: WorkspaceId, new_agent: &str) -> Command {
    Command::Migrate {
        workspace,
        new_agent: text(new_agent),
        reason: text("better"),
    }
}

pub fn create(new: NewWorkspace) -> Command {
    Command::CreateWorkspace(Box::new(new))
}

pub fn send(to: WorkspaceId, envelope_type: EnvelopeType) -> Command {
    let new = NewEnvelope::to(to, envelope_type, Content::markdown("read this"));
    Command::Send(Box::new(new))
}

pub fn answer(gate: GateId, answer: Answer) -> Command {
    Command::ResolveGate {
        gate,
        answer,
        modification: None,
    }
}

pub fn meter(workspace: WorkspaceId, tokens: u64) -> Command {
    let totals = Usage {
        tokens,
        ..Usage::default()
    };
    Command::MeterUsage { workspace, totals }
}

pub fn recover() -> Command {
    Command::Recover {
        downtime_us: 0,
        examined: 9,
        quarantined: 0,
    }
}

/// A plan of tasks that wait for nothing.
pub fn plan(names: &[&str]) -> Command {
    let tasks = names
        .iter()
        .map(|name| NewTask::named(name, vec![]))
        .collect();
    Command::SubmitGraph(NewGraph { root: 0, tasks })
}

pub fn salvage(workspace: WorkspaceId) -> Salvage {
    Salvage {
        check: Check::Valid,
        checkpoint: None,
        conflicts: vec![],
        strategy: Strategy::Evaluated,
        synthesis: None,
        usable: true,
        workspace,
    }
}

/// One contradiction that somebody saw.
pub fn contradiction() -> Vec<Declared> {
    vec![Declared {
        conflict_type: ConflictType::SemanticContradiction,
        description: text("they disagree"),
        resource: None,
    }]
}

pub fn grant(world: &mut World, user: UserId, capability: Capability) {
    let command = Command::GrantCapability { user, capability };
    world.ok(Principal::Operator, command);
}

//! How gate events change what waits.

use super::{Answer, Gate, GateType, Modification, Proposal, Subject, config::Fallback};
use crate::{
    envelope,
    event::{Entry, Event, GateResolved, GateTriggered, ResolutionReason, Resolver},
    id::{GateId, WorkspaceId},
    integration,
    state::Run,
    workspace::Deadline,
};

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::GateTriggered(e) => triggered(run, e, entry),
        Event::GateResolved(e) => resolved(run, e),
        Event::GateReentryBlocked(e) => {
            let Some(gate) = e.gate.and_then(|id| run.escalated_gates.remove(&id)) else {
                return;
            };
            if let Some(id) = e.gate {
                unlink(run, id, &gate);
            }
            if e.converted_to == Answer::Approve {
                release(run, &gate, None);
            }
        }
        _ => {}
    }
}

fn triggered(run: &mut Run, e: &GateTriggered, entry: &Entry) {
    run.next.gates = run.next.gates.max(e.gate.0.saturating_add(1));
    if let Some(at) = e.timeout_at {
        run.deadlines.insert((at, Deadline::Gate(e.gate)));
    }
    if e.subject != Subject::Proposal {
        run.gate_subjects.insert((e.gate_type, e.subject), e.gate);
    }
    match &e.proposal {
        Proposal::TaskApproval { task, .. } => {
            if let Some(task) = run.task_mut(*task) {
                task.gate = Some(e.gate);
            }
        }
        Proposal::EnvelopeDelivery { envelope, to, .. } => {
            envelope::apply::hold(run, *to, *envelope, e.gate)
        }
        Proposal::ConflictResolution {
            conflict,
            workspace,
            ..
        } => {
            integration::apply::note_gate(run, *workspace, *conflict, e.gate);
            link(run, *workspace, e.gate);
        }
        proposal => {
            if let Some(workspace) = proposal.workspace() {
                link(run, workspace, e.gate);
            }
        }
    }
    run.gates.insert(
        e.gate,
        Gate {
            gate_type: e.gate_type,
            subject: e.subject,
            proposal: e.proposal.clone(),
            fallback: e.fallback,
            triggered: entry.time,
            timeout_at: e.timeout_at,
            actor: entry.actor,
            asked_by: e.asked_by,
        },
    );
}

fn link(run: &mut Run, workspace: WorkspaceId, gate: GateId) {
    if let Some(open) = run.open_mut(workspace) {
        open.gates.push(gate);
    }
}

fn unlink(run: &mut Run, id: GateId, gate: &Gate) {
    match &gate.proposal {
        Proposal::TaskApproval { task, .. } => {
            if let Some(task) = run.task_mut(*task) {
                task.gate = None;
            }
        }
        proposal => {
            if let Some(open) = proposal.workspace().and_then(|id| run.open_mut(id)) {
                open.gates.retain(|known| *known != id);
            }
        }
    }
}

/// What was handed to the coordinator is over without its decision.
pub(crate) fn withdraw(run: &mut Run, id: GateId) {
    if let Some(gate) = run.escalated_gates.remove(&id) {
        unlink(run, id, &gate);
    }
}

fn resolved(run: &mut Run, e: &GateResolved) {
    let Some(gate) = run.gates.remove(&e.gate) else {
        return;
    };
    if let Some(at) = gate.timeout_at {
        run.deadlines.remove(&(at, Deadline::Gate(e.gate)));
    }
    let key = (gate.gate_type, gate.subject);
    run.gate_subjects.remove(&key);
    if e.resolver == Resolver::Fallback
        && gate.subject != Subject::Proposal
        && is_asked_again(&gate)
    {
        run.guard.insert(key, gate.fallback);
    }
    if e.reason == Some(ResolutionReason::EscalatedToCoordinator) {
        run.escalated_gates.insert(e.gate, gate);
        return;
    }
    unlink(run, e.gate, &gate);
    if e.action != Answer::Reject {
        let payload = match &e.modification {
            Some(Modification::Payload(payload)) => Some(*payload),
            _ => None,
        };
        release(run, &gate, payload);
    }
}

/// A task or an envelope that fell back to yes or no is never proposed again.
fn is_asked_again(gate: &Gate) -> bool {
    match gate.gate_type {
        GateType::TaskApproval | GateType::EnvelopeDelivery | GateType::WorkspaceCreate => false,
        GateType::Integration | GateType::ConflictResolution | GateType::WorkspaceAbort => true,
    }
}

fn release(run: &mut Run, gate: &Gate, payload: Option<crate::content::Content>) {
    if let Proposal::EnvelopeDelivery { envelope, to, .. } = &gate.proposal {
        envelope::apply::release(run, *to, *envelope, payload);
    }
}

/// Drops what fell back about the merge of a workspace.
pub(crate) fn forget_merge(run: &mut Run, id: WorkspaceId) {
    forget(run, (GateType::Integration, Subject::Workspace(id)));
}

/// Drops what fell back about salvaging what a workspace left.
pub(crate) fn forget_salvages(run: &mut Run, id: WorkspaceId) {
    let fell_back = run.guard.range(super::salvages(id));
    let keys: Vec<_> = fell_back.map(|(key, _)| *key).collect();
    for key in keys {
        forget(run, key);
    }
}

fn forget(run: &mut Run, key: (GateType, Subject)) {
    if run.guard.remove(&key) != Some(Fallback::EscalateToCoordinator) {
        return;
    }
    let handed = |gate: &Gate| (gate.gate_type, gate.subject) == key;
    let gates: Vec<GateId> = run
        .escalated_gates
        .iter()
        .filter(|(_, gate)| handed(gate))
        .map(|(id, _)| *id)
        .collect();
    for gate in gates {
        withdraw(run, gate);
    }
}

/// Drops the guard and the handed-over questions of a workspace that ended.
pub fn forget_workspace(run: &mut Run, id: WorkspaceId) {
    if id == WorkspaceId::ROOT {
        run.guard.clear();
        run.escalated_gates.clear();
    }
    for gate_type in [GateType::Integration, GateType::WorkspaceAbort] {
        run.guard.remove(&(gate_type, Subject::Workspace(id)));
    }
    let wind_down = |us| (GateType::WorkspaceAbort, Subject::WindDown(id, us));
    let shorter_or_longer = run.guard.range(wind_down(0)..=wind_down(u64::MAX));
    let keys: Vec<_> = shorter_or_longer.map(|(key, _)| *key).collect();
    for key in keys {
        run.guard.remove(&key);
    }
    let gates = run
        .open(id)
        .map(|open| open.gates.clone())
        .unwrap_or_default();
    for gate in gates {
        run.escalated_gates.remove(&gate);
    }
}

//! Answers: a person's, the fallback's, and the coordinator's when a question
//! was handed to it.

use super::{
    Answer, Gate, GateType, Modification, Proposal, WorkspaceModification, about, config::Fallback,
    invalidate,
};
use crate::{
    command::Principal,
    content::Content,
    envelope,
    event::{
        About, Actor, ApprovalSource, GateReentryBlocked, GateResolved, GateTimeout,
        ResolutionReason, Resolver, WorkspaceRejected,
    },
    id::{GateId, Party, UserId, WorkspaceId},
    integration::{self, Resolution},
    rejection::Refusal,
    role::delegation::{coordinator_only, deny, forbid},
    stage::{Decision, Stage},
    state::{Run, Slot},
    task,
    user::{self, Capability},
    workspace::{
        NewWorkspace, creation, end, is_long,
        lifecycle::{Reason, State},
        wind_down,
    },
};

/// A person answers.
pub fn resolve(
    stage: &mut Stage<'_>,
    principal: Principal,
    id: GateId,
    answer: Answer,
    modification: Option<&Modification>,
) -> Decision {
    let Principal::User(user) = principal else {
        return Err(forbid(stage, principal, None));
    };
    let run = stage.before();
    let gate = run.gates.get(&id).ok_or(Refusal::UnknownGate)?;
    let (own, any) = match gate.gate_type.capabilities() {
        Some((own, any)) => (Some(own), Some(any)),
        // Seeing one's own trail is what every active person has.
        None => (Some(Capability::ViewTrailOwn), None),
    };
    user::check(run, user, own, any, owner(run, gate, user))
        .map_err(|denial| deny(stage, principal, gate.proposal.workspace(), denial))?;
    stage.actor = Actor::User(user);
    if !may_show(run, user, gate, modification) {
        let denial = (Refusal::MissingCapability, Some(Capability::ViewTrailAny));
        let place = gate.proposal.workspace();
        return Err(deny(stage, principal, place, denial));
    }
    check_modification(stage, gate, answer, modification)?;
    if answer != Answer::Reject
        && let Some(refusal) = hindrance(run, gate, modification)
    {
        return Err(refusal);
    }
    // What has become impossible is answered by the runtime, not by them.
    if answer != Answer::Reject && !is_possible(stage, gate, modification) {
        invalidate(stage, Some(id));
        return Ok(());
    }
    let about = about(stage, gate, answer != Answer::Reject);
    stage.push(
        gate.proposal.workspace(),
        Box::new(GateResolved {
            about,
            action: answer,
            gate: id,
            gate_type: gate.gate_type,
            modification: modification.cloned(),
            reason: None,
            resolver: Resolver::User(user),
        }),
    );
    match answer {
        Answer::Approve | Answer::Modify => {
            let source = ApprovalSource::Human(user);
            proceed(stage, gate, about, modification, source);
        }
        Answer::Reject => cancel(stage, gate, Refusal::GateRejectedByHuman),
    }
    Ok(())
}

/// Whose workspace a gate is about.
fn owner(run: &Run, gate: &Gate, user: UserId) -> Option<Party> {
    match &gate.proposal {
        Proposal::TaskApproval { .. } => Some(Party::User(user)),
        Proposal::WorkspaceCreate { owner, .. } => Some(*owner),
        proposal => run.workspace(proposal.workspace()?).map(Slot::owner),
    }
}

/// What was proposed may stay; what a person adds to a list they must see.
fn may_show(run: &Run, user: UserId, gate: &Gate, modification: Option<&Modification>) -> bool {
    let (Some(Modification::Workspace(change)), Proposal::WorkspaceCreate { new, .. }) =
        (modification, &gate.proposal)
    else {
        return true;
    };
    let mut shown = change.visibility.iter().flat_map(|list| list.iter());
    shown.all(|seen| new.visibility.contains(seen) || creation::may_show(run, user, seen))
}

fn check_modification(
    stage: &Stage<'_>,
    gate: &Gate,
    answer: Answer,
    modification: Option<&Modification>,
) -> Result<(), Refusal> {
    let modification = match (answer, modification) {
        (Answer::Modify, Some(modification)) => modification,
        (Answer::Modify, None) => return Err(Refusal::InvalidStructure),
        (_, Some(_)) => return Err(Refusal::InvalidStructure),
        (_, None) => return Ok(()),
    };
    let content = |content: &Content| {
        if content.is_acceptable() {
            Ok(())
        } else {
            Err(Refusal::InvalidStructure)
        }
    };
    match (gate.gate_type, modification) {
        (GateType::TaskApproval, Modification::Task(task)) => {
            if let Some(description) = &task.description {
                content(description)?;
            }
            let named = task
                .name
                .as_ref()
                .is_none_or(|name| !name.is_empty() && !is_long(name));
            if !named {
                return Err(Refusal::InvalidStructure);
            }
            if task
                .resource_estimate
                .is_some_and(|estimate| !estimate.is_valid())
            {
                return Err(Refusal::InvalidEstimate);
            }
            Ok(())
        }
        (GateType::WorkspaceCreate, Modification::Workspace(change)) => match &gate.proposal {
            Proposal::WorkspaceCreate { by, new, .. } => {
                // What could not be created as it was proposed either is not
                // the fault of the change, and is no question any more.
                match creation::check(stage, *by, &changed(new, Some(change))) {
                    Err(refusal) if creation::check(stage, *by, new).is_ok() => Err(refusal),
                    _ => Ok(()),
                }
            }
            _ => Err(Refusal::NotModifiable),
        },
        (GateType::EnvelopeDelivery, Modification::Payload(payload)) => content(payload),
        (GateType::ConflictResolution, Modification::Resolution(resolution)) => content(resolution),
        _ => Err(Refusal::NotModifiable),
    }
}

fn changed(new: &NewWorkspace, change: Option<&WorkspaceModification>) -> NewWorkspace {
    let mut new = new.clone();
    if let Some(change) = change {
        new.budget = change.budget.unwrap_or(new.budget);
        new.priority = change.priority.unwrap_or(new.priority);
        if let Some(visibility) = &change.visibility {
            new.visibility = visibility.clone();
        }
    }
    new
}

/// Whether what is proposed can still be done.
fn is_possible(stage: &Stage<'_>, gate: &Gate, modification: Option<&Modification>) -> bool {
    stands_behind(stage.before(), gate) && can_be_done(stage, gate, modification)
}

fn can_be_done(stage: &Stage<'_>, gate: &Gate, modification: Option<&Modification>) -> bool {
    let run = stage.before();
    match &gate.proposal {
        Proposal::TaskApproval { task, .. } => run
            .task(*task)
            .is_some_and(|task| task.status == task::Status::Draft),
        // What would be somebody else's by now is another question.
        Proposal::WorkspaceCreate {
            by,
            new,
            originator,
            owner,
        } => {
            let change = match modification {
                Some(Modification::Workspace(change)) => Some(change),
                _ => None,
            };
            creation::check(stage, *by, &changed(new, change)) == Ok((*owner, *originator))
        }
        Proposal::EnvelopeDelivery { envelope, to, .. } => {
            run.inboxes.contains_key(&(*to, *envelope))
        }
        // What would be merged elsewhere than was asked is another question.
        Proposal::Integration { acceptance, by, .. } => {
            *by == integration::merge::target_of(run, acceptance.workspace)
                && integration::merge::check(run, acceptance).is_ok()
        }
        Proposal::Salvage {
            by,
            checkpoint,
            salvage,
        } => integration::salvage::check(run, salvage)
            .is_ok_and(|(target, found)| (target, found.id) == (*by, *checkpoint)),
        Proposal::ConflictResolution {
            conflict,
            resolution,
            workspace,
            ..
        } => {
            let possible = |resolution| {
                integration::conflict::is_possible(run, *workspace, *conflict, resolution)
            };
            match modification {
                Some(Modification::Resolution(content)) => {
                    possible(&Resolution::Escalate(*content))
                }
                _ => possible(resolution),
            }
        }
        Proposal::WindDown(request) => wind_down::is_possible(run, request),
        Proposal::WorkspaceAbort { workspace, .. } => run.open(*workspace).is_some(),
    }
}

/// What keeps a yes waiting, for it passes: whoever asked or takes the work is
/// paused or being replaced, or another merge is under way, and there is one at
/// a time. The question stays.
fn hindrance(run: &Run, gate: &Gate, modification: Option<&Modification>) -> Option<Refusal> {
    let paused =
        |id: WorkspaceId| matches!(run.state_of(id), Some(State::Suspended | State::Migrating));
    let (target, refusal) = match &gate.proposal {
        Proposal::Integration { acceptance, by, .. } => {
            (Some(*by), integration::merge::check(run, acceptance).err())
        }
        Proposal::Salvage { by, salvage, .. } => {
            (Some(*by), integration::salvage::check(run, salvage).err())
        }
        Proposal::ConflictResolution {
            resolution,
            workspace,
            ..
        } if *resolution != Resolution::AgentRework || modification.is_some() => {
            (run.merges.get(workspace).map(|merge| merge.target), None)
        }
        _ => (None, None),
    };
    if gate.delegate().is_some_and(paused) || target.is_some_and(paused) {
        return Some(Refusal::InvalidState);
    }
    refusal.filter(|refusal| *refusal == Refusal::IntegrationUnderWay)
}

/// Whether the delegate that asked is at work, and still manages what it asked
/// about.
fn stands_behind(run: &Run, gate: &Gate) -> bool {
    let Some(delegate) = gate.delegate() else {
        return true;
    };
    let works = run
        .open(delegate)
        .is_some_and(|open| open.delegate && matches!(open.state, State::Active | State::Blocked));
    let place = gate.proposal.workspace();
    works && place.is_some_and(|id| id == delegate || run.is_beneath(id, delegate))
}

/// The transition happens, in the name of whoever wanted it.
fn proceed(
    stage: &mut Stage<'_>,
    gate: &Gate,
    about: About,
    modification: Option<&Modification>,
    source: ApprovalSource,
) {
    let answering = std::mem::replace(&mut stage.actor, gate.actor);
    stage.asker = gate.delegate();
    match (&gate.proposal, modification) {
        (Proposal::TaskApproval { task, .. }, change) => {
            let change = match change {
                Some(Modification::Task(change)) => Some(change),
                _ => None,
            };
            stage.actor = answering;
            task::approve(stage, *task, source, change);
        }
        (
            Proposal::WorkspaceCreate {
                new,
                owner,
                originator,
                ..
            },
            change,
        ) => {
            let change = match change {
                Some(Modification::Workspace(change)) => Some(change),
                _ => None,
            };
            if let Some(id) = about.workspace {
                creation::perform(stage, id, &changed(new, change), *owner, *originator);
            }
        }
        (Proposal::EnvelopeDelivery { envelope, to, .. }, change) => {
            let payload = match change {
                Some(Modification::Payload(payload)) => Some(*payload),
                _ => None,
            };
            envelope::drain_with(stage, *to, Some((*envelope, payload)));
        }
        (Proposal::Integration { acceptance, .. }, _) => {
            integration::perform_merge(stage, acceptance)
        }
        (Proposal::Salvage { salvage, .. }, _) => integration::perform_salvage(stage, salvage),
        (
            Proposal::ConflictResolution {
                conflict,
                resolution,
                workspace,
                ..
            },
            change,
        ) => {
            let resolution = match (resolution, change) {
                (Resolution::CoordinatorResolve(_), Some(Modification::Resolution(content))) => {
                    Resolution::CoordinatorResolve(*content)
                }
                // A person's own words are a resolution, whatever was proposed.
                (_, Some(Modification::Resolution(content))) => Resolution::Escalate(*content),
                (resolution, _) => resolution.clone(),
            };
            integration::perform_resolution(stage, *workspace, *conflict, &resolution);
        }
        (Proposal::WindDown(request), _) => {
            // Its envelope is new: no question about it can stand in the way.
            wind_down::perform(stage, request).ok();
        }
        (Proposal::WorkspaceAbort { workspace, .. }, _) => {
            end::perform_abort(stage, *workspace, false);
        }
    }
}

/// The transition does not happen; what that means depends on the gate.
fn cancel(stage: &mut Stage<'_>, gate: &Gate, reason: Refusal) {
    match &gate.proposal {
        Proposal::TaskApproval { task, .. } => task::cancel_now(stage, *task),
        Proposal::WorkspaceCreate { new, .. } => {
            let place = stage.before().workspace(new.parent).map(|_| new.parent);
            stage.push_protocol(
                place,
                WorkspaceRejected {
                    parent: new.parent,
                    reason,
                },
            );
        }
        Proposal::EnvelopeDelivery { envelope, to, .. } => {
            let run = stage.before();
            if let Some(pending) = run.inboxes.get(&(*to, *envelope)) {
                envelope::reject_pending(stage, *to, *envelope, pending, reason);
                envelope::drain(stage, *to);
            }
        }
        Proposal::Integration { acceptance, .. } => {
            let why = match reason {
                Refusal::GateRejectedByHuman => Reason::GateRejectedByHuman,
                _ => Reason::GateRejectedByFallback,
            };
            end::fail(stage, acceptance.workspace, why);
        }
        // It stays conflicted or failed, or goes on as it was.
        Proposal::ConflictResolution { .. }
        | Proposal::Salvage { .. }
        | Proposal::WindDown(_)
        | Proposal::WorkspaceAbort { .. } => {}
    }
}

/// Nobody answered in time.
pub fn time_out(stage: &mut Stage<'_>, id: GateId) {
    let run = stage.before();
    let Some(gate) = run.gates.get(&id) else {
        return;
    };
    // What is only hindered for now is no less a question; silence cannot wait.
    let waits = gate.fallback != Fallback::Approve && hindrance(run, gate, None).is_some();
    if !waits && !is_possible(stage, gate, None) {
        invalidate(stage, Some(id));
        return;
    }
    let place = gate.proposal.workspace();
    let elapsed_us = u64::try_from(stage.now.0 - gate.triggered.0).unwrap_or(0);
    stage.push(
        place,
        GateTimeout {
            elapsed_us,
            fallback: gate.fallback,
            gate: id,
            gate_type: gate.gate_type,
        },
    );
    let (action, reason) = match gate.fallback {
        Fallback::Approve => (Answer::Approve, None),
        Fallback::Reject => (Answer::Reject, None),
        Fallback::EscalateToCoordinator => (
            Answer::Reject,
            Some(ResolutionReason::EscalatedToCoordinator),
        ),
    };
    let about = about(stage, gate, action != Answer::Reject);
    stage.push(
        place,
        Box::new(GateResolved {
            about,
            action,
            gate: id,
            gate_type: gate.gate_type,
            modification: None,
            reason,
            resolver: Resolver::Fallback,
        }),
    );
    match gate.fallback {
        Fallback::Approve => {
            let source = ApprovalSource::TimeoutAutoApprove;
            proceed(stage, gate, about, None, source);
        }
        Fallback::Reject => cancel(stage, gate, Refusal::GateRejectedByFallback),
        Fallback::EscalateToCoordinator => {}
    }
}

/// The coordinator takes up a question that was handed to it.
pub fn decide(stage: &mut Stage<'_>, principal: Principal, id: GateId, yes: bool) -> Decision {
    coordinator_only(stage, principal, None)?;
    let run = stage.before();
    let gate = run.escalated_gates.get(&id).ok_or(Refusal::UnknownGate)?;
    if yes && !is_possible(stage, gate, None) {
        return Err(Refusal::InvalidState);
    }
    let about = about(stage, gate, yes);
    stage.push_protocol(
        gate.proposal
            .workspace()
            .filter(|id| run.workspace(*id).is_some()),
        GateReentryBlocked {
            about: Some(about),
            converted_to: if yes { Answer::Approve } else { Answer::Reject },
            gate: Some(id),
            gate_type: gate.gate_type,
            subject: gate.subject,
        },
    );
    if yes {
        proceed(stage, gate, about, None, ApprovalSource::Coordinator);
    } else {
        cancel(stage, gate, Refusal::GateRejectedByFallback);
    }
    Ok(())
}

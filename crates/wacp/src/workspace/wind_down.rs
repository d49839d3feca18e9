//! The request to finish within a period (WACP §6.10).
//!
//! It ends in a failure that the coordinator wanted, so whoever is asked before
//! an abort is asked before it. What the agent reads is an envelope like any
//! other: with a proof, on a right, and through its gate.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{LONGEST_US, is_long, lifecycle::State};
use crate::{
    command::Principal,
    content::Content,
    envelope::{self, NewEnvelope, Priority},
    event::GracefulTerminationInitiated,
    gate::{self, GateType, Proposal, Subject, Verdict},
    id::WorkspaceId,
    integrity::{Check, Proof},
    rejection::Refusal,
    role::{EnvelopeType, Text, delegation::coordinator_only},
    stage::{Decision, Stage},
    state::Run,
};

/// What the coordinator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindDown {
    /// What verifying the proof gave.
    pub check: Check,
    pub grace_us: u64,
    pub payload: Content,
    pub proof: Option<Proof>,
    pub reason: Text,
    pub workspace: WorkspaceId,
}

impl WindDown {
    /// A request whose proof the caller has verified; the hash of what it
    /// carries is recorded as the proof until another is put in its place.
    pub fn of(workspace: WorkspaceId, grace_us: u64, reason: Text, payload: Content) -> WindDown {
        WindDown {
            check: Check::Valid,
            grace_us,
            payload,
            proof: Some(Proof::unverified(payload.hash)),
            reason,
            workspace,
        }
    }

    /// What the agent reads.
    pub fn envelope(&self) -> NewEnvelope {
        NewEnvelope {
            check: self.check,
            envelope_type: EnvelopeType::Feedback,
            in_reply_to: None,
            payload: self.payload,
            priority: Priority::Urgent,
            proof: self.proof,
            rights: Arc::from([]),
            to: self.workspace,
        }
    }
}

pub fn terminate_gracefully(
    stage: &mut Stage<'_>,
    principal: Principal,
    request: &WindDown,
) -> Decision {
    let id = request.workspace;
    coordinator_only(stage, principal, Some(id))?;
    check(stage.before(), request)?;
    if reads(stage.before(), id) {
        let root = WorkspaceId::ROOT;
        envelope::check_sent(stage.before(), root, &request.envelope())
            .map_err(|refusal| envelope::turn_away(stage, root, &request.envelope(), refusal))?;
    }
    let proposal = Proposal::WindDown(Box::new(request.clone()));
    let subject = Subject::WindDown(id, request.grace_us);
    match gate::guard(stage, GateType::WorkspaceAbort, subject, proposal)? {
        Verdict::Paused => Ok(()),
        Verdict::Proceed => perform(stage, request),
    }
}

/// An observer reads no envelopes; its agent is told by the runtime alone.
pub fn reads(run: &Run, id: WorkspaceId) -> bool {
    run.workspace(id)
        .and_then(|slot| run.permissions(slot.role()))
        .is_some_and(|permissions| permissions.may_receive(EnvelopeType::Feedback))
}

fn check(run: &Run, request: &WindDown) -> Result<(), Refusal> {
    if request.workspace == WorkspaceId::ROOT {
        return Err(Refusal::RootIsFixed);
    }
    let open = run.living(request.workspace)?;
    if !matches!(open.state, State::Active | State::Blocked) {
        return Err(Refusal::InvalidState);
    }
    let valid = (1..=LONGEST_US).contains(&request.grace_us);
    let fits = request.payload.is_acceptable() && !is_long(&request.reason);
    if valid && fits {
        Ok(())
    } else {
        Err(Refusal::InvalidStructure)
    }
}

/// Whether it can be done, at the gate and after it.
pub fn is_possible(run: &Run, request: &WindDown) -> bool {
    let sent = || envelope::check_sent(run, WorkspaceId::ROOT, &request.envelope()).is_ok();
    check(run, request).is_ok() && (!reads(run, request.workspace) || sent())
}

/// The period begins, and the agent is told.
pub fn perform(stage: &mut Stage<'_>, request: &WindDown) -> Decision {
    stage.push(
        Some(request.workspace),
        GracefulTerminationInitiated {
            grace_us: request.grace_us,
            reason: request.reason.clone(),
            workspace: request.workspace,
        },
    );
    if reads(stage.before(), request.workspace) {
        let grace_us = Some(request.grace_us);
        envelope::dispatch(stage, WorkspaceId::ROOT, &request.envelope(), grace_us)?;
    }
    Ok(())
}

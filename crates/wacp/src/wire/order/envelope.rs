//! What agents and people say: envelopes with the rights they carry, requests
//! to finish, and what a signal speaks of.

use crate::{
    content::Content,
    envelope::{NewEnvelope, Priority},
    event::Reference,
    id::{CheckpointId, EnvelopeId, WorkspaceId},
    integrity::Check,
    right::RightKind,
    role::{EnvelopeType, Text},
    wire::{Args, Outcome, content::words, length::Length},
    workspace::WindDown,
};

/// How long an agent has to finish where nothing is said.
const GRACE_US: u64 = 60_000_000;

pub fn new_envelope(args: &Args<'_>, envelope_type: EnvelopeType) -> Outcome<NewEnvelope> {
    let right = |right: &Args<'_>| {
        let kind: RightKind = right.word("kind")?;
        Ok((kind, right.need("target")?))
    };
    Ok(NewEnvelope {
        check: Check::Valid,
        envelope_type,
        in_reply_to: args.maybe("in_reply_to")?,
        payload: args.need("payload")?,
        priority: args.word_or("priority", Priority::default())?,
        proof: None,
        rights: args
            .tables("rights", false, right)?
            .unwrap_or_default()
            .into(),
        to: args.need("to")?,
    })
}

/// Without words of its own the agent reads the reason.
pub fn wind_down(args: &Args<'_>) -> Outcome<WindDown> {
    let reason: Text = args.need("reason")?;
    let payload: Option<Content> = args.maybe("payload")?;
    let Length(grace_us) = args.or("grace", Length(GRACE_US))?;
    Ok(WindDown {
        check: Check::Valid,
        grace_us,
        payload: match payload {
            Some(payload) => payload,
            None => words(args.context, &reason)?,
        },
        proof: None,
        reason,
        workspace: args.need("workspace")?,
    })
}

/// At most one thing.
pub fn reference(args: &Args<'_>) -> Outcome<Option<Reference>> {
    let checkpoint: Option<CheckpointId> = args.maybe("checkpoint")?;
    let envelope: Option<EnvelopeId> = args.maybe("envelope")?;
    let workspace: Option<WorkspaceId> = args.maybe("workspace")?;
    match (checkpoint, envelope, workspace) {
        (Some(_), Some(_), _) => Err(args.not_with("envelope", "checkpoint")),
        (Some(_), _, Some(_)) => Err(args.not_with("workspace", "checkpoint")),
        (_, Some(_), Some(_)) => Err(args.not_with("workspace", "envelope")),
        (Some(id), None, None) => Ok(Some(Reference::Checkpoint(id))),
        (None, Some(id), None) => Ok(Some(Reference::Envelope(id))),
        (None, None, id) => Ok(id.map(Reference::Workspace)),
    }
}

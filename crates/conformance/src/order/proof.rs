//! Proofs as senders make them and the runtime verifies them.
//!
//! Every workspace has a secret of its own here. A sender proves what it sends
//! with it, unless the file says that someone else does, that something else
//! was proven, or that there is no proof.

use serde_json::Value;
use trail::Hash;
use wacp::{
    Principal,
    checkpoint::NewCheckpoint,
    content::Content,
    envelope::NewEnvelope,
    id::WorkspaceId,
    integrity::{Check, Fields, Secret, nonce},
};

use super::{args::Args, names::id};
use crate::{Outcome, broken};

/// What the file says about a proof.
struct Proof {
    by: WorkspaceId,
    /// Something else that was proven in place of the content.
    over: Option<Content>,
}

fn secret(of: WorkspaceId) -> Secret {
    Hash::of("wacp/scenario/secret/1", &[of.to_string().as_bytes()]).0
}

fn sender(by: Principal) -> Option<WorkspaceId> {
    match by {
        Principal::Agent(workspace) => Some(workspace),
        Principal::Coordinator => Some(WorkspaceId::ROOT),
        _ => None,
    }
}

fn read(from: WorkspaceId, args: &Args<'_>) -> Outcome<Option<Proof>> {
    let mut proof = Proof {
        by: from,
        over: None,
    };
    if !args.flag("proof_fits", true)? {
        proof.over = Some(Content::markdown("something else"));
    }
    match args.get("proof") {
        None => {}
        Some(Value::String(word)) if word == "none" => return Ok(None),
        Some(Value::Object(table)) => {
            let inner = Args::new(table, args.names);
            if let Some(name) = inner.string("by")? {
                proof.by = id(args.names, name, "w")?;
            }
            proof.over = inner.string("over")?.map(Content::markdown);
            inner.all_used()?;
        }
        Some(_) => return broken("`proof` is `none` or a table"),
    }
    Ok(Some(proof))
}

/// Proves an envelope and verifies the proof, each with the fields it knows.
pub(crate) fn of_envelope(by: Principal, new: &mut NewEnvelope, args: &Args<'_>) -> Outcome<()> {
    // People and the runtime have no secret: what they send is the runtime's.
    let Some(from) = sender(by) else {
        new.check = args.check()?;
        return Ok(());
    };
    new.check = Check::Invalid;
    if let Some(proof) = read(from, args)? {
        let once = nonce(b"once");
        let mut proven = new.clone();
        proven.payload = proof.over.unwrap_or(new.payload);
        let made = Fields::of_envelope(from, &proven, once).prove(&secret(proof.by));
        new.check = Fields::of_envelope(from, new, once).verify(&secret(from), &made);
        new.proof = Some(made);
    }
    Ok(())
}

/// Proves a checkpoint and verifies the proof, each with the fields it knows.
pub(crate) fn of_checkpoint(
    by: Principal,
    new: &mut NewCheckpoint,
    args: &Args<'_>,
) -> Outcome<()> {
    let Some(workspace) = sender(by) else {
        new.check = args.check()?;
        return Ok(());
    };
    new.check = Check::Invalid;
    if let Some(proof) = read(workspace, args)? {
        let once = nonce(b"once");
        let mut proven = new.clone();
        proven.intent = proof.over.unwrap_or(new.intent);
        let made = Fields::of_checkpoint(workspace, &proven, once).prove(&secret(proof.by));
        new.check = Fields::of_checkpoint(workspace, new, once).verify(&secret(workspace), &made);
        new.proof = Some(made);
    }
    Ok(())
}

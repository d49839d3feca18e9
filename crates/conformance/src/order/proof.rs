//! Proofs as senders make them and the runtime verifies them.
//!
//! Every workspace has a secret of its own here. A sender proves what it sends
//! with it, unless the file says that someone else does, that something else
//! was proven, or that there is no proof.

use serde_json::Value;
use trail::Hash;
use wacp::{
    Command, Principal,
    checkpoint::NewCheckpoint,
    content::Content,
    envelope::NewEnvelope,
    id::WorkspaceId,
    integrity::{Check, Fields, Secret, nonce},
};

use super::{
    args::Args,
    names::{Names, id},
};
use crate::{Outcome, broken, file::Table};

/// What only a file says of an order: how it is proven, how many attachments it
/// has, and whether a meter counts for the workspace it makes.
#[derive(Debug)]
pub struct Claims(Table);

/// The keys for that.
pub fn keys(order: &str) -> &'static [&'static str] {
    match order {
        // How large a payload counts is the shelf's.
        "send" | "inject" => &["bytes", "attachments", "proof", "proof_fits"],
        "create_checkpoint" | "terminate_gracefully" => &["proof", "proof_fits"],
        "accept" | "salvage" => &["proof_fits"],
        "create_workspace" => &["metered"],
        _ => &[],
    }
}

impl Claims {
    /// Takes them out of the order.
    pub fn take(name: &str, order: &mut Table) -> Claims {
        let own = keys(name).iter().filter(|key| **key != "bytes");
        let taken = own.filter_map(|key| order.remove_entry(*key));
        Claims(taken.collect())
    }

    pub fn is_metered(&self) -> bool {
        self.0.get("metered") == Some(&Value::Bool(true))
    }

    /// Proves what was read, and verifies the proof.
    pub fn prove(&self, by: Principal, command: &mut Command, names: &Names) -> Outcome<()> {
        let args = Args::new(&self.0, names);
        match command {
            Command::Send(new) | Command::Inject(new) => {
                if let Some(attachments) = args.get("attachments") {
                    let Some(attachments) = attachments.as_u64() else {
                        return broken("`attachments` must be a number");
                    };
                    new.payload.attachments = u32::try_from(attachments).unwrap_or(u32::MAX);
                }
                of_envelope(by, new, &args)
            }
            Command::CreateCheckpoint(new) => of_checkpoint(by, new, &args),
            Command::TerminateGracefully(request) => {
                let mut sent = request.envelope();
                of_envelope(by, &mut sent, &args)?;
                (request.check, request.proof) = (sent.check, sent.proof);
                Ok(())
            }
            Command::Accept(acceptance) => {
                acceptance.check = check(&args)?;
                Ok(())
            }
            Command::Salvage(salvage) => {
                salvage.check = check(&args)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

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

fn check(args: &Args<'_>) -> Outcome<Check> {
    match args.get("proof_fits") {
        None | Some(Value::Bool(true)) => Ok(Check::Valid),
        Some(Value::Bool(false)) => Ok(Check::Invalid),
        Some(_) => broken("`proof_fits` must be true or false"),
    }
}

fn read(from: WorkspaceId, args: &Args<'_>) -> Outcome<Option<Proof>> {
    let mut proof = Proof {
        by: from,
        over: None,
    };
    if check(args)? == Check::Invalid {
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
fn of_envelope(by: Principal, new: &mut NewEnvelope, args: &Args<'_>) -> Outcome<()> {
    // People and the runtime have no secret: what they send is the runtime's.
    let Some(from) = sender(by) else {
        new.check = check(args)?;
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
fn of_checkpoint(by: Principal, new: &mut NewCheckpoint, args: &Args<'_>) -> Outcome<()> {
    let Some(workspace) = sender(by) else {
        new.check = check(args)?;
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

//! Proofs that the server makes for agents it has authenticated.
//!
//! Where the runtime holds the secrets of all workspaces, the door proves what
//! an agent sends in the agent's name, with the same functions that verify it.

use trail::Hash;

use crate::{
    Command,
    id::WorkspaceId,
    integrity::{Check, Fields, Secret},
};

/// Proves what a command carries for the workspace it comes from. `nonce` is
/// new each time; a command that carries nothing to prove stays as it is.
pub fn prove(command: &mut Command, from: WorkspaceId, secret: &Secret, nonce: Hash) {
    let envelope = |new| Some(Fields::of_envelope(from, new, nonce).prove(secret));
    match command {
        Command::Send(new) => {
            new.check = Check::Valid;
            new.proof = envelope(new);
        }
        Command::TerminateGracefully(request) => {
            request.check = Check::Valid;
            request.proof = envelope(&request.envelope());
        }
        Command::CreateCheckpoint(new) => {
            new.check = Check::Valid;
            new.proof = Some(Fields::of_checkpoint(from, new, nonce).prove(secret));
        }
        _ => {}
    }
}

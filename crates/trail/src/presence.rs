//! Proof that a server holds the log's key. A page that lost its connection
//! asks for one before it sends a credential again: whoever took over the port
//! in the meantime cannot give it.

use hex::HEXLOWER;

use crate::key::{LogKey, VerifierKey};

/// Random bytes that the asker chose, so that no old proof fits.
pub type Nonce = [u8; 32];

/// What is signed: "wakeful/presence/1" ‖ 0x00 ‖ nonce ‖ port. A checkpoint
/// cannot begin so, for its first line is a name without zeros. The port is the
/// one that the server listens on in plain HTTP, so that whoever holds another
/// port cannot pass the question on; it is 0 where TLS tells who answers.
fn message(nonce: &Nonce, port: u16) -> Vec<u8> {
    [&b"wakeful/presence/1\0"[..], nonce, &port.to_be_bytes()].concat()
}

impl LogKey {
    /// The signature as hex digits.
    pub fn prove_presence(&self, nonce: &Nonce, port: u16) -> String {
        HEXLOWER.encode(&self.sign_bytes(&message(nonce, port)))
    }
}

impl VerifierKey {
    pub fn proves_presence(&self, nonce: &Nonce, port: u16, proof: &str) -> bool {
        let signature = HEXLOWER.decode(proof.as_bytes()).ok();
        let signature = signature.and_then(|bytes| bytes.try_into().ok());
        signature.is_some_and(|signature| self.verifies(&message(nonce, port), &signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_fits_its_key_its_nonce_and_its_port_alone() {
        let key = LogKey::from_seed("wakeful.local/a", [1; 32]).unwrap();
        let other = LogKey::from_seed("wakeful.local/a", [2; 32]).unwrap();
        let proof = key.prove_presence(&[7; 32], 7377);
        assert!(key.verifier().proves_presence(&[7; 32], 7377, &proof));
        assert!(!key.verifier().proves_presence(&[8; 32], 7377, &proof));
        assert!(!key.verifier().proves_presence(&[7; 32], 7378, &proof));
        assert!(!other.verifier().proves_presence(&[7; 32], 7377, &proof));
    }
}

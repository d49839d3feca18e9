//! Proof that a server holds the log's key. A page that lost its connection
//! asks for one before it sends a credential again: whoever took over the port
//! in the meantime cannot give it.

use hex::HEXLOWER;

use crate::key::{LogKey, VerifierKey};

/// Random bytes that the asker chose, so that no old proof fits.
pub type Nonce = [u8; 32];

/// What is signed: "wakeful/presence/1" ‖ 0x00 ‖ nonce. A checkpoint cannot
/// begin so, for its first line is a name without zeros.
fn message(nonce: &Nonce) -> Vec<u8> {
    [&b"wakeful/presence/1\0"[..], nonce].concat()
}

impl LogKey {
    /// The signature as hex digits.
    pub fn prove_presence(&self, nonce: &Nonce) -> String {
        HEXLOWER.encode(&self.sign_bytes(&message(nonce)))
    }
}

impl VerifierKey {
    pub fn proves_presence(&self, nonce: &Nonce, proof: &str) -> bool {
        let signature = HEXLOWER.decode(proof.as_bytes()).ok();
        let signature = signature.and_then(|bytes| bytes.try_into().ok());
        signature.is_some_and(|signature| self.verifies(&message(nonce), &signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_fits_its_key_and_its_nonce_alone() {
        let key = LogKey::from_seed("wakeful.local/a", [1; 32]).unwrap();
        let other = LogKey::from_seed("wakeful.local/a", [2; 32]).unwrap();
        let proof = key.prove_presence(&[7; 32]);
        assert!(key.verifier().proves_presence(&[7; 32], &proof));
        assert!(!key.verifier().proves_presence(&[8; 32], &proof));
        assert!(!other.verifier().proves_presence(&[7; 32], &proof));
    }
}

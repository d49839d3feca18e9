//! From a secret, an exchange and two hellos to a key for each direction.

use hkdf::Hkdf;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{
    Secret,
    ewsp::{Hello, Refusal, Side, VERSION},
};

pub type Key = Zeroizing<[u8; 32]>;

/// The key for what one side says.
pub struct Schedule {
    extracted: Hkdf<Sha256>,
    transcript: [u8; 32],
}

impl Schedule {
    pub fn new(
        agent_id: &str,
        secret: &Secret,
        own: &Zeroizing<[u8; 32]>,
        theirs: [u8; 32],
        first: &Hello,
        second: &Hello,
    ) -> Result<Schedule, Refusal> {
        let shared = Zeroizing::new(x25519_dalek::x25519(**own, theirs));
        // Some points of small order give zero with every key.
        if shared.iter().fold(0, |all, byte| all | byte) == 0 {
            return Err(Refusal::WeakKey);
        }
        let mut input = Zeroizing::new(Vec::with_capacity(4 * 32));
        input.extend_from_slice(&*secret.digest());
        input.extend_from_slice(&*shared);
        input.extend_from_slice(&first.rnd);
        input.extend_from_slice(&second.rnd);
        let salt = first.sid.text();
        Ok(Schedule {
            extracted: Hkdf::new(Some(salt.as_bytes()), &input),
            transcript: transcript(agent_id, first, second),
        })
    }

    pub fn key(&self, speaker: Side) -> Key {
        let mut info = Vec::with_capacity(VERSION.len() + 1 + 32);
        info.extend_from_slice(VERSION.as_bytes());
        info.push(speaker.byte());
        info.extend_from_slice(&self.transcript);
        let mut key = Key::default();
        // Fails only for more than 255 blocks; this is one.
        let made = self.extracted.expand(&info, &mut *key);
        debug_assert!(made.is_ok());
        key
    }
}

/// All that both have seen, each part with its length before it.
fn transcript(agent_id: &str, first: &Hello, second: &Hello) -> [u8; 32] {
    let sid = first.sid.text();
    let parts: [&[u8]; 7] = [
        VERSION.as_bytes(),
        agent_id.as_bytes(),
        sid.as_bytes(),
        &first.pk,
        &first.rnd,
        &second.pk,
        &second.rnd,
    ];
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u32).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

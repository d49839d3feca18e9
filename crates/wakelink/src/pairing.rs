//! The secret of a device, and how a person carries it to a client: whole, in a
//! code to be typed or scanned, past every server. A fingerprint of it can be
//! compared by eye afterwards.

use hex::BASE32_NOPAD;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Bytes that tell a mistyped code from a right one.
const CHECK_BYTES: usize = 3;
/// Characters between dashes.
const GROUP: usize = 4;
/// Before a code in a picture to be scanned.
const SCHEME: &str = "wakelink";

/// 256 random bits that a device and its clients share, and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a code is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeFault {
    #[error(
        "the code has {found} characters and not {}: read it again",
        code_characters()
    )]
    Length { found: usize },
    #[error("a code has only the letters A to Z and the digits 2 to 7: read it again")]
    Character,
    #[error("the code is mistyped, or is another device's")]
    Check,
}

const fn code_characters() -> usize {
    ((32 + CHECK_BYTES) * 8).div_ceil(5)
}

impl Secret {
    pub fn new(random: [u8; 32]) -> Secret {
        Secret(Zeroizing::new(random))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What goes into the keys of a session.
    pub(crate) fn digest(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(Sha256::digest(*self.0).into())
    }

    /// The code to be typed: the whole secret, and a check that it is this
    /// device's and has no slip in it.
    pub fn code(&self, agent_id: &str) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new(self.0.to_vec());
        bytes.extend_from_slice(&self.check(agent_id));
        let plain = Zeroizing::new(BASE32_NOPAD.encode(&bytes));
        let mut code = Zeroizing::new(String::with_capacity(2 * plain.len()));
        for (at, letter) in plain.chars().enumerate() {
            if at > 0 && at % GROUP == 0 {
                code.push('-');
            }
            code.push(letter);
        }
        code
    }

    /// Reads a code as people type it: in any case, with any spaces or dashes.
    pub fn from_code(agent_id: &str, code: &str) -> Result<Secret, CodeFault> {
        let plain: Zeroizing<String> = Zeroizing::new(
            code.chars()
                .filter(|letter| !letter.is_whitespace() && *letter != '-')
                .map(|letter| letter.to_ascii_uppercase())
                .collect(),
        );
        let found = plain.chars().count();
        if found != code_characters() {
            return Err(CodeFault::Length { found });
        }
        let bytes = BASE32_NOPAD.decode(plain.as_bytes());
        let bytes = Zeroizing::new(bytes.map_err(|_| CodeFault::Character)?);
        let (secret, check) = bytes.split_at(32);
        let mut held = Zeroizing::new([0; 32]);
        held.copy_from_slice(secret);
        let secret = Secret(held);
        match secret.check(agent_id) == *check {
            true => Ok(secret),
            false => Err(CodeFault::Check),
        }
    }

    /// The same for a picture to be scanned, with the device it is for.
    pub fn uri(&self, agent_id: &str) -> Zeroizing<String> {
        Zeroizing::new(format!("{SCHEME}:{agent_id}:{}", *self.code(agent_id)))
    }

    pub fn from_uri(uri: &str) -> Option<(String, Result<Secret, CodeFault>)> {
        let rest = uri.trim().strip_prefix(SCHEME)?.strip_prefix(':')?;
        let (agent_id, code) = rest.rsplit_once(':')?;
        Some((agent_id.to_owned(), Secret::from_code(agent_id, code)))
    }

    /// Shown on both sides, to be compared by eye. It says nothing of the secret.
    pub fn fingerprint(&self, agent_id: &str) -> String {
        let digest = self.labelled("wakelink fingerprint", agent_id);
        let groups: Vec<String> = digest[..10]
            .chunks(2)
            .map(|pair| format!("{:02x}{:02x}", pair[0], pair[1]))
            .collect();
        groups.join(" ")
    }

    fn check(&self, agent_id: &str) -> [u8; CHECK_BYTES] {
        let digest = self.labelled("wakelink code", agent_id);
        let mut check = [0; CHECK_BYTES];
        check.copy_from_slice(&digest[..CHECK_BYTES]);
        check
    }

    fn labelled(&self, label: &str, agent_id: &str) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in [label.as_bytes(), agent_id.as_bytes(), &*self.digest()] {
            digest.update((part.len() as u32).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

//! The cryptography of TLS: ring, and beside it X25519MLKEM768, the exchange of
//! keys that whoever records a connection today cannot undo with a quantum
//! computer tomorrow. Browsers offer it first; ring does not have it.
//!
//! Both halves go into the secret (draft-ietf-tls-ecdhe-mlkem), so it is at
//! least as strong as X25519, whatever becomes of ML-KEM.

use ml_kem::{
    DecapsulationKey, EncapsulationKey, MlKem768,
    kem::{Decapsulate as _, KeyExport as _, KeyInit as _},
};
use rustls::{
    Error, NamedGroup, PeerMisbehaved, ProtocolVersion,
    crypto::{
        ActiveKeyExchange, CompletedKeyExchange, CryptoProvider, SharedSecret, SupportedKxGroup,
        ring::{self, kx_group::X25519},
    },
    ffdhe_groups::FfdheGroup,
};
use zeroize::Zeroizing;

/// What a client sends of ML-KEM, and what it gets back; X25519 comes after it.
const ENCAPSULATION_KEY: usize = 1184;
const CIPHERTEXT: usize = 1088;

/// What all TLS of this program uses.
pub fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.kx_groups.push(&X25519MlKem768);
    provider
}

#[derive(Debug)]
struct X25519MlKem768;

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let seed = random()?;
        Ok(Box::new(Started::new(&seed, X25519.start()?)))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (key, point) = halves(share, ENCAPSULATION_KEY)?;
        let key = key.try_into().map_err(|_| INVALID)?;
        let key = EncapsulationKey::<MlKem768>::new(key).map_err(|_| INVALID)?;
        let message = random::<32>()?;
        let (ciphertext, secret) = key.encapsulate_deterministic((&*message).into());
        let secret = Zeroizing::new(secret);
        let x25519 = X25519.start_and_complete(point)?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: [ciphertext.as_slice(), &x25519.pub_key].concat(),
            secret: joined(&secret, &x25519.secret),
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// A client's side, until the server has answered. Its keys are wiped when it is
/// dropped.
struct Started {
    share: Vec<u8>,
    ml_kem: DecapsulationKey<MlKem768>,
    x25519: Box<dyn ActiveKeyExchange>,
}

impl Started {
    fn new(seed: &[u8; 64], x25519: Box<dyn ActiveKeyExchange>) -> Started {
        let ml_kem = DecapsulationKey::new(seed.into());
        let key = ml_kem.encapsulation_key().to_bytes();
        Started {
            share: [key.as_slice(), x25519.pub_key()].concat(),
            ml_kem,
            x25519,
        }
    }
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, point) = halves(share, CIPHERTEXT)?;
        let ciphertext = ciphertext.try_into().map_err(|_| INVALID)?;
        let secret = Zeroizing::new(self.ml_kem.decapsulate(ciphertext));
        Ok(joined(&secret, &self.x25519.complete(point)?))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

const INVALID: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

/// What is of ML-KEM, and what is of X25519, which checks its own length.
fn halves(share: &[u8], ml_kem: usize) -> Result<(&[u8], &[u8]), Error> {
    share.split_at_checked(ml_kem).ok_or(INVALID)
}

fn joined(ml_kem: &[u8], x25519: &SharedSecret) -> SharedSecret {
    SharedSecret::from([ml_kem, x25519.secret_bytes()].concat())
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let bytes = engine::keys::random().map_err(|_| Error::FailedToGetRandomBytes)?;
    Ok(Zeroizing::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_the_hybrid_exchange_get_one_secret_of_both_halves() {
        let client = X25519MlKem768.start().unwrap();
        assert_eq!(client.pub_key().len(), ENCAPSULATION_KEY + 32);
        let server = X25519MlKem768.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), CIPHERTEXT + 32);
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes().len(), 64);
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }

    /// The key of the seed 0, 1, … 63, what OpenSSL 4.0 encapsulated for it, and
    /// the secret in that.
    const OPENSSL: &[u8] = include_bytes!("tls/openssl.bin");

    #[test]
    fn what_openssl_encapsulates_for_our_key_we_open() {
        let (key, rest) = OPENSSL.split_at(ENCAPSULATION_KEY);
        let (ciphertext, secret) = rest.split_at(CIPHERTEXT);
        let seed = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let client = Started::new(&seed, X25519.start().unwrap());
        let point = client.share.strip_prefix(key).unwrap();
        let server = X25519.start_and_complete(point).unwrap();
        let share = [ciphertext, &server.pub_key].concat();
        let both = Box::new(client).complete(&share).unwrap();
        let expected = [secret, server.secret.secret_bytes()].concat();
        assert_eq!(both.secret_bytes(), expected);
    }

    #[test]
    fn a_share_that_is_cut_short_or_too_long_is_refused() {
        let share = X25519MlKem768.start().unwrap().pub_key().to_vec();
        for wrong in [&share[..0], &share[..32], &share[..share.len() - 1]] {
            assert!(X25519MlKem768.start_and_complete(wrong).is_err());
        }
        let long = [&share[..], &[0]].concat();
        assert!(X25519MlKem768.start_and_complete(&long).is_err());
        // Numbers that are not reduced stand for no key.
        let unreduced = [&[0xff; ENCAPSULATION_KEY][..], &share[ENCAPSULATION_KEY..]].concat();
        assert!(X25519MlKem768.start_and_complete(&unreduced).is_err());
    }
}

//! Content encrypted at rest, and secrets that must be recoverable.
//!
//! A sealed value begins with a byte that no JSON text begins with, so content
//! from before a body key was given still reads. Position and part name are
//! bound in: a sealed part cannot be moved elsewhere.

use std::borrow::Cow;

use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};
use sha2::{Digest as _, Sha256};
use store::Store;

use crate::keys::{self, Seed};

const SEALED: u8 = store::ENCRYPTED;
const KEY_ID: usize = 4;
const NONCE: usize = 24;
/// The record by which a start notices a missing or wrong body key.
const CHECK: &str = "body-key-check";

#[derive(Debug, thiserror::Error)]
pub enum VaultFault {
    #[error("this data was encrypted with a body key; start with --body-key FILE")]
    KeyMissing,
    #[error("the body key does not open this data; name the file it was encrypted with")]
    WrongKey,
    #[error("the body key file must hold one key (64 hex digits) a line, the current one first")]
    BadFile,
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("no random bytes: {0}")]
    Random(#[from] std::io::Error),
}

/// Opens and seals. Without a body key content is stored as it is.
#[derive(Debug)]
pub struct Vault {
    /// The first seals; all of them open.
    body: Vec<Cipher>,
    secrets: Cipher,
}

struct Cipher {
    id: [u8; KEY_ID],
    aead: XChaCha20Poly1305,
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cipher({:02x?})", self.id)
    }
}

impl Cipher {
    fn new(seed: &Seed) -> Cipher {
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&Sha256::digest(seed.0.as_slice())[..KEY_ID]);
        Cipher {
            id,
            aead: XChaCha20Poly1305::new(seed.0.as_slice().try_into().expect("32 bytes")),
        }
    }

    fn seal(&self, plain: &[u8], bound: &[u8]) -> std::io::Result<Vec<u8>> {
        let nonce: [u8; NONCE] = keys::random()?;
        let sealed = self
            .aead
            .encrypt(
                &XNonce::from(nonce),
                Payload {
                    msg: plain,
                    aad: &self.bind(bound),
                },
            )
            .map_err(|_| std::io::Error::other("too much to encrypt"))?;
        Ok([&[SEALED], self.id.as_slice(), &nonce, &sealed].concat())
    }

    fn open(&self, sealed: &[u8], bound: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = sealed.split_at_checked(1 + KEY_ID + NONCE)?;
        let nonce: [u8; NONCE] = head[1 + KEY_ID..].try_into().ok()?;
        let payload = Payload {
            msg: body,
            aad: &self.bind(bound),
        };
        self.aead.decrypt(&XNonce::from(nonce), payload).ok()
    }

    fn bind(&self, bound: &[u8]) -> Vec<u8> {
        [self.id.as_slice(), bound].concat()
    }
}

impl Vault {
    pub fn new(seal: &Seed, body_keys: &[Seed]) -> Vault {
        Vault {
            body: body_keys.iter().map(Cipher::new).collect(),
            secrets: Cipher::new(seal),
        }
    }

    /// Reads a body key file: one key a line, the current one first, older ones
    /// after it for as long as content sealed with them is there.
    pub fn read_body_keys(text: &str) -> Result<Vec<Seed>, VaultFault> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let keys: Option<Vec<Seed>> = lines.map(keys::seed).collect();
        keys.filter(|keys| !keys.is_empty())
            .ok_or(VaultFault::BadFile)
    }

    pub fn seal_part(&self, position: u64, name: &str, bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
        match self.body.first() {
            Some(cipher) => cipher.seal(&bytes, &part_bound(position, name)),
            None => Ok(bytes),
        }
    }

    /// `None` when it was sealed with a key that is not here, or changed since.
    pub fn open_part<'a>(
        &self,
        position: u64,
        name: &str,
        stored: &'a [u8],
    ) -> Option<Cow<'a, [u8]>> {
        if stored.first() != Some(&SEALED) {
            return Some(Cow::Borrowed(stored));
        }
        let cipher = self.cipher_of(stored)?;
        cipher
            .open(stored, &part_bound(position, name))
            .map(Cow::Owned)
    }

    /// Whether the key that a part says it was sealed with is here: then a part
    /// that does not open is not what was sealed.
    pub fn has_key_of(&self, stored: &[u8]) -> bool {
        self.cipher_of(stored).is_some()
    }

    fn cipher_of(&self, stored: &[u8]) -> Option<&Cipher> {
        let id = stored.get(1..)?;
        self.body.iter().find(|cipher| id.starts_with(&cipher.id))
    }

    pub fn seal_secret(&self, name: &str, secret: &[u8]) -> std::io::Result<Vec<u8>> {
        self.secrets.seal(secret, name.as_bytes())
    }

    pub fn open_secret(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        self.secrets.open(sealed, name.as_bytes())
    }

    /// Refuses to start without the key that content was sealed with, and
    /// remembers the current one.
    pub async fn check(&self, store: &dyn Store) -> Result<(), VaultFault> {
        let known = store.secret(CHECK).await?;
        let fits = self.fits(known.as_deref())?;
        let Some(current) = self.body.first().filter(|_| !fits) else {
            return Ok(());
        };
        let sealed = current.seal(b"wakeful", CHECK.as_bytes())?;
        let mut batch = store::Batch::default();
        batch.kept.secrets.push((CHECK.to_owned(), sealed));
        Ok(store.append(batch).await?)
    }

    /// For reading only: a wrong key is refused, and true means that there is
    /// content which no key was given for.
    pub async fn lacks_key(&self, store: &dyn Store) -> Result<bool, VaultFault> {
        let known = store.secret(CHECK).await?;
        match self.fits(known.as_deref()) {
            Err(VaultFault::KeyMissing) => Ok(true),
            fits => fits.map(|_| false),
        }
    }

    /// Whether what is remembered was sealed with the current key; an error if
    /// it was with none of those given.
    fn fits(&self, known: Option<&[u8]>) -> Result<bool, VaultFault> {
        let Some(known) = known else {
            return Ok(self.body.is_empty());
        };
        let current = self.body.first().ok_or(VaultFault::KeyMissing)?;
        let with = self.cipher_of(known).ok_or(VaultFault::WrongKey)?;
        match with.open(known, CHECK.as_bytes()) {
            Some(_) => Ok(with.id == current.id),
            None => Err(VaultFault::WrongKey),
        }
    }
}

fn part_bound(position: u64, name: &str) -> Vec<u8> {
    [
        b"wakeful/body/1\0".as_slice(),
        &position.to_be_bytes(),
        name.as_bytes(),
    ]
    .concat()
}

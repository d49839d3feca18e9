//! The key that proves rows which no entry proves.
//!
//! Such a row carries a message authentication code over its table and all of
//! its columns, the primary key among them: a row that was changed, or moved to
//! another key or table, is not taken for one that this server wrote. A row that
//! was deleted, or put back as it was earlier, is not noticed.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a code that are kept: nobody can try enough guesses to meet 16.
pub const CODE_BYTES: usize = 16;

/// Makes the codes of rows. Whoever has it can forge them.
#[derive(Clone)]
pub struct RowSeal(Hmac<Sha256>);

impl std::fmt::Debug for RowSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowSeal(…)")
    }
}

impl RowSeal {
    /// From 32 secret bytes that are used for nothing else.
    pub fn new(key: &[u8; 32]) -> RowSeal {
        RowSeal(Hmac::new_from_slice(key).expect("a key of any length is one"))
    }

    /// Begins a code. The key was taken in already: this is a copy.
    pub(crate) fn code(&self) -> Code {
        Code(self.0.clone())
    }
}

/// A code that is being made, value by value.
pub(crate) struct Code(Hmac<Sha256>);

impl Code {
    /// Adds a value: its type and its length stand before it, so that no two
    /// lists of values give the same bytes.
    pub fn add(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.update(&head);
        self.0.update(bytes);
    }

    pub fn finish(self) -> [u8; CODE_BYTES] {
        let whole: [u8; 32] = self.0.finalize().into_bytes().into();
        let mut code = [0; CODE_BYTES];
        code.copy_from_slice(&whole[..CODE_BYTES]);
        code
    }
}

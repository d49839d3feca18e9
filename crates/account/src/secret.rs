//! Keys and tokens: how they are spelled, and the hash that is all we keep.

use hex::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

/// Every kind of secret with its prefix, so that [`Kind::ALL`] forgets none.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $prefix:literal,)*) => {
        /// What a secret opens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            pub const fn prefix(self) -> &'static str {
                match self {
                    $(Kind::$kind => $prefix,)*
                }
            }
        }
    };
}

kinds! {
    /// An agent's key for development.
    TestKey = "wk_test_",
    /// An agent's key.
    LiveKey = "wk_live_",
    /// A human's account token.
    User = "wl_",
    /// A device's own token for the relay.
    Device = "wld_",
    /// Opens the relay for a day, and nothing else.
    LinkSession = "wls_",
    /// A session of the pages; only a browser ever holds it.
    Session = "",
    /// The end of a link to sign in with, once.
    Link = "",
}

impl Kind {
    /// The text that its holder is shown, once.
    pub fn spell(self, random: [u8; 32]) -> String {
        format!("{}{}", self.prefix(), BASE64URL_NOPAD.encode(&random))
    }

    /// Whether a text is spelled like a secret of this kind.
    pub fn is_spelled(self, text: &str) -> bool {
        let digits = text.strip_prefix(self.prefix());
        let random = digits.and_then(|digits| BASE64URL_NOPAD.decode(digits.as_bytes()).ok());
        random.is_some_and(|random| random.len() == 32)
    }
}

/// All that is stored of a secret. The secret has 256 random bits, so a fast
/// hash without a salt cannot be searched.
pub type SecretHash = [u8; 32];

pub fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_spelling() {
        let session = Kind::LinkSession.spell([7; 32]);
        assert!(Kind::LinkSession.is_spelled(&session));
        assert!(!Kind::User.is_spelled(&session));
        for other in ["", "wls_", "wls_unknown", &session[..46], &session[4..]] {
            assert!(!Kind::LinkSession.is_spelled(other), "{other}");
        }
    }
}

//! New secrets and short public names, from the operating system's random source.

use account::secret::{self, Kind, SecretHash};

use crate::Problem;

/// A new secret and its hash.
pub fn draw(kind: Kind) -> Result<(String, SecretHash), Problem> {
    let random = engine::keys::random().map_err(|_| Problem::unavailable())?;
    let text = kind.spell(random);
    let hash = secret::hash(&text);
    Ok((text, hash))
}

/// A name for a key or token by which people can speak of it.
pub fn short_id(prefix: &str) -> Result<String, Problem> {
    let random: [u8; 6] = engine::keys::random().map_err(|_| Problem::unavailable())?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{prefix}_{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A delivery is searched for `wake::secret::PREFIXES`: a kind of secret that
    /// joins must be found too.
    #[test]
    fn every_secret_with_a_prefix_is_one_that_a_delivery_must_not_carry() {
        let prefixes = || Kind::ALL.iter().map(|kind| kind.prefix());
        let spelled = Kind::ALL.iter().map(|kind| kind.spell([7; 32]));
        for (prefix, secret) in prefixes().zip(spelled) {
            assert_eq!(wake::secret::is_in(&secret), !prefix.is_empty(), "{prefix}");
        }
        let webhook = wake::signature::secret([7; 32]);
        assert!(wake::secret::is_in(&webhook), "{webhook}");
        for listed in wake::secret::PREFIXES {
            let is_used = prefixes().any(|prefix| prefix.starts_with(listed));
            assert!(is_used || webhook.starts_with(listed), "{listed}");
        }
        assert_eq!(Kind::LinkSession.prefix(), wake::secret::LINK_SESSION);
    }
}

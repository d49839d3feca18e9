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

//! The name of a JSON field, as an error message may repeat it. A secret that was
//! sent in a name's place must not reach a log or a screen, so only short names
//! are repeated: every secret of this system is longer.

use std::fmt;

/// Longer names are not repeated.
pub const MOST_CHARS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName(Result<String, usize>);

impl KeyName {
    pub fn new(name: &str) -> KeyName {
        match name.chars().count() {
            0..=MOST_CHARS => KeyName(Ok(name.to_owned())),
            length => KeyName(Err(length)),
        }
    }

    /// The name, if it may be repeated.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref().ok()
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(name) => write!(f, "\"{name}\""),
            Err(length) => write!(f, "of {length} characters"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_short_name_is_repeated() {
        let long = "x".repeat(MOST_CHARS + 1);
        assert_eq!(KeyName::new("dup").to_string(), "\"dup\"");
        assert_eq!(KeyName::new(&long).to_string(), "of 33 characters");
        assert_eq!(KeyName::new(&long).text(), None);
    }
}

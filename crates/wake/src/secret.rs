//! Secrets that a delivery must not carry: everyone who reads the inbox would
//! have them, and the trail keeps them.

use memchr::memchr2_iter;
use serde_json::{Map, Value};

use crate::signature::SECRET_PREFIX;

/// How every secret of this system begins. The server's tests compare it with
/// the kinds of secrets that accounts have.
pub const PREFIXES: [&str; 5] = ["wk_", "wl_", "wld_", LINK_SESSION, SECRET_PREFIX];
/// How a session token of the relay begins.
pub const LINK_SESSION: &str = "wls_";
/// Characters behind the prefix: 256 bits in base64, less the padding.
const LENGTH: usize = 43;

/// Whether something in a text is spelled like a secret.
pub fn is_in(text: &str) -> bool {
    PREFIXES.iter().any(|prefix| {
        let mut behind = text
            .match_indices(prefix)
            .map(|(at, _)| &text[at + prefix.len()..]);
        behind.any(|behind| behind.bytes().take_while(is_base64).count() >= LENGTH)
    })
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)
}

/// The field of a delivery in which a text is that must not be there; `body` is
/// the delivery as JSON.
pub fn field_with(body: &[u8], must_not_be: impl Fn(&str) -> bool) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let mut fields = fields.into_iter();
    let found = fields.find(|(name, value)| must_not_be(name) || holds(value, &must_not_be));
    found.map(|(name, _)| name)
}

/// The same for one secret, quick where there is none: most often.
pub fn field_with_this(body: &[u8], secret: &str) -> Option<String> {
    let beginning = secret.split('_').next().unwrap_or_default().as_bytes();
    let may_be_there = memchr2_iter(b'_', b'\\', body).any(|at| match body[at] {
        b'_' => body[..at].ends_with(beginning),
        // Whoever escapes letters that need no escaping may have hidden it.
        _ => body[at + 1..].starts_with(b"u"),
    });
    match may_be_there {
        true => field_with(body, |text| text.contains(secret)),
        false => None,
    }
}

fn holds(value: &Value, must_not_be: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => must_not_be(text),
        Value::Array(values) => values.iter().any(|value| holds(value, must_not_be)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| must_not_be(name) || holds(value, must_not_be)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(length: usize) -> String {
        "aB3-_xYz".chars().cycle().take(length).collect()
    }

    #[test]
    fn a_secret_is_known_by_its_beginning_and_its_length() {
        for prefix in ["wk_live_", "wk_test_", "wl_", "wld_", "wls_", "whsec_"] {
            assert!(is_in(&format!("{prefix}{}", random(43))), "{prefix}");
            assert!(
                is_in(&format!("key={prefix}{}, as told", random(44))),
                "{prefix}"
            );
            assert!(!is_in(&format!("{prefix}{}", random(20))), "{prefix}");
        }
        for text in [
            "",
            "wk_live_…",
            "wl_ is the prefix of a person's token",
            &random(200),
        ] {
            assert!(!is_in(text), "{text}");
        }
    }

    #[test]
    fn the_field_is_named_wherever_in_it_the_secret_is() {
        let secret = format!("wl_{}", random(43));
        let escaped = secret.replace("wl", "\\u0077l");
        for (field, body) in [
            ("headline", format!(r#"{{"headline":"{secret}"}}"#)),
            (
                "details",
                format!(r#"{{"details":{{"a":[1,{{"b":"x {secret}"}}]}}}}"#),
            ),
            ("details", format!(r#"{{"details":{{"{secret}":1}}}}"#)),
            ("summary", format!(r#"{{"summary":"{escaped}"}}"#)),
        ] {
            assert_eq!(
                field_with(body.as_bytes(), is_in).as_deref(),
                Some(field),
                "{body}"
            );
            let this = field_with_this(body.as_bytes(), &secret);
            assert_eq!(this.as_deref(), Some(field), "{body}");
            assert_eq!(field_with_this(body.as_bytes(), "wl_other"), None);
        }
        assert_eq!(field_with(br#"{"headline":"Report"}"#, is_in), None);
    }
}

//! Secrets that a delivery must not carry: everyone who reads the inbox would
//! have them, and the trail keeps them.

use std::collections::BTreeMap;

use memchr::memchr2_iter;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::value::RawValue;

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
    let fields: BTreeMap<String, Texts> = serde_json::from_slice(body).ok()?;
    let mut fields = fields.into_iter();
    let has_it = |Texts(texts): &Texts| texts.iter().any(|text| must_not_be(text));
    let found = fields.find(|(name, texts)| must_not_be(name) || has_it(texts));
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

/// All texts in a JSON value, names of fields too. Numbers are passed over as they
/// stand: one that no float holds is a number all the same.
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let mut texts = Vec::new();
        let mut rest = raw.get();
        // Outside of texts there are no quotation marks.
        while let Some(at) = rest.find('"') {
            rest = &rest[at..];
            let mut one = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let text = one.next().transpose().map_err(D::Error::custom)?;
            rest = &rest[one.byte_offset()..];
            texts.extend(text);
        }
        Ok(Texts(texts))
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
            // A number that no float holds hides nothing beside it.
            (
                "details",
                format!(
                    r#"{{"details":{{"a":1e999,"b":["\\\"",-{},"{secret}"]}}}}"#,
                    "9".repeat(400)
                ),
            ),
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

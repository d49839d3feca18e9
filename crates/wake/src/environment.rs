//! The four variables that configure an agent, as lines for its `.env` file.

use crate::base;

/// What the lines are filled in with.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The server's address, with or without `/wake/v1` at its end, if it is known.
    pub address: Option<&'a str>,
    pub key: &'a str,
    /// Known only at the moment when it was made.
    pub webhook_secret: Option<&'a str>,
    pub agent_id: &'a str,
}

impl Environment<'_> {
    /// Lines of `NAME=value`, each with its line break. A value that is unknown
    /// has no line.
    pub fn text(&self) -> String {
        let endpoint = self.address.map(endpoint);
        let lines = [
            ("WAKE_ENDPOINT", endpoint.as_deref()),
            ("WAKE_API_KEY", Some(self.key)),
            ("WAKE_WEBHOOK_SECRET", self.webhook_secret),
            ("WAKE_AGENT_ID", Some(self.agent_id)),
        ];
        let known = lines.into_iter().filter_map(|(name, value)| {
            let value = value?;
            Some(format!("{name}={}\n", quoted(value)))
        });
        known.collect()
    }
}

/// The address of the WAKE door of a server. What [`base()`] refuses is kept as
/// it is, with the door's path at its end.
pub fn endpoint(address: &str) -> String {
    let base = base(address).unwrap_or_else(|_| address.trim_end_matches('/').to_owned());
    format!("{base}/wake/v1")
}

/// A value as a shell reads it, and as programs read it that know `.env` files.
/// Most values need no quotes, and some of those programs know none. They differ
/// in how they read `'` and `\` inside quotes: there the shell decides.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,[]".contains(c);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let mut escaped = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_quotes_has_none_and_what_is_unknown_has_no_line() {
        let mut environment = Environment {
            address: Some("https://[2001:db8::1]:7377/"),
            key: "wk_live_a1",
            webhook_secret: Some("whsec_a+b/c="),
            agent_id: "research-01",
        };
        assert_eq!(
            environment.text(),
            "WAKE_ENDPOINT=https://[2001:db8::1]:7377/wake/v1\nWAKE_API_KEY=wk_live_a1\n\
             WAKE_WEBHOOK_SECRET=whsec_a+b/c=\nWAKE_AGENT_ID=research-01\n"
        );
        (environment.address, environment.webhook_secret) = (None, None);
        assert_eq!(
            environment.text(),
            "WAKE_API_KEY=wk_live_a1\nWAKE_AGENT_ID=research-01\n"
        );
    }

    #[test]
    fn both_ways_of_writing_an_address_have_the_same_endpoint() {
        for address in ["https://h", "https://h/", "https://h/wake/v1"] {
            assert_eq!(endpoint(address), "https://h/wake/v1");
        }
        assert_eq!(endpoint("http://0.0.0.0:1"), "http://0.0.0.0:1/wake/v1");
    }

    #[test]
    fn a_value_with_signs_of_the_shell_is_quoted() {
        for (value, written) in [
            ("", ""),
            ("two words", "'two words'"),
            ("#1 $(x) \"y\"", "'#1 $(x) \"y\"'"),
            ("it's", "\"it's\""),
            (r#"'"\$`"#, r#""'\"\\\$\`""#),
        ] {
            assert_eq!(quoted(value), written);
        }
    }
}

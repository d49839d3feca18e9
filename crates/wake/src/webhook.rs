//! Callbacks: which URLs are acceptable, which the operator allows, and when a
//! failed one is tried again. Sending is the server's business.

use std::{fmt, net::IpAddr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::{limits, net};

/// Why a `callback_webhook` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    #[error("is not a URL. Write https://host/path.")]
    NotAUrl,
    #[error("is longer than 2048 bytes. Shorten it.")]
    TooLong,
    #[error("must start with https://.")]
    NotHttps,
    #[error("must not carry a user name or password.")]
    HasCredentials,
    #[error("is not on this server's allowlist. Ask the operator to allow its host.")]
    NotAllowed,
}

impl UrlFault {
    pub fn code(self) -> &'static str {
        match self {
            UrlFault::NotAUrl => "webhook_not_a_url",
            UrlFault::TooLong => "webhook_too_long",
            UrlFault::NotHttps => "webhook_not_https",
            UrlFault::HasCredentials => "webhook_has_credentials",
            UrlFault::NotAllowed => "webhook_not_allowed",
        }
    }
}

/// An HTTPS URL with a host, as the agent wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackUrl {
    text: String,
    url: Url,
}

impl CallbackUrl {
    pub fn parse(text: &str) -> Result<CallbackUrl, UrlFault> {
        if text.len() > limits::WEBHOOK_URL_BYTES {
            return Err(UrlFault::TooLong);
        }
        let url = Url::parse(text).map_err(|_| UrlFault::NotAUrl)?;
        // The parser forgives blanks, backslashes and missing or extra slashes;
        // what it makes of them would not be what the agent wrote.
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(UrlFault::NotAUrl);
        }
        if url.scheme() != "https" {
            return Err(UrlFault::NotHttps);
        }
        let slashes = text.get(..8).is_some_and(|start| start.ends_with("://"));
        if !slashes || text[8..].starts_with('/') || url.host().is_none() {
            return Err(UrlFault::NotAUrl);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlFault::HasCredentials);
        }
        Ok(CallbackUrl {
            text: text.to_owned(),
            url,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// The host as it is after normalising, and the port.
    pub fn authority(&self) -> String {
        format!(
            "{}:{}",
            self.url.host_str().unwrap_or_default(),
            self.port()
        )
    }

    /// The address, when the host is one: no resolver will be asked for it.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        }
    }
}

/// One line of the operator's allowlist: `hooks.example.com`, `*.example.com`,
/// either with `:port` (443 otherwise), or an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    host: String,
    any_subdomain: bool,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a host (hooks.example.com), a wildcard (*.example.com) or an address, with :port if it is not 443"
)]
pub struct PatternFault;

impl HostPattern {
    pub fn parse(text: &str) -> Result<HostPattern, PatternFault> {
        let (any_subdomain, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let clean = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']' | '_');
        if rest.is_empty() || !rest.chars().all(clean) {
            return Err(PatternFault);
        }
        // The URL parser normalises case, IDNA and odd spellings of addresses.
        let url = Url::parse(&format!("https://{rest}/")).map_err(|_| PatternFault)?;
        let literal = !matches!(url.host(), Some(Host::Domain(_)));
        let host = url.host_str().ok_or(PatternFault)?.to_owned();
        if any_subdomain && (literal || !host.contains('.')) {
            return Err(PatternFault);
        }
        Ok(HostPattern {
            host,
            any_subdomain,
            port: url.port().unwrap_or(443),
        })
    }

    /// Orders patterns that match the same URL: an exact host before any
    /// wildcard, a longer wildcard before a shorter one.
    pub fn exactness(&self) -> (bool, usize) {
        (!self.any_subdomain, self.host.len())
    }

    pub fn matches(&self, callback: &CallbackUrl) -> bool {
        let Some(host) = callback.url.host_str() else {
            return false;
        };
        let host_matches = match self.any_subdomain {
            true => host
                .strip_suffix(self.host.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            false => host == self.host,
        };
        host_matches && callback.port() == self.port
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.any_subdomain { "*." } else { "" };
        write!(f, "{star}{}", self.host)?;
        if self.port != 443 {
            write!(f, ":{}", self.port)
        } else {
            Ok(())
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = PatternFault;
    fn try_from(text: String) -> Result<HostPattern, PatternFault> {
        HostPattern::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> String {
        pattern.to_string()
    }
}

/// Whether a callback may connect to this address: public ones, and those of
/// the networks that the allowlist names for the host.
pub fn may_connect(address: IpAddr, networks: &[net::Cidr]) -> bool {
    net::is_public(address) || networks.iter().any(|network| network.contains(address))
}

/// Seconds before each retry: eight tries over about a day.
const RETRY_SECONDS: [i64; 7] = [5, 300, 1800, 7200, 18_000, 28_800, 28_800];
/// What a receiver may ask for with `Retry-After` at the most.
const RETRY_AFTER_MAX_SECONDS: i64 = 24 * 3600;

/// Milliseconds until the next try after `attempts` failed ones, or `None` when
/// enough were made. `random` (any value) spreads it by a fifth either way, so
/// that a receiver that comes back is not met by everyone at once.
pub fn retry_delay_ms(attempts: u32, random: u64, retry_after_seconds: Option<i64>) -> Option<i64> {
    let index = usize::try_from(attempts.checked_sub(1)?).ok()?;
    let base_ms = RETRY_SECONDS.get(index)? * 1000;
    let spread = i64::try_from(random % 401).unwrap_or(200) - 200;
    let delay_ms = base_ms + base_ms * spread / 1000;
    let asked_ms = retry_after_seconds
        .unwrap_or(0)
        .clamp(0, RETRY_AFTER_MAX_SECONDS)
        * 1000;
    Some(delay_ms.max(asked_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_https_urls_with_a_host_and_no_credentials_pass() {
        for (text, fault) in [
            ("http://a.example/x", UrlFault::NotHttps),
            ("ftp://a.example/x", UrlFault::NotHttps),
            ("javascript:alert(1)", UrlFault::NotHttps),
            ("https://user:pw@a.example/", UrlFault::HasCredentials),
            ("https://", UrlFault::NotAUrl),
            ("/wake-callback", UrlFault::NotAUrl),
            ("", UrlFault::NotAUrl),
            (" https://a.example/", UrlFault::NotAUrl),
            ("https://a.example/ ", UrlFault::NotAUrl),
            ("https://a.example/x\ty", UrlFault::NotAUrl),
            ("https://a.example/x y", UrlFault::NotAUrl),
            ("https://a.ex\nample/", UrlFault::NotAUrl),
            ("https:a.example", UrlFault::NotAUrl),
            ("https:/a.example", UrlFault::NotAUrl),
            ("https:///a.example", UrlFault::NotAUrl),
            ("https:\\\\a.example", UrlFault::NotAUrl),
            ("https://a.example\\x", UrlFault::NotAUrl),
        ] {
            assert_eq!(CallbackUrl::parse(text), Err(fault), "{text}");
        }
        assert!(CallbackUrl::parse("HTTPS://a.example/").is_ok());
        let long = format!("https://a.example/{}", "x".repeat(2048));
        assert_eq!(CallbackUrl::parse(&long), Err(UrlFault::TooLong));
        assert_eq!(
            CallbackUrl::parse("https://0x7f.1/").unwrap().literal(),
            "127.0.0.1".parse().ok()
        );
    }

    #[test]
    fn a_pattern_matches_its_host_and_port_alone() {
        let matches = |pattern: &str, url: &str| {
            HostPattern::parse(pattern)
                .unwrap()
                .matches(&CallbackUrl::parse(url).unwrap())
        };
        assert!(matches("hooks.example.com", "https://HOOKS.example.com/a"));
        assert!(!matches(
            "hooks.example.com",
            "https://hooks.example.com:8443/a"
        ));
        assert!(matches(
            "hooks.example.com:8443",
            "https://hooks.example.com:8443/a"
        ));
        assert!(matches("*.example.com", "https://a.b.example.com/"));
        assert!(!matches("*.example.com", "https://example.com/"));
        assert!(!matches("*.example.com", "https://evilexample.com/"));
        assert!(!matches("example.com", "https://example.com.evil.test/"));
        assert!(matches("127.0.0.1:9", "https://2130706433:9/"));
        assert!(matches("[::1]:9", "https://[0:0:0:0:0:0:0:1]:9/"));
    }

    #[test]
    fn a_pattern_that_could_match_anything_is_refused() {
        for text in [
            "",
            "*",
            "*.com",
            "*.",
            "https://a.example",
            "a.example/x",
            "a b",
            "*.127.0.0.1",
        ] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn retries_spread_by_a_fifth_and_end_after_about_a_day(random in any::<u64>()) {
            let mut total_ms = 0;
            for attempts in 1..=7u32 {
                let delay = retry_delay_ms(attempts, random, None).unwrap();
                let base = RETRY_SECONDS[attempts as usize - 1] * 1000;
                prop_assert!((base * 8 / 10..=base * 12 / 10).contains(&delay));
                total_ms += delay;
            }
            prop_assert!((18..=30).contains(&(total_ms / 3_600_000)));
            prop_assert_eq!(retry_delay_ms(8, random, None), None);
        }
    }

    #[test]
    fn retry_after_lengthens_a_wait_and_is_capped() {
        assert_eq!(retry_delay_ms(1, 200, Some(60)), Some(60_000));
        assert_eq!(retry_delay_ms(2, 200, Some(60)), Some(300_000));
        assert_eq!(retry_delay_ms(1, 200, Some(i64::MAX)), Some(24 * 3_600_000));
    }
}

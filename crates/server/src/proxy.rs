//! Which proxies are believed, and how they prove that they are the proxy.
//!
//! A network that contains loopback contains every program of this machine, and
//! each of them could say that it speaks for someone else. So such a proxy sends
//! a secret along that only it and the server know. A network that is nearly
//! everything names no proxy at all.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ::wake::net::Cidr;
use account::secret::{self, SecretHash};
use axum::http::HeaderMap;

/// Where the proxy puts the secret, overwriting what a client sent.
pub const HEADER: &str = "wakeful-proxy-secret";
/// Fewer characters might be guessed; more are no header for some proxies.
pub const LEAST_CHARS: usize = 32;
pub const MOST_CHARS: usize = 256;

/// The hash of what the proxy sends. Comparing hashes takes as long for every
/// guess.
#[derive(Clone, Copy, Debug)]
pub struct ProxySecret(SecretHash);

impl ProxySecret {
    /// Reads a secret; white space around it does not count.
    pub fn parse(text: &str) -> Option<ProxySecret> {
        let text = text.trim();
        let fits = (LEAST_CHARS..=MOST_CHARS).contains(&text.len());
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (fits && plain).then(|| ProxySecret(secret::hash(text)))
    }

    /// Whether a request carries it, once.
    pub fn is_proved(&self, headers: &HeaderMap) -> bool {
        let mut said = headers.get_all(HEADER).iter();
        match (said.next(), said.next()) {
            (Some(said), None) => {
                let said = said.to_str().unwrap_or_default();
                is_same(&secret::hash(said), &self.0)
            }
            _ => false,
        }
    }
}

/// In the same time wherever they differ.
fn is_same(one: &SecretHash, other: &SecretHash) -> bool {
    let differ = one.iter().zip(other).fold(0, |bits, (a, b)| bits | (a ^ b));
    std::hint::black_box(differ) == 0
}

/// Why networks cannot be those of proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is nearly everything.
    TooWide(Cidr),
    /// It contains this machine, and there is no secret.
    Unproven(Cidr),
}

/// The widest networks that are in private use are 10.0.0.0/8 and fc00::/7.
const WIDEST_V4: u8 = 8;
const WIDEST_V6: u8 = 7;
/// IPv4 addresses as IPv6 has them: `::ffff:0:0/96`.
const MAPPED_PREFIX: u8 = 96;

/// Checks the networks that proxies are to connect from.
pub fn check(networks: &[Cidr], secret: Option<&ProxySecret>) -> Result<(), Unfit> {
    for network in networks {
        let (base, prefix) = (network.base(), network.prefix());
        let is_wide = match base {
            IpAddr::V4(_) => prefix < WIDEST_V4,
            IpAddr::V6(_) if prefix < WIDEST_V6 => true,
            IpAddr::V6(base) => is_mapped(base) && prefix < MAPPED_PREFIX + WIDEST_V4,
        };
        if is_wide {
            return Err(Unfit::TooWide(*network));
        }
        if secret.is_none() && has_loopback(*network) {
            return Err(Unfit::Unproven(*network));
        }
    }
    Ok(())
}

fn is_mapped(base: Ipv6Addr) -> bool {
    base.to_ipv4_mapped().is_some()
}

/// Whether a network and 127.0.0.0/8 or ::1 have an address in common. A mapped
/// network is taken for what it means, even where nothing would match it.
fn has_loopback(network: Cidr) -> bool {
    let loopback = [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    let base = network.base();
    let is_inside = base.is_loopback() || base.to_canonical().is_loopback();
    is_inside
        || loopback
            .into_iter()
            .any(|address| network.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(network: &str, secret: bool) -> Result<(), Unfit> {
        let secret = ProxySecret::parse(&"x".repeat(32)).filter(|_| secret);
        check(&[network.parse().unwrap()], secret.as_ref())
    }

    #[test]
    fn this_machine_needs_a_proof_and_other_networks_do_not() {
        for network in [
            "127.0.0.0/8",
            "127.0.0.1",
            "127.1.2.0/24",
            "::1",
            "::/16",
            "::ffff:127.0.0.1",
        ] {
            let refused = checked(network, false);
            assert!(matches!(refused, Err(Unfit::Unproven(_))), "{network}");
            assert_eq!(checked(network, true), Ok(()), "{network}");
        }
        for network in [
            "10.0.0.0/8",
            "172.18.0.0/16",
            "fd00::/8",
            "fc00::/7",
            "192.0.2.1",
        ] {
            assert_eq!(checked(network, false), Ok(()), "{network}");
        }
    }

    #[test]
    fn what_is_nearly_everything_is_refused_with_a_proof_too() {
        for network in [
            "0.0.0.0/0",
            "128.0.0.0/1",
            "::/0",
            "8000::/1",
            "::ffff:0.0.0.0/96",
        ] {
            let refused = checked(network, true);
            assert!(matches!(refused, Err(Unfit::TooWide(_))), "{network}");
        }
    }

    #[test]
    fn a_secret_is_long_and_without_spaces_and_is_sent_once() {
        for text in [
            "",
            "short",
            "x y".repeat(20).as_str(),
            "ä".repeat(40).as_str(),
        ] {
            assert!(ProxySecret::parse(text).is_none(), "{text}");
        }
        assert!(ProxySecret::parse(&"x".repeat(300)).is_none());
        let text = "y".repeat(40);
        let secret = ProxySecret::parse(&format!(" {text}\n")).unwrap();
        let mut headers = HeaderMap::new();
        assert!(!secret.is_proved(&headers));
        headers.append(HEADER, "z".repeat(40).parse().unwrap());
        assert!(!secret.is_proved(&headers));
        headers.insert(HEADER, text.parse().unwrap());
        assert!(secret.is_proved(&headers));
        headers.append(HEADER, text.parse().unwrap());
        assert!(!secret.is_proved(&headers));
    }
}

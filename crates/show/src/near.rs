//! Places that no link may lead to: this machine, its networks, and other ports
//! of this server.
//!
//! Browsers send cookies to every port of a host, so a link to an agent's own
//! program on this machine would hand it what the reader's browser knows. The
//! session does not rest on this; it spares people the click.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::limits::URL_BYTES;

/// The server whose page shows something, by the addresses that lead to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    /// Name or address, and port.
    own: Vec<(Host, Option<u16>)>,
}

impl Here {
    /// Adds an address of this server, such as `https://wake.example.com:7377`.
    /// What is no address is left out.
    pub fn and(mut self, address: &str) -> Here {
        let parsed = Url::parse(address)
            .ok()
            .filter(|_| address.len() <= URL_BYTES);
        if let Some(own) = parsed.as_ref().and_then(place) {
            self.own.push(own);
        }
        self
    }

    /// Whether an address leads to this machine, to a private network or to
    /// another port of this server. This very server is no such place.
    pub(crate) fn is_near(&self, url: &Url) -> bool {
        let Some((host, port)) = place(url) else {
            return false;
        };
        let same_host = || self.own.iter().filter(|(own, _)| *own == host);
        if same_host().any(|(_, own)| *own == port) {
            return false;
        }
        let is_private = match &host {
            Host::Domain(name) => is_loopback_name(name),
            Host::Ipv4(address) => is_private_v4(*address),
            Host::Ipv6(address) => is_private_v6(*address),
        };
        is_private || same_host().next().is_some()
    }
}

/// Where an address leads. The parser has read numbers as browsers do and
/// lowered names; a dot at the end of a name means nothing to a resolver.
fn place(url: &Url) -> Option<(Host, Option<u16>)> {
    let host = match url.host()? {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_ascii_lowercase()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => match inner_v4(address) {
            Some(inner) => Host::Ipv4(inner),
            None => Host::Ipv6(address),
        },
    };
    Some((host, url.port_or_known_default()))
}

/// Names that mean this machine by standard, or in the usual `/etc/hosts`.
fn is_loopback_name(name: &str) -> bool {
    let usual = [
        "localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "ip6-loopback",
    ];
    usual.contains(&name) || name.ends_with(".localhost")
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    // 0.0.0.0/8 reaches this machine; 100.64.0.0/10 is a carrier's or overlay network.
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        // fec0::/10, site-local: deprecated and still routed within a site.
        || address.segments()[0] & 0xffc0 == 0xfec0
}

/// The address of four bytes that one of sixteen stands for: mapped
/// (`::ffff:1.2.3.4`), compatible (`::1.2.3.4`), translated (`64:ff9b::1.2.3.4`)
/// or tunnelled (`2002:102:304::`).
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(g, h)),
        [0, 0, 0, 0, 0, 0] if (g, h) != (0, 0) && (g, h) != (0, 1) => Some(of(g, h)),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

//! Addresses: which of them a callback may reach, and networks an operator names.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Serialize};

/// A network such as `10.0.0.0/8` or `fd00::/8`; a bare address is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    base: IpAddr,
    prefix: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a network as address/prefix, such as 10.0.0.0/8 or fd00::/8")]
pub struct CidrFault;

impl Cidr {
    /// The address before the slash, as it was written.
    pub fn base(&self) -> IpAddr {
        self.base
    }

    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => same_prefix(
                base.to_bits().into(),
                address.to_bits().into(),
                32,
                self.prefix,
            ),
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                same_prefix(base.to_bits(), address.to_bits(), 128, self.prefix)
            }
            _ => false,
        }
    }
}

fn same_prefix(a: u128, b: u128, width: u32, prefix: u8) -> bool {
    let ignored = width - u32::from(prefix);
    (a ^ b).checked_shr(ignored).unwrap_or(0) == 0
}

impl FromStr for Cidr {
    type Err = CidrFault;

    fn from_str(text: &str) -> Result<Cidr, CidrFault> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let base: IpAddr = address.parse().map_err(|_| CidrFault)?;
        let width = if base.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => width,
            Some(prefix) => prefix
                .parse()
                .ok()
                .filter(|p| *p <= width)
                .ok_or(CidrFault)?,
        };
        Ok(Cidr { base, prefix })
    }
}

impl TryFrom<String> for Cidr {
    type Error = CidrFault;

    fn try_from(text: String) -> Result<Cidr, CidrFault> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(network: Cidr) -> String {
        network.to_string()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

/// Networks that are not the public internet: an agent must not make us call
/// into them. IPv6 is the other way round: only global unicast is public, minus
/// the ranges that stand for something else.
const NOT_PUBLIC_V4: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];
const GLOBAL_UNICAST_V6: &str = "2000::/3";
const NOT_PUBLIC_V6: &[&str] = &["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/// Whether an address belongs to the public internet, with mapped IPv4
/// addresses judged as what they map to.
pub fn is_public(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let within = |text: &&str| text.parse::<Cidr>().is_ok_and(|net| net.contains(address));
    match address {
        IpAddr::V4(_) => !NOT_PUBLIC_V4.iter().any(within),
        IpAddr::V6(_) => within(&GLOBAL_UNICAST_V6) && !NOT_PUBLIC_V6.iter().any(within),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_local_shared_multicast_and_mapped_addresses_are_not_public() {
        for address in [
            "127.0.0.1",
            "127.8.9.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_network_contains_its_own_and_nothing_else() {
        let net: Cidr = "10.1.0.0/16".parse().unwrap();
        assert!(net.contains("10.1.255.1".parse().unwrap()));
        assert!(net.contains("::ffff:10.1.0.1".parse().unwrap()));
        assert!(!net.contains("10.2.0.1".parse().unwrap()));
        assert!(
            "0.0.0.0/0"
                .parse::<Cidr>()
                .unwrap()
                .contains("8.8.8.8".parse().unwrap())
        );
        for text in ["10.0.0.0/33", "10.0.0/8", "", "fd00::/129", "10.0.0.0/"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}

//! Hardware addresses, and the packet that wakes the machine that has one.

use std::{fmt, str::FromStr};

/// A hardware address of 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hardware address; write it as 00:11:22:aa:bb:cc")]
pub struct NotAMac;

/// Six pairs of hexadecimal digits, with colons or dashes between all of them.
impl FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Mac, NotAMac> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut pairs = text.split(separator);
        for byte in &mut bytes {
            let pair = pairs.next().ok_or(NotAMac)?;
            let is_pair = pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_pair {
                return Err(NotAMac);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotAMac)?;
        }
        match pairs.next() {
            None => Ok(Mac(bytes)),
            Some(_) => Err(NotAMac),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mac({self})")
    }
}

/// What a sleeping network card listens for: six bytes of ones, its address
/// sixteen times, and the SecureOn password if it wants one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MagicPacket(Vec<u8>);

impl MagicPacket {
    pub fn new(mac: Mac, password: Option<[u8; 6]>) -> MagicPacket {
        let mut bytes = Vec::with_capacity(6 + 16 * 6 + 6);
        bytes.extend_from_slice(&[0xff; 6]);
        bytes.extend_from_slice(&mac.0.repeat(16));
        bytes.extend(password.into_iter().flatten());
        MagicPacket(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_the_ways_people_write_it() {
        let mac = Mac([0x00, 0x11, 0x22, 0xaa, 0xbb, 0xcc]);
        for text in [
            "00:11:22:aa:bb:cc",
            "00:11:22:AA:BB:CC",
            "00-11-22-aa-bb-cc",
        ] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        assert_eq!(mac.to_string(), "00:11:22:aa:bb:cc");
        for text in [
            "",
            "nas",
            "00:11:22:aa:bb",
            "00:11:22:aa:bb:cc:dd",
            "00:11:22:aa:bb:c",
            "00:11:22:aa:bb:+c",
            "00:11:22:aa:bb:gg",
            "00:11-22:aa:bb:cc",
            "001122aabbcc",
            " 00:11:22:aa:bb:cc",
            "00:11:22:aa:bb:é",
        ] {
            assert_eq!(text.parse::<Mac>(), Err(NotAMac), "{text}");
        }
    }

    #[test]
    fn the_packet_has_every_byte_where_the_card_expects_it() {
        let mac = Mac([1, 2, 3, 4, 5, 6]);
        let packet = MagicPacket::new(mac, None);
        assert_eq!(packet.bytes().len(), 102);
        assert_eq!(packet.bytes()[..6], [0xff; 6]);
        for turn in 0..16 {
            let at = 6 + turn * 6;
            assert_eq!(packet.bytes()[at..at + 6], [1, 2, 3, 4, 5, 6], "{turn}");
        }
        let secured = MagicPacket::new(mac, Some([9, 8, 7, 6, 5, 4]));
        assert_eq!(secured.bytes()[..102], *packet.bytes());
        assert_eq!(secured.bytes()[102..], [9, 8, 7, 6, 5, 4]);
    }
}

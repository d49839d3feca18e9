//! Packets as JSON, as they stand on the wire.

use std::fmt;

use hex::{BASE64URL_NOPAD, HEXLOWER};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    ewsp::{LAST_SEQ, Refusal, VERSION},
    json::object,
};

/// A packet longer than this passes no relay.
pub const PACKET_BYTES: usize = 64 << 10;

/// What names a session: 16 hexadecimal digits, drawn by the client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sid([u8; 8]);

impl Sid {
    pub fn new(bytes: [u8; 8]) -> Sid {
        Sid(bytes)
    }

    pub fn parse(text: &str) -> Option<Sid> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
        Some(Sid(bytes.try_into().ok()?))
    }

    /// The digits.
    pub fn text(&self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Debug for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sid({})", self.text())
    }
}

impl Serialize for Sid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Sid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sid, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Sid::parse(&text).ok_or_else(|| D::Error::custom("a session id has 16 digits"))
    }
}

/// Bytes as base64url without padding, in one spelling only.
mod bytes {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64URL_NOPAD.encode(bytes))
    }

    pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: TryFrom<Vec<u8>>,
    {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let bytes = BASE64URL_NOPAD
            .decode(text.as_bytes())
            .map_err(|_| D::Error::custom("not base64url without padding"))?;
        T::try_from(bytes).map_err(|_| D::Error::custom("not of the right length"))
    }
}

/// The first and the second payload of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub v: String,
    pub sid: Sid,
    /// 1 from the client, 2 from the device.
    pub hs: u8,
    #[serde(with = "bytes")]
    pub pk: [u8; 32],
    #[serde(with = "bytes")]
    pub rnd: [u8; 32],
}

impl Hello {
    pub(crate) fn new(sid: Sid, hs: u8, pk: [u8; 32], rnd: [u8; 32]) -> Hello {
        Hello {
            v: VERSION.to_owned(),
            sid,
            hs,
            pk,
            rnd,
        }
    }

    pub fn read(text: &str) -> Result<Hello, Refusal> {
        let hello: Hello = read(text)?;
        match hello.v == VERSION {
            true => Ok(hello),
            false => Err(Refusal::Version),
        }
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A sealed packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    pub v: String,
    pub sid: Sid,
    pub seq: u64,
    /// Ciphertext and tag.
    #[serde(with = "bytes")]
    pub p: Vec<u8>,
}

impl Packet {
    pub(crate) fn new(sid: Sid, seq: u64, p: Vec<u8>) -> Packet {
        Packet {
            v: VERSION.to_owned(),
            sid,
            seq,
            p,
        }
    }

    pub fn read(text: &str) -> Result<Packet, Refusal> {
        let packet: Packet = read(text)?;
        if packet.v != VERSION {
            return Err(Refusal::Version);
        }
        match packet.seq <= LAST_SEQ {
            true => Ok(packet),
            false => Err(Refusal::Malformed("its number is too large")),
        }
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Refusal> {
    if text.len() > PACKET_BYTES {
        return Err(Refusal::Malformed("it is too long"));
    }
    object(text.as_bytes()).map_err(|_| Refusal::Malformed("not the fields of one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_the_fields_is_neither_hello_nor_packet() {
        let hello = Hello::new(Sid::new([1; 8]), 1, [2; 32], [3; 32]);
        let packet = Packet::new(Sid::new([1; 8]), 0, vec![4; 16]);
        assert!(Hello::read(&hello.text()).is_ok() && Packet::read(&packet.text()).is_ok());
        let zeros = BASE64URL_NOPAD.encode(&[2; 32]);
        let sid = hello.sid.text();
        assert!(Hello::read(&format!(r#"["1.1","{sid}",1,"{zeros}","{zeros}"]"#)).is_err());
        assert!(Packet::read(&format!(r#"["1.1","{sid}",0,"{zeros}"]"#)).is_err());
    }
}

//! A session: sealing what one says, opening what one hears.

use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit as _, Nonce,
    aead::{Aead as _, Payload},
};

use crate::ewsp::{
    LAST_SEQ, Packet, Refusal, Side, VERSION,
    keys::{Key, Schedule},
    packet::Sid,
    window::Window,
};

/// The first thing each side says, and says only then.
const CONFIRMATION: &[u8] = b"confirm";

/// What was in a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The other side has the same keys; from now on it may be spoken to.
    Confirmation,
    Content(Vec<u8>),
}

pub struct Session {
    side: Side,
    sid: Sid,
    speak: Key,
    hear: Key,
    next: u64,
    heard: Window,
    confirmed: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("side", &self.side)
            .field("sid", &self.sid)
            .field("next", &self.next)
            .field("confirmed", &self.confirmed)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(side: Side, sid: Sid, keys: &Schedule) -> Session {
        Session {
            side,
            sid,
            speak: keys.key(side),
            hear: keys.key(side.other()),
            next: 0,
            heard: Window::default(),
            confirmed: false,
        }
    }

    pub fn sid(&self) -> Sid {
        self.sid
    }

    /// Whether the other side has shown that it has the keys.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// The packet that shows the other side that one has the keys: the first,
    /// and there is only one.
    pub fn confirm(&mut self) -> Result<Packet, Refusal> {
        match self.next {
            0 => self.seal_next(CONFIRMATION),
            _ => Err(Refusal::Exhausted),
        }
    }

    /// Seals something to be said, once both have confirmed.
    pub fn seal(&mut self, content: &[u8]) -> Result<Packet, Refusal> {
        match self.confirmed && self.next > 0 {
            true => self.seal_next(content),
            false => Err(Refusal::Unconfirmed),
        }
    }

    fn seal_next(&mut self, content: &[u8]) -> Result<Packet, Refusal> {
        let seq = self.next;
        if seq > LAST_SEQ {
            return Err(Refusal::Exhausted);
        }
        let header = header(self.sid, seq, self.side);
        let payload = Payload {
            msg: content,
            aad: &header,
        };
        let sealed = cipher(&self.speak)
            .encrypt(&nonce(seq), payload)
            .map_err(|_| Refusal::Malformed("too long to be sealed"))?;
        self.next += 1;
        Ok(Packet::new(self.sid, seq, sealed))
    }

    /// Opens what the other side said. Whatever is refused changes nothing.
    pub fn open(&mut self, packet: &Packet) -> Result<Opened, Refusal> {
        if packet.sid != self.sid {
            return Err(Refusal::OtherSession);
        }
        if packet.seq > LAST_SEQ || !self.heard.is_new(packet.seq) {
            return Err(Refusal::Replayed);
        }
        let header = header(self.sid, packet.seq, self.side.other());
        let payload = Payload {
            msg: &packet.p,
            aad: &header,
        };
        let content = cipher(&self.hear)
            .decrypt(&nonce(packet.seq), payload)
            .map_err(|_| Refusal::Forged)?;
        let confirms = packet.seq == 0;
        if confirms && content != CONFIRMATION || !confirms && !self.confirmed {
            return Err(Refusal::Unconfirmed);
        }
        self.heard.note(packet.seq);
        self.confirmed = true;
        Ok(match confirms {
            true => Opened::Confirmation,
            false => Opened::Content(content),
        })
    }
}

fn cipher(key: &Key) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new((&**key).into())
}

/// A number is used once with a key, so it is the nonce.
fn nonce(seq: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&seq.to_be_bytes());
    nonce.into()
}

/// What is not secret and yet must be as it was sent.
fn header(sid: Sid, seq: u64, speaker: Side) -> Vec<u8> {
    let mut header = Vec::with_capacity(VERSION.len() + 16 + 8 + 1);
    header.extend_from_slice(VERSION.as_bytes());
    header.extend_from_slice(sid.text().as_bytes());
    header.extend_from_slice(&seq.to_be_bytes());
    header.push(speaker.byte());
    header
}

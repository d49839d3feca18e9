//! The two hellos. Neither is secret nor sealed; a false one leads to keys that
//! the other side does not have, so the confirmation after it does not open.

use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::Zeroizing;

use crate::{
    Secret,
    ewsp::{Hello, Refusal, Session, Side, keys::Schedule, packet::Sid},
};

/// What one side draws for one handshake, and never again.
#[derive(Clone)]
pub struct Draw {
    pub key: Zeroizing<[u8; 32]>,
    pub random: [u8; 32],
}

impl Draw {
    /// From random bytes of the system.
    pub fn new(bytes: &[u8; 64]) -> Draw {
        let mut draw = Draw {
            key: Zeroizing::default(),
            random: [0; 32],
        };
        let (key, random) = bytes.split_at(32);
        draw.key.copy_from_slice(key);
        draw.random.copy_from_slice(random);
        draw
    }

    fn public(&self) -> [u8; 32] {
        x25519(*self.key, X25519_BASEPOINT_BYTES)
    }
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Draw(…)")
    }
}

/// A client that has said hello and waits for the device's.
#[derive(Debug)]
pub struct Initiator {
    hello: Hello,
    draw: Draw,
}

impl Initiator {
    pub fn new(sid: Sid, draw: Draw) -> Initiator {
        Initiator {
            hello: Hello::new(sid, 1, draw.public(), draw.random),
            draw,
        }
    }

    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// With the device's hello, a session that is still to be confirmed. One
    /// that does not fit changes nothing: the right one may come after it.
    pub fn finish(
        &self,
        agent_id: &str,
        secret: &Secret,
        reply: &Hello,
    ) -> Result<Session, Refusal> {
        if reply.sid != self.hello.sid {
            return Err(Refusal::OtherSession);
        }
        if reply.hs != 2 {
            return Err(Refusal::Malformed("not a device's hello"));
        }
        let keys = Schedule::new(
            agent_id,
            secret,
            &self.draw.key,
            reply.pk,
            &self.hello,
            reply,
        )?;
        Ok(Session::new(Side::Client, reply.sid, &keys))
    }
}

/// A device's answer to a client's hello: its own, and the session.
pub fn respond(
    agent_id: &str,
    secret: &Secret,
    hello: &Hello,
    draw: &Draw,
) -> Result<(Hello, Session), Refusal> {
    if hello.hs != 1 {
        return Err(Refusal::Malformed("not a client's hello"));
    }
    let reply = Hello::new(hello.sid, 2, draw.public(), draw.random);
    let keys = Schedule::new(agent_id, secret, &draw.key, hello.pk, hello, &reply)?;
    Ok((reply, Session::new(Side::Device, hello.sid, &keys)))
}

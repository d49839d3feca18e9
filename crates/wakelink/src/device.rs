//! A device's end of its sessions: who said hello, who has confirmed, and what
//! they said. It answers hellos itself and gives commands to whoever acts on
//! them; before a session is confirmed it gives nothing.
//!
//! A relay can send as many hellos as it likes, so the sessions are counted: a
//! new one takes the place of the one that was heard least lately, and one
//! that never confirmed goes before one that did.

use std::time::Duration;

use crate::{
    Hello, Packet, Refusal, Secret, Session,
    ewsp::{Draw, Opened, Sid, respond},
};

/// Sessions at one time: each is a client that is connected, or was.
pub const SESSIONS: usize = 64;
/// After this a client begins anew (`docs/ewsp.md`, "New keys").
pub const SESSION_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A session in which nothing is heard for so long is forgotten: what a relay
/// holds back longer is never done.
pub const SESSION_SILENCE: Duration = Duration::from_secs(10 * 60);

/// What a text from the relay comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A client said hello: these texts are to be sent, in this order.
    Hello([String; 2]),
    /// A client has the keys.
    Confirmed,
    /// A client asks for something.
    Content { sid: Sid, content: Vec<u8> },
}

#[derive(Debug)]
pub struct Sessions {
    agent_id: String,
    secret: Secret,
    /// The one heard latest is the last.
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    session: Session,
    since: Duration,
    /// When it last said something that was true.
    heard: Duration,
}

impl Sessions {
    pub fn new(agent_id: &str, secret: Secret) -> Sessions {
        Sessions {
            agent_id: agent_id.to_owned(),
            secret,
            held: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes what the relay passed on. `now` is any time that only grows;
    /// `draw` is asked for fresh randomness if this is a hello.
    pub fn hear(
        &mut self,
        text: &str,
        now: Duration,
        draw: impl FnOnce() -> Draw,
    ) -> Result<Heard, Refusal> {
        self.held.retain(|held| {
            now.saturating_sub(held.since) < SESSION_AGE
                && now.saturating_sub(held.heard) < SESSION_SILENCE
        });
        match Packet::read(text) {
            Ok(packet) => self.open(&packet, now),
            Err(Refusal::Malformed(_)) => self.meet(&Hello::read(text)?, now, &draw()),
            Err(refusal) => Err(refusal),
        }
    }

    fn meet(&mut self, hello: &Hello, now: Duration, draw: &Draw) -> Result<Heard, Refusal> {
        let known = self.position(hello.sid);
        // A hello that is repeated must not end the session it began.
        if known.is_some_and(|at| self.held[at].session.is_confirmed()) {
            return Err(Refusal::Replayed);
        }
        let (reply, mut session) = respond(&self.agent_id, &self.secret, hello, draw)?;
        let confirmation = session.confirm()?;
        match known {
            Some(at) => drop(self.held.remove(at)),
            None if self.held.len() >= SESSIONS => self.forget_one(),
            None => {}
        }
        self.held.push(Held {
            session,
            since: now,
            heard: now,
        });
        Ok(Heard::Hello([reply.text(), confirmation.text()]))
    }

    fn open(&mut self, packet: &Packet, now: Duration) -> Result<Heard, Refusal> {
        let at = self.position(packet.sid).ok_or(Refusal::OtherSession)?;
        let opened = self.held[at].session.open(packet)?;
        let mut latest = self.held.remove(at);
        latest.heard = now;
        self.held.push(latest);
        Ok(match opened {
            Opened::Confirmation => Heard::Confirmed,
            Opened::Content(content) => Heard::Content {
                sid: packet.sid,
                content,
            },
        })
    }

    /// Seals an answer.
    pub fn say(&mut self, sid: Sid, content: &[u8]) -> Result<String, Refusal> {
        let at = self.position(sid).ok_or(Refusal::OtherSession)?;
        Ok(self.held[at].session.seal(content)?.text())
    }

    fn position(&self, sid: Sid) -> Option<usize> {
        self.held.iter().position(|held| held.session.sid() == sid)
    }

    fn forget_one(&mut self) {
        let unconfirmed = |held: &Held| !held.session.is_confirmed();
        let at = self.held.iter().position(unconfirmed).unwrap_or(0);
        self.held.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ewsp::Initiator;

    const AGENT: &str = "WL35080814";

    fn secret() -> Secret {
        Secret::new([7; 32])
    }

    fn draw(number: u8) -> Draw {
        Draw::new(&std::array::from_fn(|at| {
            number.wrapping_mul(37).wrapping_add(at as u8)
        }))
    }

    fn sid(number: u8) -> Sid {
        Sid::new([number; 8])
    }

    /// A client that has met the device, and perhaps confirmed.
    fn client(device: &mut Sessions, number: u8, now: Duration, confirms: bool) -> Session {
        let client = Initiator::new(sid(number), draw(number));
        let hello = client.hello().text();
        let heard = device.hear(&hello, now, || draw(number.wrapping_add(100)));
        let Ok(Heard::Hello([reply, confirmation])) = heard else {
            panic!("{heard:?}");
        };
        let reply = Hello::read(&reply).unwrap();
        let mut session = client.finish(AGENT, &secret(), &reply).unwrap();
        let confirmation = Packet::read(&confirmation).unwrap();
        session.open(&confirmation).unwrap();
        if confirms {
            let text = session.confirm().unwrap().text();
            assert_eq!(device.hear(&text, now, || draw(0)), Ok(Heard::Confirmed));
        }
        session
    }

    #[test]
    fn a_device_hears_many_clients_and_answers_each_in_its_session() {
        let mut device = Sessions::new(AGENT, secret());
        let now = Duration::ZERO;
        let mut clients: Vec<Session> = (1..=5)
            .map(|number| client(&mut device, number, now, true))
            .collect();
        for (at, client) in clients.iter_mut().enumerate() {
            let asked = format!("from {at}").into_bytes();
            let text = client.seal(&asked).unwrap().text();
            let heard = device.hear(&text, now, || draw(0)).unwrap();
            let expected = Heard::Content {
                sid: client.sid(),
                content: asked.clone(),
            };
            assert_eq!(heard, expected);
            let text = device.say(client.sid(), &asked).unwrap();
            let packet = Packet::read(&text).unwrap();
            assert_eq!(client.open(&packet), Ok(Opened::Content(asked)));
            // Its own words are nothing to it.
            let again = device.hear(&text, now, || draw(0));
            assert!(again.is_err(), "{again:?}");
        }
    }

    #[test]
    fn nothing_is_taken_before_the_confirmation() {
        let mut device = Sessions::new(AGENT, secret());
        let mut early = client(&mut device, 1, Duration::ZERO, false);
        let confirmation = early.confirm().unwrap().text();
        let command = early.seal(b"wake").unwrap().text();
        let heard = device.hear(&command, Duration::ZERO, || draw(0));
        assert_eq!(heard, Err(Refusal::Unconfirmed));
        assert_eq!(device.say(sid(1), b"x"), Err(Refusal::Unconfirmed));
        let heard = device.hear(&confirmation, Duration::ZERO, || draw(0));
        assert_eq!(heard, Ok(Heard::Confirmed));
        assert!(device.hear(&command, Duration::ZERO, || draw(0)).is_ok());
    }

    #[test]
    fn a_hello_that_comes_again_ends_no_session() {
        let mut device = Sessions::new(AGENT, secret());
        let mut session = client(&mut device, 1, Duration::ZERO, true);
        let again = Initiator::new(sid(1), draw(1)).hello().text();
        let heard = device.hear(&again, Duration::ZERO, || draw(9));
        assert_eq!(heard, Err(Refusal::Replayed));
        let text = session.seal(b"still here").unwrap().text();
        assert!(device.hear(&text, Duration::ZERO, || draw(0)).is_ok());
    }

    #[test]
    fn hellos_without_end_take_neither_memory_nor_the_place_of_who_confirmed() {
        let mut device = Sessions::new(AGENT, secret());
        let mut kept = client(&mut device, 255, Duration::ZERO, true);
        for number in 0..200 {
            client(&mut device, number, Duration::ZERO, false);
            assert!(device.len() <= SESSIONS);
        }
        let text = kept.seal(b"x").unwrap().text();
        assert!(device.hear(&text, Duration::ZERO, || draw(0)).is_ok());
        // Among those who confirmed, the one heard least lately goes.
        for number in 0..64 {
            client(&mut device, number, Duration::ZERO, true);
        }
        let text = kept.seal(b"x").unwrap().text();
        let heard = device.hear(&text, Duration::ZERO, || draw(0));
        assert_eq!(heard, Err(Refusal::OtherSession));
    }

    #[test]
    fn what_comes_after_a_long_silence_is_not_done() {
        let mut device = Sessions::new(AGENT, secret());
        let mut session = client(&mut device, 1, Duration::ZERO, true);
        let first = session.seal(b"x").unwrap().text();
        let held_back = session.seal(b"wake").unwrap().text();
        let later = SESSION_SILENCE - Duration::from_secs(1);
        assert!(device.hear(&first, later, || draw(0)).is_ok());
        let too_late = later + SESSION_SILENCE;
        let heard = device.hear(&held_back, too_late, || draw(0));
        assert_eq!(heard, Err(Refusal::OtherSession));
    }

    #[test]
    fn a_session_ends_with_its_day() {
        let mut device = Sessions::new(AGENT, secret());
        let mut session = client(&mut device, 1, Duration::from_secs(5), true);
        let text = session.seal(b"x").unwrap().text();
        let late = Duration::from_secs(5) + SESSION_AGE;
        assert!(
            device
                .hear(&text, Duration::from_secs(6), || draw(0))
                .is_ok()
        );
        // It is used all day.
        let mut now = Duration::from_secs(6);
        while now < late - Duration::from_secs(300) {
            now += Duration::from_secs(300);
            let text = session.seal(b"x").unwrap().text();
            assert!(device.hear(&text, now, || draw(0)).is_ok());
        }
        let text = session.seal(b"x").unwrap().text();
        let heard = device.hear(&text, late, || draw(0));
        assert_eq!(heard, Err(Refusal::OtherSession));
        assert!(device.is_empty());
    }
}

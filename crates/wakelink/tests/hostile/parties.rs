//! A device, and clients that talk to it.

use std::time::Duration;

use wakelink::{
    Hello, Packet, Refusal, Secret, Session,
    device::{Heard, Sessions},
    ewsp::{Draw, Initiator, Opened, Sid},
};

use crate::Dice;

pub const AGENT: &str = "WL35080814";

pub fn secret() -> Secret {
    Secret::new([7; 32])
}

pub struct Device {
    pub sessions: Sessions,
    dice: Dice,
}

impl Device {
    pub fn new(seed: u64) -> Device {
        Device {
            sessions: Sessions::new(AGENT, secret()),
            dice: Dice(seed),
        }
    }

    pub fn hear(&mut self, text: &str) -> Result<Heard, Refusal> {
        let bytes = self.dice.bytes();
        let draw = || Draw::new(&bytes);
        self.sessions.hear(text, Duration::ZERO, draw)
    }
}

/// A client that has said hello, and all that was said until both confirmed.
pub struct Client {
    pub session: Session,
    pub hellos: [String; 2],
    pub confirmations: [String; 2],
}

impl Client {
    pub fn meet(device: &mut Device, dice: &mut Dice) -> Client {
        let initiator = Initiator::new(Sid::new(dice.bytes()), Draw::new(&dice.bytes()));
        let hello = initiator.hello().text();
        let Ok(Heard::Hello([reply, from_device])) = device.hear(&hello) else {
            panic!("no answer to a hello");
        };
        let read = Hello::read(&reply).unwrap();
        let mut session = initiator.finish(AGENT, &secret(), &read).unwrap();
        let packet = Packet::read(&from_device).unwrap();
        assert_eq!(session.open(&packet), Ok(Opened::Confirmation));
        let from_client = session.confirm().unwrap().text();
        assert_eq!(device.hear(&from_client), Ok(Heard::Confirmed));
        Client {
            session,
            hellos: [hello, reply],
            confirmations: [from_device, from_client],
        }
    }
}

//! A relay at work on several sessions at once. It holds every packet that was
//! ever said and delivers what it likes, where it likes. A model, which is
//! only a list, says what must come of it.

use std::collections::{BTreeMap, BTreeSet};

use wakelink::{
    Packet, Refusal,
    device::Heard,
    ewsp::{Opened, Sid},
};

use crate::{
    Dice,
    parties::{Client, Device},
    rounds,
};

const CLIENTS: usize = 3;
const WINDOW: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    ToDevice,
    ToClient,
}

/// A packet as it was said.
#[derive(Clone, Debug)]
struct Said {
    way: Way,
    client: usize,
    packet: Packet,
    content: Vec<u8>,
}

/// What has been opened at one end of one session.
#[derive(Default)]
struct Model {
    opened: BTreeSet<u64>,
}

impl Model {
    fn expects(&self, seq: u64) -> bool {
        let highest = self.opened.last().copied().unwrap_or(0);
        !self.opened.contains(&seq) && seq + WINDOW > highest
    }
}

struct World {
    device: Device,
    clients: Vec<Client>,
    said: Vec<Said>,
    models: BTreeMap<(Way, usize), Model>,
    /// Every number that was ever used with a key.
    used: BTreeSet<(Way, usize, u64)>,
    /// Packets that came too late, and packets that changed places.
    late: usize,
    overtaken: usize,
}

impl World {
    fn new(dice: &mut Dice) -> World {
        let mut device = Device::new(dice.roll());
        let clients: Vec<Client> = (0..CLIENTS)
            .map(|_| Client::meet(&mut device, dice))
            .collect();
        let mut models = BTreeMap::new();
        for client in 0..CLIENTS {
            for way in [Way::ToDevice, Way::ToClient] {
                let opened = BTreeSet::from([0]);
                models.insert((way, client), Model { opened });
            }
        }
        World {
            device,
            clients,
            said: Vec::new(),
            models,
            used: BTreeSet::new(),
            late: 0,
            overtaken: 0,
        }
    }

    fn say(&mut self, way: Way, client: usize, content: Vec<u8>) {
        let session = &mut self.clients[client].session;
        let packet = match way {
            Way::ToDevice => session.seal(&content).unwrap(),
            Way::ToClient => {
                let text = self.device.sessions.say(session.sid(), &content).unwrap();
                Packet::read(&text).unwrap()
            }
        };
        assert!(
            self.used.insert((way, client, packet.seq)),
            "a number was used twice"
        );
        self.said.push(Said {
            way,
            client,
            packet,
            content,
        });
    }

    /// Brings a text to one end.
    fn deliver(&mut self, way: Way, client: usize, text: &str) -> Result<Vec<u8>, Refusal> {
        match way {
            Way::ToDevice => match self.device.hear(text)? {
                Heard::Content { content, .. } => Ok(content),
                other => panic!("{other:?} from {text}"),
            },
            Way::ToClient => {
                let packet = Packet::read(text)?;
                match self.clients[client].session.open(&packet)? {
                    Opened::Content(content) => Ok(content),
                    other => panic!("{other:?} from {text}"),
                }
            }
        }
    }

    /// Brings a packet where it belongs, and holds it against the model.
    fn pass_on(&mut self, said: &Said) {
        let got = self.deliver(said.way, said.client, &said.packet.text());
        let model = self.models.get_mut(&(said.way, said.client)).unwrap();
        let seq = said.packet.seq;
        let highest = model.opened.last().copied().unwrap_or(0);
        self.late += usize::from(!model.opened.contains(&seq) && seq < highest);
        match model.expects(seq) {
            true => {
                if seq < highest {
                    self.late -= 1;
                    self.overtaken += 1;
                }
                assert_eq!(got.as_ref(), Ok(&said.content));
                model.opened.insert(seq);
            }
            false => assert_eq!(got, Err(Refusal::Replayed), "{said:?}"),
        }
    }

    /// Does something to a packet that must not go unnoticed.
    fn tamper(&mut self, dice: &mut Dice, said: &Said) {
        let Said { way, client, .. } = *said;
        let mut packet = said.packet.clone();
        let other = (client + 1 + dice.below(CLIENTS - 1)) % CLIENTS;
        let (mut to, mut whom) = (way, client);
        match dice.below(7) {
            0 => {
                let bit = dice.below(packet.p.len() * 8);
                packet.p[bit / 8] ^= 1 << (bit % 8);
            }
            1 => packet.p.truncate(dice.below(packet.p.len())),
            2 => packet.seq += 1 + dice.roll() % 100,
            // Back to who said it.
            3 => {
                to = match way {
                    Way::ToDevice => Way::ToClient,
                    Way::ToClient => Way::ToDevice,
                };
            }
            // To someone else, under the right name and under their own.
            4 => whom = other,
            5 => {
                packet.sid = self.clients[other].session.sid();
                whom = other;
            }
            _ => packet.sid = Sid::new(dice.bytes()),
        }
        // What goes to the device finds its session by name.
        let unchanged = packet == said.packet && to == way;
        if unchanged && (way == Way::ToDevice || whom == client) {
            return;
        }
        let text = packet.text();
        let got = self.deliver(to, whom, &text);
        assert!(got.is_err(), "{said:?} as {text} to {to:?} {whom}: {got:?}");
        // The older version is not spoken, whatever else is right.
        let older = said.packet.text().replace(r#""v":"1.1""#, r#""v":"1.0""#);
        assert_eq!(self.deliver(way, client, &older), Err(Refusal::Version));
    }
}

#[test]
fn a_relay_can_drop_and_delay_and_nothing_else() {
    let mut dice = Dice(42);
    let mut all = 0;
    while all < rounds(20_000) {
        let mut world = World::new(&mut dice);
        for turn in 0..5_000_u32 {
            all += 1;
            let client = dice.below(CLIENTS);
            let way = [Way::ToDevice, Way::ToClient][dice.below(2)];
            // Each way of each session has about a hundred of these.
            let recent = world.said.len().min(600);
            let chosen = world.said.len() - recent + dice.below(recent.max(1));
            match (dice.below(10), world.said.get(chosen).cloned()) {
                (0..=3, _) | (_, None) => {
                    let content = format!("{turn} {way:?}").into_bytes();
                    world.say(way, client, content);
                }
                (4..=7, Some(said)) => world.pass_on(&said),
                (_, Some(said)) => world.tamper(&mut dice, &said),
            }
        }
        // Within the window and beyond it.
        assert!(world.overtaken > 100 && world.late > 100);
    }
}

#[test]
fn the_same_words_never_look_the_same() {
    let mut dice = Dice(3);
    let mut device = Device::new(4);
    let mut seen = BTreeSet::new();
    for _ in 0..5 {
        let mut client = Client::meet(&mut device, &mut dice);
        for _ in 0..50 {
            let from_client = client.session.seal(&[0; 32]).unwrap();
            let from_device = device.sessions.say(client.session.sid(), &[0; 32]);
            let from_device = Packet::read(&from_device.unwrap()).unwrap();
            // Zeroes, sealed, are what the key and the number give.
            for packet in [from_client, from_device] {
                assert!(seen.insert(packet.p[..32].to_vec()), "{packet:?}");
            }
        }
    }
}

#[test]
fn a_hello_that_is_sent_twice_never_leads_to_one_key_used_twice() {
    let mut dice = Dice(7);
    let mut device = Device::new(9);
    let hello = wakelink::ewsp::Initiator::new(
        Sid::new(dice.bytes()),
        wakelink::ewsp::Draw::new(&dice.bytes()),
    );
    let text = hello.hello().text();
    let mut seen = BTreeSet::new();
    for _ in 0..100 {
        let Ok(Heard::Hello([reply, confirmation])) = device.hear(&text) else {
            panic!("an unconfirmed hello may come again");
        };
        // Both are number 0 with the same content: equal only under one key.
        assert!(seen.insert(reply) && seen.insert(confirmation));
    }
    assert_eq!(device.sessions.len(), 1);
}

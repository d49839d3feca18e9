//! A door in small: contents that are kept, orders that are read and given, and
//! mailboxes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trail::{Hash, Micros};
use wacp::{
    Event, Order, Principal, Refusal,
    content::Content,
    effects,
    event::{EnvelopeCreated, GateResolved, GateTriggered, SignalEmitted},
    gate::{Answer as GateAnswer, config::Highway},
    id::{EnvelopeId, GateId, SignalId, WorkspaceId},
    integrity::nonce,
    role::Text,
    wire::{
        Context, Defaults, Fault,
        answer::Answer,
        content::{Contents, Kept, Shelf, Shown, prepare},
        mail, names, order, proof,
    },
};

use crate::world::World;

/// Contents by their SHA-256, committed to as tests do.
#[derive(Clone, Debug, Default)]
pub struct Cellar(BTreeMap<Hash, Vec<u8>>);

fn committed(bytes: &[u8]) -> Hash {
    Hash::of("test/commitment", &[bytes])
}

impl Cellar {
    pub fn keep(&mut self, contents: Contents) {
        self.0.extend(contents.inline);
    }
}

impl Shelf for Cellar {
    fn find(&self, sha256: Hash) -> Option<Kept> {
        self.0.get(&sha256).map(|bytes| Kept {
            bytes: bytes.len() as u64,
            hash: committed(bytes),
        })
    }
}

/// Why an order was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Turned {
    Away(Fault),
    Down(Refusal),
}

pub struct Door {
    pub world: World,
    pub cellar: Cellar,
    made: BTreeMap<Text, Answer>,
}

impl Door {
    pub fn new(highway: Highway) -> Door {
        Door {
            world: World::with(highway),
            cellar: Cellar::default(),
            made: BTreeMap::new(),
        }
    }

    /// Takes a body up to its first refusal.
    pub fn send(&mut self, by: Principal, body: Value) -> Result<Vec<Value>, Turned> {
        let mut answers = Vec::new();
        self.made.clear();
        for sent in order::list(body).map_err(Turned::Away)? {
            let mut table = sent.order;
            let contents = prepare(&mut table, by).map_err(Turned::Away)?;
            self.cellar.keep(contents);
            let context = Context {
                run: &self.world.run,
                by,
                names: &names::Door {
                    run: &self.world.run,
                    made: &self.made,
                },
                shelf: &self.cellar,
                defaults: Defaults {
                    owner: Some(self.world.ann),
                    ..Defaults::default()
                },
            };
            let from = context.own();
            let mut command = order::command(&context, &table).map_err(Turned::Away)?;
            if let Some(from) = from {
                proof::prove(&mut command, from, &[7; 32], nonce(b"once"));
            }
            self.world.now.0 += 1_000;
            let order = Order::new(by, command.clone());
            let entries = self.world.attempt(by, command).map_err(Turned::Down)?;
            let answer = Answer::new(&self.world.run, &order, &entries);
            answers.push(serde_json::to_value(&answer).unwrap());
            self.made.extend(sent.name.map(|name| (name, answer)));
        }
        Ok(answers)
    }

    /// One order that must be taken.
    #[track_caller]
    pub fn ok(&mut self, by: Principal, order: Value) -> Value {
        let answers = self.send(by, order.clone());
        let mut answers = answers.unwrap_or_else(|why| panic!("{order}: {why:?}"));
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    /// A person says yes at every gate that waits.
    pub fn approve(&mut self) {
        while let Some(gate) = self.world.run.gates.keys().next().copied() {
            self.world.now.0 += 1_000;
            let command = wacp::Command::ResolveGate {
                gate,
                answer: GateAnswer::Approve,
                modification: None,
            };
            self.world.ok(Principal::User(self.world.bob), command);
        }
    }

    /// Everything in a mailbox so far.
    pub fn mail(&self, of: WorkspaceId) -> Vec<Value> {
        let mut items = Vec::new();
        for entry in &self.world.entries {
            for effect in effects(&self.world.run, std::slice::from_ref(entry)) {
                let item = mail::item(&self.world.run, &effect, self);
                let own = item.filter(|(to, _)| *to == of);
                items.extend(own.map(|(_, item)| json!(item)));
            }
        }
        items
    }
}

impl Door {
    fn find<T>(&self, is: impl Fn(&Event) -> Option<T>) -> Option<(Micros, T)> {
        let mut all = self.world.entries.iter();
        all.find_map(|entry| Some((entry.time, is(&entry.event)?)))
    }
}

impl mail::Source for Door {
    fn envelope(&self, id: EnvelopeId) -> Option<(Micros, EnvelopeCreated)> {
        self.find(|event| match event {
            Event::EnvelopeCreated(e) if e.envelope == id => Some((**e).clone()),
            _ => None,
        })
    }

    fn signal(&self, id: SignalId) -> Option<SignalEmitted> {
        let said = self.find(|event| match event {
            Event::SignalEmitted(e) if e.signal == id => Some(e.clone()),
            _ => None,
        });
        said.map(|(_, said)| said)
    }

    fn gate(&self, id: GateId) -> Option<(GateTriggered, GateResolved)> {
        let (_, asked) = self.find(|event| match event {
            Event::GateTriggered(e) if e.gate == id => Some((**e).clone()),
            _ => None,
        })?;
        let (_, answered) = self.find(|event| match event {
            Event::GateResolved(e) if e.gate == id => Some((**e).clone()),
            _ => None,
        })?;
        Some((asked, answered))
    }

    fn words(&self, content: &Content) -> Shown {
        let kept = self.cellar.0.values();
        let bytes = kept
            .into_iter()
            .find(|bytes| committed(bytes) == content.hash);
        Shown::new(content, bytes.map(Vec::as_slice))
    }
}

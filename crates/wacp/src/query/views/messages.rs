//! Who wrote to whom, in the order of writing.

use std::collections::BTreeMap;

use trail::Micros;

use crate::{
    event::{Event, Reference},
    id::{EnvelopeId, WorkspaceId},
    query::{Fold, Visible},
    role::EnvelopeType,
    signal::SignalType,
};

/// One envelope's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `None`: it was turned away before it became one.
    pub envelope: Option<EnvelopeId>,
    pub from: Option<WorkspaceId>,
    pub to: WorkspaceId,
    pub envelope_type: EnvelopeType,
    pub in_reply_to: Option<EnvelopeId>,
    pub created: Micros,
    pub delivered: Option<Micros>,
    pub acknowledged: Option<Micros>,
    pub redeliveries: u8,
    pub refused: bool,
}

impl Message {
    fn new(
        envelope: Option<EnvelopeId>,
        (from, to): (Option<WorkspaceId>, WorkspaceId),
        envelope_type: EnvelopeType,
        created: Micros,
    ) -> Message {
        Message {
            envelope,
            from,
            to,
            envelope_type,
            in_reply_to: None,
            created,
            delivered: None,
            acknowledged: None,
            redeliveries: 0,
            refused: false,
        }
    }

    /// Whether nothing more becomes of it.
    pub fn is_over(&self) -> bool {
        self.refused || self.acknowledged.is_some()
    }
}

/// The first messages of a stretch of the trail, so many at most: a page of
/// them. Entries after the last one's creation tell what became of them.
#[derive(Clone, Debug)]
pub struct Messages {
    most: usize,
    pub messages: Vec<Message>,
    places: BTreeMap<EnvelopeId, usize>,
}

impl Messages {
    pub fn at_most(most: usize) -> Messages {
        Messages {
            most,
            messages: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// Whether more entries would change nothing.
    pub fn is_over(&self) -> bool {
        self.messages.len() == self.most && self.messages.iter().all(Message::is_over)
    }

    fn add(&mut self, message: Message) {
        if self.messages.len() == self.most {
            return;
        }
        if let Some(envelope) = message.envelope {
            self.places.insert(envelope, self.messages.len());
        }
        self.messages.push(message);
    }

    fn set(&mut self, id: EnvelopeId, change: impl FnOnce(&mut Message)) {
        let place = self.places.get(&id).copied();
        if let Some(message) = place.and_then(|at| self.messages.get_mut(at)) {
            change(message);
        }
    }
}

impl Fold for Messages {
    fn push(&mut self, entry: Visible<'_>) {
        let time = entry.time;
        match &entry.event {
            Event::EnvelopeCreated(e) => self.add(Message {
                in_reply_to: e.in_reply_to,
                ..Message::new(Some(e.envelope), (e.from, e.to), e.envelope_type, time)
            }),
            Event::EnvelopeDelivered(e) => self.set(e.envelope, |m| m.delivered = Some(time)),
            Event::EnvelopeRedelivered(e) => self.set(e.envelope, |m| m.redeliveries = e.attempt),
            Event::EnvelopeUndeliverable(e) => self.set(e.envelope, |m| m.refused = true),
            Event::EnvelopeRejected(e) => match e.envelope {
                Some(envelope) => self.set(envelope, |m| m.refused = true),
                None => self.add(Message {
                    refused: true,
                    ..Message::new(None, (e.from, e.to), e.envelope_type, time)
                }),
            },
            Event::SignalEmitted(e) => {
                if let (SignalType::Acknowledged, Some(Reference::Envelope(id))) =
                    (e.signal_type, e.reference)
                {
                    self.set(id, |m| m.acknowledged = m.acknowledged.or(Some(time)));
                }
            }
            _ => {}
        }
    }
}

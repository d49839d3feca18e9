//! The events of all streams that this engine knows, in one type.

use trail::{Stream, registry::Unreadable};
use uuid::Uuid;

/// The one event of accounts that also stands on an agent's stream: it was denied
/// something.
const ACCESS_DENIED: &str = "access_denied";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Wake(wake::Event),
    Inbox(inbox::Event),
    Account(account::Event),
}

impl Event {
    pub fn event_type(&self) -> &'static str {
        match self {
            Event::Wake(event) => event.event_type(),
            Event::Inbox(event) => event.event_type(),
            Event::Account(event) => event.event_type(),
        }
    }

    pub fn facts(&self) -> Vec<u8> {
        match self {
            Event::Wake(event) => event.facts(),
            Event::Inbox(event) => event.facts(),
            Event::Account(event) => event.facts(),
        }
    }

    /// Reads an entry by its stream and its type: streams of another kind may
    /// have events of the same name.
    pub fn read(stream: &Stream, event_type: &str, facts: &[u8]) -> Result<Event, Unreadable> {
        match stream {
            Stream::Agent(_) if wake::Event::TYPES.contains(&event_type) => {
                wake::Event::read(event_type, facts).map(Event::Wake)
            }
            Stream::Agent(_) if inbox::Event::TYPES.contains(&event_type) => {
                inbox::Event::read(event_type, facts).map(Event::Inbox)
            }
            Stream::Agent(_) if event_type != ACCESS_DENIED => {
                Err(Unreadable::UnknownType(event_type.to_owned()))
            }
            Stream::Agent(_) | Stream::Account(_) | Stream::Admin => {
                account::Event::read(event_type, facts).map(Event::Account)
            }
        }
    }

    /// The deliveries whose rows it changes.
    pub fn deliveries(&self) -> Vec<Uuid> {
        match self {
            Event::Wake(wake::Event::DeliveryReceived(_)) | Event::Account(_) => Vec::new(),
            Event::Wake(wake::Event::DeliveryTimedOut(facts)) => vec![facts.delivery_id],
            Event::Wake(wake::Event::WebhookAttempted(facts)) => vec![facts.delivery_id],
            Event::Wake(wake::Event::WebhookReplayed(facts)) => vec![facts.delivery_id],
            Event::Inbox(inbox::Event::AnswerHeld(facts)) => vec![facts.delivery_id],
            Event::Inbox(inbox::Event::AnswerUndone(facts)) => vec![facts.delivery_id],
            Event::Inbox(inbox::Event::DeliveryAnswered(facts)) => vec![facts.delivery_id],
            Event::Inbox(inbox::Event::DeliverySeen(facts)) => vec![facts.delivery_id],
            Event::Inbox(inbox::Event::ContentErased(facts)) => facts.delivery_ids.clone(),
        }
    }
}

impl From<wake::Event> for Event {
    fn from(event: wake::Event) -> Event {
        Event::Wake(event)
    }
}

impl From<inbox::Event> for Event {
    fn from(event: inbox::Event) -> Event {
        Event::Inbox(event)
    }
}

impl From<account::Event> for Event {
    fn from(event: account::Event) -> Event {
        Event::Account(event)
    }
}

//! How each kind of value is read from JSON.

use std::str::FromStr;

use serde_json::Value;

use super::{
    args::Context,
    content,
    fault::{Fault, Outcome, Why},
    kind::{Kind, Thing},
    length::Length,
};
use crate::{
    content::Content,
    id::{CheckpointId, ConflictId, EnvelopeId, GateId, SignalId, TaskId, UserId, WorkspaceId},
    role::{CheckpointType, EnvelopeType, Role, Text},
    workspace::Seen,
};

/// Where a value stands and who reads it.
#[derive(Debug)]
pub struct At<'a> {
    pub context: &'a Context<'a>,
    /// A JSON pointer (RFC 6901).
    pub place: &'a str,
}

impl At<'_> {
    pub(crate) fn fault(&self, why: Why) -> Fault {
        Fault::new(self.place, why)
    }
}

/// A value that can be read from JSON.
pub trait Read: Sized {
    fn kind() -> Kind;
    fn read(value: &Value, at: &At<'_>) -> Outcome<Self>;
    /// Stands for it where only the keys are of interest.
    fn sample() -> Self;
}

fn text<'a>(value: &'a Value, at: &At<'_>, kind: fn() -> Kind) -> Outcome<&'a str> {
    value
        .as_str()
        .ok_or_else(|| at.fault(Why::WrongKind(kind())))
}

impl Read for Text {
    fn kind() -> Kind {
        Kind::Text
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Text> {
        text(value, at, Self::kind).map(Text::from)
    }
    fn sample() -> Text {
        Text::from("")
    }
}

impl Read for bool {
    fn kind() -> Kind {
        Kind::Flag
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<bool> {
        let flag = value.as_bool();
        flag.ok_or_else(|| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> bool {
        false
    }
}

impl Read for u64 {
    fn kind() -> Kind {
        Kind::Number
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<u64> {
        let number = value.as_u64();
        number.ok_or_else(|| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> u64 {
        0
    }
}

impl Read for Length {
    fn kind() -> Kind {
        Kind::Length
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Length> {
        let length = text(value, at, Self::kind)?.parse();
        length.map_err(|()| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> Length {
        Length(0)
    }
}

/// A limit: a number, or for wall time a length of it in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub u64);

impl Read for Amount {
    fn kind() -> Kind {
        Kind::Amount
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Amount> {
        let length = || value.as_str()?.parse().ok().map(|Length(us)| us);
        let amount = value.as_u64().or_else(length).map(Amount);
        amount.ok_or_else(|| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> Amount {
        Amount(0)
    }
}

/// An identifier by its own spelling, or by a name that stands for it.
macro_rules! ids {
    ($($id:ty => $thing:ident,)*) => {$(
        impl Read for $id {
            fn kind() -> Kind {
                Kind::Id(Thing::$thing)
            }
            fn read(value: &Value, at: &At<'_>) -> Outcome<$id> {
                identified(text(value, at, Self::kind)?, Thing::$thing, at)
            }
            fn sample() -> $id {
                <$id>::default()
            }
        }
    )*};
}
ids! {
    WorkspaceId => Workspace,
    EnvelopeId => Envelope,
    SignalId => Signal,
    CheckpointId => Checkpoint,
    TaskId => Task,
    GateId => Gate,
    ConflictId => Conflict,
    UserId => Person,
}

fn identified<T: FromStr>(word: &str, thing: Thing, at: &At<'_>) -> Outcome<T> {
    let unknown = trail::KeyName::new(word);
    let spelled = at.context.names.spelled(thing, word).ok_or_else(|| {
        at.fault(match thing {
            Thing::Person => Why::UnknownPerson(unknown),
            _ => Why::UnknownName(unknown),
        })
    })?;
    let id = spelled.parse();
    id.map_err(|_| at.fault(Why::WrongKind(Kind::Id(thing))))
}

/// A workspace if it is spelled or named like one, else a resource.
impl Read for Seen {
    fn kind() -> Kind {
        Kind::Text
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Seen> {
        let text = text(value, at, Self::kind)?;
        let spelled = at.context.names.spelled(Thing::Workspace, text);
        let workspace = spelled.and_then(|spelled| spelled.parse().ok());
        let resource = || Seen::Resource(Text::from(text));
        Ok(workspace.map_or_else(resource, Seen::Workspace))
    }
    fn sample() -> Seen {
        Seen::Workspace(WorkspaceId::ROOT)
    }
}

/// A word of the run's taxonomy. What is not registered is read too: the rules
/// refuse it, and the trail says so.
macro_rules! registered {
    ($($kind:ident by $find:ident or $other:expr,)*) => {$(
        impl Read for $kind {
            fn kind() -> Kind {
                Kind::Text
            }
            fn read(value: &Value, at: &At<'_>) -> Outcome<$kind> {
                let name = text(value, at, Self::kind)?;
                let started = at.context.run.started();
                let known = started.and_then(|started| started.taxonomy.$find(name));
                let base = || crate::role::Taxonomy::base().$find(name);
                Ok(known.or_else(base).unwrap_or($other))
            }
            fn sample() -> $kind {
                $kind::BASE[0]
            }
        }
    )*};
}
registered! {
    Role by role or Role::Derived(u16::MAX),
    EnvelopeType by envelope_type or EnvelopeType::Registered(u16::MAX),
    CheckpointType by checkpoint_type or CheckpointType::Registered(u16::MAX),
}

impl Read for Content {
    fn kind() -> Kind {
        Kind::Content
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Content> {
        content::read(value, at)
    }
    fn sample() -> Content {
        Content::markdown("")
    }
}

/// Each item by its own kind.
impl<T: Read> Read for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Vec<T>> {
        let Some(items) = value.as_array() else {
            return Err(at.fault(Why::WrongKind(Self::kind())));
        };
        let items = items.iter().enumerate().map(|(number, item)| {
            let place = &*format!("{}/{number}", at.place);
            T::read(item, &At { place, ..*at })
        });
        items.collect()
    }
    fn sample() -> Vec<T> {
        vec![T::sample()]
    }
}

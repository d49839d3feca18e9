//! The kinds of values that orders hold, and how each is read from JSON.
//!
//! A kind is also data, from which a schema can be written.

use std::{fmt, str::FromStr};

use serde::{
    Deserializer, Serialize,
    de::{DeserializeOwned, IntoDeserializer, Visitor, value},
};
use serde_json::Value;

use super::{
    args::Context,
    content,
    fault::{Fault, Outcome, Why},
};
use crate::{
    content::Content,
    id::{CheckpointId, ConflictId, EnvelopeId, GateId, SignalId, TaskId, UserId, WorkspaceId},
    role::{CheckpointType, EnvelopeType, Role, Text},
    workspace::Seen,
};

/// A key of an order, or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// What is not required may also be null.
    pub required: bool,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    Flag,
    Number,
    /// `"90s"`, `"15m"`, `"2h"`, `"9d"`, `"250ms"`.
    Length,
    /// A number, or a length for what is measured in time.
    Amount,
    /// A word of a closed set.
    Word(&'static [&'static str]),
    Id(Thing),
    /// Markdown, or an object of `format` and `text`, `base64` or `sha256`.
    Content,
    Sha256,
    List(Box<Kind>),
    Table(Vec<Key>),
}

trail::closed! {
    /// What an identifier stands for.
    Thing {
        Workspace = "workspace",
        Envelope = "envelope",
        Signal = "signal",
        Checkpoint = "checkpoint",
        Task = "task",
        Gate = "gate",
        Conflict = "conflict",
        Person = "person",
    }
}

impl Thing {
    /// How its identifiers begin.
    pub fn prefix(self) -> &'static str {
        match self {
            Thing::Workspace => "w",
            Thing::Envelope => "e",
            Thing::Signal => "s",
            Thing::Checkpoint => "c",
            Thing::Task => "t",
            Thing::Gate => "g",
            Thing::Conflict => "k",
            Thing::Person => "u",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text => f.write_str("a text"),
            Kind::Flag => f.write_str("true or false"),
            Kind::Number => f.write_str("a whole number from 0 to 2^53 - 1"),
            Kind::Length => f.write_str("a length of time such as \"90s\", \"15m\" or \"2h\""),
            Kind::Amount => f.write_str("a whole number, or a length of time such as \"15m\""),
            Kind::Word(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Id(Thing::Person) => f.write_str("a person's name"),
            Kind::Id(thing) => {
                write!(
                    f,
                    "an id such as \"{}1\" of a {}",
                    thing.prefix(),
                    thing.as_str()
                )
            }
            Kind::Content => f.write_str("a text, or an object with \"format\" and a content"),
            Kind::Sha256 => f.write_str("64 lowercase hex digits"),
            Kind::List(_) => f.write_str("a list"),
            Kind::Table(_) => f.write_str("an object"),
        }
    }
}

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

/// A length of time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub u64);

const SECOND: u64 = 1_000_000;
const UNITS: [(&str, u64); 6] = [
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000),
    ("us", 1),
];

impl FromStr for Length {
    type Err = ();

    /// Reads `250ms`, `60s`, `15m`, `2h`, `9d`.
    fn from_str(text: &str) -> Result<Length, ()> {
        let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or(())?;
        let (digits, unit) = text.split_at(unit);
        let (_, us) = UNITS.iter().find(|(known, _)| *known == unit).ok_or(())?;
        let number: u64 = digits.parse().map_err(|_| ())?;
        number.checked_mul(*us).map(Length).ok_or(())
    }
}

/// In the largest unit that holds it whole.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, us): &&(&str, u64)| self.0 % us == 0 && (self.0 > 0 || *us == SECOND);
        let (unit, us) = UNITS.iter().find(whole).unwrap_or(&UNITS[UNITS.len() - 1]);
        write!(f, "{}{unit}", self.0 / us)
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

/// A word of a closed set, read by the set's own reader.
#[derive(Clone, Copy, Debug)]
pub struct Word<T>(pub T);

fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    let reader: value::StrDeserializer<'_, value::Error> = text.into_deserializer();
    T::deserialize(reader).ok()
}

impl<T: DeserializeOwned> Read for Word<T> {
    fn kind() -> Kind {
        Kind::Word(words::<T>())
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Word<T>> {
        let word = value.as_str().and_then(word).map(Word);
        word.ok_or_else(|| at.fault(Why::UnknownWord(words::<T>())))
    }
    fn sample() -> Word<T> {
        let first = words::<T>().first().copied().and_then(word);
        Word(first.expect("a closed set has a word"))
    }
}

/// Every word of a closed set, as its reader knows them.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // It always ends in an error: nothing is there to be read.
    let _ = T::deserialize(Tracer(&mut found));
    found
}

struct Tracer<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(serde::de::Error::custom("only closed sets have words"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = words;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes
        byte_buf option unit unit_struct newtype_struct seq tuple tuple_struct map
        struct identifier ignored_any
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        let read = |text: &str| text.parse::<Length>().ok().map(|Length(us)| us);
        assert_eq!(read("15m"), Some(900_000_000));
        assert_eq!(read("2ms"), Some(2_000));
        for text in ["60", "s", "", "1.5h", "-1s", "18446744073709551615d", "1 s"] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["9d", "36h", "90s", "250ms", "1us", "0s"] {
            let length: Length = text.parse().unwrap();
            assert_eq!(length.to_string(), text);
        }
    }

    #[test]
    fn a_closed_set_tells_its_words() {
        assert_eq!(
            words::<crate::workspace::Band>(),
            ["critical", "interactive", "normal", "background"]
        );
        assert_eq!(words::<Content>(), [""; 0]);
    }
}

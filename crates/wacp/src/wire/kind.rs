//! What the keys of orders hold, as data from which a schema can be written.

use std::fmt;

use serde::Serialize;

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
    /// A word of a closed set, or an object.
    WordOr(&'static [&'static str], Vec<Key>),
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
            Kind::Number => f.write_str("a whole number, 0 or more"),
            Kind::Length => f.write_str("a length of time such as \"90s\", \"15m\" or \"2h\""),
            Kind::Amount => f.write_str("a whole number, or a length of time such as \"15m\""),
            Kind::Word(words) => write!(f, "one of {}", words.join(", ")),
            Kind::WordOr(words, _) => write!(f, "one of {}, or an object", words.join(", ")),
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

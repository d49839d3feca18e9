//! Why an order could not be read: where, what is wrong, and what to do.

use std::fmt;

use trail::{Hash, KeyName};

use super::{access::Way, kind::Kind};

pub type Outcome<T> = Result<T, Fault>;

/// Why an order could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of the order in its list; `None` where there is no list.
    pub index: Option<usize>,
    /// Where in the order, without the last key of an unknown or missing one:
    /// `tasks/0`, or empty for the order itself.
    pub place: String,
    pub why: Why,
}

/// What is wrong; the set is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    NotAnOrder,
    EmptyList,
    TooManyOrders(usize),
    UnknownOrder(KeyName),
    /// It exists, and is given in another way.
    NotAnOrderOfTheWire(Way),
    UnknownKey(KeyName),
    MissingKey(&'static str),
    WrongKind(Kind),
    UnknownWord(&'static [&'static str]),
    UnknownName(KeyName),
    UnknownPerson(KeyName),
    UnknownContent(Hash),
    /// Not exactly one of `text`, `base64` and `sha256`.
    NoOneContent,
    TooLong(usize),
    /// A key that another key's word leaves no place for.
    NotWith(&'static str, &'static str),
    NameTaken(KeyName),
}

impl Why {
    /// The word that stands for it everywhere.
    pub fn code(&self) -> &'static str {
        match self {
            Why::NotAnOrder => "not_an_order",
            Why::EmptyList => "no_orders",
            Why::TooManyOrders(_) => "too_many_orders",
            Why::UnknownOrder(_) => "unknown_order",
            Why::NotAnOrderOfTheWire(_) => "order_not_sent",
            Why::UnknownKey(_) => "unknown_key",
            Why::MissingKey(_) => "missing_key",
            Why::WrongKind(_) => "wrong_kind",
            Why::UnknownWord(_) => "unknown_word",
            Why::UnknownName(_) => "unknown_name",
            Why::UnknownPerson(_) => "unknown_person",
            Why::UnknownContent(_) => "unknown_content",
            Why::NoOneContent => "not_one_content",
            Why::TooLong(_) => "content_too_long",
            Why::NotWith(..) => "key_not_allowed",
            Why::NameTaken(_) => "name_taken",
        }
    }
}

impl Fault {
    pub(crate) fn new(place: &str, why: Why) -> Fault {
        Fault {
            index: None,
            place: place.trim_start_matches('/').to_owned(),
            why,
        }
    }

    pub fn code(&self) -> &'static str {
        self.why.code()
    }

    /// The key at fault, with its place; `None` for the order as a whole.
    pub fn field(&self) -> Option<String> {
        let key = match &self.why {
            Why::UnknownKey(key) => key.text(),
            Why::MissingKey(key) | Why::NotWith(key, _) => Some(*key),
            _ => None,
        };
        match (&*self.place, key) {
            ("", None) => None,
            ("", Some(key)) => Some(key.to_owned()),
            (place, None) => Some(place.to_owned()),
            (place, Some(key)) => Some(format!("{place}/{key}")),
        }
    }

    /// The same, in the order at this place of a list.
    pub fn at(self, index: usize) -> Fault {
        Fault {
            index: Some(index),
            ..self
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(f, "Order {index}: ")?;
        }
        let place = match &*self.place {
            "" => "the order",
            place => place,
        };
        match &self.why {
            Why::NotAnOrder => write!(
                f,
                "An order is one JSON object with \"do\"; several stand in {{\"orders\": […]}} alone."
            ),
            Why::EmptyList => write!(f, "\"orders\" is empty: name at least one order."),
            Why::TooManyOrders(most) => {
                write!(
                    f,
                    "\"orders\" has more than {most} orders: send them in parts."
                )
            }
            Why::UnknownOrder(name) => {
                write!(
                    f,
                    "There is no order {name}: look at \"do\" in the list of orders."
                )
            }
            Why::NotAnOrderOfTheWire(way) => write!(f, "This is not sent as an order: {way}."),
            Why::UnknownKey(key) => {
                write!(
                    f,
                    "Nobody reads the key {key} in {place}: leave it out or correct it."
                )
            }
            Why::MissingKey(key) => write!(f, "\"{key}\" is missing in {place}: add it."),
            Why::WrongKind(kind) => write!(f, "\"{place}\" must be {kind}."),
            Why::UnknownWord(words) => {
                write!(f, "\"{place}\" must be one of {}.", words.join(", "))
            }
            Why::UnknownName(name) => write!(
                f,
                "\"{place}\" names {name}, which nothing is called: use an id, or \"@\" and the \"as\" of an order before."
            ),
            Why::UnknownPerson(name) => {
                write!(f, "\"{place}\" names {name}: there is no such person.")
            }
            Why::UnknownContent(sha256) => write!(
                f,
                "\"{place}\" names the content {sha256}, which is not here: upload it first."
            ),
            Why::NoOneContent => write!(
                f,
                "\"{place}\" must have exactly one of \"text\", \"base64\" and \"sha256\"."
            ),
            Why::TooLong(most) => write!(
                f,
                "\"{place}\" is longer than {most} bytes: upload it and name it by \"sha256\"."
            ),
            Why::NotWith(key, word) => {
                write!(f, "\"{key}\" has no meaning with \"{word}\": leave it out.")
            }
            Why::NameTaken(name) => write!(
                f,
                "\"as\" is {name}, which an order before has already: choose another."
            ),
        }
    }
}

impl std::error::Error for Fault {}

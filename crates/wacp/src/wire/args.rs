//! An object of an order, read key by key: a key that nobody reads is a fault.
//!
//! Read without an object it tells which keys it would read, of which kind, and
//! which of them are needed; so the keys stand in one place, where they are used.

use std::cell::RefCell;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use trail::KeyName;

use super::{
    content::Shelf,
    fault::{Fault, Outcome, Why},
    kind::{Key, Kind},
    names::Names,
    read::{At, Read},
    words::{Word, words},
};
use crate::{
    Principal, Run,
    id::{UserId, WorkspaceId},
    workspace::Limits,
};

/// A JSON object; no key stands in it twice (`trail::json`).
pub type Table = Map<String, Value>;

/// Whoever reads an order, and on which run it is decided.
#[derive(Debug)]
pub struct Context<'a> {
    pub run: &'a Run,
    pub by: Principal,
    pub names: &'a dyn Names,
    pub shelf: &'a dyn Shelf,
    pub defaults: Defaults,
}

/// What is put in where an order says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// Who owns what the coordinator makes beneath the root.
    pub owner: Option<UserId>,
    /// Whether the run has a meter: then what an agent says of its own use does
    /// not count, so it is no agent's to choose.
    pub metered: bool,
    /// What a run starts with.
    pub limits: Limits,
}

impl Context<'_> {
    /// The workspace of the agent that asks.
    pub fn own(&self) -> Option<WorkspaceId> {
        match self.by {
            Principal::Agent(id) => Some(id),
            Principal::Coordinator => Some(WorkspaceId::ROOT),
            _ => None,
        }
    }
}

/// An object whose keys must all be read.
#[derive(Debug)]
pub struct Args<'a> {
    /// `None` where only the keys are of interest.
    table: Option<&'a Table>,
    pub context: &'a Context<'a>,
    place: String,
    read: RefCell<Vec<&'static str>>,
    keys: RefCell<Vec<Key>>,
}

impl<'a> Args<'a> {
    /// `place` is where the object stands, as a JSON pointer.
    pub fn new(table: &'a Table, context: &'a Context<'a>, place: &str) -> Args<'a> {
        Args {
            table: Some(table),
            context,
            place: place.to_owned(),
            read: RefCell::default(),
            keys: RefCell::default(),
        }
    }

    /// Reads nothing and notes every key.
    pub fn probe(context: &'a Context<'a>) -> Args<'a> {
        Args {
            table: None,
            context,
            place: String::new(),
            read: RefCell::default(),
            keys: RefCell::default(),
        }
    }

    pub fn is_probe(&self) -> bool {
        self.table.is_none()
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    /// The keys that were looked for, in that order; only of a probe.
    pub fn into_keys(self) -> Vec<Key> {
        self.keys.into_inner()
    }

    fn note(&self, name: &'static str, required: bool, kind: impl FnOnce() -> Kind) {
        match self.is_probe() {
            false => self.read.borrow_mut().push(name),
            true => self.keys.borrow_mut().push(Key {
                name,
                kind: kind(),
                required,
            }),
        }
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.table?.get(key)
    }

    fn below(&self, key: &str) -> String {
        format!("{}/{key}", self.place)
    }

    fn parse<T: Read>(&self, key: &str, value: &Value) -> Outcome<T> {
        let place = &*self.below(key);
        let context = self.context;
        T::read(value, &At { context, place })
    }

    pub fn missing(&self, key: &'static str) -> Fault {
        Fault::new(&self.place, Why::MissingKey(key))
    }

    /// The key holds something of another kind.
    pub fn wrong(&self, key: &str, kind: Kind) -> Fault {
        Fault::new(&self.below(key), Why::WrongKind(kind))
    }

    /// The key has no meaning beside this word.
    pub fn not_with(&self, key: &'static str, word: &'static str) -> Fault {
        Fault::new(&self.place, Why::NotWith(key, word))
    }

    /// A key that is needed.
    pub fn need<T: Read>(&self, key: &'static str) -> Outcome<T> {
        self.note(key, true, T::kind);
        match self.value(key) {
            None if self.is_probe() => Ok(T::sample()),
            None => Err(self.missing(key)),
            Some(value) => self.parse(key, value),
        }
    }

    /// A key that may be left out, or be null.
    pub fn maybe<T: Read>(&self, key: &'static str) -> Outcome<Option<T>> {
        Ok(self.given(key)?.flatten())
    }

    pub fn or<T: Read>(&self, key: &'static str, default: T) -> Outcome<T> {
        Ok(self.maybe(key)?.unwrap_or(default))
    }

    /// A key whose null has a meaning of its own: `Some(None)`.
    pub fn given<T: Read>(&self, key: &'static str) -> Outcome<Option<Option<T>>> {
        self.note(key, false, T::kind);
        match self.value(key) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(value) => self.parse(key, value).map(|read| Some(Some(read))),
        }
    }

    /// An object under a key, read by `read`; without it nothing is read.
    pub fn inner<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Args<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        self.inner_of(key, Kind::Table, read)
    }

    fn inner_of<T>(
        &self,
        key: &'static str,
        kind: impl FnOnce(Vec<Key>) -> Kind,
        read: impl FnOnce(&Args<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        if self.is_probe() {
            let probe = Args::probe(self.context);
            let read = read(&probe)?;
            self.note(key, false, || kind(probe.into_keys()));
            return Ok(Some(read));
        }
        self.note(key, false, || kind(Vec::new()));
        match self.value(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.object(&self.below(key), value, read).map(Some),
        }
    }

    /// A word of a closed set under a key, or an object.
    pub fn word_or_inner<W: DeserializeOwned, T>(
        &self,
        key: &'static str,
        word: impl FnOnce(W) -> T,
        read: impl FnOnce(&Args<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        match self.value(key) {
            Some(Value::String(_)) => {
                let Word(read) = self.need(key)?;
                Ok(Some(word(read)))
            }
            _ => self.inner_of(key, |keys| Kind::WordOr(words::<W>(), keys), read),
        }
    }

    fn object<T>(
        &self,
        place: &str,
        value: &Value,
        read: impl FnOnce(&Args<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let Value::Object(table) = value else {
            return Err(Fault::new(place, Why::WrongKind(Kind::Table(Vec::new()))));
        };
        let args = Args::new(table, self.context, place);
        let read = read(&args)?;
        args.all_used()?;
        Ok(read)
    }

    /// A list of objects under a key, each read by `read`.
    pub fn tables<T>(
        &self,
        key: &'static str,
        required: bool,
        mut read: impl FnMut(&Args<'_>) -> Outcome<T>,
    ) -> Outcome<Option<Vec<T>>> {
        if self.is_probe() {
            let probe = Args::probe(self.context);
            let one = read(&probe)?;
            let kind = Kind::List(Box::new(Kind::Table(probe.into_keys())));
            self.note(key, required, || kind);
            return Ok(Some(vec![one]));
        }
        let list = || Kind::List(Box::new(Kind::Table(Vec::new())));
        self.note(key, required, list);
        let items = match self.value(key) {
            None if required => return Err(self.missing(key)),
            None => return Ok(None),
            Some(Value::Null) if !required => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong(key, list())),
        };
        let items = items.iter().enumerate().map(|(number, item)| {
            let place = format!("{}/{key}/{number}", self.place);
            self.object(&place, item, &mut read)
        });
        items.collect::<Outcome<Vec<_>>>().map(Some)
    }

    /// The objects of a list as they are: where one names another.
    pub(crate) fn raw_tables(&self, key: &str) -> impl Iterator<Item = Option<&'a Table>> {
        let items = self.value(key).and_then(Value::as_array);
        items.into_iter().flatten().map(Value::as_object)
    }

    /// That nothing was left unread.
    pub fn all_used(&self) -> Outcome<()> {
        let read = self.read.borrow();
        let mut keys = self.table.into_iter().flat_map(Map::keys);
        match keys.find(|key| !read.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let why = Why::UnknownKey(KeyName::new(key));
                Err(Fault::new(&self.place, why))
            }
        }
    }
}

//! A table of a file, read key by key; every key must be read by someone.

use std::{cell::RefCell, collections::BTreeSet, str::FromStr, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;
use wacp::{content::Content, id::WorkspaceId, integrity::Check, role::Text, workspace::Seen};

use super::names::{Names, id};
use crate::{
    Outcome, Trouble, broken,
    file::{Table, duration},
};

/// A table whose keys must all be used.
#[derive(Debug)]
pub struct Args<'a> {
    pub table: &'a Table,
    pub names: &'a Names,
    used: RefCell<BTreeSet<&'a str>>,
    /// Everything that was looked for, there or not.
    asked: RefCell<BTreeSet<String>>,
    /// Of these, what something was put in for.
    assumed: RefCell<BTreeSet<String>>,
}

impl<'a> Args<'a> {
    pub fn new(table: &'a Table, names: &'a Names) -> Args<'a> {
        Args {
            table,
            names,
            used: RefCell::default(),
            asked: RefCell::default(),
            assumed: RefCell::default(),
        }
    }

    /// The keys that whoever read the table knows.
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked.borrow().clone()
    }

    /// The keys that were left out and for which a word was put in.
    pub fn assumed(&self) -> BTreeSet<String> {
        self.assumed.borrow().clone()
    }

    fn or<T>(&self, key: &str, value: Option<T>, default: T) -> T {
        value.unwrap_or_else(|| {
            self.assumed.borrow_mut().insert(key.to_owned());
            default
        })
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.asked.borrow_mut().insert(key.to_owned());
        let (key, value) = self.table.get_key_value(key)?;
        self.used.borrow_mut().insert(key);
        Some(value)
    }

    pub fn all_used(&self) -> Outcome<()> {
        let used = self.used.borrow();
        match self.table.keys().find(|key| !used.contains(key.as_str())) {
            Some(key) => broken(format!("nobody reads the key `{key}`")),
            None => Ok(()),
        }
    }

    pub(crate) fn string(&self, key: &str) -> Outcome<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => broken(format!("`{key}` must be a text")),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Outcome<Option<Text>> {
        Ok(self.string(key)?.map(Text::from))
    }

    pub(crate) fn text_or(&self, key: &str, default: &str) -> Outcome<Text> {
        Ok(Text::from(self.or(key, self.string(key)?, default)))
    }

    pub(crate) fn content(&self, key: &str, default: &str) -> Outcome<Content> {
        Ok(Content::markdown(self.or(key, self.string(key)?, default)))
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> Outcome<bool> {
        match self.get(key) {
            None => Ok(self.or(key, None, default)),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => broken(format!("`{key}` must be true or false")),
        }
    }

    pub(crate) fn number(&self, key: &str) -> Outcome<Option<u64>> {
        match self.get(key).map(Value::as_u64) {
            None => Ok(None),
            Some(Some(number)) => Ok(Some(number)),
            Some(None) => broken(format!("`{key}` must be a number")),
        }
    }

    /// A length of time, in microseconds.
    pub(crate) fn length(&self, key: &str) -> Outcome<Option<u64>> {
        match self.string(key)?.map(duration) {
            None => Ok(None),
            Some(Some(us)) => Ok(Some(us)),
            Some(None) => broken(format!("`{key}` must be a length of time")),
        }
    }

    /// A limit: a number, or for wall time a length of it.
    pub(crate) fn limit(&self, key: &str) -> Outcome<Option<u64>> {
        match self.get(key) {
            Some(Value::String(_)) => self.length(key),
            _ => self.number(key),
        }
    }

    /// A word of a closed set, read by the crate's own reader.
    pub(crate) fn word<T: DeserializeOwned>(&self, key: &str) -> Outcome<Option<T>> {
        self.get(key).map(|value| word(key, value)).transpose()
    }

    pub(crate) fn need<T>(&self, key: &str, value: Option<T>) -> Outcome<T> {
        value.map_or_else(|| broken(format!("`{key}` is missing")), Ok)
    }

    pub fn id<T: FromStr>(&self, key: &str, prefix: &str) -> Outcome<Option<T>> {
        self.string(key)?
            .map(|name| id(self.names, name, prefix))
            .transpose()
    }

    pub(crate) fn workspace(&self, key: &str) -> Outcome<WorkspaceId> {
        let id = self.id(key, "w")?;
        self.need(key, id)
    }

    pub(crate) fn list(&self, key: &str) -> Outcome<&'a [Value]> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => broken(format!("`{key}` must be a list")),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Outcome<Arc<[Text]>> {
        let texts = self.list(key)?.iter().map(|item| match item {
            Value::String(text) => Ok(Text::from(text.as_str())),
            _ => broken(format!("`{key}` must be a list of texts")),
        });
        Ok(texts.collect::<Outcome<Vec<_>>>()?.into())
    }

    pub(crate) fn words<T: DeserializeOwned>(&self, key: &str) -> Outcome<Arc<[T]>> {
        let words = self.list(key)?.iter().map(|item| word(key, item));
        Ok(words.collect::<Outcome<Vec<_>>>()?.into())
    }

    /// Workspaces by their names, anything else as a resource.
    pub(crate) fn seen(&self, key: &str) -> Outcome<Arc<[Seen]>> {
        let texts = self.texts(key)?;
        let seen =
            texts.iter().map(
                |text| match self.names.get(&**text).and_then(|id| id.parse().ok()) {
                    Some(workspace) => Seen::Workspace(workspace),
                    None => Seen::Resource(text.clone()),
                },
            );
        let seen: Vec<_> = seen.collect();
        Ok(seen.into())
    }

    pub(crate) fn tables(&self, key: &str) -> Outcome<Vec<&'a Table>> {
        let tables = self.list(key)?.iter().map(|item| match item {
            Value::Object(table) => Ok(table),
            _ => broken(format!("`{key}` must be a list of tables")),
        });
        tables.collect()
    }

    pub(crate) fn inner(&self, key: &str) -> Outcome<Option<Args<'a>>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(table)) => Ok(Some(Args::new(table, self.names))),
            Some(_) => broken(format!("`{key}` must be a table")),
        }
    }

    pub(crate) fn check(&self) -> Outcome<Check> {
        Ok(match self.flag("proof_fits", true)? {
            true => Check::Valid,
            false => Check::Invalid,
        })
    }
}

pub(crate) fn word<T: DeserializeOwned>(key: &str, value: &Value) -> Outcome<T> {
    serde_json::from_value(value.clone())
        .map_err(|error| Trouble::Malformed(format!("{key} = {value}: {error}")))
}

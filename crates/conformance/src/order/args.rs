//! A table of a file, read key by key; every key must be read by someone.

use std::{cell::RefCell, collections::BTreeSet, str::FromStr};

use serde_json::Value;

use super::names::{Names, id};
use crate::{Outcome, broken, file::Table};

/// A table whose keys must all be used.
#[derive(Debug)]
pub struct Args<'a> {
    table: &'a Table,
    pub names: &'a Names,
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Args<'a> {
    pub fn new(table: &'a Table, names: &'a Names) -> Args<'a> {
        Args {
            table,
            names,
            used: RefCell::default(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.table.get_key_value(key)?;
        self.used.borrow_mut().insert(key);
        Some(value)
    }

    /// What was not read.
    pub fn rest(&self) -> Table {
        let used = self.used.borrow();
        let unread = self
            .table
            .iter()
            .filter(|(key, _)| !used.contains(key.as_str()));
        unread
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    pub fn all_used(&self) -> Outcome<()> {
        match self.rest().keys().next() {
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

    pub fn id<T: FromStr>(&self, key: &str, prefix: &str) -> Outcome<Option<T>> {
        self.string(key)?
            .map(|name| id(self.names, name, prefix))
            .transpose()
    }

    pub(crate) fn list(&self, key: &str) -> Outcome<&'a [Value]> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => broken(format!("`{key}` must be a list")),
        }
    }
}

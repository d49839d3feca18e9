//! What a word of an order stands for in its run.
//!
//! At the door things go by their ids, people by their names, and `@a` is what
//! an earlier order of the same list made under `"as": "a"`. Others bring names
//! of their own.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use super::{answer::Answer, kind::Thing};
use crate::{Run, role::Text};

/// Finds what a word stands for.
pub trait Names: fmt::Debug {
    /// The spelling of the id that a word stands for; the word itself where it
    /// is one, and `None` where nothing is called so.
    fn spelled<'a>(&self, thing: Thing, word: &'a str) -> Option<Cow<'a, str>>;
}

/// The names of the door.
#[derive(Debug)]
pub struct Door<'a> {
    pub run: &'a Run,
    /// What the orders before it made, by their `as`.
    pub made: &'a BTreeMap<Text, Answer>,
}

impl Names for Door<'_> {
    fn spelled<'a>(&self, thing: Thing, word: &'a str) -> Option<Cow<'a, str>> {
        if let Some(name) = word.strip_prefix('@') {
            let made = match self.made.get(name) {
                Some(answer) => answer.made(thing, None),
                // A task of several goes by its own name: `@plan.compare`.
                None => {
                    let (name, task) = name.split_once('.')?;
                    self.made.get(name)?.made(thing, Some(task))
                }
            };
            return made.map(Cow::Owned);
        }
        match thing {
            Thing::Person => Some(self.run.user_named(word)?.to_string().into()),
            _ => Some(Cow::Borrowed(word)),
        }
    }
}

/// Takes every name for one that stands for something: for whoever only looks
/// for faults.
#[derive(Clone, Copy, Debug)]
pub struct Anything;

impl Names for Anything {
    fn spelled<'a>(&self, thing: Thing, word: &'a str) -> Option<Cow<'a, str>> {
        match word.starts_with('@') || thing == Thing::Person {
            true => Some(format!("{}0", thing.prefix()).into()),
            false => Some(Cow::Borrowed(word)),
        }
    }
}

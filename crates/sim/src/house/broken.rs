//! Rules of the engine and the inbox that can be broken on purpose, and how long
//! it takes until that is noticed.

use super::{STEPS_EACH, failure::Failure, play::play};

/// One rule, in the crate that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Inbox(inbox::breaks::Break),
    Engine(engine::breaks::Break),
}

impl Rule {
    pub fn all() -> impl Iterator<Item = Rule> {
        let inbox = inbox::breaks::Break::ALL.iter().copied().map(Rule::Inbox);
        let engine = engine::breaks::Break::ALL.iter().copied().map(Rule::Engine);
        inbox.chain(engine)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Inbox(rule) => rule.as_str(),
            Rule::Engine(rule) => rule.as_str(),
        }
    }

    pub fn named(name: &str) -> Option<Rule> {
        Rule::all().find(|rule| rule.as_str() == name)
    }
}

/// Mends the rule when it is dropped.
#[derive(Debug)]
pub struct Broken(());

impl Drop for Broken {
    fn drop(&mut self) {
        inbox::breaks::set(None);
        engine::breaks::set(None);
    }
}

/// Breaks a rule for what is played on this thread.
#[must_use]
pub fn set(rule: Option<Rule>) -> Broken {
    match rule {
        Some(Rule::Inbox(rule)) => inbox::breaks::set(Some(rule)),
        Some(Rule::Engine(rule)) => engine::breaks::set(Some(rule)),
        None => {}
    }
    Broken(())
}

/// Plays seeds with a broken rule until it is noticed; gives how, and after how
/// many steps in all, or `None` if so many were not enough.
pub fn find(rule: Rule, steps: u64) -> Option<(u64, Box<Failure>)> {
    let mut played = 0;
    for seed in 1.. {
        if played >= steps {
            break;
        }
        match play(seed, STEPS_EACH, Some(rule)) {
            Ok(counts) => played += counts.steps,
            Err(failure) => return Some((played + failure.steps, failure)),
        }
    }
    None
}

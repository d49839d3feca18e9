//! What is proven of every run: one small file per claim.
//!
//! A checker sees what a stranger would see: the entries as they become
//! durable, and the state after them. Each has a test that feeds it a doctored
//! history. Where workspaces may go, who may send what, what a gate guards and
//! what an inbox holds is not claimed here: runs of their own (`--model`), without
//! faults, compare it with the model (`crate::model`).

pub mod chain;
pub mod containment;
pub mod deadlines;
pub mod gates;
#[cfg(test)]
pub mod history;
pub mod ids;
pub mod local;
pub mod past;
pub mod refusals;
pub mod replay;
pub mod settled;
pub mod small;
pub mod snapshot;
pub mod standing;
pub mod time;

use std::fmt;

use trail::Micros;
use wacp::{Entry, Order, Refusal, Run};

use crate::log::Log;

/// Nothing, or the sentence that says what is wrong.
pub type Verdict = Result<(), String>;

/// Whether it holds; otherwise the sentence.
pub fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// How things are after a commit.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub run: &'a Run,
    pub log: &'a Log,
    pub now: Micros,
}

/// An order and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Decided<'a> {
    pub order: &'a Order,
    pub entries: &'a [Entry],
    pub refusal: Option<Refusal>,
}

pub trait Checker: fmt::Debug {
    /// What it proves, as a sentence.
    fn claim(&self) -> &'static str;

    /// An order was decided; what it made may still be lost.
    fn decided(&mut self, _: &Decided<'_>) -> Verdict {
        Ok(())
    }

    /// The next entry is durable.
    fn entry(&mut self, _: &Entry) -> Verdict {
        Ok(())
    }

    /// The commit is done.
    fn commit(&mut self, _: &View<'_>) -> Verdict {
        Ok(())
    }

    /// Now and then, for what costs more.
    fn interval(&mut self, _: &View<'_>) -> Verdict {
        Ok(())
    }

    /// Nobody does anything any more and time has run out.
    fn silence(&mut self, _: &View<'_>) -> Verdict {
        Ok(())
    }

    /// The run has ended.
    fn end(&mut self, _: &View<'_>) -> Verdict {
        Ok(())
    }
}

/// All of them, for one run.
pub fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(time::Time::default()),
        Box::new(ids::Ids::default()),
        Box::new(gates::Gates::default()),
        Box::new(containment::Containment::default()),
        Box::new(refusals::Refusals),
        Box::new(replay::Replay::default()),
        Box::new(snapshot::Snapshot::default()),
        Box::new(local::Local::default()),
        Box::new(past::PastIsPresent::default()),
        Box::new(chain::Chain::default()),
        Box::new(deadlines::Deadlines::default()),
        Box::new(small::Small),
        Box::new(standing::Standing::default()),
        Box::new(settled::Settled),
    ]
}

//! One run and everyone around it: the runtime's loop over a log in memory.
//!
//! An order is decided on the state, its entries are appended in one commit,
//! applied, and only then is anybody told. Orders may share a commit; then
//! each is decided on what the ones before it made, and all of it is kept or
//! nothing.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use trail::Micros;
use wacp::{
    Command, Entry, Event, Measured, Order, Principal, Refusal, Run, apply, decide, effects,
    id::{SignalId, WorkspaceId},
    signal::SignalType,
    step,
};

use crate::{
    agents,
    check::{self, Checker, Decided, Verdict, View},
    dice::Dice,
    errands::{Errand, Errands, Intent, Weather},
    faults::Kept,
    log::Log,
    player::Player,
    setup,
    tally::Tally,
};

/// Orders remembered for whoever reads a failure.
const REMEMBERED: usize = 20;
/// Steps between the checks that cost more.
const INTERVAL: u64 = 256;

/// A claim that does not hold, and the sentence that says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub claim: &'static str,
    pub sentence: String,
}

impl Wrong {
    pub fn new(claim: &'static str, sentence: impl Into<String>) -> Wrong {
        Wrong {
            claim,
            sentence: sentence.into(),
        }
    }
}

/// An order that was given, and what came of it.
#[derive(Clone, Debug)]
pub struct Given {
    pub now: Micros,
    pub order: Order,
    pub outcome: Option<Result<usize, Refusal>>,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Order { principal, command } = &self.order;
        write!(f, "{} {principal:?}: {command:?} → ", self.now.0)?;
        match self.outcome {
            None => f.write_str("…"),
            Some(Ok(entries)) => write!(f, "{entries} entries"),
            Some(Err(refusal)) => write!(f, "{}", refusal.code()),
        }
    }
}

/// Whether the store takes a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    Kept,
    /// It says no, and everyone who waited is told so.
    Refused,
    /// The process dies before it is written.
    Lost,
}

#[derive(Debug)]
pub struct World {
    pub run: Run,
    pub measured: Measured,
    pub log: Log,
    /// The clock on the wall; it may go back.
    pub now: Micros,
    pub dice: Dice,
    pub errands: Errands,
    pub tally: Tally,
    pub recent: VecDeque<Given>,
    pub snapshot: Option<Kept>,
    checkers: Vec<Box<dyn Checker>>,
    /// What signals were, until whoever is told of them asks.
    signals: BTreeMap<SignalId, (WorkspaceId, SignalType)>,
    beginning: VecDeque<Order>,
}

impl World {
    pub fn new(mut dice: Dice) -> World {
        let weather = Weather::any(&mut dice);
        let seals = dice.chance(20);
        let mut world = World {
            run: Run::default(),
            measured: Measured::default(),
            log: Log::new(seals),
            now: Micros(1_000_000_000_000),
            beginning: setup::beginning(&mut dice).into(),
            errands: Errands::new(weather),
            tally: Tally::default(),
            recent: VecDeque::new(),
            snapshot: None,
            checkers: check::all(),
            signals: BTreeMap::new(),
            dice,
        };
        world.tally.runs = 1;
        world.send(1_000_000, Errand::Do(Intent::Plan));
        world
    }

    pub fn send(&mut self, about_us: u64, errand: Errand) {
        self.errands
            .send(&mut self.dice, self.now, about_us, errand);
    }

    /// The time that counts: always after the last entry.
    pub fn time(&self) -> Micros {
        self.run.time(self.now)
    }

    pub fn is_due(&self) -> bool {
        let due = self.run.next_deadline();
        due.is_some_and(|at| at <= self.time())
    }

    /// Whether people and the coordinator are still coming in.
    pub fn is_beginning(&self) -> bool {
        !self.beginning.is_empty()
    }

    pub fn player(&mut self) -> Player<'_> {
        Player {
            run: &self.run,
            dice: &mut self.dice,
        }
    }

    /// The next order of an ordinary day.
    pub fn next_order(&mut self) -> Option<Order> {
        if self.run.setup.is_none() && self.dice.chance(30) {
            // Some are too early.
            return Some(match self.dice.roll(3) {
                0 => self.player().start(),
                _ => self.player().order(),
            });
        }
        if let Some(order) = self.beginning.pop_front() {
            return Some(order);
        }
        if self.is_due() {
            return Some(Order::new(Principal::Runtime, Command::Tick));
        }
        if self.dice.chance(30) {
            self.now.0 += self.dice.roll(300_000) as i64;
            return Some(self.player().order());
        }
        self.next_errand()
    }

    /// Time passes until something arrives, or until something is due.
    fn next_errand(&mut self) -> Option<Order> {
        let at = self.errands.next_at()?;
        if let Some(due) = self.run.next_deadline().filter(|due| *due <= at) {
            self.now = self.now.max(due);
            return Some(Order::new(Principal::Runtime, Command::Tick));
        }
        self.now = self.now.max(at);
        match self.errands.take()? {
            Errand::Ask(order) => Some(*order),
            Errand::Tell(effect) => {
                let signals = &self.signals;
                let known = |id| signals.get(&id).copied();
                let next = agents::told(&effect, known, &mut self.dice);
                self.send_all(next);
                None
            }
            Errand::Do(intent) => {
                let (order, next) = agents::act(intent, &self.run, &mut self.dice);
                self.send_all(next);
                // Most orders arrive at once; some are on their way for a while.
                let order = order?;
                if self.dice.chance(70) {
                    return Some(order);
                }
                self.send(200_000, Errand::Ask(Box::new(order)));
                None
            }
        }
    }

    fn send_all(&mut self, next: agents::Next) {
        for (about_us, errand) in next {
            self.send(about_us, errand);
        }
    }

    /// One order, alone in its commit.
    pub fn give(&mut self, order: Order) -> Result<Option<Refusal>, Wrong> {
        self.remember(order.clone());
        let decision = decide(&self.run, &self.measured, &order, self.time());
        let (entries, refusal) = split(decision);
        self.decided(&order, &entries, refusal)?;
        self.apply(&entries)?;
        if refusal.is_none() {
            self.measured.note(&self.run, &order);
        }
        Ok(refusal)
    }

    /// Several orders in one commit.
    pub fn give_together(&mut self, orders: Vec<Order>, commit: Commit) -> Result<(), Wrong> {
        let (mut run, mut measured) = (self.run.clone(), self.measured.clone());
        let mut made = Vec::new();
        for order in orders {
            self.remember(order.clone());
            let (entries, refusal) = step(&mut run, &mut measured, &order, self.now);
            self.decided(&order, &entries, refusal)?;
            made.extend(entries);
        }
        if commit == Commit::Kept {
            self.apply(&made)?;
            self.measured = measured;
        }
        Ok(())
    }

    fn remember(&mut self, order: Order) {
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        let now = self.now;
        self.recent.push_back(Given {
            now,
            order,
            outcome: None,
        });
    }

    fn decided(
        &mut self,
        order: &Order,
        entries: &[Entry],
        refusal: Option<Refusal>,
    ) -> Result<(), Wrong> {
        self.tally.decided(order.command.name(), refusal);
        if let Some(last) = self.recent.back_mut() {
            last.outcome = Some(refusal.map_or(Ok(entries.len()), Err));
        }
        let decided = Decided {
            order,
            entries,
            refusal,
        };
        self.ask(|checker| checker.decided(&decided))
    }

    /// Entries become durable, then true, then known.
    fn apply(&mut self, entries: &[Entry]) -> Result<(), Wrong> {
        for entry in entries {
            apply(&mut self.run, entry);
        }
        self.log.append(&self.run, entries);
        self.tally.recorded(entries);
        for entry in entries {
            self.ask(|checker| checker.entry(entry))?;
            if let Event::SignalEmitted(e) = &entry.event {
                self.signals.insert(e.signal, (e.from, e.signal_type));
            }
        }
        self.look(|checker, view| checker.commit(view))?;
        if self.tally.steps.is_multiple_of(INTERVAL) {
            self.look(|checker, view| checker.interval(view))?;
        }
        for effect in effects(&self.run, entries) {
            self.send(100_000, Errand::Tell(effect));
        }
        while self.signals.len() > 200 {
            self.signals.pop_first();
        }
        Ok(())
    }

    /// Asks every checker; the first that objects is the answer.
    pub fn look(
        &mut self,
        mut ask: impl FnMut(&mut dyn Checker, &View<'_>) -> Verdict,
    ) -> Result<(), Wrong> {
        let view = View {
            run: &self.run,
            log: &self.log,
            now: self.now,
        };
        for checker in &mut self.checkers {
            if let Err(sentence) = ask(checker.as_mut(), &view) {
                return Err(Wrong::new(checker.claim(), sentence));
            }
        }
        Ok(())
    }

    fn ask(&mut self, mut ask: impl FnMut(&mut dyn Checker) -> Verdict) -> Result<(), Wrong> {
        self.look(|checker, _| ask(checker))
    }
}

/// Entries, whatever the answer, and the refusal if it was one.
pub fn split(decision: Result<Vec<Entry>, wacp::Rejection>) -> (Vec<Entry>, Option<Refusal>) {
    match decision {
        Ok(entries) => (entries, None),
        Err(rejection) => (rejection.record, Some(rejection.refusal)),
    }
}

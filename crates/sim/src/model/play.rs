//! The model and the real one, side by side, through the same random orders.

use std::{collections::VecDeque, fmt};

use trail::Micros;
use wacp::{
    Command, Order, Principal, Run, content::Content, decide, envelope::NewEnvelope,
    id::WorkspaceId, role::EnvelopeType, step,
};

use super::{Model, as_coordinator, compare};
use crate::{dice::Dice, player::Player, setup};

/// Where the two parted.
#[derive(Debug)]
pub struct Parted {
    pub seed: u64,
    pub step: usize,
    why: String,
    /// The last orders, oldest first, and what became of them.
    orders: Vec<String>,
}

impl fmt::Display for Parted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for order in &self.orders {
            writeln!(f, "  {order}")?;
        }
        writeln!(f, "{}", self.why)?;
        write!(
            f,
            "again: cargo xtask sim --model --seed {} --steps {}",
            self.seed,
            self.step + 1
        )
    }
}

/// How many orders are shown when the two part.
const SHOWN: usize = 12;
/// A run is left after so many steps: a new one meets other gates.
const RUN: usize = 1_000;

/// Plays so many steps in as many runs as it takes; gives how many were
/// accepted.
pub fn play(seed: u64, steps: usize) -> Result<usize, Box<Parted>> {
    let mut dice = Dice::new(seed);
    let (mut done, mut accepted) = (0, 0);
    while done < steps {
        let mut side = Sides::begin(&mut dice);
        let mut orders = VecDeque::new();
        for _ in 0..RUN.min(steps - done) {
            let order = side.next(&mut dice);
            match side.step(&order, &mut dice) {
                Ok(yes) => accepted += usize::from(yes),
                Err(why) => {
                    let before = orders.iter().map(|(name, by)| format!("{name} by {by:?}"));
                    return Err(Box::new(Parted {
                        seed,
                        step: done,
                        why,
                        orders: before.chain([format!("{order:?}")]).collect(),
                    }));
                }
            }
            if orders.len() == SHOWN {
                orders.pop_front();
            }
            orders.push_back((order.command.name(), order.principal));
            done += 1;
            if !side.run.is_running() {
                break;
            }
        }
    }
    Ok(accepted)
}

/// The real one and the model of it.
struct Sides {
    run: Run,
    model: Model,
    now: Micros,
    begin: Vec<Order>,
}

impl Sides {
    fn begin(dice: &mut Dice) -> Sides {
        let mut begin = setup::beginning(dice);
        begin.reverse();
        let (mut run, now) = (Run::default(), Micros(1_000_000_000));
        let start = begin.pop().expect("a run begins with an order");
        step(&mut run, &start, now);
        let started = &run.setup.as_deref().expect("the run has started").started;
        let model = Model::begin(started.highway, started.limits.idle_timeout_us, now);
        Sides {
            run,
            model,
            now,
            begin,
        }
    }

    fn next(&mut self, dice: &mut Dice) -> Order {
        let is_due = self.run.next_deadline().is_some_and(|due| due <= self.now);
        if is_due && !dice.chance(10) {
            return Order::new(Principal::Runtime, Command::Tick);
        }
        match self.begin.pop() {
            Some(order) => order,
            None => {
                let run = &self.run;
                Player { run, dice }.order()
            }
        }
    }

    /// Both take the order; then they must stand alike. Says whether it was
    /// accepted.
    fn step(&mut self, order: &Order, dice: &mut Dice) -> Result<bool, String> {
        let now = self.now.max(self.run.clock);
        let (entries, refusal) = step(&mut self.run, order, now);
        self.model.step(order, now, refusal, &entries)?;
        compare(&self.model, &self.run)?;
        self.probe(dice)?;
        // Mostly a little time passes, now and then more.
        let most = match dice.chance(3) {
            true => 300_000_000,
            false => 2_000_000,
        };
        self.now = Micros(now.0.max(self.run.clock.0) + dice.roll(most) as i64);
        Ok(refusal.is_none())
    }

    /// Could this one send that to the other? Nothing is sent.
    fn probe(&mut self, dice: &mut Dice) -> Result<(), String> {
        let mut any = || WorkspaceId(dice.roll(u64::from(self.run.next.workspaces)) as u32);
        let (from, to) = (any(), any());
        let kinds = [
            EnvelopeType::Directive,
            EnvelopeType::Feedback,
            EnvelopeType::Query,
            EnvelopeType::Registered(0),
        ];
        let new = NewEnvelope::to(to, dice.pick(&kinds), Content::markdown(""));
        let order = Order::new(Principal::Agent(from), Command::Send(Box::new(new)));
        let now = self.now.max(self.run.clock);
        let found = decide(&self.run, &order, now).err().map(|no| no.refusal);
        let expected = self.model.expect(&as_coordinator(&order), now);
        match expected.agrees(found) || found == Some(wacp::Refusal::DueFirst) {
            true => Ok(()),
            false => Err(format!("could {order:?}: {expected}, and not {found:?}")),
        }
    }
}

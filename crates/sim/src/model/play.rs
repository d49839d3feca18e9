//! The model and the real one, side by side, through the same random orders.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use trail::Micros;
use wacp::{
    Command, Entry, Measured, Order, Principal, Refusal, Run, content::Content, decide,
    envelope::NewEnvelope, id::WorkspaceId, role::EnvelopeType, step,
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

/// What happened while the two agreed.
#[derive(Debug, Default)]
pub struct Agreed {
    pub accepted: usize,
    /// How often each event happened.
    pub events: BTreeMap<&'static str, usize>,
    /// How often each reason to refuse was given.
    pub refusals: BTreeMap<&'static str, usize>,
}

impl Agreed {
    fn note(&mut self, entries: &[Entry], refusal: Option<Refusal>) {
        match refusal {
            None => self.accepted += 1,
            Some(why) => *self.refusals.entry(why.code()).or_default() += 1,
        }
        for entry in entries {
            *self.events.entry(entry.event.event_type()).or_default() += 1;
        }
    }
}

/// Plays so many steps in as many runs as it takes.
pub fn play(seed: u64, steps: usize) -> Result<Agreed, Box<Parted>> {
    let mut dice = Dice::new(seed);
    let (mut done, mut agreed) = (0, Agreed::default());
    while done < steps {
        let mut side = Sides::begin(&mut dice);
        let mut orders = VecDeque::new();
        for _ in 0..RUN.min(steps - done) {
            let order = side.next(&mut dice);
            match side.step(&order, &mut dice) {
                Ok((entries, refusal)) => agreed.note(&entries, refusal),
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
    Ok(agreed)
}

/// The real one and the model of it.
struct Sides {
    run: Run,
    measured: Measured,
    model: Model,
    now: Micros,
    begin: Vec<Order>,
}

impl Sides {
    fn begin(dice: &mut Dice) -> Sides {
        let mut begin = setup::beginning(dice);
        begin.reverse();
        let (mut run, now) = (Run::default(), Micros(1_000_000_000));
        let mut measured = Measured::default();
        let start = begin.pop().expect("a run begins with an order");
        step(&mut run, &mut measured, &start, now);
        let started = &run.setup.as_deref().expect("the run has started").started;
        let model = Model::begin(started.highway, started.limits.idle_timeout_us, now);
        Sides {
            run,
            measured,
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

    /// Both take the order; then they must stand alike.
    fn step(
        &mut self,
        order: &Order,
        dice: &mut Dice,
    ) -> Result<(Vec<Entry>, Option<Refusal>), String> {
        let now = self.run.time(self.now);
        let (entries, refusal) = step(&mut self.run, &mut self.measured, order, now);
        self.model.step(order, now, refusal, &entries)?;
        compare(&self.model, &self.run)?;
        self.probe(dice)?;
        // Mostly a little time passes, now and then more.
        let most = match dice.chance(3) {
            true => 300_000_000,
            false => 2_000_000,
        };
        self.now = Micros(now.0.max(self.run.clock.0) + dice.roll(most) as i64);
        Ok((entries, refusal))
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
        let now = self.run.time(self.now);
        let found = decide(&self.run, &self.measured, &order, now)
            .err()
            .map(|no| no.refusal);
        let expected = self.model.expect(&as_coordinator(&order), now);
        match expected.agrees(found) || found == Some(Refusal::DueFirst) {
            true => Ok(()),
            false => Err(format!("could {order:?}: {expected}, and not {found:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use wacp::{
        id::{Party, UserId},
        right::RightKind,
        state::Slot,
        workspace::lifecycle::State,
    };

    use super::*;
    use crate::model::Right;

    /// A workspace at work that the coordinator can write to.
    fn at_work(run: &Run) -> Option<WorkspaceId> {
        let mut ids = (1..run.next.workspaces).map(WorkspaceId);
        ids.find(|id| run.rights.contains_key(&(WorkspaceId::ROOT, *id)))
    }

    /// Both, at a moment when there is something to compare.
    fn sides() -> Sides {
        let mut dice = Dice::new(3);
        loop {
            let mut sides = Sides::begin(&mut dice);
            for _ in 0..400 {
                let order = sides.next(&mut dice);
                sides.step(&order, &mut dice).expect("they agree");
                if sides.run.next.workspaces > 9
                    && at_work(&sides.run).is_some()
                    && !sides.run.gates.is_empty()
                {
                    return sides;
                }
            }
        }
    }

    /// A comparison that never fails proves nothing.
    #[test]
    fn every_difference_between_the_two_is_noticed() {
        let sides = sides();
        assert_eq!(compare(&sides.model, &sides.run), Ok(()));
        type Doctor = fn(&mut Run, WorkspaceId);
        let doctors: [(&str, Doctor); 7] = [
            ("state", |run, id| {
                change(run, id, |open| open.state = State::Conflicted)
            }),
            ("parent", |run, id| {
                change(run, id, |open| open.parent = None)
            }),
            ("owner", |run, id| {
                change(run, id, |open| open.owner = Party::User(UserId(99)));
            }),
            ("timeouts", |run, _| run.deadlines.clear()),
            ("send rights", |run, id| {
                run.rights.remove(&(WorkspaceId::ROOT, id));
            }),
            ("send-once rights", |run, id| {
                let right = wacp::id::RightId(u64::MAX);
                run.rights_once.entry((id, id)).or_default().push(right);
            }),
            ("gates", |run, _| drop(run.gates.pop_last())),
        ];
        for (what, doctor) in doctors {
            let mut run = sides.run.clone();
            let id = at_work(&run).expect("one at work");
            doctor(&mut run, id);
            let noticed = compare(&sides.model, &run).expect_err(what);
            assert!(noticed.starts_with(what), "{what}: {noticed}");
        }
    }

    fn change(run: &mut Run, id: WorkspaceId, change: fn(&mut wacp::workspace::Workspace)) {
        if let Slot::Open(open) = &mut run.workspaces[id.0 as usize] {
            change(open);
        }
    }

    /// A model that knows another rule parts from the real one.
    #[test]
    fn a_model_with_a_right_too_many_expects_what_does_not_happen() {
        let mut sides = sides();
        let all: Vec<_> = sides.model.ids().collect();
        for holder in &all {
            for target in &all {
                sides.model.give(Right {
                    holder: *holder,
                    target: *target,
                    kind: RightKind::Send,
                });
            }
        }
        let mut dice = Dice::new(5);
        let parts = (0..1000).any(|_| sides.probe(&mut dice).is_err());
        assert!(parts);
    }
}

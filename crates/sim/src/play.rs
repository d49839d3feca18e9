//! A play: one seed, so many steps, run after run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use trail::Micros;
use wacp::{
    Command, Order, Principal, Refusal,
    id::{UserId, WorkspaceId},
    user::{Capability, UserChange},
};

use crate::{
    dice::Dice,
    failure::Failure,
    tally::Tally,
    world::{World, Wrong},
};

/// More ticks than this in silence, and it never ends.
const MOST_TICKS: u32 = 20_000;

const DUE: &str = "what is due happens, and then it is over";

/// Plays one seed.
pub fn play(seed: u64, steps: u64) -> Result<Tally, Box<Failure>> {
    let mut dice = Dice::new(seed);
    let mut sum = Tally::default();
    while sum.steps < steps {
        let mut world = World::new(dice.fork());
        let life = 200 + dice.roll(4000);
        let left = steps - sum.steps;
        let played = catch_unwind(AssertUnwindSafe(|| world.live(life, left)));
        let wrong = match played {
            Ok(Ok(())) => None,
            Ok(Err(wrong)) => Some(wrong),
            Err(panic) => Some(Wrong::new("the machine does not panic", said(&*panic))),
        };
        sum.add(&world.tally);
        if let Some(wrong) = wrong {
            return Err(Box::new(Failure {
                seed,
                steps: sum.steps + 1,
                wrong,
                entries: world
                    .log
                    .since(world.log.len().saturating_sub(20))
                    .cloned()
                    .collect(),
                recent: world.recent.into(),
            }));
        }
    }
    Ok(sum)
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it did: {}", text.unwrap_or("without a word"))
}

impl World {
    /// A whole life of about so many steps, cut short where the play is over.
    fn live(&mut self, life: u64, left: u64) -> Result<(), Wrong> {
        while self.tally.steps < life.min(left) {
            if self.run.setup.is_some() && !self.run.is_running() {
                break;
            }
            self.maybe_fail()?;
            if let Some(order) = self.next_order() {
                self.take(order)?;
            }
        }
        if self.tally.steps >= left || self.run.setup.is_none() {
            return Ok(());
        }
        if self.run.is_running() {
            self.fall_silent()?;
            self.finish()?;
        }
        self.afterwards()
    }

    fn take(&mut self, order: Order) -> Result<(), Wrong> {
        let is_tick = order.command == Command::Tick && order.principal == Principal::Runtime;
        let was_due = self.is_due();
        let entries = self.log.len();
        let refusal = self.give(order)?;
        if is_tick && was_due && (refusal.is_some() || self.log.len() == entries) {
            let sentence = format!("a tick did nothing: {:?}", self.run.deadlines.first());
            return Err(Wrong::new(DUE, sentence));
        }
        Ok(())
    }

    /// Nobody does anything any more. Whatever waits for time gets it.
    fn fall_silent(&mut self) -> Result<(), Wrong> {
        let mut ticks = 0;
        while let Some(at) = self.run.next_deadline() {
            self.now = self.now.max(at);
            self.take(Order::new(Principal::Runtime, Command::Tick))?;
            ticks += 1;
            if ticks > MOST_TICKS {
                let sentence = format!("it ticks for ever: {:?}", self.run.deadlines.first());
                return Err(Wrong::new(DUE, sentence));
            }
            if !self.run.is_running() {
                return Ok(());
            }
        }
        self.look(|checker, view| checker.silence(view))
    }

    /// Ends the run: by force, or by ending everything in it first.
    fn finish(&mut self) -> Result<(), Wrong> {
        if !self.run.is_running() {
            return Ok(());
        }
        let forced = self.dice.chance(50);
        if !forced {
            self.end_everything()?;
        }
        let shut_down = Order::new(Principal::Runtime, Command::ShutDown { forced });
        match self.give(shut_down)? {
            None => Ok(()),
            // A coordinator that never began, or that waits, cannot complete.
            Some(Refusal::InvalidState) if !forced => {
                let shut_down = Command::ShutDown { forced: true };
                self.give(Order::new(Principal::Runtime, shut_down))?;
                Ok(())
            }
            Some(refusal) => {
                let sentence = format!("the run cannot be shut down: {refusal}");
                Err(Wrong::new(DUE, sentence))
            }
        }
    }

    /// A person who may ends whatever is still open: no gate asks about that.
    fn end_everything(&mut self) -> Result<(), Wrong> {
        let user = UserId(1);
        for change in [
            UserChange::Resume,
            UserChange::Unblock,
            UserChange::Reactivate,
        ] {
            let reason = None;
            let change = Command::ChangeUser {
                user,
                change,
                reason,
            };
            self.give(Order::new(Principal::Operator, change))?;
        }
        let capability = Capability::AbortAny;
        let grant = Command::GrantCapability { user, capability };
        self.give(Order::new(Principal::Operator, grant))?;
        loop {
            let next = self.run.open_children(WorkspaceId::ROOT).next();
            let Some(workspace) = next else {
                return Ok(());
            };
            let reason = None;
            let abort = Command::Abort { workspace, reason };
            if let Some(refusal) = self.give(Order::new(Principal::User(user), abort))? {
                let sentence = format!("{workspace} cannot be aborted: {refusal}");
                return Err(Wrong::new(DUE, sentence));
            }
        }
    }

    /// After the end the trail can be read, kept and recovered, no more.
    fn afterwards(&mut self) -> Result<(), Wrong> {
        self.look(|checker, view| checker.end(view))?;
        for _ in 0..10 {
            let order = self.player().order();
            self.give(order)?;
        }
        self.archive()?;
        self.crash()?;
        self.now = Micros(self.now.0 + 1);
        self.look(|checker, view| checker.interval(view))?;
        self.look(|checker, view| checker.end(view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_its_own_words() {
        let panic = catch_unwind(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(said(&*panic), "it did: number 7");
    }

    /// The steps that a failure names lead to the same order again.
    #[test]
    fn fewer_steps_of_a_seed_are_the_beginning_of_more() {
        let tally = |steps| play(3, steps).ok().map(|tally| tally.commands);
        let (few, more) = (tally(3_000).unwrap(), tally(3_100).unwrap());
        for (name, (accepted, refused)) in few {
            let (also_accepted, also_refused) = more[name];
            assert!(accepted <= also_accepted && refused <= also_refused);
        }
    }
}

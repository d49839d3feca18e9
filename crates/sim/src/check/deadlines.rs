//! A tick does what was due first, so that what is due becomes less.

use trail::Micros;
use wacp::{Command, Principal, workspace::Deadline};

use super::{Checker, Decided, Verdict, View, ensure};

#[derive(Debug, Default)]
pub struct Deadlines {
    ticked: bool,
    first: Option<(Micros, Deadline)>,
}

impl Checker for Deadlines {
    fn claim(&self) -> &'static str {
        "a tick does what was due first, and time goes on"
    }

    fn decided(&mut self, decided: &Decided<'_>) -> Verdict {
        let order = decided.order;
        self.ticked = order.command == Command::Tick
            && order.principal == Principal::Runtime
            && decided.refusal.is_none();
        Ok(())
    }

    fn commit(&mut self, view: &View<'_>) -> Verdict {
        let first = view.run.deadlines.first().copied();
        let before = std::mem::replace(&mut self.first, first);
        let ticked = std::mem::take(&mut self.ticked);
        ensure(!ticked || first != before, || {
            format!("after a tick it is still {first:?} that is due")
        })?;
        // What a tick sets anew lies ahead.
        let set_back = match (before, first) {
            (Some((before, _)), Some((first, _))) => first < before && first <= view.run.clock,
            _ => false,
        };
        ensure(!ticked || !set_back, || {
            format!("a tick at {before:?} makes {first:?} due")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use crate::world::World;
    use wacp::Order;

    /// A world in which something will be due.
    fn waiting() -> World {
        history::such(200, |world| world.run.next_deadline().is_some())
    }

    /// One that has seen a tick come to nothing.
    fn ticked(world: &World) -> Deadlines {
        let order = Order::new(Principal::Runtime, Command::Tick);
        let tick = Decided {
            order: &order,
            entries: &[],
            refusal: None,
        };
        let mut checker = Deadlines::default();
        assert_eq!(checker.commit(&history::view(world)), Ok(()));
        assert_eq!(checker.decided(&tick), Ok(()));
        checker
    }

    #[test]
    fn a_tick_that_does_nothing_is_seen() {
        let world = waiting();
        let mut checker = ticked(&world);
        assert!(checker.commit(&history::view(&world)).is_err());
    }

    #[test]
    fn a_tick_that_sets_something_in_the_past_is_seen() {
        let mut world = waiting();
        let mut checker = ticked(&world);
        let past = Deadline::Timeout(wacp::id::WorkspaceId(1));
        world.run.deadlines.insert((Micros(0), past));
        assert!(checker.commit(&history::view(&world)).is_err());
    }
}

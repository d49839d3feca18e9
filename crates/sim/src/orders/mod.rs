//! Random orders: every command there is, from whoever usually gives it, and
//! now and then from somebody else.
//!
//! One row per kind of command says how often it is drawn and how it is made.
//! Nothing in here knows the rules; a maker only knows what would be apt.

mod manage;
mod people;
mod runtime;
mod talk;
mod work;

use wacp::{Command, Order, Principal};

pub(crate) use talk::emission;

use crate::player::Player;

/// A kind of command: how often it is drawn, and how one is made.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    weight: u64,
    make: fn(&mut Player<'_>) -> (Principal, Command),
}

const fn kind(
    name: &'static str,
    weight: u64,
    make: fn(&mut Player<'_>) -> (Principal, Command),
) -> Kind {
    Kind { name, weight, make }
}

const GROUPS: [&[Kind]; 5] = [
    talk::KINDS,
    work::KINDS,
    manage::KINDS,
    people::KINDS,
    runtime::KINDS,
];

/// Every kind of command.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    GROUPS.into_iter().flatten()
}

/// How often, in a hundred, an order comes from somebody who does not usually
/// give it.
const IMPOSTORS: u64 = 6;

impl Player<'_> {
    /// Any order at all.
    pub fn order(&mut self) -> Order {
        let all: u64 = kinds().map(|kind| kind.weight).sum();
        let mut left = self.dice.roll(all);
        for kind in kinds() {
            if left < kind.weight {
                return self.order_of(kind);
            }
            left -= kind.weight;
        }
        unreachable!("a throw below the sum of the weights falls on a kind")
    }

    /// An order to begin, which may be wrong in itself.
    pub fn start(&mut self) -> Order {
        let (principal, command) = runtime::start_run(self);
        Order::new(principal, command)
    }

    pub fn order_of(&mut self, kind: &Kind) -> Order {
        let (usual, command) = (kind.make)(self);
        let principal = if self.dice.chance(IMPOSTORS) {
            self.anyone()
        } else {
            usual
        };
        Order::new(principal, command)
    }
}

#[cfg(test)]
mod tests {
    use wacp::Run;

    use super::*;
    use crate::dice::Dice;

    /// A row makes the command it is named after, in whatever run.
    #[test]
    fn every_kind_is_made_by_its_own_row() {
        let (run, mut dice) = (Run::default(), Dice::new(1));
        let mut player = Player {
            run: &run,
            dice: &mut dice,
        };
        for kind in kinds() {
            for _ in 0..20 {
                assert_eq!(player.order_of(kind).command.name(), kind.name);
            }
        }
    }

    #[test]
    fn no_kind_stands_twice() {
        let mut names: Vec<_> = kinds().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kinds().count());
    }
}

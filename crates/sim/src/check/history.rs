//! Real histories, to be doctored: a checker that accepts the doctored one
//! proves nothing.

use std::sync::OnceLock;

use wacp::{Entry, Event};

use super::{Checker, View};
use crate::{dice::Dice, log::Log, world::World};

/// A world after so many orders and no faults.
pub fn world(seed: u64, steps: u64) -> World {
    let mut world = World::new(Dice::new(seed));
    world.log = Log::new(true);
    while world.tally.steps < steps {
        let given = world.next_order().map(|order| world.give(order));
        if let Some(Err(wrong)) = given {
            panic!("{wrong:?}");
        }
    }
    world
}

/// The first world of its kind after so many orders.
pub fn such(steps: u64, is_such: impl Fn(&World) -> bool) -> World {
    let mut worlds = (1..100).map(|seed| world(seed, steps));
    let such = worlds.find(is_such);
    such.expect("one of many seeds leads to such a world")
}

/// A world with more than a coordinator in it.
pub fn busy(steps: u64) -> World {
    such(steps, |world| world.run.open_count > 4)
}

/// What happened in several runs, in each by itself.
fn histories() -> &'static [Vec<Entry>] {
    static HISTORIES: OnceLock<Vec<Vec<Entry>>> = OnceLock::new();
    HISTORIES.get_or_init(|| (1..=16).map(|seed| world(seed, 1500).log.copy()).collect())
}

fn objection(checker: &mut dyn Checker, entries: &[Entry]) -> Option<String> {
    entries.iter().find_map(|entry| checker.entry(entry).err())
}

/// Feeds real histories, then the same with one entry changed, and expects an
/// objection to each of those. `change` says whether it changed the entry.
pub fn objects<C: Checker + Default>(change: impl Fn(&mut Entry) -> bool) {
    doctored::<C>(|entries| entries.iter_mut().position(&change).is_some_and(|_| true));
}

/// The same, where a history is changed as a whole.
pub fn doctored<C: Checker + Default>(change: impl Fn(&mut Vec<Entry>) -> bool) {
    let mut changed = 0;
    for history in histories() {
        assert_eq!(objection(&mut C::default(), history), None);
        let mut doctored = history.clone();
        if change(&mut doctored) {
            changed += 1;
            let said = objection(&mut C::default(), &doctored);
            assert!(said.is_some(), "nothing is wrong with a doctored history");
        }
    }
    assert!(changed > 0, "no history has what was to be changed");
}

/// Drops the first entry that is meant.
pub fn without<C: Checker + Default>(meant: impl Fn(&Event) -> bool) {
    doctored::<C>(|entries| {
        let at = entries.iter().position(|entry| meant(&entry.event));
        at.map(|at| entries.remove(at)).is_some()
    });
}

/// Repeats the first entry that is meant.
pub fn twice<C: Checker + Default>(meant: impl Fn(&Event) -> bool) {
    doctored::<C>(|entries| {
        let at = entries.iter().position(|entry| meant(&entry.event));
        at.map(|at| entries.insert(at, entries[at].clone()))
            .is_some()
    });
}

pub fn view(world: &World) -> View<'_> {
    View {
        run: &world.run,
        log: &world.log,
        now: world.now,
    }
}

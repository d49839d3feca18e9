//! A log that was damaged: what cannot stand is set aside and the rest goes
//! on; what cannot be trusted stops everything.

use wacp::{
    Command, Entry, Event, Measured, Order, Principal, Run,
    event::WorkspaceStateChanged,
    recovery::{Halt, Rebuilt, rebuild},
    step,
    workspace::lifecycle::{State, Trigger},
};

use crate::{
    dice::Dice,
    faults::{recover, recovers_once},
    log::Log,
    player::Player,
    world::Wrong,
};

const QUARANTINE: &str = "what cannot stand is set aside, and nothing else";
const HALT: &str = "a broken log stops everything";
const STUCK: &str = "time goes on after a recovery";

/// How often entries are lost for each other kind of damage: nothing else finds
/// as much.
const LOSSES: usize = 4;

/// Damages copies of the log in several ways.
pub fn damage(run: &Run, log: &Log, dice: &mut Dice) -> Result<(), Wrong> {
    let entries = log.copy();
    for _ in 0..LOSSES {
        lost(entries.clone(), dice)?;
    }
    match dice.roll(3) {
        0 => inserted(run, entries, dice),
        1 => flooded(entries, dice),
        _ => beheaded(entries),
    }
}

/// An entry that cannot stand where it is put.
fn unsound(entries: &[Entry], at: usize, dice: &mut Dice) -> Entry {
    let mut entry = entries[dice.roll(at as u64) as usize].clone();
    if dice.chance(50) {
        // Written twice.
        return entry;
    }
    // Nothing leaves a terminal state.
    entry.time = entries[at - 1].time;
    entry.event = Event::WorkspaceStateChanged(WorkspaceStateChanged {
        consumed: None,
        from_state: State::Closed,
        reason: None,
        to_state: State::Active,
        trigger: Trigger::Resumed,
        workspace: wacp::id::WorkspaceId(0),
    });
    entry
}

fn insert(entries: &mut Vec<Entry>, count: u64, dice: &mut Dice) -> Vec<u64> {
    let mut places: Vec<usize> = (0..count)
        .map(|_| 1 + dice.roll(entries.len() as u64) as usize)
        .collect();
    places.sort_unstable();
    // From the back, so that the earlier places stay what they are.
    for at in places.iter().rev() {
        let entry = unsound(entries, *at, dice);
        entries.insert(*at, entry);
    }
    let places = places.iter().enumerate();
    places.map(|(before, at)| (at + before) as u64).collect()
}

/// A few foreign entries: exactly they are set aside, and the run is the same.
fn inserted(run: &Run, mut entries: Vec<Entry>, dice: &mut Dice) -> Result<(), Wrong> {
    let count = 1 + dice.roll(10);
    let foreign = insert(&mut entries, count, dice);
    let rebuilt =
        rebuild(&entries).map_err(|halt| Wrong::new(QUARANTINE, format!("it halts: {halt}")))?;
    if rebuilt.quarantined != foreign {
        let found = rebuilt.quarantined;
        let sentence = format!("set aside {found:?} instead of {foreign:?}");
        return Err(Wrong::new(QUARANTINE, sentence));
    }
    if rebuilt.run != *run {
        return Err(Wrong::new(QUARANTINE, "the run differs afterwards"));
    }
    Ok(())
}

/// Too many: nothing is to be trusted.
fn flooded(mut entries: Vec<Entry>, dice: &mut Dice) -> Result<(), Wrong> {
    let count = 17 + entries.len() as u64 / 50;
    insert(&mut entries, count, dice);
    match rebuild(&entries) {
        Err(Halt::TooMuchDamage(damaged, all))
            if (damaged, all) == (count, entries.len() as u64) =>
        {
            Ok(())
        }
        other => Err(Wrong::new(HALT, format!("{:?}", other.map(examined)))),
    }
}

fn examined(rebuilt: Rebuilt) -> u64 {
    rebuilt.examined
}

/// The beginning is missing, or a workspace that others came after.
fn beheaded(mut entries: Vec<Entry>) -> Result<(), Wrong> {
    let created: Vec<usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| matches!(entry.event, Event::WorkspaceCreated(_)))
        .map(|(at, _)| at)
        .collect();
    if let [_, lost, next, ..] = created[..] {
        let mut entries = entries.clone();
        entries.remove(lost);
        let expected = Halt::LostCreation(next as u64 - 1);
        match rebuild(&entries) {
            Err(halt) if halt == expected => {}
            // So much was about it that the damage is found first or last.
            Err(Halt::LostCreation(_)) => {}
            other => return Err(Wrong::new(HALT, format!("{:?}", other.map(examined)))),
        }
    }
    entries.remove(0);
    match rebuild(&entries) {
        Err(Halt::NoBeginning) => Ok(()),
        other => Err(Wrong::new(HALT, format!("{:?}", other.map(examined)))),
    }
}

/// Some entries are gone. Whatever is left, the machine does not fall over,
/// comes back, and takes orders.
fn lost(mut entries: Vec<Entry>, dice: &mut Dice) -> Result<(), Wrong> {
    for _ in 0..1 + dice.roll(3) {
        if entries.len() > 2 {
            entries.remove(1 + dice.roll(entries.len() as u64 - 1) as usize);
        }
    }
    let Ok(rebuilt) = rebuild(&entries) else {
        return Ok(());
    };
    let mut run = rebuilt.run;
    let now = run.clock;
    recover(&mut run, now);
    recovers_once(&run, now)?;
    goes_on(&run)?;
    let mut measured = Measured::default();
    for _ in 0..30 {
        let order = Player {
            run: &run,
            dice: &mut *dice,
        }
        .order();
        let now = run.clock;
        step(&mut run, &mut measured, &order, now);
    }
    Ok(())
}

/// Whatever is due leads to something, else nothing would ever come after it.
pub fn goes_on(run: &Run) -> Result<(), Wrong> {
    let mut run = run.clone();
    for _ in 0..100 {
        let Some(due) = run.next_deadline() else {
            return Ok(());
        };
        let tick = Order::new(Principal::Runtime, Command::Tick);
        let (entries, _) = step(&mut run, &mut Measured::default(), &tick, due);
        if entries.is_empty() && run.next_deadline() == Some(due) {
            let what = run.deadlines.first();
            let sentence = format!("{what:?} is due and leads to nothing");
            return Err(Wrong::new(STUCK, sentence));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::history;

    #[test]
    fn a_run_that_differs_after_quarantine_is_seen() {
        let mut world = history::busy(300);
        let entries = world.log.copy();
        let mut dice = Dice::new(1);
        assert_eq!(inserted(&world.run, entries.clone(), &mut dice), Ok(()));
        world.run.next.tasks += 1;
        let wrong = inserted(&world.run, entries, &mut dice).unwrap_err();
        assert_eq!(wrong.claim, QUARANTINE);
    }

    #[test]
    fn too_much_damage_and_a_lost_beginning_stop_everything() {
        let entries = history::busy(300).log.copy();
        assert_eq!(flooded(entries.clone(), &mut Dice::new(1)), Ok(()));
        assert_eq!(beheaded(entries.clone()), Ok(()));
        // A log that is whole would have to be refused, and is not.
        let mut twice = entries.clone();
        twice.insert(0, entries[0].clone());
        assert!(beheaded(twice).is_err());
    }
}

//! What goes wrong: crashes, a store that says no, clocks that jump, and what
//! must be true after each of them.

use trail::{Hash, Micros};
use wacp::{
    Command, Entry, Event, Measured, Order, Principal, Run,
    event::RecoveryCompleted,
    id::WorkspaceId,
    recovery::{Halt, Rebuilt, downtime::later, rebuild, resume},
    snapshot,
    state::Slot,
    step,
};

use crate::{
    damage,
    player::text,
    world::{Commit, World, Wrong},
};

const RESTART: &str = "a restart gives the run that was";
const DOWNTIME: &str = "time while the server was down does not count";
const TWICE: &str = "recovering twice is recovering once";
const ARCHIVE: &str = "what is archived is still there";

impl World {
    /// Now and then something goes wrong.
    pub fn maybe_fail(&mut self) -> Result<(), Wrong> {
        if self.is_beginning() || !self.dice.rarely(35) {
            return Ok(());
        }
        match self.dice.roll(13) {
            0..=1 => self.crash(),
            2 => self.commit_together(Commit::Kept),
            3 => self.commit_together(Commit::Lost),
            4..=5 => self.storage_trouble(),
            6 => self.jump(1),
            7 => self.jump(-1),
            8..=9 => self.write_snapshot(),
            10..=11 => self.archive(),
            _ => self.damage(),
        }
    }

    /// The process dies and comes back.
    pub fn crash(&mut self) -> Result<(), Wrong> {
        self.tally.fault("crash");
        self.errands.crash(&mut self.dice);
        let downtime_us = match self.dice.chance(20) {
            true => 0,
            false => self.dice.roll(20_000_000),
        };
        let stopped = self.now.max(self.run.clock);
        let before = self.run.clone();
        self.now.0 += downtime_us as i64;
        let restarted = if self.dice.chance(50) {
            self.replayed()?
        } else {
            self.resumed()?
        };
        if restarted != self.run {
            return Err(Wrong::new(RESTART, "the restarted run differs"));
        }
        self.run = restarted;
        self.measured = Measured::default();
        let recover = Order::new(
            Principal::Runtime,
            Command::Recover {
                downtime_us,
                examined: self.log.len() as u64,
                quarantined: 0,
            },
        );
        let whole = self.log.len();
        if let Some(refusal) = self.give(recover)? {
            return Err(Wrong::new(RESTART, format!("recovery refused: {refusal}")));
        }
        let written: Vec<&Event> = self.log.since(whole).map(|entry| &entry.event).collect();
        only_time_was_lost(&written, downtime_us)?;
        time_stood_still(&before, stopped, &self.run, downtime_us)?;
        recovers_once(&self.run, self.now)
    }

    /// From the whole log, the archive included.
    fn replayed(&self) -> Result<Run, Wrong> {
        sound(rebuild(self.log.iter()))
    }

    /// From the last snapshot and what came after it.
    fn resumed(&self) -> Result<Run, Wrong> {
        let Some(kept) = &self.snapshot else {
            return self.replayed();
        };
        let run = snapshot::read(&kept.bytes, kept.hash)
            .map_err(|error| Wrong::new(RESTART, format!("the snapshot is refused: {error}")))?;
        sound(resume(run, self.log.since(kept.entries)))
    }

    /// Orders share a commit, which is kept or lost as a whole.
    fn commit_together(&mut self, commit: Commit) -> Result<(), Wrong> {
        self.tally.fault(match commit {
            Commit::Kept => "group commit",
            _ => "lost group commit",
        });
        let count = 2 + self.dice.roll(5);
        let orders = (0..count).map(|_| self.player().order()).collect();
        self.give_together(orders, commit)?;
        match commit {
            Commit::Lost => self.crash(),
            Commit::Kept | Commit::Refused => Ok(()),
        }
    }

    /// The store refuses for a while: nothing may have changed.
    fn storage_trouble(&mut self) -> Result<(), Wrong> {
        self.tally.fault("storage error");
        let before = self.run.clone();
        for _ in 0..1 + self.dice.roll(4) {
            let orders = vec![self.player().order()];
            self.give_together(orders, Commit::Refused)?;
        }
        if before != self.run || self.run.entries != self.log.len() as u64 {
            let sentence = "a refused append left something behind";
            return Err(Wrong::new(RESTART, sentence));
        }
        let command = Command::ReportDegradation {
            reason: text("the disk was full"),
            coordinator_action: None,
            affected: [].into(),
        };
        self.give(Order::new(Principal::Runtime, command))?;
        Ok(())
    }

    /// The clock on the wall is set.
    fn jump(&mut self, direction: i64) -> Result<(), Wrong> {
        self.tally.fault(match direction {
            1 => "clock forward",
            _ => "clock back",
        });
        let furthest = if self.dice.chance(20) {
            86_400_000_000
        } else {
            60_000_000
        };
        self.now.0 += direction * self.dice.roll(furthest) as i64;
        Ok(())
    }

    fn write_snapshot(&mut self) -> Result<(), Wrong> {
        self.tally.fault("snapshot");
        let bytes = snapshot::write(&self.run);
        let hash = snapshot::hash(&bytes);
        self.snapshot = Some(Kept {
            bytes,
            hash,
            entries: self.log.len(),
        });
        let command = Command::RecordSnapshot { state_hash: hash };
        self.give(Order::new(Principal::Runtime, command))?;
        Ok(())
    }

    /// Moves what may be moved of a workspace that has ended.
    pub fn archive(&mut self) -> Result<(), Wrong> {
        let slots = (0u32..).map(WorkspaceId).zip(&self.run.workspaces);
        let ended = slots.filter(|(_, slot)| matches!(slot, Slot::Ended(_)));
        let streams = self.log.streams();
        let fresh = ended.filter(|(id, _)| streams.get(id).is_some_and(|s| !s.is_compacted));
        let fresh: Vec<WorkspaceId> = fresh.map(|(id, _)| id).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        self.tally.fault("compaction");
        let before = self.log.iter().count();
        let Some(done) = self.log.compact(self.dice.pick(&fresh)) else {
            return Ok(());
        };
        if self.log.iter().count() != before {
            return Err(Wrong::new(ARCHIVE, "compaction lost an entry"));
        }
        let moved = self.log.is_archived(done.from) && self.log.is_archived(done.to);
        if !moved || done.archived == 0 {
            let sentence = format!("the archive does not hold what {done:?} says");
            return Err(Wrong::new(ARCHIVE, sentence));
        }
        self.give(Order::new(Principal::Runtime, Command::Compact(done)))?;
        Ok(())
    }

    /// Entries that cannot stand are set aside, in a copy of the log.
    fn damage(&mut self) -> Result<(), Wrong> {
        self.tally.fault("damaged log");
        let mut dice = self.dice.fork();
        damage::damage(&self.run, &self.log, &mut dice)
    }
}

/// A state written down.
#[derive(Debug)]
pub struct Kept {
    pub bytes: Vec<u8>,
    pub hash: Hash,
    /// How many entries it had.
    pub entries: usize,
}

/// The run, if all of its log was believed.
fn sound(rebuilt: Result<Rebuilt, Halt>) -> Result<Run, Wrong> {
    let rebuilt =
        rebuilt.map_err(|halt| Wrong::new(RESTART, format!("the log is refused: {halt}")))?;
    if !rebuilt.quarantined.is_empty() {
        let sentence = format!("unsound: {:?}", rebuilt.quarantined);
        return Err(Wrong::new(RESTART, sentence));
    }
    Ok(rebuilt.run)
}

/// Every commit was whole: nothing is left to make good, and at most the
/// down-time is told.
fn only_time_was_lost(written: &[&Event], downtime_us: u64) -> Result<(), Wrong> {
    let told = RecoveryCompleted {
        downtime_us,
        ..RecoveryCompleted::default()
    };
    match written {
        [] if downtime_us == 0 => Ok(()),
        [Event::RecoveryCompleted(e)] if downtime_us > 0 && *e == told => Ok(()),
        other => {
            let sentence = format!("down for {downtime_us} µs, a whole run says {other:?}");
            Err(Wrong::new(RESTART, sentence))
        }
    }
}

/// Whatever was due at the stop is due as long after the restart, and every
/// clock that runs shows the same.
fn time_stood_still(
    before: &Run,
    stopped: Micros,
    after: &Run,
    downtime_us: u64,
) -> Result<(), Wrong> {
    let put_off = before.deadlines.iter();
    let put_off = put_off.map(|(at, what)| (later(*at, downtime_us), *what));
    if !put_off.eq(after.deadlines.iter().copied()) {
        return Err(Wrong::new(DOWNTIME, "a deadline was not put off"));
    }
    let slots = before.workspaces.iter().zip(&after.workspaces);
    for (before, after) in slots {
        if let (Slot::Open(before), Slot::Open(after)) = (before, after)
            && before.wall_time(stopped) != after.wall_time(later(stopped, downtime_us))
        {
            return Err(Wrong::new(DOWNTIME, "a meter of wall time ran on"));
        }
    }
    Ok(())
}

/// Takes up what was under way.
pub fn recover(run: &mut Run, now: Micros) -> Vec<Entry> {
    let command = Command::Recover {
        downtime_us: 0,
        examined: run.entries,
        quarantined: 0,
    };
    let order = Order::new(Principal::Runtime, command);
    step(run, &mut Measured::default(), &order, now).0
}

/// A recovered run is recovered: again there is nothing to do or to say.
pub fn recovers_once(recovered: &Run, now: Micros) -> Result<(), Wrong> {
    let mut again = recovered.clone();
    let entries = recover(&mut again, now);
    if !entries.is_empty() || again != *recovered {
        let made: Vec<&str> = entries.iter().map(|e| e.event.event_type()).collect();
        let first = entries.first();
        let sentence = format!("the second recovery made {made:?}, first {first:?}");
        return Err(Wrong::new(TWICE, sentence));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::history;
    use wacp::{
        signal::{Owed, SignalType},
        workspace::lifecycle::State,
    };

    #[test]
    fn a_run_that_is_not_what_its_log_says_does_not_restart() {
        let mut world = history::busy(200);
        assert_eq!(world.crash(), Ok(()));
        world.run.next.gates += 1;
        let wrong = world.crash().unwrap_err();
        assert_eq!(wrong.claim, RESTART);
    }

    #[test]
    fn a_snapshot_of_another_time_does_not_restart() {
        let mut world = history::busy(200);
        assert_eq!(world.write_snapshot(), Ok(()));
        assert_eq!(world.resumed().as_ref(), Ok(&world.run));
        if let Some(kept) = &mut world.snapshot {
            kept.entries -= 1;
        }
        assert_ne!(world.resumed().as_ref(), Ok(&world.run));
    }

    #[test]
    fn a_clock_that_runs_while_the_server_is_down_is_seen() {
        let world = history::busy(200);
        let (run, stopped, off) = (&world.run, world.time(), 7_000_000);
        let mut after = run.clone();
        assert_eq!(time_stood_still(run, stopped, &after, 0), Ok(()));
        let wrong = time_stood_still(run, stopped, &after, off).unwrap_err();
        assert_eq!(wrong.claim, DOWNTIME);
        let recover = Command::Recover {
            downtime_us: off,
            examined: 0,
            quarantined: 0,
        };
        let order = Order::new(Principal::Runtime, recover);
        let (entries, _) = step(&mut after, &mut Measured::default(), &order, stopped);
        assert_eq!(time_stood_still(run, stopped, &after, off), Ok(()));
        let written: Vec<&Event> = entries.iter().map(|entry| &entry.event).collect();
        assert_eq!(only_time_was_lost(&written, off), Ok(()));
        assert!(only_time_was_lost(&written, off + 1).is_err());
        assert!(only_time_was_lost(&[], off).is_err());
        assert!(only_time_was_lost(&written, 0).is_err());
    }

    #[test]
    fn a_run_with_something_owed_is_not_recovered_yet() {
        let active = |world: &World| {
            let mut all = (1..world.run.next.workspaces).map(WorkspaceId);
            all.find(|id| world.run.state_of(*id) == Some(State::Active))
        };
        let mut world = history::such(200, |world| active(world).is_some());
        assert_eq!(recovers_once(&world.run, world.now), Ok(()));
        let id = active(&world).unwrap();
        let signal = SignalType::Blocked;
        world.run.owed.insert(id, Owed::Signal(signal));
        let wrong = recovers_once(&world.run, world.now).unwrap_err();
        assert_eq!(wrong.claim, TWICE);
    }

    #[test]
    fn an_archive_keeps_everything() {
        let mut world = history::such(800, |world| {
            let mut slots = world.run.workspaces.iter();
            slots.any(|slot| matches!(slot, Slot::Ended(_)))
        });
        let before = world.log.copy();
        assert_eq!(world.archive(), Ok(()));
        let after = world.log.copy();
        assert_eq!(after[..before.len()], before[..]);
        let moved = (0..before.len() as u64).filter(|at| world.log.is_archived(*at));
        assert!(moved.count() > 0);
    }
}

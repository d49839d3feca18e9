//! A snapshot and what came after it give the live run.

use wacp::{Entry, Run, apply, snapshot};

use super::{Checker, Verdict, View, ensure};

/// Intervals after which a new snapshot is taken.
const RENEWED: u32 = 4;

#[derive(Debug, Default)]
pub struct Snapshot {
    resumed: Option<Run>,
    age: u32,
}

impl Checker for Snapshot {
    fn claim(&self) -> &'static str {
        "a snapshot and the rest give the live run"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        if let Some(run) = &mut self.resumed {
            apply(run, entry);
        }
        Ok(())
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        if let Some(run) = &self.resumed {
            ensure(run == view.run, || "the resumed run differs".to_owned())?;
        }
        if self.age.is_multiple_of(RENEWED) {
            let bytes = snapshot::write(view.run);
            let read = snapshot::read(&bytes, snapshot::hash(&bytes));
            let run = read.map_err(|error| error.to_string())?;
            ensure(run == *view.run && snapshot::write(&run) == bytes, || {
                "the snapshot reads back as another run".to_owned()
            })?;
            self.resumed = Some(run);
        }
        self.age += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_rest_that_is_not_whole_is_seen() {
        let mut world = history::busy(300);
        let mut checker = Snapshot::default();
        assert_eq!(checker.interval(&history::view(&world)), Ok(()));
        world.run.clock.0 += 1;
        assert!(checker.interval(&history::view(&world)).is_err());
    }
}

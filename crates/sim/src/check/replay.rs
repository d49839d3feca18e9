//! Replaying the trail gives the live run, and every live entry would pass the
//! examination that recovery makes (WACP §10.2).

use wacp::{Entry, Event, Run, apply, recovery::is_sound};

use super::{Checker, Verdict, View, ensure};

/// One entry in so many is read back from its spelling before it is applied.
const SPELLED: u64 = 16;

#[derive(Debug, Default)]
pub struct Replay {
    run: Run,
}

impl Checker for Replay {
    fn claim(&self) -> &'static str {
        "replaying the trail gives the live run"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        ensure(is_sound(&self.run, entry), || {
            format!("recovery would set aside {entry:?}")
        })?;
        if self.run.entries.is_multiple_of(SPELLED) {
            let (name, facts) = (entry.event.event_type(), entry.event.facts());
            ensure(trail::canonical::is_canonical(&facts), || {
                format!("{name} is not canonical")
            })?;
            let event = Event::read(name, &facts).map_err(|e| format!("{name}: {e:?}"))?;
            ensure(event == entry.event, || {
                format!("{name} reads back as {event:?}")
            })?;
        }
        apply(&mut self.run, entry);
        Ok(())
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        ensure(view.run.entries == view.log.len() as u64, || {
            format!("{} applied, {} durable", view.run.entries, view.log.len())
        })?;
        ensure(self.run == *view.run, || {
            "the replayed run differs".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn an_entry_out_of_time_is_seen() {
        history::twice::<Replay>(|e| matches!(e, Event::SignalEmitted(_)));
    }

    #[test]
    fn a_run_that_is_not_what_its_trail_says_is_seen() {
        let mut world = history::busy(300);
        let mut checker = Replay::default();
        for entry in world.log.copy() {
            assert_eq!(checker.entry(&entry), Ok(()));
        }
        assert_eq!(checker.interval(&history::view(&world)), Ok(()));
        world.run.next.gates += 1;
        assert!(checker.interval(&history::view(&world)).is_err());
        world.run.next.gates -= 1;
        world.run.entries += 1;
        assert!(checker.interval(&history::view(&world)).is_err());
    }
}

//! A turn held against the model.

use engine::Refusal;
use store::{Store as _, memory::Memory};
use uuid::Uuid;

use super::{asked::Asked, compare, play::House, process::read};

impl House {
    pub fn judge(&mut self, asked: &Asked) -> Result<(), String> {
        let Asked { now, seen, .. } = asked;
        let answers = asked.answers();
        if answers > 0 && answers < asked.commands.len() {
            return Err("a batch was answered in part".to_owned());
        }
        let excused = seen.met || asked.lost;
        if answers == 0 && !asked.commands.is_empty() && !excused {
            return Err("commands were not carried out, and nothing went wrong".to_owned());
        }
        if !excused && !asked.was_degraded && !asked.due.is_empty() && !seen.due_read {
            return Err(format!("the timers of {:?} were not looked at", asked.due));
        }
        self.model.begin(*now);
        if answers > 0 || seen.decided {
            self.take(asked)?;
        }
        self.model.begin(asked.chores_at);
        for numbers in &seen.by_rule {
            self.erase(numbers, asked)?;
        }
        self.compare(asked)
    }

    /// The model takes a batch that is durable, or was answered.
    fn take(&mut self, asked: &Asked) -> Result<(), String> {
        let store = &self.machine.store;
        let learn = |position: u64| received(store, position);
        let before = (self.model.size, self.model.marks);
        for (command, told) in asked.commands.iter().zip(&asked.told) {
            let expected = self.model.decide(command, &learn);
            match told {
                Some(Err(Refusal::Unavailable)) | None => {}
                Some(told) if *told == expected => {}
                Some(told) => {
                    return Err(format!(
                        "{command:?} came to {told:?} and not to {expected:?}"
                    ));
                }
            }
        }
        if asked.seen.due_read {
            asked.due.iter().for_each(|id| self.model.expire(*id));
        }
        let has_changed = (self.model.size, self.model.marks) != before;
        match has_changed == asked.seen.decided {
            true => Ok(()),
            false if has_changed => Err("what was acknowledged is not durable".to_owned()),
            false => Err("something is durable that nobody asked for".to_owned()),
        }
    }

    /// A retention rule erased these, and had to.
    fn erase(&mut self, numbers: &[u64], asked: &Asked) -> Result<(), String> {
        let mut expected = self.model.next_by_rule(asked.chores_at);
        let mut erased = numbers.to_vec();
        expected.sort_unstable();
        erased.sort_unstable();
        if erased != expected {
            return Err(format!(
                "a rule erased {erased:?}, and {expected:?} were due"
            ));
        }
        self.model.erased_by_rule(numbers);
        Ok(())
    }

    /// The log, the rows that changed, and what others were told meanwhile.
    fn compare(&mut self, asked: &Asked) -> Result<(), String> {
        compare::head(&self.machine.store, &self.model)?;
        for at in std::mem::take(&mut self.model.touched) {
            compare::item(&self.machine.store, &self.model.items[at])?;
        }
        for sweeper in &mut self.sweepers {
            sweeper.check(&self.model)?;
        }
        match self.shared() {
            Some(shared) if !asked.lost => compare::published(shared, &self.model),
            _ => Ok(()),
        }
    }
}

/// The delivery that the entry at a position received.
fn received(store: &Memory, position: u64) -> Option<Uuid> {
    #[derive(serde::Deserialize)]
    struct Received {
        delivery_id: Uuid,
    }
    let entry = read(store.entry(position)).ok()??;
    let received: Received = serde_json::from_slice(&entry.facts).ok()?;
    Some(received.delivery_id)
}

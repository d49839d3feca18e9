//! A workspace's own trail is the run's trail, read for that workspace alone,
//! in the same order (WACP §9.2).

use std::collections::BTreeMap;

use wacp::{Entry, id::WorkspaceId};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug, Default)]
pub struct Local {
    next: u64,
    projected: BTreeMap<WorkspaceId, Vec<u64>>,
}

impl Checker for Local {
    fn claim(&self) -> &'static str {
        "a workspace's own trail is its part of the run's, in order"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        if let Some(id) = entry.workspace {
            self.projected.entry(id).or_default().push(self.next);
        }
        self.next += 1;
        Ok(())
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        let streams = view.log.streams();
        ensure(streams.keys().eq(self.projected.keys()), || {
            "other workspaces have trails than have entries".to_owned()
        })?;
        for (id, stream) in streams {
            ensure(self.projected.get(id) == Some(&stream.positions), || {
                format!("the trail of {id} is not its part of the run's")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn an_entry_in_another_trail_is_seen() {
        let world = history::busy(300);
        let check = |entries: &[Entry]| {
            let mut checker = Local::default();
            for entry in entries {
                assert_eq!(checker.entry(entry), Ok(()));
            }
            checker.interval(&history::view(&world))
        };
        let mut entries = world.log.copy();
        assert_eq!(check(&entries), Ok(()));
        let at = entries
            .iter()
            .position(|entry| entry.workspace == Some(WorkspaceId(1)));
        entries[at.unwrap()].workspace = Some(WorkspaceId(0));
        assert!(check(&entries).is_err());
    }
}

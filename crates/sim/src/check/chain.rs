//! The run's chain and every workspace's chain verify, the tree over them is
//! the one that their entries make, and what is sealed is what happened.

use std::collections::BTreeMap;

use trail::{
    Hash, Header, Verifier,
    digest::{StoredEntry, StoredPart},
    entry::{FACTS, local_hash},
    merkle::{Frontier, leaf_hash},
};
use wacp::Event;

use super::{Checker, Verdict, View, ensure};
use crate::log::{Record, SALT, STREAM};

#[derive(Debug, Default)]
pub struct Chain {
    verifier: Verifier,
    tree: Frontier,
}

impl Chain {
    fn verify(&mut self, record: &Record) -> Verdict {
        let parts = [StoredPart {
            name: FACTS,
            salt: &SALT,
            bytes: &record.facts,
        }];
        let stored = StoredEntry {
            position: self.verifier.size(),
            stream: STREAM,
            seq: record.sealed.seq,
            header: &record.sealed.header,
            entry_hash: Some(record.sealed.entry_hash),
            prev_hash: Some(record.prev),
            prev: None,
            parts: &parts,
        };
        let verified = self.verifier.entry(&stored);
        verified.map_err(|fault| fault.to_string())?;
        self.tree.push(leaf_hash(&record.sealed.entry_hash), |_| {});
        Ok(())
    }
}

/// Each workspace's chain, by itself.
fn local_chains(records: &[Record]) -> Verdict {
    let mut heads: BTreeMap<String, (u64, Hash)> = BTreeMap::new();
    for record in records {
        let bytes = &record.sealed.header;
        let header = Header::read(bytes).ok_or("a header does not read")?;
        let (Some(workspace), Some(seq)) = (header.workspace, header.local_seq) else {
            continue;
        };
        let before = heads.get(&*workspace).copied();
        let follows = match before {
            None => (seq, header.local_prev) == (0, None),
            Some((last, head)) => (seq, header.local_prev) == (last + 1, Some(head)),
        };
        ensure(follows, || {
            format!("number {seq} does not follow in the chain of {workspace}")
        })?;
        heads.insert(workspace.into_owned(), (seq, local_hash(bytes)));
    }
    Ok(())
}

impl Checker for Chain {
    fn claim(&self) -> &'static str {
        "the chains verify, and what is sealed is what happened"
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        let Some(records) = view.log.records() else {
            return Ok(());
        };
        let from = self.verifier.size() as usize;
        for (record, entry) in records[from..].iter().zip(view.log.since(from)) {
            self.verify(record)?;
            let header = Header::read(&record.sealed.header).ok_or("a header does not read")?;
            let event = Event::read(&header.event_type, &record.facts)
                .map_err(|error| format!("{}: {error:?}", header.event_type))?;
            ensure(event == entry.event && header.time == entry.time, || {
                format!("sealed is {event:?}, and {:?} happened", entry.event)
            })?;
        }
        ensure(self.tree.root() == self.verifier.root(), || {
            "the tree is not the one of its entries".to_owned()
        })
    }

    fn end(&mut self, view: &View<'_>) -> Verdict {
        local_chains(view.log.records().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_changed_bit_anywhere_is_seen() {
        let world = history::busy(200);
        let records = world.log.records().unwrap().to_vec();
        let check = |records: &[Record]| {
            let mut chain = Chain::default();
            records.iter().try_for_each(|record| chain.verify(record))
        };
        assert_eq!(check(&records), Ok(()));
        let doctor = |change: fn(&mut Record)| {
            let mut doctored = records.clone();
            change(&mut doctored[40]);
            check(&doctored)
        };
        assert!(doctor(|record| record.facts[1] ^= 1).is_err());
        assert!(doctor(|record| record.sealed.header[9] ^= 1).is_err());
        assert!(doctor(|record| record.sealed.seq += 1).is_err());
        assert!(doctor(|record| record.prev = None).is_err());
        let mut swapped = records.clone();
        swapped.swap(40, 41);
        assert!(check(&swapped).is_err());
    }

    #[test]
    fn a_gap_in_a_workspaces_own_chain_is_seen() {
        let world = history::busy(200);
        let mut records = world.log.records().unwrap().to_vec();
        assert_eq!(local_chains(&records), Ok(()));
        let middle = world.log.streams()[&wacp::id::WorkspaceId(0)].positions[2];
        records.remove(middle as usize);
        assert!(local_chains(&records).is_err());
    }

    #[test]
    fn a_seal_of_something_else_is_seen() {
        let (world, other) = (history::busy(100), history::busy(120));
        let view = View {
            log: &other.log,
            ..history::view(&world)
        };
        let mut chain = Chain::default();
        assert_eq!(chain.interval(&history::view(&world)), Ok(()));
        // The rest of another log does not continue this one.
        assert!(view.log.len() > 10);
        let mut chain = Chain {
            verifier: Verifier::new(),
            tree: Frontier::new(),
        };
        chain.tree.push(Hash::ZERO, |_| {});
        assert!(chain.interval(&view).is_err());
    }
}

//! Content that is gone, and the entries that say why.
//!
//! A part may be absent because a rule or an owner erased it, and that leaves an
//! entry, [`CONTENT_ERASED`], which names the delivery. A part of a delivery that
//! is absent while no such entry comes after it was cut out by someone.

use std::collections::HashMap;

use serde::Deserialize;

/// The type of the entry that names the deliveries whose content was erased.
pub const CONTENT_ERASED: &str = "content_erased";

/// What the entries of one batch, or of the whole log, say about erased content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erasures {
    /// Deliveries with an absent part, and the first and last entry that lacks one.
    bare: HashMap<String, (u64, u64)>,
    /// Deliveries that a `content_erased` entry names, and the last such entry.
    erased: HashMap<String, u64>,
}

#[derive(Deserialize)]
struct About {
    delivery_id: String,
}

#[derive(Deserialize)]
struct Erased {
    delivery_ids: Vec<String>,
}

impl Erasures {
    /// Takes the facts of an entry; `is_bare` when one of its parts is absent.
    pub fn note(&mut self, position: u64, event_type: &str, facts: &[u8], is_bare: bool) {
        if event_type == CONTENT_ERASED
            && let Ok(erased) = serde_json::from_slice::<Erased>(facts)
        {
            for id in erased.delivery_ids {
                self.note_erased(id, position);
            }
        }
        if is_bare && let Ok(about) = serde_json::from_slice::<About>(facts) {
            self.note_bare(about.delivery_id, (position, position));
        }
    }

    fn note_erased(&mut self, id: String, position: u64) {
        let last = self.erased.entry(id).or_insert(position);
        *last = position.max(*last);
    }

    fn note_bare(&mut self, id: String, (from, to): (u64, u64)) {
        let (first, last) = self.bare.entry(id).or_insert((from, to));
        (*first, *last) = (from.min(*first), to.max(*last));
    }

    pub fn add(&mut self, other: &Erasures) {
        for (id, range) in &other.bare {
            self.note_bare(id.clone(), *range);
        }
        for (id, position) in &other.erased {
            self.note_erased(id.clone(), *position);
        }
    }

    /// An entry whose content is absent although no later one says that it was
    /// erased: the first of each delivery that was never erased, the last of one
    /// that was answered after it was; of these the first.
    pub fn first_cut(&self) -> Option<u64> {
        let cut = self
            .bare
            .iter()
            .filter_map(|(id, (first, last))| match self.erased.get(id) {
                None => Some(*first),
                Some(erased) if last > erased => Some(*last),
                Some(_) => None,
            });
        cut.min()
    }
}

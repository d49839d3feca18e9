//! Content that is gone, and the entries that say why.
//!
//! A part may be absent because a rule or an owner erased it, and that leaves an
//! entry, [`CONTENT_ERASED`], which names the delivery. A part of a delivery that
//! is absent while no such entry comes after it was cut out by someone.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The type of the entry that names the deliveries whose content was erased.
pub const CONTENT_ERASED: &str = "content_erased";

/// What the entries of one batch, or of the whole log, say about erased content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erasures {
    /// Deliveries with an absent part, and the entries that lack one.
    bare: BTreeMap<String, Vec<u64>>,
    /// Deliveries that a `content_erased` entry names, and the last such entry.
    erased: BTreeMap<String, u64>,
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
            self.bare
                .entry(about.delivery_id)
                .or_default()
                .push(position);
        }
    }

    fn note_erased(&mut self, id: String, position: u64) {
        let last = self.erased.entry(id).or_insert(position);
        *last = position.max(*last);
    }

    pub fn add(&mut self, other: &Erasures) {
        for (id, positions) in &other.bare {
            self.bare.entry(id.clone()).or_default().extend(positions);
        }
        for (id, position) in &other.erased {
            self.note_erased(id.clone(), *position);
        }
    }

    /// The first entry whose content is absent although no later one says that it
    /// was erased.
    pub fn first_cut(&self) -> Option<u64> {
        let cut = self.bare.iter().flat_map(|(id, positions)| {
            let erased = self.erased.get(id);
            let cut = move |at: &&u64| erased.is_none_or(|erased| *at > erased);
            positions.iter().filter(cut)
        });
        cut.min().copied()
    }
}

//! Content that is gone, and the entries that say why.
//!
//! A part may be absent because a rule or an owner erased it, and that leaves an
//! entry, [`CONTENT_ERASED`], which names the delivery. A part of a delivery that
//! is absent while no such entry is in the log was cut out by someone.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

/// The type of the entry that names the deliveries whose content was erased.
pub const CONTENT_ERASED: &str = "content_erased";

/// What the entries of one batch, or of the whole log, say about erased content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erasures {
    /// Deliveries with an absent part, and the first entry that lacks one.
    bare: HashMap<String, u64>,
    /// Deliveries that a `content_erased` entry names.
    erased: HashSet<String>,
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
            self.erased.extend(erased.delivery_ids);
        }
        if is_bare && let Ok(about) = serde_json::from_slice::<About>(facts) {
            let first = self.bare.entry(about.delivery_id).or_insert(position);
            *first = position.min(*first);
        }
    }

    pub fn add(&mut self, other: &Erasures) {
        for (id, position) in &other.bare {
            let first = self.bare.entry(id.clone()).or_insert(*position);
            *first = (*position).min(*first);
        }
        self.erased.extend(other.erased.iter().cloned());
    }

    /// The first entry whose content is absent although no entry says that it
    /// was erased.
    pub fn first_cut(&self) -> Option<u64> {
        let cut = self
            .bare
            .iter()
            .filter(|(id, _)| !self.erased.contains(*id));
        cut.map(|(_, position)| *position).min()
    }
}

//! The inbox's part: marks that one person has set on what waits.

use std::collections::HashSet;

use trail::Micros;
use uuid::Uuid;

#[derive(Debug, Default)]
pub struct Needs {
    /// Person and delivery.
    pub seen: Vec<(String, Uuid)>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

#[derive(Debug, Default)]
pub struct Loaded {
    pub seen: HashSet<(String, Uuid)>,
}

#[derive(Debug, Default)]
pub struct Batch {
    pub seen: Vec<(String, Uuid)>,
    /// Person, delivery, and until when it is out of their sight; `None`: it is not.
    pub snoozed: Vec<(String, u64, Option<Micros>)>,
    /// Person and moment: what is out of their sight until then is in sight again,
    /// and its rows go.
    pub over: Vec<(String, Micros)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch {
            seen,
            snoozed,
            over,
        } = self;
        seen.is_empty() && snoozed.is_empty() && over.is_empty()
    }
}

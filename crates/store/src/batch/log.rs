//! The log's part: entries of whatever door, the ends of streams, the tree.

use std::collections::HashMap;

use crate::{EntryRow, HeadRow, StreamRow, SubtreeRow};

#[derive(Debug, Default)]
pub struct Needs {
    /// Streams by name.
    pub streams: Vec<String>,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}

#[derive(Debug, Default)]
pub struct Loaded {
    pub streams: HashMap<String, StreamRow>,
}

/// Entries stand in log order and start where the log ends.
#[derive(Debug, Default)]
pub struct Batch {
    pub head: Option<HeadRow>,
    pub entries: Vec<EntryRow>,
    /// The streams that these entries are on, as they end afterwards.
    pub streams: Vec<StreamRow>,
    pub subtrees: Vec<SubtreeRow>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch {
            head,
            entries,
            streams,
            subtrees,
        } = self;
        head.is_none() && entries.is_empty() && streams.is_empty() && subtrees.is_empty()
    }
}

//! What the writer asks for before it decides, and what it writes afterwards, in
//! a part for each room. A further door adds its part and changes no other.

pub mod account;
pub mod inbox;
pub mod kept;
pub mod log;
pub mod wake;

/// The rows that a batch of commands needs.
#[derive(Debug, Default)]
pub struct Needs {
    pub log: log::Needs,
    pub wake: wake::Needs,
    pub inbox: inbox::Needs,
    pub kept: kept::Needs,
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        let Needs {
            log,
            wake,
            inbox,
            kept,
        } = self;
        log.is_empty() && wake.is_empty() && inbox.is_empty() && kept.is_empty()
    }
}

/// Those of them that exist.
#[derive(Debug, Default)]
pub struct Loaded {
    pub log: log::Loaded,
    pub wake: wake::Loaded,
    pub inbox: inbox::Loaded,
    pub kept: kept::Loaded,
}

/// What changes in one transaction.
#[derive(Debug, Default)]
pub struct Batch {
    pub log: log::Batch,
    pub wake: wake::Batch,
    pub inbox: inbox::Batch,
    pub account: account::Batch,
    pub kept: kept::Batch,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        let Batch {
            log,
            wake,
            inbox,
            account,
            kept,
        } = self;
        log.is_empty()
            && wake.is_empty()
            && inbox.is_empty()
            && account.is_empty()
            && kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BucketRow;

    #[test]
    fn a_batch_with_nothing_but_a_kept_row_or_a_mark_is_not_empty() {
        assert!(Batch::default().is_empty());
        let bucket = BucketRow {
            key_id: "key".to_owned(),
            level: 1,
            at: trail::Micros(1),
        };
        let mut batch = Batch::default();
        batch.kept.buckets.push(bucket);
        assert!(!batch.is_empty());
        let mut batch = Batch::default();
        batch.inbox.seen.push(("ann".to_owned(), uuid::Uuid::nil()));
        assert!(!batch.is_empty());
    }
}

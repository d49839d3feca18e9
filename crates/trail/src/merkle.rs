//! The Merkle tree of the log (RFC 6962): its hashes and its right edge.
//!
//! A store keeps the leaf hashes and the roots of complete blocks of 256: on
//! level 1 the root of each 256 leaves, on level 2 of each 256 blocks of level
//! 1, and so on. From those, [`Frontier::restore`] and the proofs in
//! [`crate::proof`] need at most 765 hashes of each level, whatever the size.
//!
//! Nothing here fetches: a caller asks which [`Range`]s are needed, brings them
//! in [`Fetched`], from a table or over a network, and then computes.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::Hash;

/// Each level of stored hashes covers 2^8 of the level below.
const BITS_PER_LEVEL: u32 = 8;

/// SHA-256(0x00 ‖ entry hash).
pub fn leaf_hash(entry_hash: &Hash) -> Hash {
    let mut bytes = [0; 33];
    bytes[1..].copy_from_slice(&entry_hash.0);
    Hash(Sha256::digest(bytes).into())
}

/// SHA-256(0x01 ‖ left ‖ right).
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut bytes = [1; 65];
    bytes[1..33].copy_from_slice(&left.0);
    bytes[33..].copy_from_slice(&right.0);
    Hash(Sha256::digest(bytes).into())
}

/// The root of the tree without leaves: SHA-256 of nothing.
pub fn empty_root() -> Hash {
    Hash(Sha256::digest([]).into())
}

/// The root of a complete block of 256^level leaves, the `index`th of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtree {
    pub level: u8,
    pub index: u64,
    pub hash: Hash,
}

/// Hashes `from..to` of a level: leaf hashes on level 0, block roots above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    pub level: u8,
    pub from: u64,
    pub to: u64,
}

/// Why something could not be computed from what was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprovable {
    #[error("{index} is not inside a tree of {size}")]
    OutOfRange { index: u64, size: u64 },
    #[error("hashes {}..{} of level {} were not fetched", .0.from, .0.to, .0.level)]
    NotFetched(Range),
}

impl Unprovable {
    pub fn code(&self) -> &'static str {
        match self {
            Unprovable::OutOfRange { .. } => "out_of_range",
            Unprovable::NotFetched(_) => "not_fetched",
        }
    }
}

/// Stored hashes that a caller brought for one computation.
#[derive(Clone, Debug, Default)]
pub struct Fetched(BTreeMap<Range, Vec<Hash>>);

impl Fetched {
    pub fn new() -> Fetched {
        Fetched::default()
    }

    /// Adds the hashes of a range that was asked for. A list of another length
    /// counts as not fetched: a hole in the store must not become a proof.
    pub fn insert(&mut self, range: Range, hashes: Vec<Hash>) {
        if hashes.len() as u64 == range.to - range.from {
            self.0.insert(range, hashes);
        }
    }

    fn root(&self, perfect: Perfect) -> Result<Hash, Unprovable> {
        let range = perfect.range();
        let stored = self.0.get(&range).ok_or(Unprovable::NotFetched(range))?;
        let mut row = stored.clone();
        while row.len() > 1 {
            row = row
                .chunks_exact(2)
                .map(|pair| node_hash(&pair[0], &pair[1]))
                .collect();
        }
        Ok(row[0])
    }
}

/// A complete subtree of 2^height leaves, the `index`th of its height.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perfect {
    height: u32,
    index: u64,
}

impl Perfect {
    /// The stored hashes just below it: between 1 and 128 of one level.
    fn range(self) -> Range {
        let within = self.height % BITS_PER_LEVEL;
        Range {
            level: (self.height / BITS_PER_LEVEL) as u8,
            from: self.index << within,
            to: (self.index + 1) << within,
        }
    }
}

/// Leaves `start..end`, where `start` is a multiple of the next power of two
/// of the length; every node of an RFC 6962 tree covers such a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start: u64,
    pub end: u64,
}

impl Span {
    /// The complete subtrees it consists of, from the left.
    fn perfect(self) -> impl DoubleEndedIterator<Item = Perfect> {
        let length = self.end - self.start;
        let heights = (0..u64::BITS).rev().filter(move |h| length >> h & 1 == 1);
        heights.map(move |height| {
            let before = length & !(u64::MAX >> (u64::BITS - 1 - height));
            Perfect {
                height,
                index: (self.start + before) >> height,
            }
        })
    }

    pub fn needs(self) -> impl Iterator<Item = Range> {
        self.perfect().map(Perfect::range)
    }

    pub fn root(self, fetched: &Fetched) -> Result<Hash, Unprovable> {
        let peaks: Result<Vec<Hash>, _> = self.perfect().map(|part| fetched.root(part)).collect();
        Ok(fold(&peaks?))
    }
}

/// The root over complete subtrees of falling size.
fn fold(peaks: &[Hash]) -> Hash {
    let joined = peaks.iter().copied().rev();
    joined
        .reduce(|right, left| node_hash(&left, &right))
        .unwrap_or_else(empty_root)
}

/// The right edge of the tree: the roots of its complete subtrees, at most one
/// of each height. It is all that appending and the root need, and small
/// enough to be cloned, staged and thrown away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// From the left, so from the largest.
    peaks: Vec<Hash>,
}

impl Frontier {
    pub fn new() -> Frontier {
        Frontier::default()
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Hash {
        fold(&self.peaks)
    }

    /// Adds a leaf hash and hands each block that it completes to `completed`,
    /// lower levels first.
    pub fn push(&mut self, leaf: Hash, mut completed: impl FnMut(Subtree)) {
        let mut hash = leaf;
        for height in 1..=self.size.trailing_ones() {
            let left = self.peaks.pop().expect("one peak for each bit of the size");
            hash = node_hash(&left, &hash);
            if height % BITS_PER_LEVEL == 0 {
                completed(Subtree {
                    level: (height / BITS_PER_LEVEL) as u8,
                    index: self.size >> height,
                    hash,
                });
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// What [`Frontier::restore`] has to be given.
    pub fn restore_needs(size: u64) -> Vec<Range> {
        Span {
            start: 0,
            end: size,
        }
        .needs()
        .collect()
    }

    /// The right edge of a stored tree.
    pub fn restore(size: u64, fetched: &Fetched) -> Result<Frontier, Unprovable> {
        let whole = Span {
            start: 0,
            end: size,
        };
        let peaks: Result<_, _> = whole.perfect().map(|part| fetched.root(part)).collect();
        Ok(Frontier {
            size,
            peaks: peaks?,
        })
    }
}

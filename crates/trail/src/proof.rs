//! Proofs over the Merkle tree: that a leaf is in it, and that a newer tree
//! still begins with an older one (RFC 6962 section 2.1, checked as in RFC
//! 9162 section 2.1).
//!
//! A proof is a list of subtree roots from the leaf upwards. Which subtrees is
//! decided once, as spans of leaves; what has to be fetched and what is
//! computed both follow from that list.

use crate::{
    Hash,
    merkle::{Fetched, Range, Span, Unprovable, empty_root, node_hash},
};

/// What [`inclusion_proof`] has to be given.
pub fn inclusion_needs(index: u64, size: u64) -> Vec<Range> {
    needs(inclusion_spans(index, size))
}

/// That the leaf at `index` is in the tree of the first `size` leaves.
pub fn inclusion_proof(index: u64, size: u64, fetched: &Fetched) -> Result<Vec<Hash>, Unprovable> {
    if index >= size {
        return Err(Unprovable::OutOfRange { index, size });
    }
    roots(inclusion_spans(index, size), fetched)
}

/// What [`consistency_proof`] has to be given.
pub fn consistency_needs(old: u64, new: u64) -> Vec<Range> {
    needs(consistency_spans(old, new))
}

/// That the tree of `new` leaves begins with the tree of `old` leaves.
pub fn consistency_proof(old: u64, new: u64, fetched: &Fetched) -> Result<Vec<Hash>, Unprovable> {
    if old > new {
        return Err(Unprovable::OutOfRange {
            index: old,
            size: new,
        });
    }
    roots(consistency_spans(old, new), fetched)
}

fn needs(spans: Vec<Span>) -> Vec<Range> {
    spans.into_iter().flat_map(Span::needs).collect()
}

fn roots(spans: Vec<Span>, fetched: &Fetched) -> Result<Vec<Hash>, Unprovable> {
    spans.into_iter().map(|span| span.root(fetched)).collect()
}

/// Where RFC 6962 splits a node: the largest power of two below its length.
fn split(span: Span) -> u64 {
    let length = span.end - span.start;
    span.start + (1 << (u64::BITS - 1 - (length - 1).leading_zeros()))
}

fn inclusion_spans(index: u64, size: u64) -> Vec<Span> {
    let mut siblings = Vec::new();
    let mut node = Span {
        start: 0,
        end: size,
    };
    while index < size && node.end - node.start > 1 {
        siblings.push(descend(&mut node, |middle| index < middle));
    }
    siblings.reverse();
    siblings
}

fn consistency_spans(old: u64, new: u64) -> Vec<Span> {
    let mut siblings = Vec::new();
    let mut node = Span { start: 0, end: new };
    while 0 < old && old < node.end {
        siblings.push(descend(&mut node, |middle| old <= middle));
    }
    // The old tree itself is known to whoever checks, unless it is ragged:
    // then its last complete piece comes first.
    if node.start > 0 {
        siblings.push(node);
    }
    siblings.reverse();
    siblings
}

/// Goes to the left or the right half and gives back the other.
fn descend(node: &mut Span, left: impl Fn(u64) -> bool) -> Span {
    let middle = split(*node);
    let (lower, upper) = (
        Span {
            end: middle,
            ..*node
        },
        Span {
            start: middle,
            ..*node
        },
    );
    let (next, sibling) = match left(middle) {
        true => (lower, upper),
        false => (upper, lower),
    };
    *node = next;
    sibling
}

/// Whether the proof shows that `leaf` is at `index` in the tree of that root.
pub fn verify_inclusion(leaf: Hash, index: u64, size: u64, proof: &[Hash], root: Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last) = (index, size - 1);
    let mut hash = leaf;
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(sibling, &hash);
            // A node without a right sibling moves up unhashed.
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && hash == root
}

/// Whether the proof shows that the tree of root `new_root` begins with the
/// `old` leaves of root `old_root`.
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: Hash,
    new_root: Hash,
    proof: &[Hash],
) -> bool {
    if old > new {
        return false;
    }
    if old == new {
        return proof.is_empty() && old_root == new_root;
    }
    if old == 0 {
        return proof.is_empty() && old_root == empty_root();
    }
    // A complete old tree is its own first piece and is left out of the proof.
    let (first, rest) = match (old.is_power_of_two(), proof.split_first()) {
        (true, _) => (old_root, proof),
        (false, Some((first, rest))) => (*first, rest),
        (false, None) => return false,
    };
    let (mut at, mut last) = (old - 1, new - 1);
    while at & 1 == 1 {
        (at, last) = (at >> 1, last >> 1);
    }
    let (mut old_hash, mut new_hash) = (first, first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && old_hash == old_root && new_hash == new_root
}

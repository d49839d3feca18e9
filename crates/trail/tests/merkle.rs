//! The tree against the definition: RFC 6962's recursive MTH, PATH and PROOF,
//! written here as the RFC states them and far too slow for use.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use trail::{
    Hash,
    merkle::{Fetched, Frontier, Range, Subtree, empty_root, leaf_hash, node_hash},
    proof::{
        consistency_needs, consistency_proof, inclusion_needs, inclusion_proof, verify_consistency,
        verify_inclusion,
    },
};

fn leaf(n: u64) -> Hash {
    leaf_hash(&Hash::of("test", &[&n.to_be_bytes()]))
}

/// Everything a store would hold for a log of this size.
struct Stored(Vec<Vec<Hash>>, Frontier);

impl Stored {
    fn of(size: u64) -> Stored {
        let mut levels = vec![Vec::new(); 9];
        let mut frontier = Frontier::new();
        for n in 0..size {
            levels[0].push(leaf(n));
            frontier.push(leaf(n), |Subtree { level, index, hash }| {
                let level: &mut Vec<Hash> = &mut levels[usize::from(level)];
                assert_eq!(level.len() as u64, index, "blocks arrive in order");
                level.push(hash);
            });
        }
        Stored(levels, frontier)
    }

    fn fetch(&self, needs: Vec<Range>) -> Fetched {
        let mut total = [0; 9];
        let mut fetched = Fetched::new();
        for range in needs {
            let level = &self.0[usize::from(range.level)];
            total[usize::from(range.level)] += range.to - range.from;
            fetched.insert(
                range,
                level[range.from as usize..range.to as usize].to_vec(),
            );
        }
        assert!(total.iter().all(|n| *n <= 3 * 255), "{total:?}");
        fetched
    }

    fn root(&self, size: u64) -> Hash {
        let fetched = self.fetch(Frontier::restore_needs(size));
        Frontier::restore(size, &fetched).unwrap().root()
    }
}

fn below(n: usize) -> usize {
    n.next_power_of_two() / 2
}

fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(below(many.len()));
            node_hash(&mth(left), &mth(right))
        }
    }
}

fn path(m: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let k = below(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut path, sibling) = match m < k {
        true => (path(m, left), mth(right)),
        false => (path(m - k, right), mth(left)),
    };
    path.push(sibling);
    path
}

fn subproof(m: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
    if m == leaves.len() {
        return if whole { vec![] } else { vec![mth(leaves)] };
    }
    let k = below(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut proof, sibling) = match m <= k {
        true => (subproof(m, left, whole), mth(right)),
        false => (subproof(m - k, right, false), mth(left)),
    };
    proof.push(sibling);
    proof
}

fn check_inclusion(stored: &Stored, index: u64, size: u64) {
    let fetched = stored.fetch(inclusion_needs(index, size));
    let proof = inclusion_proof(index, size, &fetched).unwrap();
    let leaves = &stored.0[0][..size as usize];
    assert_eq!(proof, path(index as usize, leaves));
    let root = stored.root(size);
    assert_eq!(root, mth(leaves));
    assert!(verify_inclusion(leaf(index), index, size, &proof, root));
    assert!(!verify_inclusion(
        leaf(index + 1),
        index,
        size,
        &proof,
        root
    ));
    assert!(!verify_inclusion(leaf(index), index, size, &proof, leaf(0)) || size == 1);
    assert!(!verify_inclusion(
        leaf(index),
        index ^ 1,
        size,
        &proof,
        root
    ));
    let longer = [&proof[..], &[leaf(0)]].concat();
    assert!(!verify_inclusion(leaf(index), index, size, &longer, root));
    for n in 0..proof.len() {
        let mut shorter = proof.clone();
        shorter.remove(n);
        assert!(!verify_inclusion(leaf(index), index, size, &shorter, root));
    }
}

fn check_consistency(stored: &Stored, old: u64, new: u64) {
    let fetched = stored.fetch(consistency_needs(old, new));
    let proof = consistency_proof(old, new, &fetched).unwrap();
    if old > 0 {
        let leaves = &stored.0[0][..new as usize];
        assert_eq!(proof, subproof(old as usize, leaves, true));
    }
    let (old_root, new_root) = (stored.root(old), stored.root(new));
    assert!(verify_consistency(old, new, old_root, new_root, &proof));
    if 0 < old && old < new {
        assert!(!verify_consistency(old, new, leaf(7), new_root, &proof));
        assert!(!verify_consistency(old, new, old_root, leaf(7), &proof));
        let longer = [&proof[..], &[leaf(0)]].concat();
        assert!(!verify_consistency(old, new, old_root, new_root, &longer));
        let shorter = &proof[..proof.len() - 1];
        assert!(!verify_consistency(old, new, old_root, new_root, shorter));
    }
    assert!(!verify_consistency(
        new + 1,
        new,
        old_root,
        new_root,
        &proof
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn proofs_of_any_tree_are_those_of_the_definition(size in 1u64..2000, a: u64, b: u64) {
        let stored = Stored::of(size);
        check_inclusion(&stored, a % size, size);
        check_inclusion(&stored, a % size, a % size + 1 + b % (size - a % size));
        check_consistency(&stored, a % (size + 1), size);
    }

    #[test]
    fn a_restored_edge_goes_on_as_if_it_had_never_been_away(size in 0u64..2000, more in 0u64..600) {
        let stored = Stored::of(size + more);
        let fetched = stored.fetch(Frontier::restore_needs(size));
        let mut frontier = Frontier::restore(size, &fetched).unwrap();
        prop_assert_eq!(frontier.size(), size);
        for n in size..size + more {
            frontier.push(leaf(n), |_| {});
        }
        prop_assert_eq!(&frontier, &stored.1);
        prop_assert_eq!(frontier.root(), mth(&stored.0[0]));
    }
}

#[test]
fn every_small_tree_and_every_pair_of_sizes_agree_with_the_definition() {
    let stored = Stored::of(40);
    for size in 0..=40 {
        (0..size).for_each(|index| check_inclusion(&stored, index, size));
        (0..=size).for_each(|old| check_consistency(&stored, old, size));
    }
}

#[test]
fn block_boundaries_agree_with_the_definition() {
    let stored = Stored::of(65_540);
    assert_eq!((stored.0[1].len(), stored.0[2].len()), (256, 1));
    let edges = [1, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537];
    for size in edges {
        // The definition is slow: of the large trees, only the telling pairs.
        let telling = |other: &u64| *other <= size && (size < 1000 || *other % 256 < 2);
        for other in edges.into_iter().filter(telling) {
            check_inclusion(&stored, other - 1, size);
            check_consistency(&stored, other, size);
        }
    }
}

#[test]
fn the_empty_tree_has_the_hash_of_nothing() {
    assert_eq!(
        Frontier::new().root().to_hex(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert!(verify_consistency(0, 5, empty_root(), leaf(1), &[]));
    assert!(!verify_inclusion(leaf(0), 0, 0, &[], leaf(0)));
}

#[test]
fn a_hole_in_the_store_is_an_error_and_not_a_proof() {
    let mut fetched = Fetched::new();
    let needs = inclusion_needs(3, 600);
    for range in &needs {
        fetched.insert(*range, vec![leaf(0); 3]);
    }
    assert_eq!(
        inclusion_proof(3, 600, &fetched).unwrap_err().code(),
        "not_fetched"
    );
    assert_eq!(
        inclusion_proof(600, 600, &fetched).unwrap_err().code(),
        "out_of_range"
    );
    assert!(consistency_proof(6, 5, &fetched).is_err());
}

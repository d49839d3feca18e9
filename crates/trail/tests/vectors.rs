//! The committed vectors are what this crate computes from fixed seeds, so a
//! stranger who agrees with them agrees with us.
//!
//! `WAKEFUL_WRITE_VECTORS=1 cargo test -p trail --test vectors` writes them anew.
#![allow(clippy::disallowed_methods, reason = "the vectors are files")]
#![allow(clippy::unwrap_used)]

mod sample;

use std::{fs, path::PathBuf};

use sample::Log;
use serde_json::{Value, json};
use trail::{
    Hash, LogKey,
    merkle::{Fetched, Frontier, leaf_hash},
    proof::{consistency_needs, consistency_proof, inclusion_needs, inclusion_proof},
    rotation::{Rotation, rotation_message},
};

fn check(name: &str, bytes: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("vectors")
        .join(name);
    if std::env::var_os("WAKEFUL_WRITE_VECTORS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    let committed = fs::read(&path).unwrap();
    assert!(committed == bytes, "{name} is not what the crate computes");
}

fn check_json(name: &str, value: &Value) {
    let mut text = serde_json::to_string_pretty(value).unwrap();
    text.push('\n');
    check(name, text.as_bytes());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn entries_hash_as_in_the_vectors() {
    let log = Log::sample();
    let entries = log.entries.iter().map(|kept| {
        let parts = kept.draft.parts.iter().map(|part| {
            json!({
                "name": part.name,
                "salt": hex(&part.salt),
                "bytes": hex(&part.bytes),
                "commitment": part.commitment(),
            })
        });
        json!({
            "header": String::from_utf8(kept.sealed.header.clone()).unwrap(),
            "seq": kept.sealed.seq,
            "prev_hash": kept.prev,
            "parts": parts.collect::<Vec<_>>(),
            "local_hash": kept.sealed.local_hash,
            "entry_hash": kept.sealed.entry_hash,
            "leaf_hash": leaf_hash(&kept.sealed.entry_hash),
        })
    });
    check_json(
        "entries.json",
        &json!({ "entries": entries.collect::<Vec<_>>() }),
    );
}

#[test]
fn trees_and_proofs_are_as_in_the_vectors() {
    // Leaf n stands for an entry hash of 32 bytes n.
    let leaves: Vec<Hash> = (0..20).map(|n| leaf_hash(&Hash([n; 32]))).collect();
    let fetch = |needs: Vec<trail::merkle::Range>| {
        let mut fetched = Fetched::new();
        for range in needs {
            let hashes = &leaves[range.from as usize..range.to as usize];
            fetched.insert(range, hashes.to_vec());
        }
        fetched
    };
    let mut tree = Frontier::new();
    let mut roots = vec![tree.root()];
    for leaf in &leaves {
        tree.push(*leaf, |_| {});
        roots.push(tree.root());
    }
    let pairs = [(0, 1), (0, 7), (3, 7), (6, 7), (12, 13), (8, 20), (19, 20)];
    let inclusion = pairs.map(|(index, size)| {
        let proof = inclusion_proof(index, size, &fetch(inclusion_needs(index, size))).unwrap();
        json!({ "index": index, "size": size, "proof": proof })
    });
    let pairs = [(1, 2), (3, 7), (4, 7), (6, 8), (8, 20), (13, 20), (20, 20)];
    let consistency = pairs.map(|(old, new)| {
        let proof = consistency_proof(old, new, &fetch(consistency_needs(old, new))).unwrap();
        json!({ "old": old, "new": new, "proof": proof })
    });
    check_json(
        "merkle.json",
        &json!({ "roots": roots, "inclusion": inclusion, "consistency": consistency }),
    );
}

#[test]
fn keys_notes_and_rotations_are_as_in_the_vectors() {
    let log = Log::sample();
    let next = LogKey::from_seed(sample::ORIGIN, [0x43; 32]).unwrap();
    let message = rotation_message(log.key.verifier(), next.verifier());
    check_json(
        "checkpoint.json",
        &json!({
            "seed": hex(&sample::SEED),
            "key": log.key.verifier().to_string(),
            "note": log.note(),
            "next_seed": hex(&[0x43; 32]),
            "rotation": Rotation::sign(&log.key, &next),
            "rotation_message": hex(&message),
        }),
    );
}

#[test]
fn the_sample_export_receipt_and_key_are_those_committed() {
    let log = Log::sample();
    check("sample-export.jsonl", &log.export());
    check("sample-receipt.json", &log.receipt(4).to_vec());
    check(
        "sample-key.txt",
        format!("{}\n", log.key.verifier()).as_bytes(),
    );
}

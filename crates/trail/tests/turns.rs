//! A log starts, changes its key, goes on from a backup: a reader who trusted
//! the first key can follow, and nothing false is followed.

#![allow(clippy::unwrap_used)]

mod sample;

use sample::{Log, ORIGIN};
use trail::{Fault, Keyring, LogKey, export_reader::verify_export, rotation::Rotation};

fn key(seed: u8) -> LogKey {
    LogKey::from_seed(ORIGIN, [seed; 32]).unwrap()
}

fn facts(rotation: &Rotation) -> String {
    serde_json::to_string(rotation).unwrap()
}

/// Of a log as it stands, by someone who trusts the key it started with.
fn verify(log: &Log) -> Result<(), Fault> {
    let first = LogKey::from_seed(ORIGIN, sample::SEED).unwrap();
    let keys = Keyring::new(first.verifier().clone());
    verify_export(&log.export()[..], &keys, [], 1).map(drop)
}

fn code(log: &Log) -> (u64, &'static str) {
    let fault = verify(log).unwrap_err();
    (fault.position, fault.reason.code())
}

#[test]
fn whoever_trusts_the_first_key_follows_to_the_last() {
    let mut log = Log::sample();
    for seed in [1, 2] {
        let next = key(seed);
        log.turn("log_key_rotated", &facts(&Rotation::sign(&log.key, &next)));
        log.key = next;
    }
    verify(&log).unwrap();
    // And whoever trusts the last needs no other.
    let keys = Keyring::new(log.key.verifier().clone());
    verify_export(&log.export()[..], &keys, [], 1).unwrap();
    // A key that was never handed over to is not the log's.
    log.key = key(3);
    assert_eq!(code(&log), (0, "key_not_trusted"));
}

#[test]
fn a_false_hand_over_is_found_where_it_stands() {
    let good = Rotation::sign(&Log::empty().key, &key(1));
    let other = Rotation::sign(&key(2), &key(1));
    for (rotation, expected) in [
        (
            Rotation {
                old_signature: other.old_signature.clone(),
                ..good.clone()
            },
            "rotation_old_signature",
        ),
        (
            Rotation {
                new_signature: other.new_signature.clone(),
                ..good.clone()
            },
            "rotation_new_signature",
        ),
        (other, "rotation_not_current"),
    ] {
        let mut log = Log::sample();
        log.turn("log_key_rotated", &facts(&rotation));
        log.key = key(1);
        assert_eq!(code(&log), (7, expected));
    }
    let mut log = Log::sample();
    log.turn("log_key_rotated", "{}");
    assert_eq!(code(&log), (7, "turn_malformed"));
}

#[test]
fn a_restored_log_begins_with_the_one_it_says_it_was_restored_from() {
    let restored = |note: &str| {
        let mut log = Log::sample();
        let facts = serde_json::json!({
            "key": log.key.verifier().to_string(), "old_checkpoint": note,
            "old_origin": ORIGIN, "origin": ORIGIN,
        });
        log.turn("log_restored", &facts.to_string());
        log
    };
    let sample = Log::sample();
    verify(&restored(&sample.note())).unwrap();
    let earlier = sample.key.sign(&sample.checkpoint(5));
    assert_eq!(code(&restored(&earlier)), (7, "restored_from_other"));
    let mut other = sample.checkpoint(7);
    other.root = trail::Hash::ZERO;
    let other = sample.key.sign(&other);
    assert_eq!(code(&restored(&other)), (7, "restored_from_other"));
    assert_eq!(code(&restored("nothing")), (7, "turn_malformed"));
}

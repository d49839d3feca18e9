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

#[test]
fn a_log_that_goes_on_after_a_damage_says_from_where() {
    let continued = |kept: u64, missing: u64, size: usize, root: trail::Hash| {
        let mut log = Log::sample();
        let mut old = log.checkpoint(7);
        old.size = size as u64;
        let facts = serde_json::json!({
            "key": log.key.verifier().to_string(), "kept": kept, "missing": missing,
            "old_checkpoint": log.key.sign(&old), "old_origin": ORIGIN, "origin": ORIGIN,
            "reason": "entry 7 is not there", "root": root,
        });
        log.turn("log_continued", &facts.to_string());
        log
    };
    let root = Log::sample().checkpoint(7).root;
    // The checkpoint counted more, or as many, or fewer.
    verify(&continued(7, 13, 20, root)).unwrap();
    verify(&continued(7, 0, 7, root)).unwrap();
    verify(&continued(7, 0, 5, root)).unwrap();
    assert_eq!(
        code(&continued(6, 14, 20, root)),
        (7, "continued_elsewhere")
    );
    let zero = trail::Hash::ZERO;
    assert_eq!(
        code(&continued(7, 13, 20, zero)),
        (7, "continued_elsewhere")
    );
    assert_eq!(code(&continued(7, 12, 20, root)), (7, "turn_malformed"));
}

#[test]
fn content_of_a_delivery_is_absent_only_if_an_entry_says_that_it_was_erased() {
    let delivered = |erased: &[&'static str]| {
        let mut log = Log::sample();
        let part = |name: &'static str, bytes: &str| trail::Part {
            name: name.into(),
            salt: [9; 32],
            bytes: bytes.as_bytes().to_vec(),
        };
        let facts = r#"{"delivery_id":"d1"}"#;
        let parts = vec![part("facts", facts), part("details", "text")];
        log.add("agent/a", None, "delivery_received", parts, erased);
        log
    };
    verify(&delivered(&[])).unwrap();
    let mut log = delivered(&["details"]);
    assert_eq!(code(&log), (7, "part_missing"));
    log.turn(
        "content_erased",
        r#"{"delivery_ids":["d2"],"retention_days":0}"#,
    );
    assert_eq!(code(&log), (7, "part_missing"));
    log.turn(
        "content_erased",
        r#"{"delivery_ids":["d1"],"retention_days":0}"#,
    );
    verify(&log).unwrap();
}

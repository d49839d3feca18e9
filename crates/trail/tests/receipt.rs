//! A receipt proves its entry with nothing but the log's key, or says why not.

#![allow(clippy::unwrap_used)]

mod sample;

use sample::Log;
use trail::{Hash, LogKey, Receipt};

fn changed(position: usize, change: impl FnOnce(&mut Receipt)) -> &'static str {
    let log = Log::sample();
    let mut receipt = log.receipt(position);
    change(&mut receipt);
    receipt.verify(log.key.verifier()).unwrap_err().code()
}

#[test]
fn every_entry_has_a_receipt_that_verifies_and_reads_back() {
    let log = Log::sample();
    for (position, kept) in log.entries.iter().enumerate() {
        let bytes = log.receipt(position).to_vec();
        let receipt = Receipt::read(&bytes).unwrap();
        assert_eq!(receipt, log.receipt(position));
        let verified = receipt.verify(log.key.verifier()).unwrap();
        assert_eq!(verified.stream, kept.draft.stream);
        assert_eq!(verified.entry_hash, kept.sealed.entry_hash);
        assert_eq!(verified.erased, kept.erased);
    }
}

#[test]
fn each_change_has_its_own_fault() {
    let code = changed(1, |receipt| receipt.wakeful_receipt = 2);
    assert_eq!(code, "receipt_malformed");
    let code = changed(1, |receipt| receipt.header.push(' '));
    assert_eq!(code, "header_malformed");
    let code = changed(4, |receipt| receipt.prev_hash = None);
    assert_eq!(code, "prev_hash");
    let code = changed(4, |receipt| receipt.prev_hash = Some(Hash::ZERO));
    assert_eq!(code, "not_included");
    let code = changed(4, |receipt| receipt.seq += 1);
    assert_eq!(code, "not_included");
    let code = changed(4, |receipt| {
        receipt.header = receipt.header.replace("ada", "eve")
    });
    assert_eq!(code, "not_included");
    let code = changed(4, |receipt| receipt.position += 1);
    assert_eq!(code, "not_included");
    let code = changed(4, |receipt| receipt.position = 7);
    assert_eq!(code, "not_covered");
    let code = changed(4, |receipt| receipt.inclusion.truncate(1));
    assert_eq!(code, "not_included");
    let code = changed(4, |receipt| receipt.parts.swap(0, 1));
    assert_eq!(code, "parts_differ");
    let code = changed(4, |receipt| drop(receipt.parts.pop()));
    assert_eq!(code, "parts_differ");
    let code = changed(4, |receipt| {
        receipt.parts[1].bytes = Some("AA==".to_owned())
    });
    assert_eq!(code, "part_changed");
    let code = changed(4, |receipt| receipt.parts[1].salt = None);
    assert_eq!(code, "receipt_malformed");
    let code = changed(4, |receipt| {
        (receipt.parts[0].salt, receipt.parts[0].bytes) = (None, None);
    });
    assert_eq!(code, "facts_missing");
    let code = changed(4, |receipt| {
        receipt.checkpoint = receipt.checkpoint.replace("\n7\n", "\n8\n")
    });
    assert_eq!(code, "checkpoint_bad_signature");
    let other = LogKey::from_seed(sample::ORIGIN, [9; 32]).unwrap();
    let fault = Log::sample()
        .receipt(1)
        .verify(other.verifier())
        .unwrap_err();
    assert_eq!(fault.code(), "checkpoint_not_signed");
}

#[test]
fn no_flipped_bit_changes_what_a_receipt_proves() {
    let log = Log::sample();
    let mut bytes = log.receipt(1).to_vec();
    let good = log.receipt(1).verify(log.key.verifier()).unwrap();
    let mut refused = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            let read = Receipt::read(&bytes);
            match read.and_then(|receipt| receipt.verify(log.key.verifier())) {
                Ok(verified) => assert_eq!(verified, good, "byte {at} bit {bit}"),
                Err(_) => refused += 1,
            }
            bytes[at] ^= 1 << bit;
        }
    }
    // A receipt is ordinary JSON: some flips only respell it.
    assert!(refused > bytes.len() * 8 * 99 / 100);
}

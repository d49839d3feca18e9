//! An export in which anything at all was changed does not verify, and the
//! first bad entry is named.

#![allow(clippy::unwrap_used)]

mod sample;

use sample::Log;
use trail::{
    Checkpoint, Fault, Hash, Keyring, LogKey,
    export::MAX_LINE_BYTES,
    export_reader::{ExportReader, verify_export},
    verify::Report,
};

fn verify(file: &[u8]) -> Result<Report, Fault> {
    let log = LogKey::from_seed(sample::ORIGIN, sample::SEED).unwrap();
    verify_export(file, &Keyring::new(log.verifier().clone()), [], 1)
}

fn lines(file: &[u8]) -> Vec<&[u8]> {
    file.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn an_untouched_export_verifies_and_reads_back() {
    let log = Log::sample();
    let file = log.export();
    let report = verify(&file).unwrap();
    assert_eq!(report.checkpoint, log.checkpoint(7));
    assert_eq!((report.streams, report.parts, report.erased), (3, 12, 3));
    let mut reader = ExportReader::open(&file[..]).unwrap();
    for (position, kept) in log.entries.iter().enumerate() {
        let mut expected = kept.export(position as u64);
        expected.parts.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(reader.next().unwrap(), Some(expected));
    }
    assert_eq!(reader.next().unwrap(), None);
    assert_eq!(reader.note(), Some(&log.note()[..]));
}

#[test]
fn every_flipped_bit_is_found_and_its_entry_named() {
    let mut file = Log::sample().export();
    let lines: Vec<usize> = lines(&file).into_iter().map(<[u8]>::len).collect();
    let mut start = 0;
    for (line, length) in lines.into_iter().enumerate() {
        for at in start..start + length {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                let fault = verify(&file).unwrap_err();
                let expected = line.saturating_sub(1) as u64;
                assert_eq!(fault.position, expected, "byte {at} bit {bit}: {fault}");
                file[at] ^= 1 << bit;
            }
        }
        start += length;
    }
    assert!(verify(&file).is_ok());
}

#[test]
fn every_dropped_line_is_found_and_named() {
    let file = Log::sample().export();
    let lines = lines(&file);
    for dropped in 0..lines.len() {
        let mut left = lines.clone();
        left.remove(dropped);
        let fault = verify(&left.concat()).unwrap_err();
        assert_eq!(fault.position, dropped.saturating_sub(1) as u64, "{fault}");
    }
}

#[test]
fn every_doubled_line_is_found_and_named() {
    let file = Log::sample().export();
    let lines = lines(&file);
    for doubled in 0..lines.len() {
        let mut more = lines.clone();
        more.insert(doubled, lines[doubled]);
        let fault = verify(&more.concat()).unwrap_err();
        // The copy stands where the next entry, or nothing, should.
        let last = lines.len() - 2;
        assert_eq!(fault.position, doubled.min(last) as u64, "{fault}");
    }
}

#[test]
fn every_two_swapped_lines_are_found_and_the_first_named() {
    let file = Log::sample().export();
    let lines = lines(&file);
    for first in 0..lines.len() {
        for second in first + 1..lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(first, second);
            let fault = verify(&swapped.concat()).unwrap_err();
            assert_eq!(fault.position, first.saturating_sub(1) as u64, "{fault}");
        }
    }
}

#[test]
fn every_truncation_is_found() {
    let file = Log::sample().export();
    for length in 0..file.len() {
        let fault = verify(&file[..length]).unwrap_err();
        let whole = lines(&file[..length]).len();
        assert!(fault.position <= whole as u64, "{length}: {fault}");
    }
}

#[test]
fn whatever_follows_the_checkpoint_is_found() {
    let file = Log::sample().export();
    for more in [&b"\n"[..], b" ", b"{}", b"x\n", &file] {
        let fault = verify(&[&file, more].concat()).unwrap_err();
        assert_eq!((fault.position, fault.reason.code()), (7, "after_end"));
    }
}

#[test]
fn an_export_with_another_key_is_not_trusted() {
    let file = Log::sample().export();
    let other = LogKey::from_seed(sample::ORIGIN, [1; 32]).unwrap();
    let keys = Keyring::new(other.verifier().clone());
    let fault = verify_export(&file[..], &keys, [], 1).unwrap_err();
    assert_eq!(fault.reason.code(), "key_not_trusted");
}

#[test]
fn a_log_that_agrees_with_kept_checkpoints_verifies_and_any_other_does_not() {
    let log = Log::sample();
    let file = log.export();
    let keys = Keyring::new(log.key.verifier().clone());
    let since = |kept: Vec<Checkpoint>| verify_export(&file[..], &keys, kept, 2);
    let all = (0..=7).rev().map(|size| log.checkpoint(size)).collect();
    assert_eq!(since(all).unwrap().kept, 8);

    let with = |size, change: fn(&mut Checkpoint)| {
        let mut kept = log.checkpoint(size);
        change(&mut kept);
        let fault = since(vec![log.checkpoint(2), kept]).unwrap_err();
        (fault.position, fault.reason.code())
    };
    assert_eq!(with(5, |kept| kept.root = Hash::ZERO), (2, "rewritten"));
    assert_eq!(with(0, |kept| kept.root = Hash::ZERO), (0, "rewritten"));
    assert_eq!(with(7, |kept| kept.size = 8), (7, "rolled_back"));
    let foreign: fn(&mut Checkpoint) = |kept| kept.origin = "other".to_owned();
    assert_eq!(with(5, foreign), (0, "other_origin"));
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let mut log = Log::empty();
    for n in 0..3000 {
        let part = trail::Part {
            name: "facts".into(),
            salt: [7; 32],
            bytes: vec![b'x'; n % 900],
        };
        let stream = format!("agent/{}", n % 13);
        let workspace = (n % 3 == 0).then_some("w");
        log.add(&stream, workspace, "delivered", vec![part], &[]);
    }
    let mut file = log.export();
    let keys = Keyring::new(log.key.verifier().clone());
    let good = verify_export(&file[..], &keys, [], 1).unwrap();
    for threads in [0, 2, 3, 8] {
        assert_eq!(
            verify_export(&file[..], &keys, [], threads),
            Ok(good.clone())
        );
    }
    // Two bad entries: the later one must never be the one reported.
    let starts: Vec<usize> = lines(&file)
        .iter()
        .scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        })
        .collect();
    for bad in [2000, 1200] {
        file[starts[bad] + 20] ^= 1;
    }
    for threads in [1, 2, 3, 8] {
        let fault = verify_export(&file[..], &keys, [], threads).unwrap_err();
        assert_eq!(fault.position, 1200);
    }
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_not_read_to_its_end() {
    use std::io::{BufReader, Read, repeat};
    let file = Log::sample().export();
    let keys = Keyring::new(Log::empty().key.verifier().clone());
    let opening = lines(&file)[0];
    let endless = BufReader::new(opening.chain(repeat(b'x')));
    let fault = verify_export(endless, &keys, [], 1).unwrap_err();
    assert_eq!(fault.reason.code(), "line_too_long");
    assert!(fault.to_string().contains(&MAX_LINE_BYTES.to_string()));
}

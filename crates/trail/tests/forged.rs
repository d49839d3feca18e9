//! Logs whose hashes were computed anew by a forger: what still gives them away.

#![allow(clippy::unwrap_used)]

mod sample;

use sample::Log;
use trail::{
    Fault, Hash, Verifier,
    digest::{StoredEntry, StoredPart},
    fault::Reason,
};

/// One entry as a table would hold it, open to changes.
struct Row {
    position: u64,
    stream: String,
    seq: u64,
    header: Vec<u8>,
    entry_hash: Option<Hash>,
    prev_hash: Option<Option<Hash>>,
    parts: Vec<(String, Vec<u8>, Vec<u8>)>,
}

fn rows(log: &Log) -> Vec<Row> {
    let entries = log.entries.iter().enumerate();
    entries
        .map(|(position, kept)| Row {
            position: position as u64,
            stream: kept.draft.stream.clone(),
            seq: kept.sealed.seq,
            header: kept.sealed.header.clone(),
            entry_hash: Some(kept.sealed.entry_hash),
            prev_hash: Some(kept.prev),
            parts: kept
                .draft
                .parts
                .iter()
                .filter(|part| !kept.is_erased(part))
                .map(|part| {
                    (
                        part.name.to_string(),
                        part.salt.to_vec(),
                        part.bytes.clone(),
                    )
                })
                .collect(),
        })
        .collect()
}

fn verify(rows: &[Row], log: &Log) -> Result<u64, Fault> {
    let mut verifier = Verifier::new();
    for row in rows {
        let parts: Vec<StoredPart<'_>> = row
            .parts
            .iter()
            .map(|(name, salt, bytes)| StoredPart { name, salt, bytes })
            .collect();
        verifier.entry(&StoredEntry {
            position: row.position,
            stream: &row.stream,
            seq: row.seq,
            header: &row.header,
            entry_hash: row.entry_hash,
            prev_hash: row.prev_hash,
            prev: None,
            parts: &parts,
        })?;
    }
    let report = verifier.finish(&log.checkpoint(log.entries.len()))?;
    Ok(report.erased)
}

fn changed(change: impl FnOnce(&mut Vec<Row>)) -> (u64, &'static str) {
    let log = Log::sample();
    let mut rows = rows(&log);
    change(&mut rows);
    let fault = verify(&rows, &log).unwrap_err();
    (fault.position, fault.reason.code())
}

fn replace(row: &mut Row, from: &str, to: &str) {
    let header = String::from_utf8(row.header.clone()).unwrap();
    assert!(header.contains(from), "{header}");
    row.header = header.replacen(from, to, 1).into_bytes();
}

#[test]
fn an_untouched_table_verifies_and_erased_parts_are_counted() {
    let log = Log::sample();
    assert_eq!(verify(&rows(&log), &log), Ok(3));
}

/// The code and position to be reported, and the change.
type Case = (&'static str, u64, fn(&mut Vec<Row>));

#[test]
fn each_change_to_an_entry_has_its_own_reason() {
    let cases: [Case; 15] = [
        ("header_malformed", 1, |rows| rows[1].header.push(b' ')),
        ("stream_differs", 1, |rows| rows[1].stream.push('x')),
        ("facts_missing", 1, |rows| drop(rows[1].parts.remove(0))),
        ("part_unknown", 2, |rows| {
            rows[2].parts.push(("x".into(), vec![0; 32], vec![]))
        }),
        ("part_twice", 2, |rows| {
            let again = rows[2].parts[0].clone();
            rows[2].parts.push(again);
        }),
        ("part_changed", 1, |rows| rows[1].parts[1].2.push(0)),
        ("part_changed", 1, |rows| {
            // Moves a byte over the border between salt and content.
            let (_, salt, bytes) = &mut rows[1].parts[0];
            salt.push(bytes.remove(0));
        }),
        ("out_of_place", 3, |rows| rows[3].position = 9),
        ("seq_broken", 4, |rows| rows[4].seq = 2),
        ("prev_hash_differs", 4, |rows| {
            rows[4].prev_hash = Some(None)
        }),
        ("entry_hash_differs", 4, |rows| {
            rows[4].entry_hash = Some(Hash::ZERO)
        }),
        ("entry_hash_differs", 4, |rows| {
            replace(&mut rows[4], "ada", "eve")
        }),
        ("missing", 6, |rows| drop(rows.pop())),
        ("out_of_place", 2, |rows| drop(rows.remove(2))),
        ("out_of_place", 1, |rows| rows.swap(1, 2)),
    ];
    for (n, (code, position, change)) in cases.into_iter().enumerate() {
        assert_eq!(changed(change), (position, code), "case {n}");
    }
}

#[test]
fn a_table_without_stored_hashes_is_caught_by_the_root() {
    let found = changed(|rows| {
        for row in rows.iter_mut() {
            (row.entry_hash, row.prev_hash) = (None, None);
        }
        replace(&mut rows[4], "ada", "eve");
    });
    assert_eq!(found, (0, "root_differs"));
}

#[test]
fn to_hide_one_change_every_later_link_must_be_made_anew_and_the_root_still_tells() {
    let honest = || {
        let mut log = Log::empty();
        for n in 0..8 {
            let facts = trail::Part {
                name: "facts".into(),
                salt: [n; 32],
                bytes: b"{}".to_vec(),
            };
            log.add("run/1", None, "said", vec![facts], &[]);
        }
        log
    };
    let kept = honest();
    for changed in 0..8 {
        for last in changed..8 {
            let mut log = honest();
            log.entries[changed].draft.actor = "user/eve".to_owned();
            for at in changed..=last {
                let prev = at
                    .checked_sub(1)
                    .map(|at| log.entries[at].sealed.entry_hash);
                let entry = &mut log.entries[at];
                (entry.prev, entry.sealed) = (prev, entry.draft.seal(prev, at as u64));
            }
            let fault = verify(&rows(&log), &kept).unwrap_err();
            let found = (fault.position, fault.reason.code());
            match last {
                7 => assert_eq!(found, (0, "root_differs")),
                last => assert_eq!(found, (last as u64 + 1, "prev_hash_differs")),
            }
        }
    }
}

/// Seals entries that no honest engine would write.
fn sealed(change: impl FnOnce(&mut Log)) -> (u64, &'static str) {
    let mut log = Log::sample();
    change(&mut log);
    let last = log.entries.last_mut().unwrap();
    let seq = last.sealed.seq;
    last.sealed = last.draft.seal(last.prev, seq);
    let fault = verify(&rows(&log), &log).unwrap_err();
    assert_eq!(fault.seq, Some(seq));
    (fault.position, fault.reason.code())
}

#[test]
fn a_signed_log_that_breaks_its_own_rules_is_refused() {
    let resolved = |log: &mut Log| drop(log.entries.pop());
    let found = sealed(|log| log.entries[6].draft.time.0 -= 1);
    assert_eq!(found, (6, "time_not_later"));
    let found = sealed(|log| {
        resolved(log);
        log.entries[5].draft.local.as_mut().unwrap().seq = 2;
    });
    assert_eq!(found, (5, "local_seq_broken"));
    let found = sealed(|log| {
        resolved(log);
        log.entries[5].draft.local.as_mut().unwrap().prev = Some(Hash::ZERO);
    });
    assert_eq!(found, (5, "local_prev_differs"));
    let found = sealed(|log| {
        resolved(log);
        log.entries[5].draft.local.as_mut().unwrap().prev = None;
    });
    assert_eq!(found, (5, "local_incomplete"));
    let found = sealed(|log| {
        let again = log.entries[6].draft.parts[1].clone();
        log.entries[6].draft.parts.push(again);
    });
    assert_eq!(found, (6, "part_twice"));
}

#[test]
fn more_entries_than_the_checkpoint_counts_are_named() {
    let log = Log::sample();
    let mut verifier = Verifier::new();
    let rows = rows(&log);
    for row in &rows[..1] {
        let (name, salt, bytes) = &row.parts[0];
        let parts = [StoredPart { name, salt, bytes }];
        verifier
            .entry(&StoredEntry {
                position: row.position,
                stream: &row.stream,
                seq: row.seq,
                header: &row.header,
                entry_hash: None,
                prev_hash: None,
                prev: None,
                parts: &parts,
            })
            .unwrap();
    }
    let fault = verifier.finish(&log.checkpoint(0)).unwrap_err();
    assert_eq!(fault, Reason::Extra { size: 0 }.at(0));
}

//! How fast a log is verified: entries in memory, as a database gives them,
//! and an export file. `cargo run --release -p trail --example verify_speed`
#![allow(clippy::disallowed_methods, reason = "measures time")]
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{borrow::Cow, time::Instant};

use trail::{
    Checkpoint, Draft, Hash, Keyring, LogKey, Micros, Part, Sealed, Verifier,
    digest::{Digests, StoredEntry, StoredPart},
    entry::Local,
    export::{ExportEntry, ExportPart, ExportWriter},
    export_reader::verify_export,
    merkle::{Frontier, leaf_hash},
    pipeline::link_in_order,
};

const ENTRIES: usize = 400_000;
const STREAMS: usize = 1000;
const CHUNK: usize = 512;

struct Row {
    draft: Draft,
    sealed: Sealed,
    prev: Option<Hash>,
}

fn rows() -> Vec<Row> {
    let mut heads: Vec<(u64, Option<Hash>, Option<Hash>)> = vec![(0, None, None); STREAMS];
    let mut rows = Vec::with_capacity(ENTRIES);
    for n in 0..ENTRIES {
        let stream = (n / 3).wrapping_mul(2_654_435_761) % STREAMS;
        let (seq, prev, local_prev) = heads[stream];
        let part = |name: &'static str, length: usize| Part {
            name: Cow::Borrowed(name),
            salt: [n as u8; 32],
            bytes: vec![b'a' + (n % 26) as u8; length],
        };
        let draft = Draft {
            stream: format!("agent/0198c0de-0000-7000-8000-{stream:012}"),
            id: format!("ev_0198c0de-0000-7000-8000-{n:012}"),
            time: Micros(1_772_872_260_000_000 + n as i64),
            actor: "agent/0198c0de-0000-7000-8000-000000000001".to_owned(),
            event_type: "delivered",
            local: Some(Local {
                workspace: "main".to_owned(),
                seq,
                prev: local_prev,
            }),
            parts: vec![part("facts", 350)],
        };
        let sealed = draft.seal(prev, seq);
        heads[stream] = (seq + 1, Some(sealed.entry_hash), Some(sealed.local_hash));
        rows.push(Row {
            draft,
            sealed,
            prev,
        });
    }
    rows
}

fn digest(base: usize, rows: &[Row], digests: &mut Digests) {
    for (n, row) in rows.iter().enumerate() {
        let part = &row.draft.parts[0];
        digests.push(&StoredEntry {
            position: (base + n) as u64,
            stream: &row.draft.stream,
            seq: row.sealed.seq,
            header: &row.sealed.header,
            entry_hash: Some(row.sealed.entry_hash),
            prev_hash: Some(row.prev),
            prev: None,
            parts: &[StoredPart {
                name: &part.name,
                salt: &part.salt,
                bytes: &part.bytes,
            }],
        });
    }
}

fn export(rows: &[Row], key: &LogKey, note: &str) -> Vec<u8> {
    let mut writer = ExportWriter::begin(Vec::new(), key.verifier()).unwrap();
    for (n, row) in rows.iter().enumerate() {
        let parts = row.draft.parts.iter().map(|part| ExportPart {
            name: part.name.clone(),
            content: Some((part.salt, Cow::Borrowed(&part.bytes[..]))),
        });
        let entry = ExportEntry {
            position: n as u64,
            seq: row.sealed.seq,
            entry_hash: row.sealed.entry_hash,
            prev_hash: row.prev,
            header: &row.sealed.header,
            parts: parts.collect(),
        };
        writer.entry(&entry).unwrap();
    }
    writer.finish(note).unwrap()
}

fn timed<T>(what: &str, work: impl Fn() -> T) {
    let best = (0..3)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    let rate = ENTRIES as f64 / best.as_secs_f64();
    println!("{what}: {rate:.0} entries/s");
}

fn main() {
    let key = LogKey::from_seed("wakeful.example/speed", [1; 32]).unwrap();
    let rows = rows();
    let mut tree = Frontier::new();
    for row in &rows {
        tree.push(leaf_hash(&row.sealed.entry_hash), |_| {});
    }
    let checkpoint = Checkpoint {
        origin: key.name().to_owned(),
        size: tree.size(),
        root: tree.root(),
    };
    println!(
        "{ENTRIES} entries, header {} bytes",
        rows[ENTRIES - 1].sealed.header.len()
    );

    timed("digest alone, 1 thread", || {
        for (n, chunk) in rows.chunks(CHUNK).enumerate() {
            digest(n * CHUNK, chunk, &mut Digests::new());
        }
    });
    for threads in [1, 2, 3, 4] {
        timed(&format!("in memory, {threads} threads"), || {
            let mut verifier = Verifier::new();
            let mut chunks = rows.chunks(CHUNK).enumerate();
            let work = |(n, chunk): &(usize, &[Row]), digests: &mut Digests| {
                digest(n * CHUNK, chunk, digests);
            };
            link_in_order(&mut verifier, threads, || chunks.next(), work).unwrap();
            verifier.finish(&checkpoint).unwrap()
        });
    }
    let file = export(&rows, &key, &key.sign(&checkpoint));
    println!("export of {} bytes per entry", file.len() / ENTRIES);
    let keys = Keyring::new(key.verifier().clone());
    for threads in [1, 2, 3, 4] {
        timed(&format!("export, {threads} threads"), || {
            verify_export(&file[..], &keys, [], threads).unwrap()
        });
    }
}

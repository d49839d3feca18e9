//! A small log with a bit of everything: three streams, two workspaces with
//! their own chains, an erased part, an empty part. All of it from fixed seeds.

#![allow(dead_code, clippy::unwrap_used)]

use std::{borrow::Cow, collections::BTreeMap};

use trail::{
    Checkpoint, Draft, Hash, LogKey, Micros, Part, Receipt, Sealed,
    entry::{FACTS, Local},
    export::{ExportEntry, ExportPart, ExportWriter},
    merkle::{Fetched, Frontier, leaf_hash},
    proof::{inclusion_needs, inclusion_proof},
    receipt::ReceiptPart,
};

pub const ORIGIN: &str = "wakeful.example/sample";
pub const SEED: [u8; 32] = [0x42; 32];

pub struct Kept {
    pub draft: Draft,
    pub sealed: Sealed,
    pub prev: Option<Hash>,
    pub erased: Vec<&'static str>,
}

pub struct Log {
    pub key: LogKey,
    pub entries: Vec<Kept>,
    heads: BTreeMap<String, (u64, Hash)>,
    locals: BTreeMap<(String, String), (u64, Hash)>,
}

fn part(name: &'static str, bytes: &str, salt: u8) -> Part {
    Part {
        name: Cow::Borrowed(name),
        salt: [salt; 32],
        bytes: bytes.as_bytes().to_vec(),
    }
}

impl Log {
    pub fn empty() -> Log {
        Log {
            key: LogKey::from_seed(ORIGIN, SEED).unwrap(),
            entries: Vec::new(),
            heads: BTreeMap::new(),
            locals: BTreeMap::new(),
        }
    }

    /// Seven entries.
    pub fn sample() -> Log {
        let mut log = Log::empty();
        let none: &[&str] = &[];
        let started = format!(
            r#"{{"algorithm":"sha256","key":"{}","origin":"{ORIGIN}"}}"#,
            log.key.verifier()
        );
        log.add(
            "admin",
            None,
            "log_started",
            vec![part(FACTS, &started, 0)],
            none,
        );
        let agent = "agent/ag_1";
        let delivery = |salt| {
            vec![
                part(FACTS, r#"{"kind":"decision","urgent":true}"#, salt),
                part("details", "Größe: 3 \u{1f431}\n", salt + 1),
                part("payload", "\u{0}\u{1}raw", salt + 2),
            ]
        };
        log.add(agent, None, "delivered", delivery(10), &["details"]);
        let run = "run/r\u{fc}n \"1\"";
        let facts = |salt| vec![part(FACTS, "{}", salt)];
        log.add(run, Some("ws_a"), "workspace_opened", facts(20), none);
        log.add(run, Some("ws_b"), "workspace_opened", facts(30), none);
        let answer = vec![
            part(FACTS, r#"{"answer":"approve"}"#, 40),
            part("feedback", "", 41),
        ];
        log.add(agent, None, "answered", answer, none);
        log.add(run, Some("ws_a"), "gate_resolved", facts(50), none);
        log.add(
            run,
            None,
            "run_ended",
            delivery(60),
            &["details", "payload"],
        );
        log
    }

    /// An entry of facts alone, on the stream of the log's own turns.
    pub fn turn(&mut self, event_type: &'static str, facts: &str) {
        self.add("admin", None, event_type, vec![part(FACTS, facts, 70)], &[]);
    }

    pub fn add(
        &mut self,
        stream: &str,
        workspace: Option<&str>,
        event_type: &'static str,
        parts: Vec<Part>,
        erased: &[&'static str],
    ) {
        let n = self.entries.len() as i64;
        let head = self.heads.get(stream).copied();
        let local = workspace.map(|workspace| {
            let key = (stream.to_owned(), workspace.to_owned());
            let before = self.locals.get(&key);
            Local {
                workspace: workspace.to_owned(),
                seq: before.map_or(0, |before| before.0 + 1),
                prev: before.map(|before| before.1),
            }
        });
        let draft = Draft {
            stream: stream.to_owned(),
            id: format!("ev_{n}"),
            time: Micros(1_772_872_260_000_000 + n),
            actor: "user/ada".to_owned(),
            event_type,
            local,
            parts,
        };
        let seq = head.map_or(0, |head| head.0 + 1);
        let prev = head.map(|head| head.1);
        let sealed = draft.seal(prev, seq);
        if let Some(local) = &draft.local {
            let key = (stream.to_owned(), local.workspace.clone());
            self.locals.insert(key, (local.seq, sealed.local_hash));
        }
        self.heads
            .insert(stream.to_owned(), (seq, sealed.entry_hash));
        let erased = erased.to_vec();
        self.entries.push(Kept {
            draft,
            sealed,
            prev,
            erased,
        });
    }

    pub fn leaves(&self) -> Vec<Hash> {
        let hashes = self.entries.iter().map(|kept| &kept.sealed.entry_hash);
        hashes.map(leaf_hash).collect()
    }

    pub fn checkpoint(&self, size: usize) -> Checkpoint {
        let mut tree = Frontier::new();
        for leaf in &self.leaves()[..size] {
            tree.push(*leaf, |_| {});
        }
        Checkpoint {
            origin: ORIGIN.to_owned(),
            size: size as u64,
            root: tree.root(),
        }
    }

    pub fn note(&self) -> String {
        self.key.sign(&self.checkpoint(self.entries.len()))
    }

    pub fn export(&self) -> Vec<u8> {
        let mut writer = ExportWriter::begin(Vec::new(), self.key.verifier()).unwrap();
        for (position, kept) in self.entries.iter().enumerate() {
            writer.entry(&kept.export(position as u64)).unwrap();
        }
        writer.finish(&self.note()).unwrap()
    }

    pub fn receipt(&self, position: usize) -> Receipt {
        let kept = &self.entries[position];
        let (index, size) = (position as u64, self.entries.len() as u64);
        let mut fetched = Fetched::new();
        for range in inclusion_needs(index, size) {
            let hashes = &self.leaves()[range.from as usize..range.to as usize];
            fetched.insert(range, hashes.to_vec());
        }
        let parts = kept
            .draft
            .parts
            .iter()
            .map(|part| match kept.is_erased(part) {
                true => ReceiptPart::erased(&part.name),
                false => ReceiptPart::present(&part.name, &part.salt, &part.bytes),
            });
        Receipt {
            checkpoint: self.note(),
            header: String::from_utf8(kept.sealed.header.clone()).unwrap(),
            inclusion: inclusion_proof(index, size, &fetched).unwrap(),
            parts: parts.collect(),
            position: index,
            prev_hash: kept.prev,
            seq: kept.sealed.seq,
            wakeful_receipt: 1,
        }
    }
}

impl Kept {
    pub fn is_erased(&self, part: &Part) -> bool {
        self.erased.iter().any(|name| *name == part.name)
    }

    pub fn export(&self, position: u64) -> ExportEntry<'_> {
        let parts = self.draft.parts.iter().map(|part| ExportPart {
            name: part.name.clone(),
            content: (!self.is_erased(part)).then(|| (part.salt, Cow::Borrowed(&part.bytes[..]))),
        });
        ExportEntry {
            position,
            seq: self.sealed.seq,
            entry_hash: self.sealed.entry_hash,
            prev_hash: self.prev,
            header: &self.sealed.header,
            parts: parts.collect(),
        }
    }
}

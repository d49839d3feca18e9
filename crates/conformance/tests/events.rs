//! `docs/events.md` says of a run's events what the code says.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::OnceLock,
};

use conformance::{
    expect, file,
    play::play,
    shape::{fields, words},
};
use serde::de::DeserializeOwned;
use wacp::{Entry, Event, checkpoint, content, envelope, escalation, event, gate};
use wacp::{integration, integrity, right, signal, task, user, workspace};

fn place(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The part of the document about runs.
fn document() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let text = std::fs::read_to_string(place("../../docs/events.md")).unwrap();
        let (_, run) = text.split_once("\n## `run/{run_id}`\n").unwrap();
        run.to_owned()
    })
}

/// The cells of every table row.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = document().lines().filter(|line| line.starts_with("| "));
    rows.map(|row| {
        row.trim_matches('|')
            .split(" | ")
            .map(str::trim)
            .collect::<Vec<_>>()
    })
}

/// The names in a cell and whether they may be null; brackets are left out.
fn names(cell: &str) -> Vec<(String, bool)> {
    let mut depth = 0;
    let mut plain = String::new();
    for letter in cell.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            letter if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let parts = plain.split(',').filter(|part| part.contains('`'));
    parts
        .map(|part| {
            let name = part.split('`').nth(1).unwrap();
            (name.to_owned(), part.contains('?'))
        })
        .collect()
}

fn documented() -> BTreeMap<String, BTreeMap<String, bool>> {
    let rows = rows().filter(|row| row.len() == 3 && row[0].starts_with('`'));
    rows.map(|row| {
        let event = row[0].trim_matches('`').to_owned();
        (event, names(row[2]).into_iter().collect())
    })
    .collect()
}

#[test]
fn every_event_is_documented_with_its_facts_and_no_other_is() {
    let documented = documented();
    let types: BTreeSet<_> = documented.keys().map(String::as_str).collect();
    assert_eq!(types, Event::TYPES.iter().copied().collect());
    for (number, kind) in Event::TYPES.iter().enumerate() {
        let known: BTreeSet<_> = fields::<Event>(number as u32).into_iter().collect();
        let said: BTreeSet<_> = documented[*kind].keys().map(String::as_str).collect();
        assert_eq!(said, known, "{kind}");
    }
}

/// Everything that happens in any scenario.
fn happened() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let scenarios = file::all(&place("../wacp/conformance/scenarios")).unwrap();
        let played = scenarios.iter().map(|scenario| play(scenario).unwrap());
        played.flat_map(|played| played.entries).collect()
    })
}

#[test]
fn only_what_is_marked_is_ever_null_and_what_is_marked_sometimes_is() {
    let documented = documented();
    let mut nulls: BTreeSet<(String, String)> = BTreeSet::new();
    for entry in happened() {
        let kind = entry.event.event_type();
        for (name, value) in expect::facts(&entry.event).as_object().unwrap() {
            if value.is_null() {
                assert!(documented[kind][name], "{kind}: {name} is null");
                nulls.insert((kind.to_owned(), name.clone()));
            }
        }
    }
    let marked = documented.iter().flat_map(|(kind, facts)| {
        let facts = facts.iter().filter(|(_, optional)| **optional);
        facts.map(|(name, _)| (kind.clone(), name.clone()))
    });
    let never: Vec<_> = marked.filter(|pair| !nulls.contains(pair)).collect();
    assert_eq!(never, []);
}

#[test]
fn every_type_of_event_happens_in_some_scenario() {
    let seen: BTreeSet<_> = happened().iter().map(|e| e.event.event_type()).collect();
    let unseen: Vec<_> = Event::TYPES
        .iter()
        .filter(|it| !seen.contains(**it))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

fn set<T: DeserializeOwned>(name: &'static str) -> (&'static str, Vec<&'static str>) {
    (name, words::<T>())
}

#[test]
fn every_closed_set_and_every_shape_is_documented_as_it_is() {
    let known = [
        set::<event::Aborted>("aborted"),
        set::<gate::Answer>("answer"),
        set::<event::ApprovalSource>("approval"),
        set::<workspace::Band>("band"),
        set::<user::Capability>("capability"),
        set::<checkpoint::Status>("checkpoint status"),
        set::<checkpoint::Confidence>("confidence"),
        set::<integration::ConflictType>("conflict type"),
        set::<event::Damaged>("damaged"),
        set::<workspace::budget::Dimension>("dimension"),
        set::<escalation::Fallback>("escalation fallback"),
        set::<workspace::lifecycle::Reason>("failure"),
        set::<gate::config::Fallback>("gate fallback"),
        set::<gate::GateType>("gate type"),
        set::<event::Grantor>("grantor"),
        set::<event::Holder>("holder"),
        set::<envelope::Intent>("intent"),
        set::<integration::Mode>("mode"),
        set::<gate::Modification>("modification"),
        set::<envelope::Origin>("origin"),
        set::<envelope::Priority>("priority"),
        set::<gate::Proposal>("proposal"),
        set::<event::Reference>("reference"),
        set::<event::ResolutionReason>("resolution reason"),
        set::<event::Resolver>("resolver"),
        set::<escalation::Response>("response"),
        set::<right::RightKind>("right"),
        set::<event::Scope>("scope"),
        set::<workspace::Seen>("seen"),
        set::<event::ResolvedBy>("settled by"),
        set::<signal::SignalType>("signal"),
        set::<workspace::lifecycle::State>("state"),
        set::<integration::Strategy>("strategy"),
        set::<gate::Subject>("subject"),
        set::<task::Priority>("task priority"),
        set::<task::Status>("task status"),
        set::<workspace::lifecycle::Trigger>("trigger"),
        set::<event::Undeliverable>("undeliverable"),
        set::<user::UserState>("user state"),
        set::<event::About>("about"),
        set::<checkpoint::Artifact>("artifact"),
        set::<workspace::budget::Budget>("budget"),
        set::<content::Content>("content"),
        set::<task::Estimate>("estimate"),
        set::<integrity::Proof>("proof"),
        set::<event::RunStarted>("run"),
        set::<workspace::budget::Usage>("usage"),
    ];
    let said: BTreeMap<_, BTreeSet<String>> = rows()
        .filter(|row| row.len() == 2 && row[1].contains('`'))
        .map(|row| {
            (
                row[0],
                names(row[1]).into_iter().map(|(name, _)| name).collect(),
            )
        })
        .collect();
    assert_eq!(said.len(), known.len());
    for (name, words) in known {
        assert!(!words.is_empty(), "{name}");
        let words: BTreeSet<String> = words.into_iter().map(str::to_owned).collect();
        assert_eq!(said.get(name), Some(&words), "{name}");
    }
}

//! Every column of every table, in a store where every table has rows: a value
//! that is changed to another valid one is named by verification; a start refuses
//! it or heals it, or nobody is shown it afterwards. The columns come from the
//! schema, so that none is forgotten. `removed.rs` does the same to whole rows.
#![allow(clippy::unwrap_used)]

mod data;
mod filled;
#[path = "../shared/person.rs"]
mod person;
mod random;
mod removed;
mod shown;

use std::path::Path;

use data::{Change, Data};
use engine::{Clock, Engine, Keys, Setup, Vault, proof, rebuild};

/// Columns that no check looks at, and why.
const NOT_CHECKED: &[(&str, &str)] = &[
    ("head.one", "a CHECK allows one value only"),
    (
        "head.version",
        "any number does: another one than a process has seen makes it read what it knows anew",
    ),
    ("settled.one", "a CHECK allows one value only"),
    ("indexed.one", "a CHECK allows one value only"),
    ("row_seal.one", "a CHECK allows one value only"),
    (
        "rebuilding.one",
        "a CHECK allows one value only; the row itself is named",
    ),
];

/// Tables that a start does not read: it may not cost more the older the system
/// is. What is changed there is named by verification and mended by a rebuild.
const NOT_READ_AT_START: &[(&str, &str)] = &[
    (
        "entries",
        "all but the last of each stream: proven by the log, which verification reads",
    ),
    ("parts", "proven by the commitments of their entries"),
    (
        "subtrees",
        "those that are not at the right edge are used for proofs alone",
    ),
    (
        "deliveries",
        "a row with a wrong code is refused when it is read",
    ),
    ("blocks", "a view: a rebuild makes it anew"),
    ("history", "a view: a rebuild makes it anew"),
    ("relayed", "a view: a rebuild makes it anew"),
    (
        "lanes",
        "a view: a rebuild makes it anew; a row that is missing is noticed",
    ),
    ("ids", "a row that is not the one asked for is not given"),
    ("settled", "a boundary that is too low is harmless"),
    (
        "eras",
        "belongs to the full-text index, which a rebuild makes anew",
    ),
    (
        "detailed",
        "belongs to the full-text index, which a rebuild makes anew",
    ),
    (
        "indexed",
        "belongs to the full-text index, which a rebuild makes anew",
    ),
    (
        "secrets",
        "a row with a wrong code is refused when it is asked for",
    ),
    (
        "buckets",
        "a row with a wrong code is passed over when it is asked for",
    ),
    (
        "idempotency",
        "a row with a wrong code is passed over when it is asked for",
    ),
    (
        "callbacks",
        "a row with a wrong code is passed over when it is asked for",
    ),
    (
        "snoozed",
        "a row with a wrong code is passed over when it is asked for",
    ),
    (
        "seen",
        "a row with a wrong code is passed over when it is asked for",
    ),
];

/// What may be shown as it was changed, since nobody decides on it.
const SHOWN: &[(&str, &str)] = &[
    ("blocks", "how many wait: a count"),
    ("lanes", "how many there are of each status: a count"),
    ("relayed", "how much passed to and from devices: counts"),
    (
        "history",
        "which entries an item's page lists; each is proven",
    ),
    (
        "entries.position",
        "which entry stands where; each is one that was recorded",
    ),
    ("entries.seq", "a number beside an entry, which is proven"),
    (
        "entries.entry_hash",
        "shown beside an entry, to be compared",
    ),
];

fn is_listed(list: &[(&str, &str)], table: &str, column: &str) -> bool {
    let full = format!("{table}.{column}");
    list.iter().any(|(name, _)| *name == table || *name == full)
}

/// An engine on this data, if it starts.
pub async fn engine(directory: &Path, clock: Clock) -> Result<Engine, String> {
    let keys = Keys::open(directory).unwrap();
    let store = store::open(&directory.into(), &keys.seal.row_seal()).await;
    let setup = Setup {
        store: store.map_err(|error| error.to_string())?,
        vault: Vault::new(&keys.seal, &[]),
        keys,
        clock,
    };
    let engine = Engine::start(setup).await;
    engine.map_err(|error| error.to_string())
}

/// What `wakeful trail verify` does; the fault in its words.
pub async fn verify(directory: &Path) -> Result<(), String> {
    let keys = Keys::open(directory).unwrap();
    let seal = keys.seal.row_seal();
    let store = store::open_read_only(&directory.into(), Some(&seal)).map_err(|e| e.to_string())?;
    let vault = Vault::new(&keys.seal, &[]);
    let key = Some(keys.log.verifier());
    let verified = proof::verify(store.as_ref(), &vault, key, Vec::new(), &|_, _| {}).await;
    let rows = match verified {
        Ok(report) => {
            assert!(report.rows_checked);
            Vec::new()
        }
        Err(proof::ProofFault::Rows(wrong)) => wrong,
        Err(fault) => return Err(fault.to_string()),
    };
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("wakeful.db");
    store.backup(&copy, Vec::new()).await.unwrap();
    store::reseal_kept(&scratch.path().into(), &seal).map_err(|e| e.to_string())?;
    let copy = store::open(&scratch.path().into(), &seal)
        .await
        .map_err(|e| e.to_string())?;
    let compared = rebuild::compare(copy.as_ref(), &|_, _| {}).await;
    let wrong = [rows, compared.map_err(|e| e.to_string())?.wrong()].concat();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("; ")),
    }
}

/// Starts an engine and stops it; what it said if it refused.
async fn start(directory: &Path) -> Result<(), String> {
    engine(directory, Clock::system()).await?.stop().await;
    Ok(())
}

/// What `wakeful trail rebuild` does.
async fn mend(directory: &Path) -> Result<(), String> {
    let keys = Keys::open(directory).unwrap();
    let store = store::open(&directory.into(), &keys.seal.row_seal()).await;
    let store = store.map_err(|error| error.to_string())?;
    store.mend_log().await.map_err(|error| error.to_string())?;
    let rebuilt = rebuild::rebuild(store.as_ref(), &|_, _| {}).await;
    rebuilt.map_err(|error| error.to_string())?;
    let index = async || store.index_some(256).await;
    while index().await.map_err(|error| error.to_string())? {}
    Ok(())
}

#[tokio::test]
async fn every_column_that_is_changed_is_named_and_no_start_builds_on_it() {
    let filled = filled::data().await;
    verify(filled.path()).await.unwrap();
    let right = shown::everything(&filled, filled.path()).await.unwrap();
    let data = Data::open(filled.path());
    let mut changed = 0;
    let mut wrong = Vec::new();
    for (table, columns) in data.tables() {
        assert!(
            data.rows(&table).len() > 1 || data.is_single(&table),
            "{table} has too few rows to change one"
        );
        for (place, column) in columns.into_iter().enumerate() {
            if is_listed(NOT_CHECKED, &table, &column) {
                continue;
            }
            let copy = filled.copy();
            let data = Data::open(copy.path());
            let mut changes = Change::all(&data, &table, &column, &filled);
            let Some(change) = changes.find(|change| change.apply(&data)) else {
                wrong.push(format!("{table}.{column}: found no other valid value"));
                continue;
            };
            drop(changes);
            drop(data);
            changed += 1;
            match verify(copy.path()).await {
                Ok(()) => wrong.push(format!("{change}: not noticed")),
                Err(said) if !said.contains(&table) && !said.contains("entry") => {
                    wrong.push(format!("{change}: not named in {said:?}"));
                }
                Err(_) => {}
            }
            match shown::everything(&filled, copy.path()).await {
                Ok(seen) if seen.is_true_of(&right) || is_listed(SHOWN, &table, &column) => {}
                Ok(_) => wrong.push(format!("{change}: is shown")),
                Err(said) if said.contains("`wakeful ") => {}
                Err(said) => wrong.push(format!("{change}: no advice in {said:?}")),
            }
            match start(copy.path()).await {
                Err(said) if said.contains("`wakeful ") => {}
                Err(said) => wrong.push(format!("{change}: no advice in {said:?}")),
                Ok(()) if is_listed(NOT_READ_AT_START, &table, &column) => {}
                Ok(()) => {
                    if let Err(said) = verify(copy.path()).await {
                        wrong.push(format!("{change}: a start did not mind {said:?}"));
                    }
                }
            }
            // A rebuild makes whole tables anew: one column of each shows it.
            if place > 0 && std::env::var_os("WAKEFUL_TEST_FULL").is_none() {
                continue;
            }
            // Content that was changed cannot come back.
            let mended = match mend(copy.path()).await {
                Ok(()) => verify(copy.path()).await,
                Err(said) if said.contains("trail continue") => Ok(()),
                Err(said) => Err(said),
            };
            if let Err(said) = mended
                && table != "parts"
                && !(table == "head" && column == "note")
            {
                wrong.push(format!("{change}: a rebuild left {said:?}"));
            }
        }
    }
    assert!(changed > 90, "only {changed} columns");
    assert!(
        wrong.is_empty(),
        "{} of {changed}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

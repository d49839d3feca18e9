//! Rows that are removed, one of each table and all of them: verification names
//! what is missing; a start refuses it or heals it, or what it shows is still true. The tables come from the schema, so that none is forgotten.

use crate::{NOT_READ_AT_START, SHOWN, data::Data, filled, is_listed, mend, shown, start, verify};

/// Tables of which nothing says how many rows there are, and what is lost with one
/// of them. What a row says is proven by its code.
const NOT_NOTICED: &[(&str, &str)] = &[
    ("buckets", "a key's rate begins anew"),
    (
        "idempotency",
        "a repeated request is a new one, as it is after a day",
    ),
    (
        "secrets",
        "it has to be set again; a restore without its key removes some, and no entry says so",
    ),
    ("snoozed", "an item is in sight again"),
    ("seen", "an item looks new to one person"),
];

/// Tables whose rows a start does not count, so that what is left is shown.
const LESS: &[(&str, &str)] = &[
    (
        "accounts",
        "whoever is not there may do nothing; without any people a start refuses",
    ),
    ("deliveries", "what is not there is not listed"),
    ("secrets", "no password is a password that does not fit"),
];

/// What no rebuild can make anew.
const LOST: &[(&str, &str)] = &[
    ("head", "it is signed"),
    ("parts", "the only copy of content"),
];

#[tokio::test]
async fn every_row_that_is_removed_is_named_and_no_start_builds_on_what_is_left() {
    let filled = filled::data().await;
    let right = shown::everything(&filled, filled.path()).await.unwrap();
    let data = Data::open(filled.path());
    let mut removed = 0;
    let mut wrong = Vec::new();
    for (table, _) in data.tables() {
        let rows = data.rows(&table);
        let single = data.is_single(&table);
        let in_list = |list| is_listed(list, &table, "");
        let (middle, last) = (rows.len() / 2, rows.len().saturating_sub(1));
        let mut ways = vec![0..rows.len(), 0..1, middle..middle + 1, last..last + 1];
        ways.dedup();
        // Has a row only while a rebuild goes on.
        ways.retain(|_| table != "rebuilding");
        for way in ways {
            let copy = filled.copy();
            let data = Data::open(copy.path());
            for row in &rows[way.clone()] {
                data.remove(&table, row);
            }
            drop(data);
            removed += 1;
            let change = format!(
                "{table}: {} of {} rows, from {}",
                way.len(),
                rows.len(),
                way.start
            );
            match (verify(copy.path()).await, in_list(NOT_NOTICED)) {
                (Ok(()), true) => {}
                (Ok(()), false) => wrong.push(format!("{change}: not noticed")),
                (Err(said), true) => wrong.push(format!("{change}: is noticed: {said:?}")),
                (Err(said), false) if !said.contains(&table) && !said.contains("entry") => {
                    wrong.push(format!("{change}: not named in {said:?}"));
                }
                (Err(_), false) => {}
            }
            match shown::everything(&filled, copy.path()).await {
                Ok(seen) if seen.is_true_of(&right) || in_list(SHOWN) || in_list(LESS) => {}
                Ok(_) => wrong.push(format!("{change}: is shown")),
                Err(said) if said.contains("`wakeful ") => {}
                Err(said) => wrong.push(format!("{change}: no advice in {said:?}")),
            }
            match start(copy.path()).await {
                Err(said) if said.contains("`wakeful ") => {}
                Err(said) => wrong.push(format!("{change}: no advice in {said:?}")),
                Ok(()) if !single && (in_list(NOT_READ_AT_START) || in_list(LESS)) => {}
                Ok(()) => {
                    if let Err(said) = verify(copy.path()).await {
                        wrong.push(format!("{change}: a start did not mind {said:?}"));
                    }
                }
            }
            let mended = match mend(copy.path()).await {
                Ok(()) => verify(copy.path()).await,
                Err(said) if said.contains("trail continue") => Ok(()),
                Err(said) => Err(said),
            };
            if let Err(said) = mended
                && !in_list(LOST)
            {
                wrong.push(format!("{change}: a rebuild left {said:?}"));
            }
        }
    }
    assert!(removed > 40, "only {removed}");
    assert!(
        wrong.is_empty(),
        "{} of {removed}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn an_agent_whose_stream_and_lanes_are_both_gone_is_missed_at_start() {
    let filled = filled::data().await;
    let streams: Vec<i64> = {
        let data = Data::open(filled.path());
        let mut find = data
            .0
            .prepare("SELECT DISTINCT stream FROM deliveries")
            .unwrap();
        let rows = find.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert!(!streams.is_empty());
    for stream in streams {
        let copy = filled.copy();
        let data = Data::open(copy.path());
        data.0
            .execute("DELETE FROM lanes WHERE stream = ?1", [stream])
            .unwrap();
        data.0
            .execute("DELETE FROM streams WHERE no = ?1", [stream])
            .unwrap();
        drop(data);
        let said = start(copy.path()).await.unwrap_err();
        assert!(
            said.contains("streams") && said.contains("`wakeful trail rebuild`"),
            "{said}"
        );
        mend(copy.path()).await.unwrap();
        verify(copy.path()).await.unwrap();
    }
}

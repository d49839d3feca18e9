//! A data directory of an earlier version opens, migrates, verifies and serves.
#![allow(clippy::unwrap_used)]

mod harness;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use harness::{House, wakeful};
use serde_json::{Value, json};

const ANN: &str = "wl_fkWhpPtfi0YMFmaaz4_ETBCfRSiw-WtILkuC2CVXRDQ";
const WRITER: &str = "wk_live_hJqxMAy7pTyM5Pzuje-mxCBkBtKShTLqirO-WzxlbtE";
const ANSWERED: &str = "22dcfb83-1916-4df3-943a-11ee3ee4784e";
const ERASED: &str = "6d220e29-64c5-4ce7-a14c-6af623f1ffe6";
const TIMED_OUT: &str = "5ef22577-fadc-4ceb-8435-8a72994a75ef";

/// A house in which the data of a version was put.
fn moved_in(version: &str) -> House {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(version);
    let house = House::empty();
    let keys = house.data().join("keys");
    fs::create_dir(&keys).unwrap();
    for file in ["wakeful.db", "keys/trail.key", "keys/seal.key"] {
        let to = house.data().join(file);
        fs::copy(from.join(file), &to).unwrap();
        // What a checkout does not keep.
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    house
}

fn verify(data: &Path) -> Value {
    let output = wakeful(data, &["trail", "verify", "--json"], &[]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn data_of_the_version_before_row_seals_opens_migrates_verifies_and_serves() {
    let mut house = moved_in("schema-3");
    // Before anything is migrated, too.
    assert_eq!(verify(house.data())["entries"], 28);
    house.serve().await;
    assert_eq!(
        house.response(WRITER, ANSWERED).await["status"],
        "redirected"
    );
    assert_eq!(
        house.response(WRITER, ANSWERED).await["feedback"],
        "Shorter."
    );
    let erased = house.response(WRITER, ERASED).await;
    assert_eq!(erased["status"], "approved");
    assert_eq!(erased["feedback"], Value::Null);

    // What it owed, held and remembered goes on: a repeated request is one.
    let inbox = house
        .get(&format!("/api/v1/inbox/{TIMED_OUT}"), ANN)
        .await
        .json();
    assert_eq!(inbox["headline"], "timed");
    let attempts = house.get("/api/v1/webhooks/callbacks", ANN).await;
    assert!(attempts.status.is_success(), "{attempts:?}");
    assert!(attempts.text().contains(ANSWERED), "{}", attempts.text());
    let next = house
        .deliver(WRITER, "writer", json!({ "headline": "New" }))
        .await;
    let approved = house
        .respond(ANN, &next, json!({ "status": "approved" }))
        .await;
    assert_eq!(approved.status, 200);
    house.stop();
    assert_eq!(verify(house.data())["verified"], true);
    let rebuilt = house.json(&["trail", "rebuild"]);
    assert_eq!(rebuilt["changed"], json!([]), "{rebuilt}");
}

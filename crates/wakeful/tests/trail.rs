//! The trail against whoever has the data in hand: every change of the database,
//! of an export or of a receipt is found, and views can be made anew.
#![allow(clippy::unwrap_used)]

mod harness;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use harness::{Dice, House, copy_data, wakeful};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

/// A stopped house with a varied history, and the id of an answered delivery.
async fn lived_in() -> (House, String) {
    let (mut house, ann) = House::start().await;
    let bob = house.user("bob", "reviewer");
    let key = house.key("writer");
    let test_key = house.key_with("tester", &["--test"]);
    let details = json!({ "details": { "text": "the whole text" }, "timeout_seconds": 60 });
    let first = house.deliver(&key, "writer", details).await;
    for kind in ["update", "question", "alert"] {
        house.deliver(&key, "writer", json!({ "type": kind })).await;
    }
    house
        .deliver(&test_key, "tester", json!({ "details": "plain" }))
        .await;
    let redirect = json!({
        "status": "redirected", "feedback": "Shorter, please.", "edited_content": { "n": 1 }
    });
    assert_eq!(house.respond(&ann, &first, redirect).await.status, 200);

    // Held, taken back, and answered after all.
    let second = house
        .deliver(&key, "writer", json!({ "details": "draft" }))
        .await;
    let held = json!({ "status": "approved", "feedback": "Too fast.", "hold_seconds": 30 });
    assert_eq!(house.respond(&bob, &second, held.clone()).await.status, 200);
    let undo = house
        .post(&format!("/api/v1/inbox/{second}/undo"), &bob, json!({}))
        .await;
    assert!(undo.status.is_success(), "{:?}", undo.json());
    let answer = json!({ "status": "rejected", "feedback": "No." });
    assert_eq!(house.respond(&bob, &second, answer).await.status, 200);
    // Still held when the house is left.
    let third = house.deliver(&key, "writer", json!({})).await;
    assert_eq!(house.respond(&bob, &third, held).await.status, 200);

    let keys = house.json(&["key", "list"]);
    let key_id = keys["keys"][0]["key_id"].as_str().unwrap().to_owned();
    house.json(&["key", "rotate", &key_id]);
    house.json(&["user", "suspend", "bob"]);
    house.json(&["retention", "set", "update", "30"]);
    let denied = house
        .post(
            "/wake/v1/deliver",
            &key,
            harness::delivery("other", json!({})),
        )
        .await;
    assert_eq!(denied.status, 422);
    house.stop();
    (house, first)
}

fn verify(data: &Path, more: &[&str]) -> (i32, Value) {
    let mut arguments = vec!["trail", "verify", "--json"];
    arguments.extend(more);
    let output = wakeful(data, &arguments, &[]);
    let said = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
    (output.status.code().unwrap(), said)
}

fn database(data: &Path) -> Connection {
    Connection::open(data.join("wakeful.db")).unwrap()
}

/// Changes one bit in the middle of a column's bytes.
fn flip(database: &Connection, table: &str, column: &str, key: &str, at: i64) {
    let read = format!("SELECT {column} FROM {table} WHERE {key} = ?1");
    let mut bytes: Vec<u8> = database.query_row(&read, [at], |row| row.get(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let write = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
    assert_eq!(database.execute(&write, params![at, bytes]).unwrap(), 1);
}

fn run(database: &Connection, sql: &str) {
    database.execute_batch(sql).unwrap();
}

/// Moves entries and parts from a position on up by one.
fn make_room(database: &Connection, at: i64) {
    run(
        database,
        &format!(
            "UPDATE entries SET position = -position - 1 WHERE position >= {at};
             UPDATE entries SET position = -position WHERE position < 0;
             UPDATE parts SET no = -no WHERE no >= {at} * 16;
             UPDATE parts SET no = -no + 16 WHERE no < 0;"
        ),
    );
}

#[tokio::test]
async fn verify_names_the_first_entry_that_was_changed_dropped_moved_or_made_up() {
    let (house, _) = lived_in().await;
    let (code, said) = verify(house.data(), &[]);
    assert_eq!((code, &said["verified"]), (0, &json!(true)));
    let size = said["entries"].as_i64().unwrap();
    // An entry in the middle with both texts of an answer, others after it.
    let find = "SELECT no / 16 FROM parts WHERE name = 'edited_content'";
    let at: i64 = database(house.data())
        .query_row(find, [], |row| row.get(0))
        .unwrap();
    assert!(at > 5 && at + 5 < size);
    let insert_copy =
        "INSERT INTO entries SELECT ?1, stream, 999, NULL, header, entry_hash, facts_salt, facts, mac
         FROM entries WHERE position = ?2";

    type Tamper<'a> = Box<dyn Fn(&Connection) + 'a>;
    let table: Vec<(&str, Tamper<'_>, i64, &str)> = vec![
        (
            "header",
            Box::new(|db| flip(db, "entries", "header", "position", at)),
            at,
            "",
        ),
        (
            "facts",
            Box::new(|db| flip(db, "entries", "facts", "position", at)),
            at,
            "part_changed",
        ),
        (
            "facts salt",
            Box::new(|db| flip(db, "entries", "facts_salt", "position", at)),
            at,
            "part_changed",
        ),
        (
            "part",
            Box::new(|db| flip(db, "parts", "bytes", "no", at * 16 + 1)),
            at,
            "part_changed",
        ),
        (
            "part salt",
            Box::new(|db| flip(db, "parts", "salt", "no", at * 16 + 2)),
            at,
            "part_changed",
        ),
        (
            "entry hash",
            Box::new(|db| flip(db, "entries", "entry_hash", "position", at)),
            at,
            "entry_hash_differs",
        ),
        (
            "header of another type",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE entries SET header = 7 WHERE position = {at}"),
                )
            }),
            at,
            "damaged",
        ),
        (
            "entry hash of another length",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE entries SET entry_hash = x'00' WHERE position = {at}"),
                );
            }),
            at,
            "damaged",
        ),
        (
            "part of another type",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE parts SET bytes = 'x' WHERE no = {at} * 16 + 1"),
                )
            }),
            -1,
            "damaged",
        ),
        (
            "seq",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE entries SET seq = seq + 900 WHERE position = {at}"),
                )
            }),
            at,
            "seq_broken",
        ),
        (
            "stream",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE entries SET stream = 0, seq = 900 WHERE position = {at}"),
                )
            }),
            at,
            "stream_differs",
        ),
        (
            "stream name",
            Box::new(|db| {
                run(
                    db,
                    "UPDATE streams SET name = 'agent/wroter' WHERE name = 'agent/writer'",
                )
            }),
            -1,
            "stream_differs",
        ),
        (
            "part renamed",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE parts SET name = 'details' WHERE no = {at} * 16 + 1"),
                )
            }),
            at,
            "part_unknown",
        ),
        (
            "part added",
            Box::new(|db| {
                run(
                    db,
                    &format!(
                        "INSERT INTO parts (no, name, salt, bytes) VALUES ({at} * 16 + 5, 'note', zeroblob(32), x'41')"
                    ),
                )
            }),
            at,
            "part_unknown",
        ),
        (
            "part moved",
            Box::new(|db| {
                run(
                    db,
                    &format!("UPDATE parts SET no = no + 16 WHERE no = {at} * 16 + 2"),
                )
            }),
            at + 1,
            "part_unknown",
        ),
        (
            "deleted",
            Box::new(|db| run(db, &format!("DELETE FROM entries WHERE position = {at}"))),
            at,
            "out_of_place",
        ),
        (
            "last deleted",
            Box::new(|db| {
                run(
                    db,
                    &format!("DELETE FROM entries WHERE position = {size} - 1"),
                )
            }),
            size - 1,
            "missing",
        ),
        (
            "first deleted",
            Box::new(|db| run(db, "DELETE FROM entries WHERE position = 0")),
            0,
            "out_of_place",
        ),
        (
            "deleted, the rest moved up",
            Box::new(|db| {
                run(
                    db,
                    &format!(
            "DELETE FROM entries WHERE position = {at}; DELETE FROM parts WHERE no / 16 = {at};
             UPDATE entries SET position = position - 1 WHERE position > {at};
             UPDATE parts SET no = no - 16 WHERE no / 16 > {at};"),
                )
            }),
            -1,
            "",
        ),
        (
            "swapped",
            Box::new(|db| {
                run(
                    db,
                    &format!(
                        "UPDATE entries SET position = -1 WHERE position = {at} + 1;
             UPDATE entries SET position = {at} + 1 WHERE position = {at};
             UPDATE entries SET position = {at} WHERE position = -1;"
                    ),
                )
            }),
            at,
            "",
        ),
        (
            "inserted",
            Box::new(|db| {
                make_room(db, at);
                db.execute(insert_copy, [at, at - 1]).unwrap();
            }),
            at,
            "",
        ),
        (
            "appended",
            Box::new(|db| assert_eq!(db.execute(insert_copy, [size, at]).unwrap(), 1)),
            size,
            "",
        ),
        (
            "size",
            Box::new(|db| run(db, "UPDATE head SET size = size - 1")),
            -1,
            "damaged",
        ),
        (
            "note",
            Box::new(|db| {
                run(
                    db,
                    "UPDATE head SET note = replace(note, char(10) || char(10), 'A' || char(10) || char(10))",
                )
            }),
            -1,
            "checkpoint",
        ),
        (
            "signature",
            Box::new(|db| {
                run(
                    db,
                    "UPDATE head SET note = substr(note, 1, length(note) - 9) || 'AAAA' || substr(note, -5)",
                )
            }),
            -1,
            "checkpoint",
        ),
    ];
    for (what, tamper, first_bad, expected) in table {
        let copy = copy_data(house.data());
        tamper(&database(copy.path()));
        let (code, said) = verify(copy.path(), &[]);
        assert_eq!(
            (code, &said["verified"]),
            (3, &json!(false)),
            "{what}: {said}"
        );
        let detail = said["detail"].as_str().unwrap();
        if first_bad >= 0 {
            let named = detail.starts_with(&format!("entry {first_bad} "))
                || detail.starts_with(&format!("entry {first_bad}:"));
            assert!(named, "{what} at {first_bad}: {detail}");
        }
        if !expected.is_empty() {
            assert_eq!(said["code"], expected, "{what}: {detail}");
        }
    }
}

#[tokio::test]
async fn rollback_and_rewriting_by_the_operator_are_found_with_a_kept_checkpoint() {
    let (mut house, _) = lived_in().await;
    let old = copy_data(house.data());
    house.serve().await;
    let key = house.key("writer");
    for _ in 0..3 {
        house.deliver(&key, "writer", json!({})).await;
    }
    let kept = house.directory.path().join("kept");
    let note = house.json(&["trail", "checkpoint"])["checkpoint"].clone();
    std::fs::write(&kept, note.as_str().unwrap()).unwrap();
    house.deliver(&key, "writer", json!({})).await;
    house.stop();
    let since = ["--since", kept.to_str().unwrap()];
    let (code, said) = verify(house.data(), &since);
    assert_eq!((code, &said["checkpoints_kept"]), (0, &json!(1)), "{said}");

    // Rolled back, the log is whole by itself.
    assert_eq!(verify(old.path(), &[]).0, 0);
    let (code, said) = verify(old.path(), &since);
    assert_eq!((code, &said["code"]), (3, &json!("rolled_back")), "{said}");
    let size = verify(old.path(), &[]).1["entries"].as_u64().unwrap();
    assert!(
        said["detail"]
            .as_str()
            .unwrap()
            .starts_with(&format!("entry {size}"))
    );

    // Gone on from there with the log's own key, it is another log.
    for number in 0..9 {
        let created = wakeful(
            old.path(),
            &["user", "create", &format!("eve{number}")],
            &[],
        );
        assert!(created.status.success());
    }
    assert_eq!(verify(old.path(), &[]).0, 0);
    let (code, said) = verify(old.path(), &since);
    assert_eq!((code, &said["code"]), (3, &json!("rewritten")), "{said}");

    // A checkpoint of another log does not count as kept.
    let (other, _) = House::start().await;
    let foreign = other.json(&["trail", "checkpoint"])["checkpoint"].clone();
    let file = house.directory.path().join("foreign");
    std::fs::write(&file, foreign.as_str().unwrap()).unwrap();
    let since_file = || {
        let output = house.command(&["trail", "verify", "--since", file.to_str().unwrap()], &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(since_file().contains("not signed with this log's key"));

    // Nor does one that somebody changed, or something else.
    let own = house.json(&["trail", "checkpoint"])["checkpoint"].clone();
    let own = own.as_str().unwrap();
    let size = own.lines().nth(1).unwrap();
    let changed = own.replacen(&format!("\n{size}\n"), "\n1\n", 1);
    for (note, why) in [
        (changed.as_str(), "the signature does not fit the text"),
        ("nothing of the kind", "the form of a signed note"),
    ] {
        std::fs::write(&file, note).unwrap();
        let said = since_file();
        assert!(
            said.contains("is not a checkpoint") && said.contains(why),
            "{said}"
        );
    }
}

/// The verifier that was written from the document alone.
fn verify_with_python(file: &Path, key: &str) -> bool {
    let python = std::env::var("WAKEFUL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_export.py");
    let output = Command::new(python)
        .arg(script)
        .arg(file)
        .arg(key)
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => true,
        Some(1) => {
            // A refusal, and not a failure of the script.
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("Traceback"), "{said}");
            false
        }
        _ => panic!("{output:?}"),
    }
}

fn log_key(house: &House) -> String {
    house.json(&["trail", "key"])["key"]
        .as_str()
        .unwrap()
        .trim()
        .to_owned()
}

/// Files of this test, beside the data and not in it.
fn beside(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    (directory, file)
}

#[tokio::test]
async fn an_export_verifies_with_both_verifiers_and_a_changed_one_with_neither() {
    let (house, _) = lived_in().await;
    let key = log_key(&house);
    let (_directory, file) = beside("empty", b"");
    let file = file.with_file_name("export.jsonl");
    house.json(&["trail", "export", file.to_str().unwrap()]);
    let with_key = [file.to_str().unwrap(), "--key", key.as_str()];
    let (code, said) = verify(house.data(), &with_key);
    assert_eq!((code, &said["verified"]), (0, &json!(true)));
    assert!(verify_with_python(&file, &key));

    // With another log's key it proves nothing.
    let (other, _) = House::start().await;
    let foreign = log_key(&other);
    let (code, _) = verify(
        house.data(),
        &[file.to_str().unwrap(), "--key", foreign.as_str()],
    );
    assert_eq!(code, 3);
    assert!(!verify_with_python(&file, &foreign));

    let whole = std::fs::read(&file).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let mut changed: Vec<(String, Vec<u8>)> = Vec::new();
    let seed = 0x5eed_2001;
    let mut dice = Dice(seed);
    for _ in 0..20 {
        let at = dice.below(whole.len() as u64 - 1) as usize;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << dice.below(7);
        changed.push((format!("seed {seed:#x}, byte {at}"), bytes));
    }
    let middle = lines.len() / 2;
    let joined = |lines: Vec<&[u8]>| lines.concat();
    let mut dropped = lines.clone();
    dropped.remove(middle);
    changed.push(("a line dropped".to_owned(), joined(dropped)));
    let mut swapped = lines.clone();
    swapped.swap(middle, middle + 1);
    changed.push(("two lines swapped".to_owned(), joined(swapped)));
    let mut twice = lines.clone();
    twice.insert(middle, lines[middle]);
    changed.push(("a line twice".to_owned(), joined(twice)));
    changed.push((
        "the end cut off".to_owned(),
        joined(lines[..lines.len() - 1].to_vec()),
    ));
    changed.push((
        "half a line at the end".to_owned(),
        whole[..whole.len() - 20].to_vec(),
    ));
    changed.push((
        "something after the end".to_owned(),
        [whole.as_slice(), b"{}\n"].concat(),
    ));
    for (what, bytes) in changed {
        std::fs::write(&file, bytes).unwrap();
        let output = house.command(&["trail", "verify", with_key[0], "--key", &key], &[]);
        assert_eq!(output.status.code(), Some(3), "{what}: {output:?}");
        assert!(
            !verify_with_python(&file, &key),
            "{what}: Python accepts it"
        );
    }
}

#[tokio::test]
async fn a_receipt_verifies_offline_and_a_changed_one_does_not() {
    let (house, id) = lived_in().await;
    let key = log_key(&house);
    for subject in [id.as_str(), "0", "7"] {
        let output = house.command(&["trail", "proof", subject, "--json"], &[]);
        assert!(output.status.success(), "{output:?}");
        let receipt = output.stdout.trim_ascii().to_vec();
        let (directory, file) = beside("receipt.json", &receipt);
        // Nothing of the log is needed: an empty directory will do.
        let nowhere = directory.path().join("nowhere");
        let arguments = [file.to_str().unwrap(), "--key", key.as_str()];
        let (code, said) = verify(&nowhere, &arguments);
        assert_eq!((code, &said["verified"]), (0, &json!(true)), "{subject}");
        if subject == id {
            assert_eq!(said["event_type"], "delivery_answered");
            assert_eq!(said["actor"], "ann");
            let about = [&said["delivery_id"], &said["agent_id"], &said["status"]];
            assert_eq!(about, [&json!(id), &json!("writer"), &json!("redirected")]);
            let printed = wakeful(
                &nowhere,
                &["trail", "verify", arguments[0], "--key", &key],
                &[],
            );
            let printed = String::from_utf8(printed.stdout).unwrap();
            for shown in [id.as_str(), "writer", "redirected"] {
                assert!(printed.contains(shown), "{shown}: {printed}");
            }
        }
        let mut dice = Dice(0x5eed_2002);
        for _ in 0..25 {
            let at = dice.below(receipt.len() as u64) as usize;
            let mut bytes = receipt.clone();
            bytes[at] ^= 1 << dice.below(7);
            std::fs::write(&file, &bytes).unwrap();
            let output = wakeful(
                &nowhere,
                &["trail", "verify", arguments[0], "--key", &key],
                &[],
            );
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!(
                output.status.code(),
                Some(3),
                "byte {at} of {text}: {output:?}"
            );
        }
    }
    let unknown = house.command(&["trail", "proof", "99999"], &[]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[tokio::test]
async fn rebuilding_changes_nothing_and_mends_what_was_changed() {
    let (mut house, id) = lived_in().await;
    let rebuilt = house.json(&["trail", "rebuild"]);
    assert_eq!(rebuilt["changed"], json!([]), "{rebuilt}");

    // A view is not the trail: changed there, it is made right again.
    for (change, code) in [
        (
            "DELETE FROM history; UPDATE blocks SET n = n + 5;
             DELETE FROM accounts WHERE kind = 'agent';",
            "views_differ",
        ),
        (
            "UPDATE deliveries SET status = 1, answered_by = 'eve' WHERE status = 3;",
            "rows_differ",
        ),
    ] {
        run(&database(house.data()), change);
        for more in [&[][..], &["--views"]] {
            let (exit, said) = verify(house.data(), more);
            assert_eq!((exit, &said["code"]), (3, &json!(code)), "{said}");
        }
    }
    let rebuilt = house.json(&["trail", "rebuild"]);
    assert_eq!(
        rebuilt["changed"],
        json!(["deliveries", "blocks", "history", "accounts"])
    );
    assert_eq!(house.json(&["trail", "rebuild"])["changed"], json!([]));
    assert_eq!(verify(house.data(), &["--views"]).0, 0);
    run(
        &database(house.data()),
        "UPDATE accounts SET body = body || ' '; UPDATE deliveries SET headline = 'x';",
    );
    let rebuilt = house.json(&["trail", "rebuild"]);
    let mut changed = rebuilt["changed"].as_array().unwrap().clone();
    changed.sort_by_key(|name| name.to_string());
    let all = changed.len();
    changed.dedup();
    assert_eq!(changed.len(), all, "each is named once: {rebuilt}");

    house.serve().await;
    assert_eq!(verify(house.data(), &["--views"]).0, 0, "while it runs");
    let key = house.key("writer");
    let response = house.response(&key, &id).await;
    assert_eq!(response["status"], "redirected");
    assert_eq!(response["feedback"], "Shorter, please.");
    // The server keeps its directory to itself.
    let busy = house.command(&["trail", "rebuild"], &[]);
    assert_eq!(busy.status.code(), Some(2), "{busy:?}");
}

#[tokio::test]
async fn a_rebuild_that_was_cut_short_is_finished_before_anything_starts() {
    let (mut house, id) = lived_in().await;
    run(
        &database(house.data()),
        "INSERT INTO rebuilding VALUES (1); DELETE FROM deliveries; DELETE FROM accounts;",
    );
    let refusal = house.try_serve(&[]).await.unwrap_err();
    assert!(refusal.contains("trail rebuild"), "{refusal}");
    house.json(&["trail", "rebuild"]);
    house.serve().await;
    let key = house.key("writer");
    assert_eq!(house.response(&key, &id).await["status"], "redirected");
}

#[tokio::test]
async fn a_damaged_tree_is_not_signed() {
    let (mut house, _) = lived_in().await;
    flip(
        &database(house.data()),
        "entries",
        "entry_hash",
        "position",
        2,
    );
    let refusal = house.try_serve(&[]).await.unwrap_err();
    assert!(refusal.contains("do not give the root"), "{refusal}");
    flip(
        &database(house.data()),
        "entries",
        "entry_hash",
        "position",
        2,
    );
}

#[tokio::test]
async fn content_that_was_taken_away_is_told_from_content_that_a_rule_erased() {
    let (house, _) = lived_in().await;
    let copy = copy_data(house.data());
    let find = "SELECT no / 16 FROM parts WHERE name = 'edited_content'";
    let at: i64 = database(copy.path())
        .query_row(find, [], |row| row.get(0))
        .unwrap();
    run(
        &database(copy.path()),
        "DELETE FROM parts WHERE name = 'edited_content'",
    );
    let (code, said) = verify(copy.path(), &[]);
    assert_eq!((code, &said["code"]), (3, &json!("part_missing")));
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.starts_with(&format!("entry {at}:")), "{detail}");
}

#[tokio::test]
async fn an_export_is_its_owners_alone_and_a_copy_verifies_where_nothing_can_be_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let (house, _) = lived_in().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let export = elsewhere.path().join("export");
    house.json(&["trail", "export", export.to_str().unwrap()]);
    let mode = std::fs::metadata(&export).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let copy = copy_data(house.data());
    let key = house.json(&["trail", "key"]);
    let key = key["key"].as_str().unwrap().trim().to_owned();
    // As one who has no other rights than to read.
    for file in std::fs::read_dir(copy.path()).unwrap() {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(file.unwrap().path(), mode).unwrap();
    }
    std::fs::set_permissions(copy.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let program = elsewhere.path().join("wakeful");
    std::fs::copy(env!("CARGO_BIN_EXE_wakeful"), &program).unwrap();
    std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["trail", "verify", "--key", &key, "--data"])
        .arg(copy.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn the_logs_key_is_handed_over_by_an_entry_that_both_keys_sign() {
    let (mut house, ann) = House::start().await;
    let key = house.key("a");
    let id = house.deliver(&key, "a", json!({})).await;
    let kept = house.data().join("kept");
    let checkpoint = house.json(&["trail", "checkpoint"]);
    std::fs::write(&kept, checkpoint["checkpoint"].as_str().unwrap()).unwrap();
    let refused = house.command(&["trail", "rotate-key"], &[]);
    assert_eq!(
        refused.status.code(),
        Some(2),
        "a running server keeps its key"
    );
    house.stop();

    let rotated = house.json(&["trail", "rotate-key"]);
    let (old, new) = (
        rotated["old_key"].as_str().unwrap(),
        rotated["key"].as_str().unwrap(),
    );
    assert_ne!(old, new);
    house.verify();
    let kept = kept.to_str().unwrap();
    let with_old = [
        "trail", "verify", "--key", new, "--key", old, "--since", kept,
    ];
    assert_eq!(house.json(&with_old)["checkpoints_kept"], 1);
    // Whoever knows only the first key follows; the other way there is no way.
    let export = house.data().join("export");
    let export = export.to_str().unwrap();
    house.json(&["trail", "export", export]);
    for key in [old, new] {
        house.json(&["trail", "verify", "--key", key]);
        house.json(&["trail", "verify", export, "--key", key]);
        assert!(verify_with_python(Path::new(export), key));
    }
    let since = ["trail", "verify", "--key", new, "--since", kept];
    let only_new = house.command(&since, &[]);
    assert_eq!(only_new.status.code(), Some(2), "{only_new:?}");

    // A hand-over that was cut short before the log was signed is undone.
    let keys = house.data().join("keys");
    std::fs::copy(keys.join("trail.key"), keys.join("trail.key.next")).unwrap();
    let text = std::fs::read_to_string(keys.join("trail.key")).unwrap();
    let origin = text.lines().next().unwrap().to_owned();
    std::fs::write(
        keys.join("trail.key.next"),
        format!("{origin}\n{}\n", "7".repeat(64)),
    )
    .unwrap();
    house.serve().await;
    assert!(!keys.join("trail.key.next").exists());
    assert_eq!(
        house
            .respond(&ann, &id, json!({ "status": "approved" }))
            .await
            .status,
        200
    );
    let entries = house
        .get("/api/v1/trail?event_type=log_key_rotated", &ann)
        .await
        .json();
    let facts = &entries["entries"][0]["facts"];
    let rotation: trail::rotation::Rotation = serde_json::from_value(facts.clone()).unwrap();
    assert!(rotation.verify().is_ok());
}

/// Content that is made null in one line of an export.
fn cut(line: &str, name: &str) -> Option<String> {
    let start = line.find(&format!("\"{name}\":{{\"bytes\":"))? + name.len() + 3;
    let end = start + line[start..].find('}')? + 1;
    Some(format!("{}null{}", &line[..start], &line[end..]))
}

#[tokio::test]
async fn content_that_was_cut_out_of_an_export_is_named_by_both_verifiers() {
    let (mut house, id) = lived_in().await;
    let key = log_key(&house);
    let (_directory, file) = beside("empty", b"");
    let file = file.with_file_name("export.jsonl");
    house.json(&["trail", "export", file.to_str().unwrap()]);
    let whole = std::fs::read_to_string(&file).unwrap();
    for name in ["details", "feedback", "edited_content"] {
        let lines: Vec<&str> = whole.lines().collect();
        let at = lines.iter().position(|line| cut(line, name).is_some());
        let at = at.unwrap();
        let shorter = cut(lines[at], name).unwrap();
        let mut changed = lines.clone();
        changed[at] = &shorter;
        std::fs::write(&file, changed.join("\n") + "\n").unwrap();
        let (code, said) = verify(house.data(), &[file.to_str().unwrap(), "--key", &key]);
        assert_eq!((code, &said["code"]), (3, &json!("part_missing")), "{name}");
        let detail = said["detail"].as_str().unwrap();
        assert!(
            detail.starts_with(&format!("entry {}:", at - 1)),
            "{detail}"
        );
        assert!(
            !verify_with_python(&file, &key),
            "Python accepts it without {name}"
        );
    }
    // What a rule or an owner erased is no fault.
    house.serve().await;
    let ann = house.user("eve", "owner");
    let erased = house
        .send(
            "DELETE",
            &format!("/api/v1/inbox/{id}/content"),
            Some(&ann),
            None,
        )
        .await;
    assert_eq!(erased.status, 204);
    house.stop();
    std::fs::remove_file(&file).unwrap();
    house.json(&["trail", "export", file.to_str().unwrap()]);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"details\":null")
    );
    let (code, said) = verify(house.data(), &[file.to_str().unwrap(), "--key", &key]);
    assert_eq!(code, 0, "{said}");
    assert!(verify_with_python(&file, &key));
}

#[tokio::test]
async fn a_changed_id_never_answers_for_another_delivery() {
    let (mut house, ann) = House::start().await;
    let key = house.key("writer");
    let rename = house
        .deliver(&key, "writer", json!({ "headline": "Rename a file" }))
        .await;
    let delete = json!({ "headline": "Delete the production database" });
    let delete = house.deliver(&key, "writer", delete).await;
    house.stop();
    // As if both had been settled, and then one made to lead to the other.
    run(
        &database(house.data()),
        "INSERT INTO ids SELECT id, no FROM deliveries;
         UPDATE settled SET next = (SELECT max(no) + 1 FROM deliveries);
         UPDATE ids SET no = (SELECT no FROM deliveries WHERE headline LIKE 'Delete%')
         WHERE no = (SELECT no FROM deliveries WHERE headline LIKE 'Rename%');",
    );
    let (code, said) = verify(house.data(), &[]);
    assert_eq!((code, &said["code"]), (3, &json!("rows_differ")));
    assert!(said["detail"].as_str().unwrap().contains("ids:"), "{said}");
    house.serve().await;
    let approve = json!({ "status": "approved" });
    let answered = house.respond(&ann, &rename, approve.clone()).await;
    assert_eq!(answered.status, 404, "{:?}", answered.json());
    assert_eq!(house.response(&key, &delete).await["status"], "pending");
    house.stop();
    house.json(&["trail", "rebuild"]);
    assert_eq!(verify(house.data(), &[]).0, 0);
    house.serve().await;
    assert_eq!(house.respond(&ann, &rename, approve).await.status, 200);
    assert_eq!(house.response(&key, &delete).await["status"], "pending");
}

#[tokio::test]
async fn a_changed_end_of_a_stream_or_of_the_log_is_not_built_upon() {
    let (mut house, _) = lived_in().await;
    let end = "UPDATE streams SET next_seq = next_seq + 1 WHERE name = 'agent/writer'";
    for (change, table) in [
        (end, "streams"),
        (
            "UPDATE streams SET head = (SELECT entry_hash FROM entries WHERE position = 1) WHERE name = 'agent/writer'",
            "streams",
        ),
        (
            "UPDATE streams SET last = 1 WHERE name = 'agent/writer'",
            "streams",
        ),
    ] {
        run(&database(house.data()), change);
        let (code, said) = verify(house.data(), &[]);
        assert_eq!(
            (code, &said["code"]),
            (3, &json!("rows_differ")),
            "{change}"
        );
        assert!(said["detail"].as_str().unwrap().contains(table), "{said}");
        let refusal = house.try_serve(&[]).await.unwrap_err();
        assert!(refusal.contains("wakeful trail rebuild"), "{refusal}");
        house.json(&["trail", "rebuild"]);
        assert_eq!(verify(house.data(), &[]).0, 0, "{change}");
    }
    // The head is mended by what was signed: no stamps of another century, and a
    // size that was made up does not keep anyone reading.
    for change in [
        "UPDATE head SET last_time = last_time + 1000000000000000",
        "UPDATE head SET size = 1000000000000000",
    ] {
        run(&database(house.data()), change);
        let (code, said) = verify(house.data(), &[]);
        assert_eq!(code, 3, "{change}");
        assert!(said["detail"].as_str().unwrap().contains("head"), "{said}");
        house.serve().await;
        house.stop();
        assert_eq!(verify(house.data(), &[]).0, 0, "{change}");
    }
}

#[tokio::test]
async fn a_damaged_log_goes_on_under_a_new_origin_and_says_what_is_missing() {
    let (mut house, _) = lived_in().await;
    let old_key = log_key(&house);
    let nothing = house.command(&["trail", "continue"], &[]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
    let size = verify(house.data(), &[]).1["entries"].as_i64().unwrap();
    let at = size - 4;
    flip(&database(house.data()), "entries", "facts", "position", at);
    let broken = house.command(&["trail", "rebuild"], &[]);
    let said = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert!(said.contains("wakeful trail continue"), "{said}");

    let continued = house.json(&["trail", "continue"]);
    assert_eq!(continued["kept"], at);
    let (code, said) = verify(house.data(), &[]);
    assert_eq!(
        (code, said["entries"].as_i64()),
        (0, Some(at + 1)),
        "{said}"
    );
    assert_ne!(log_key(&house), old_key);
    house.serve().await;
    let eve = house.user("eve", "owner");
    let entries = house
        .get("/api/v1/trail?event_type=log_continued", &eve)
        .await
        .json();
    let facts = &entries["entries"][0]["facts"];
    assert_eq!((&facts["kept"], &facts["missing"]), (&json!(at), &json!(4)));
    assert!(facts["reason"].as_str().unwrap().contains(&at.to_string()));
    house.stop();
    let (_directory, file) = beside("empty", b"");
    let file = file.with_file_name("export.jsonl");
    house.json(&["trail", "export", file.to_str().unwrap()]);
    let key = log_key(&house);
    house.json(&["trail", "verify", file.to_str().unwrap(), "--key", &key]);
    assert!(verify_with_python(&file, &key));
}

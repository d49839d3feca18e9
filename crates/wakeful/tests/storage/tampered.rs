//! Someone who can write to the database, and has no key: what they put there is
//! neither shown nor acted on, or verification names it.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{House, copy_data};

fn run(data: &Path, sql: &str) {
    let database = Connection::open(data.join("wakeful.db")).unwrap();
    database.execute_batch(sql).unwrap();
}

/// A stopped server on which ann approved, rejected and redirected something, and
/// vic may only read.
struct Scene {
    house: House,
    ann: String,
    vic: String,
    key: String,
    /// Waits, with details.
    open: String,
    rejected: String,
    /// With feedback and edited content.
    redirected: String,
}

impl Scene {
    async fn new() -> Scene {
        let (mut house, ann) = House::start().await;
        let vic = house.user("vic", "viewer");
        let key = house.key("a");
        let deliver = |headline: &'static str| {
            let more = json!({ "headline": headline, "details": format!("all of {headline}") });
            house.deliver(&key, "a", more)
        };
        let open = deliver("Delete production").await;
        let rejected = deliver("Send mail").await;
        let redirected = deliver("Wire money").await;
        for (id, answer) in [
            (&rejected, json!({ "status": "rejected", "feedback": "no" })),
            (
                &redirected,
                json!({ "status": "redirected", "feedback": "less", "edited_content": "10" }),
            ),
        ] {
            assert_eq!(house.respond(&ann, id, answer).await.status, 200);
        }
        house.stop();
        Scene {
            house,
            ann,
            vic,
            key,
            open,
            rejected,
            redirected,
        }
    }

    /// Another house with the same files.
    fn copy(&self) -> House {
        let mut house = House::empty();
        house.directory = copy_data(self.house.data());
        house
    }

    fn row(&self, id: &str) -> String {
        format!("id = x'{}'", id.replace('-', ""))
    }
}

fn verify(house: &House) -> (Option<i32>, Value) {
    let output = house.command(&["trail", "verify", "--json"], &[]);
    let said = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), said)
}

/// Verification fails, and names this.
fn is_named(house: &House, what: &str) {
    let (code, said) = verify(house);
    assert_eq!(code, Some(3), "{what}: {said}");
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.contains(what), "{what} is not named in {detail}");
}

/// Leaves nothing that the harness would verify.
fn forget(mut house: House) {
    house.kill();
    crate::forget_database(house.data());
}

/// To the version before codes, in which nobody can tell what was changed.
const OLDER: &str = "
    ALTER TABLE accounts DROP COLUMN mac; ALTER TABLE deliveries DROP COLUMN mac;
    ALTER TABLE deliveries DROP COLUMN told; ALTER TABLE parts DROP COLUMN mac;
    ALTER TABLE entries DROP COLUMN mac; ALTER TABLE head DROP COLUMN version;
    ALTER TABLE streams ADD COLUMN lanes BLOB;
    UPDATE streams SET lanes = coalesce((SELECT numbers FROM lanes WHERE stream = no), zeroblob(64));
    DROP TABLE lanes;
    ALTER TABLE idempotency RENAME COLUMN body TO delivery_id;
    ALTER TABLE idempotency DROP COLUMN status;
    PRAGMA user_version = 4;";

const VIC_IS_OWNER: &str = "UPDATE accounts SET body = replace(body, 'viewer', 'owner') WHERE kind = 'user' AND id = 'vic';";

#[tokio::test]
async fn rows_that_were_changed_are_neither_shown_nor_acted_on() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    let open = scene.row(&scene.open);
    let change = format!("UPDATE deliveries SET headline = 'Rename a file' WHERE {open}");
    run(house.data(), &change);
    is_named(&house, "deliveries");
    house.serve().await;
    let path = format!("/api/v1/inbox/{}", scene.open);
    house
        .get(&path, &scene.ann)
        .await
        .is_problem(500, "damaged", None);
    let approve = json!({ "status": "approved" });
    // Answering, undoing and looking are refused as showing it is.
    for (what, body) in [
        ("respond", approve),
        ("undo", json!({})),
        ("seen", json!({})),
    ] {
        let told = house
            .post(&format!("{path}/{what}"), &scene.ann, body)
            .await;
        told.is_problem(500, "damaged", None);
    }
    let token = [("WAKEFUL_TOKEN", scene.ann.as_str())];
    for command in [&["inbox"][..], &["inbox", "--json"]] {
        let listed = house.command(command, &token);
        let said = String::from_utf8(listed.stderr).unwrap();
        assert!(said.contains("1 item is not listed"), "{said}");
        assert!(!said.contains("Nothing waits"), "{said}");
    }
    // Its agent is told what still carries its code: that it waits.
    let told = house.response(&scene.key, &scene.open).await;
    assert_eq!(told["status"], "pending");
    // The others are listed, and it is said that one is not.
    let listed = house
        .get("/api/v1/inbox?status=pending,rejected", &scene.ann)
        .await;
    let listed = listed.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["damaged"], 1);
    let swept = house.get("/wake/v1/responses", &scene.key).await.json();
    assert_eq!(swept["deliveries"].as_array().unwrap().len(), 3);
    forget(house);

    // An agent is told no answer that nobody gave, nor one without its texts.
    for (change, id) in [
        (
            format!(
                "UPDATE deliveries SET status = 1 WHERE {}",
                scene.row(&scene.rejected)
            ),
            &scene.rejected,
        ),
        (
            "UPDATE parts SET bytes = '\"1000\"' WHERE name = 'edited_content'".to_owned(),
            &scene.redirected,
        ),
        (
            "DELETE FROM parts WHERE name = 'edited_content'".to_owned(),
            &scene.redirected,
        ),
        ("DELETE FROM parts".to_owned(), &scene.redirected),
    ] {
        let mut house = scene.copy();
        run(house.data(), &change);
        assert_eq!(verify(&house).0, Some(3), "{change}");
        house.serve().await;
        let told = house
            .get(&format!("/wake/v1/response/{id}"), &scene.key)
            .await;
        told.is_problem(500, "damaged", None);
        let swept = house.get("/wake/v1/responses", &scene.key).await;
        assert!(!swept.text().contains(id.as_str()), "{change}");
        forget(house);
    }

    // Nobody becomes an owner.
    let mut house = scene.copy();
    run(house.data(), VIC_IS_OWNER);
    let said = house.try_serve(&[]).await.unwrap_err();
    assert!(said.contains("`wakeful "), "{said}");
    house.json(&["trail", "rebuild"]);
    house.serve().await;
    let me = house.get("/api/v1/me", &scene.vic).await.json();
    assert_eq!(me["role"], "viewer", "{me}");
}

#[tokio::test]
async fn content_is_what_its_entry_says_though_both_were_changed() {
    let scene = Scene::new().await;
    for change in [
        // The commitment is of the other details, too.
        "UPDATE parts SET bytes = '\"mv a b\"' WHERE name = 'details' AND no / 16 =
             (SELECT no FROM deliveries WHERE headline = 'Delete production');",
        "UPDATE entries SET header = replace(CAST(header AS TEXT), 'delivery_received', 'delivery_recalled')
             WHERE position = (SELECT no FROM deliveries WHERE headline = 'Delete production');",
        "DELETE FROM parts WHERE no / 16 = (SELECT no FROM deliveries WHERE headline = 'Delete production');
         UPDATE entries SET header = x'7b7d'
             WHERE position = (SELECT no FROM deliveries WHERE headline = 'Delete production');",
    ] {
        let mut house = scene.copy();
        run(house.data(), change);
        assert_eq!(verify(&house).0, Some(3), "{change}");
        house.serve().await;
        let path = format!("/api/v1/inbox/{}", scene.open);
        house.get(&path, &scene.ann).await.is_problem(500, "damaged", None);
        forget(house);
    }
}

#[tokio::test]
async fn a_database_made_to_look_older_is_not_believed() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    let rejected = scene.row(&scene.rejected);
    let approved = format!("UPDATE deliveries SET status = 1 WHERE {rejected};");
    run(house.data(), &format!("{OLDER}{VIC_IS_OWNER}{approved}"));
    house.serve().await;
    let me = house.get("/api/v1/me", &scene.vic).await.json();
    assert_eq!(me["role"], "viewer", "{me}");
    assert_eq!(
        house.response(&scene.key, &scene.rejected).await["status"],
        "rejected"
    );
}

#[tokio::test]
async fn a_backup_that_was_changed_gives_nobody_a_role_and_no_agent_an_answer() {
    let scene = Scene::new().await;
    for (more, older) in [(&[][..], ""), (&["--with-keys"][..], OLDER)] {
        let file = scene.house.data().join(format!("backup{}", more.len()));
        let mut backup = vec!["backup", file.to_str().unwrap()];
        backup.extend(more);
        scene.house.json(&backup);
        let rejected = scene.row(&scene.rejected);
        let database = Connection::open(&file).unwrap();
        let approved = format!("UPDATE deliveries SET status = 1 WHERE {rejected};");
        database
            .execute_batch(&format!("{older}{VIC_IS_OWNER}{approved}"))
            .unwrap();
        drop(database);
        let mut house = House::empty();
        house.json(&["restore", file.to_str().unwrap()]);
        house.serve().await;
        let me = house.get("/api/v1/me", &scene.vic).await.json();
        assert_eq!(me["role"], "viewer", "{more:?}: {me}");
        let told = house.response(&scene.key, &scene.rejected).await;
        assert_eq!(told["status"], "rejected", "{more:?}");
    }
}

#[tokio::test]
async fn an_answer_to_a_row_that_was_put_back_is_named() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    house.serve().await;
    let open = scene.row(&scene.open);
    run(
        house.data(),
        &format!("CREATE TABLE kept AS SELECT * FROM deliveries WHERE {open}"),
    );
    let answer = house
        .respond(&scene.ann, &scene.open, json!({ "status": "rejected" }))
        .await;
    assert_eq!(answer.status, 200);
    run(
        house.data(),
        &format!(
            "DELETE FROM deliveries WHERE {open}; INSERT INTO deliveries SELECT * FROM kept; DROP TABLE kept"
        ),
    );
    // The row carries its code, so the second answer is taken: it is seen afterwards.
    let answer = house
        .respond(&scene.ann, &scene.open, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200);
    house.stop();
    is_named(&house, "answers a delivery that was answered before");
    forget(house);
}

#[tokio::test]
async fn what_is_missing_or_was_put_back_is_named() {
    let scene = Scene::new().await;
    // Nobody is asked to make the first owner of a server that has people.
    let mut house = scene.copy();
    run(house.data(), "DELETE FROM accounts WHERE kind = 'user'");
    is_named(&house, "accounts");
    let said = house.try_serve(&[]).await.unwrap_err();
    assert!(said.contains("`wakeful trail rebuild`"), "{said}");
    house.json(&["trail", "rebuild"]);
    house.serve().await;
    house.stop();

    // Erased content that came back is not shown.
    let before = copy_data(house.data());
    house.serve().await;
    let path = format!("/api/v1/inbox/{}/content", scene.redirected);
    let erased = house.send("DELETE", &path, Some(&scene.ann), None).await;
    assert!(erased.status.is_success(), "{}", erased.text());
    house.stop();
    run(
        house.data(),
        &format!(
            "ATTACH '{}' AS kept; INSERT OR IGNORE INTO parts SELECT * FROM kept.parts",
            before.path().join("wakeful.db").display()
        ),
    );
    is_named(&house, "content of a delivery that was erased");
    house.serve().await;
    let told = house.response(&scene.key, &scene.redirected).await;
    assert_eq!(
        (&told["edited_content"], &told["content_erased"]),
        (&Value::Null, &json!(true))
    );
    let item = house
        .get(&format!("/api/v1/inbox/{}", scene.redirected), &scene.ann)
        .await
        .json();
    assert_eq!(item["details"], Value::Null, "{item}");
    house.stop();
    // The command that is advised erases it again.
    let rebuilt = house.json(&["trail", "rebuild"])["changed"].to_string();
    assert!(
        rebuilt.contains("3 that were erased had come back"),
        "{rebuilt}"
    );
    assert_eq!(verify(&house).0, Some(0));
}

#[tokio::test]
async fn erasing_one_delivery_takes_nothing_of_another() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    let numbers = "(SELECT no FROM deliveries WHERE headline = ";
    run(
        house.data(),
        &format!(
            "UPDATE history SET delivery = -1 WHERE delivery = {numbers}'Send mail');
             UPDATE history SET delivery = {numbers}'Send mail') WHERE delivery = {numbers}'Wire money');
             UPDATE history SET delivery = {numbers}'Wire money') WHERE delivery = -1;"
        ),
    );
    is_named(&house, "history");
    house.serve().await;
    let path = format!("/api/v1/inbox/{}/history", scene.rejected);
    house
        .get(&path, &scene.ann)
        .await
        .is_problem(500, "damaged", None);
    let path = format!("/api/v1/inbox/{}/content", scene.rejected);
    house.send("DELETE", &path, Some(&scene.ann), None).await;
    let other = house.response(&scene.key, &scene.redirected).await;
    assert_eq!(
        (&other["feedback"], &other["edited_content"]),
        (&json!("less"), &json!("10"))
    );
    forget(house);
}

#[tokio::test]
async fn code_in_the_database_does_nothing() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    house.serve().await;
    run(
        house.data(),
        "CREATE TRIGGER t AFTER UPDATE ON deliveries BEGIN
             UPDATE deliveries SET status = 0 WHERE no = new.no; END",
    );
    let answer = house
        .respond(&scene.ann, &scene.open, json!({ "status": "rejected" }))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        house.response(&scene.key, &scene.open).await["status"],
        "rejected"
    );
    house.stop();
    is_named(&house, "trigger t");
    // Verifying took nothing out of the database, and says nothing else.
    let output = house.command(&["trail", "verify"], &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("removed from the database"), "{said}");
    house.json(&["trail", "rebuild"]);
    assert_eq!(verify(&house).0, Some(0));
    forget(house);
    let house = scene.copy();
    run(house.data(), "CREATE TABLE mine (x)");
    is_named(&house, "table mine");
    is_named(&house, "`wakeful restore`");
    assert_eq!(
        house.command(&["trail", "rebuild"], &[]).status.code(),
        Some(2)
    );
    forget(house);
    let mut house = scene.copy();
    run(
        house.data(),
        "CREATE UNIQUE INDEX search_9x ON deliveries (stream, no)",
    );
    is_named(&house, "search_9x");
    assert!(house.try_serve(&[]).await.is_err());
    forget(house);
}

#[tokio::test]
async fn a_database_that_is_not_whole_is_said_to_be_so_in_plain_words() {
    let scene = Scene::new().await;
    let file = |data: &Path| {
        let database = data.join("wakeful.db");
        std::fs::OpenOptions::new()
            .write(true)
            .open(database)
            .unwrap()
    };
    let overwrite = |data: &Path, from: u64, bytes: &[u8]| {
        std::os::unix::fs::FileExt::write_all_at(&file(data), bytes, from).unwrap();
    };
    let cut = |data: &Path, size: u64| file(data).set_len(size).unwrap();
    type Break<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);
    let breaks: [Break<'_>; 9] = [
        (
            "no deliveries",
            Box::new(|data| run(data, "DROP TABLE deliveries")),
        ),
        ("no head", Box::new(|data| run(data, "DROP TABLE head"))),
        ("no parts", Box::new(|data| run(data, "DROP TABLE parts"))),
        (
            "renamed",
            Box::new(|data| run(data, "ALTER TABLE entries RENAME TO others")),
        ),
        (
            "no history",
            Box::new(|data| run(data, "ALTER TABLE history RENAME TO others")),
        ),
        ("empty", Box::new(|data| cut(data, 0))),
        ("cut off", Box::new(|data| cut(data, 40_960))),
        (
            "one page",
            Box::new(|data| overwrite(data, 8 * 4096, &[0; 4096])),
        ),
        (
            "no beginning",
            Box::new(|data| overwrite(data, 0, &[7; 100])),
        ),
    ];
    for (what, damage) in breaks {
        let house = scene.copy();
        damage(house.data());
        let output = house.command(&["trail", "verify"], &[]);
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(output.status.code(), Some(3), "{what}: {output:?}");
        assert!(said.contains("`wakeful restore`"), "{what}: {said}");
        for raw in ["no such", "SELECT", "malformed", "error code"] {
            assert!(!said.contains(raw), "{what}: {said}");
        }
        forget(house);
    }
}

#[tokio::test]
async fn invented_timers_hold_up_nobody_elses() {
    let scene = Scene::new().await;
    let mut house = scene.copy();
    run(
        house.data(),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO deliveries SELECT no - 100000 - i, randomblob(16), stream, kind, status, test,
             provider, headline, summary, details_format, created_at, changed_at - i - 1, lane_no,
             pending_no, timeout_at, timed_out, callback, answered_by, answer_position, hold_by,
             hold_channel, hold_status, hold_until, erased, 1000 + i, mac, told
         FROM deliveries, n WHERE headline = 'Delete production'",
    );
    house.serve().await;
    let hold = json!({ "status": "approved", "hold_seconds": 1 });
    let held = house.respond(&scene.ann, &scene.open, hold).await;
    assert_eq!(held.status, 200, "{}", held.text());
    assert_eq!(
        house.answer(&scene.key, &scene.open).await["status"],
        "approved"
    );
    house.kill();
    let log = std::fs::metadata(house.log_file()).map_or(0, |log| log.len());
    assert!(log < 1 << 20, "{log} bytes were logged");
    forget(house);
}

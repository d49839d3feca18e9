//! Rows that no entry proves: one that somebody changed is not acted on, and a
//! store that was sealed with another key is refused.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use store::*;
use trail::{Hash, Micros};
use uuid::Uuid;

fn seal() -> RowSeal {
    RowSeal::new(&[7; 32])
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// Two rows of each kind, so that one can be given the other's values.
async fn fill(store: &dyn Store) {
    let mut batch = Batch::default();
    for (number, name) in (1_u8..).zip(["ann", "bob"]) {
        let delivery = id(number.into());
        batch.kept.secrets.push((name.to_owned(), vec![number]));
        batch.kept.buckets.push(BucketRow {
            key_id: name.to_owned(),
            level: number.into(),
            at: Micros(5),
        });
        batch.kept.idempotency.push(IdempotencyRow {
            key_id: name.to_owned(),
            idempotency_key: "k".to_owned(),
            digest: Hash([number; 32]),
            status: 201,
            body: vec![number],
            created_at: Micros(5),
        });
        batch.wake.callbacks.push(CallbackRow {
            no: number.into(),
            delivery_id: delivery,
            webhook_id: name.to_owned(),
            attempts: 0,
            state: 0,
            next_at: Some(Micros(number.into())),
            last_error: None,
        });
        batch.inbox.seen.push((name.to_owned(), delivery));
        batch
            .inbox
            .snoozed
            .push((name.to_owned(), number.into(), Some(Micros(100))));
    }
    store.append(batch).await.unwrap();
}

fn database(directory: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(directory.join("wakeful.db")).unwrap()
}

async fn loaded(store: &dyn Store) -> Loaded {
    let needs = Needs {
        kept: batch::kept::Needs {
            buckets: vec!["ann".to_owned(), "bob".to_owned()],
            idempotency: vec![
                ("ann".to_owned(), "k".to_owned()),
                ("bob".to_owned(), "k".to_owned()),
            ],
        },
        wake: batch::wake::Needs {
            callbacks: vec![1, 2],
            ..Default::default()
        },
        inbox: batch::inbox::Needs {
            seen: vec![("ann".to_owned(), id(1)), ("bob".to_owned(), id(2))],
        },
        ..Default::default()
    };
    store.load(&needs).await.unwrap()
}

#[tokio::test]
async fn a_changed_row_is_passed_over_and_its_neighbour_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().into(), &seal()).await.unwrap();
    fill(store.as_ref()).await;
    let whole = loaded(store.as_ref()).await;
    let counts = |loaded: &Loaded| {
        [
            loaded.kept.buckets.len(),
            loaded.kept.idempotency.len(),
            loaded.wake.callbacks.len(),
            loaded.inbox.seen.len(),
        ]
    };
    assert_eq!(counts(&whole), [2, 2, 2, 2]);
    assert_eq!(store.snoozed("ann", Micros(1), 9).await.unwrap().len(), 1);
    assert_eq!(
        store.check_rows().await.unwrap().wrong,
        ["head: there is more than one, or none (1)"]
    );

    database(directory.path())
        .execute_batch(
            "UPDATE buckets SET level = 2 WHERE key_id = 'ann';
             UPDATE idempotency SET body = (SELECT body FROM idempotency
                 WHERE key_id = 'bob') WHERE key_id = 'ann';
             UPDATE callbacks SET delivery_id = (SELECT delivery_id FROM callbacks WHERE no = 2)
                 WHERE no = 1;
             UPDATE snoozed SET until = 101 WHERE name = 'ann';
             UPDATE secrets SET sealed = x'02' WHERE name = 'ann';
             INSERT INTO seen SELECT 'ann', x'09', mac FROM seen WHERE name = 'ann';",
        )
        .unwrap();
    let left = loaded(store.as_ref()).await;
    assert_eq!(counts(&left), [1, 1, 1, 2]);
    // Nor is one that cannot be read, and it is in nobody else's way.
    database(directory.path())
        .execute_batch("UPDATE idempotency SET status = 'abc', body = 'x' WHERE key_id = 'ann'")
        .unwrap();
    assert_eq!(counts(&loaded(store.as_ref()).await), [1, 1, 1, 2]);
    assert!(left.kept.buckets.contains_key("bob") && left.wake.callbacks.contains_key(&2));
    assert!(store.snoozed("ann", Micros(1), 9).await.unwrap().is_empty());
    assert_eq!(store.callbacks_due(Micros(9), 9).await.unwrap().len(), 1);
    assert_eq!(store.next_callback().await.unwrap(), Some(Micros(2)));
    assert!(matches!(store.secret("ann").await, Err(Error::Damaged(_))));
    assert_eq!(store.secret("bob").await.unwrap(), Some(vec![2]));
    let wrong = store.check_rows().await.unwrap().wrong;
    for table in [
        "secrets",
        "buckets",
        "idempotency",
        "callbacks",
        "snoozed",
        "seen",
    ] {
        let named = wrong
            .iter()
            .any(|wrong| wrong.starts_with(&format!("{table}: 1 row is not as it was written")));
        assert!(named, "{table} in {wrong:?}");
    }
}

#[tokio::test]
async fn a_store_of_another_key_is_refused_and_a_changed_proof_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().into(), &seal()).await.unwrap();
    fill(store.as_ref()).await;
    drop(store);
    let other = open(&directory.path().into(), &RowSeal::new(&[8; 32])).await;
    assert!(matches!(other, Err(Error::OtherSeal)), "{other:?}");
    database(directory.path())
        .execute_batch("UPDATE row_seal SET proof = zeroblob(16)")
        .unwrap();
    drop(open(&directory.path().into(), &seal()).await.unwrap());
    let store = open_read_only(&directory.path().into(), Some(&seal())).unwrap();
    let wrong = store.check_rows().await.unwrap().wrong;
    assert!(
        !wrong.iter().any(|wrong| wrong.contains("row_seal")),
        "{wrong:?}"
    );
    // With the rows sealed anew, the other key is the one.
    drop(store);
    reseal(&directory.path().into(), &RowSeal::new(&[8; 32])).unwrap();
    assert!(
        open(&directory.path().into(), &RowSeal::new(&[8; 32]))
            .await
            .is_ok()
    );
    assert!(matches!(
        open(&directory.path().into(), &seal()).await,
        Err(Error::OtherSeal)
    ));
}

/// A copy of data that the version before wrote, in which a request was repeated.
fn data_of_the_version_before() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../wakeful/tests/fixtures/schema-7/wakeful.db"
    );
    std::fs::copy(fixture, directory.path().join("wakeful.db")).unwrap();
    directory
}

fn repeats(directory: &Path) -> i64 {
    let count = "SELECT count(*) FROM idempotency";
    database(directory)
        .query_row(count, [], |row| row.get(0))
        .unwrap()
}

#[tokio::test]
async fn an_older_store_of_another_key_is_refused_and_left_as_it_is() {
    let directory = data_of_the_version_before();
    let before = std::fs::read(directory.path().join("wakeful.db")).unwrap();
    let other = open(&directory.path().into(), &RowSeal::new(&[8; 32])).await;
    assert!(matches!(other, Err(Error::OtherSeal)), "{other:?}");
    drop(other);
    assert!(std::fs::read(directory.path().join("wakeful.db")).unwrap() == before);
}

#[tokio::test]
async fn a_copy_of_an_older_store_that_is_sealed_anew_loses_no_row() {
    let directory = data_of_the_version_before();
    let before = repeats(directory.path());
    assert!(before > 0);
    let key = RowSeal::new(&[8; 32]);
    reseal(&directory.path().into(), &key).unwrap();
    assert_eq!(repeats(directory.path()), before);
    assert!(open(&directory.path().into(), &key).await.is_ok());
}

#[tokio::test]
async fn code_in_the_database_is_removed_and_another_table_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(&directory.path().into(), &seal()).await.unwrap());
    let database = database(directory.path());
    let trigger = "CREATE TRIGGER eve AFTER INSERT ON seen BEGIN DELETE FROM secrets; END";
    database.execute_batch(trigger).unwrap();
    let store = open_read_only(&directory.path().into(), None).unwrap();
    let wrong = store.check_rows().await.unwrap().wrong;
    assert!(
        wrong.iter().any(|wrong| wrong.contains("trigger eve")),
        "{wrong:?}"
    );
    drop(store);
    drop(open(&directory.path().into(), &seal()).await.unwrap());
    let left: i64 = database
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
    database.execute_batch("CREATE TABLE eve (a)").unwrap();
    let refused = open(&directory.path().into(), &seal()).await;
    assert!(matches!(refused, Err(Error::Damaged(_))), "{refused:?}");
}

/// A delivery that was answered.
fn answered(number: u64) -> DeliveryRow {
    DeliveryRow {
        no: number,
        id: id(number.into()),
        stream: 0,
        kind: 0,
        status: 1,
        test: false,
        provider: "test".to_owned(),
        headline: "Tests".to_owned(),
        summary: "They pass.".to_owned(),
        details_format: None,
        created_at: Micros(1),
        changed_at: Micros(1),
        lane_no: number,
        pending_no: number,
        timeout_at: None,
        timed_out: false,
        callback: None,
        answered_by: Some("ann".to_owned()),
        answer_position: None,
        hold: None,
        erased: Erased::Nothing,
        due_at: None,
    }
}

#[tokio::test]
async fn a_row_with_a_code_that_nobody_knows_is_named_and_not_given() {
    type Change = fn(&mut DeliveryRow);
    fn hold(channel: u8, status: u8) -> HoldRow {
        HoldRow {
            by: "ann".to_owned(),
            channel,
            status,
            until: Micros(9),
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().into(), &seal()).await.unwrap();
    let strange: [(&str, Change); 6] = [
        ("kind", |row| row.kind = 4),
        ("status", |row| row.status = 4),
        ("status", |row| row.status = 0),
        ("details_format", |row| row.details_format = Some(4)),
        ("hold_channel", |row| row.hold = Some(hold(3, 1))),
        ("hold_status", |row| row.hold = Some(hold(0, 0))),
    ];
    let mut batch = Batch::default();
    batch.wake.new_deliveries.push(answered(1));
    for (number, (_, change)) in (2..).zip(&strange) {
        let mut row = answered(number);
        change(&mut row);
        batch.wake.new_deliveries.push(row);
    }
    store.append(batch).await.unwrap();
    assert!(store.delivery(id(1)).await.unwrap().is_some());
    for (number, (column, _)) in (2_u128..).zip(&strange) {
        let refused = store.delivery(id(number)).await.unwrap_err().to_string();
        let named = refused.contains(column) && refused.contains(&id(number).to_string());
        assert!(named, "{column}: {refused}");
    }
    let told = store.response(id(3)).await;
    assert!(told.is_err(), "{told:?}");
}

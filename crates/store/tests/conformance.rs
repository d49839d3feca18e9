//! What every backend must do, each test named after the sentence it proves.
//!
//! A backend joins by saying how it makes a fresh place and opens it again.
#![allow(clippy::unwrap_used)]

mod world;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, mpsc},
};

use store::*;
use trail::{Hash, Micros};
use uuid::Uuid;
use world::{Dice, World, answered};

/// Names and bytes.
type Secrets = Vec<(String, Vec<u8>)>;

/// One fresh place of a backend.
trait Backend {
    fn open(&self) -> impl Future<Output = Arc<dyn Store>>;
    fn open_read_only(&self) -> Arc<dyn Store>;
    /// Puts a backup into a place of its own and opens it.
    fn restored(&self, file: &Path) -> impl Future<Output = (Arc<dyn Store>, Secrets)>;
    fn backup_file(&self) -> std::path::PathBuf;
    /// Opens it again after that many deliveries' ids moved to where old ones
    /// are kept, as if the process had ended before the move was noted.
    fn settle_ids(&self, world: World, many: u32) -> impl Future<Output = Arc<dyn Store>>;
    /// Whether it keeps these bytes anywhere.
    fn keeps(&self, bytes: &[u8]) -> impl Future<Output = bool>;
}

fn seal() -> RowSeal {
    RowSeal::new(&[7; 32])
}

struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn fresh() -> Sqlite {
        Sqlite(tempfile::tempdir().unwrap())
    }
}

impl Backend for Sqlite {
    async fn open(&self) -> Arc<dyn Store> {
        store::open(&self.0.path().into(), &seal()).await.unwrap()
    }

    fn open_read_only(&self) -> Arc<dyn Store> {
        store::open_read_only(&self.0.path().into(), Some(&seal())).unwrap()
    }

    async fn restored(&self, file: &Path) -> (Arc<dyn Store>, Secrets) {
        let elsewhere = self.0.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let keys = store::restore(file, &elsewhere.as_path().into(), false).unwrap();
        (
            store::open(&elsewhere.as_path().into(), &seal())
                .await
                .unwrap(),
            keys,
        )
    }

    fn backup_file(&self) -> std::path::PathBuf {
        self.0.path().join("backup.db")
    }

    async fn settle_ids(&self, world: World, many: u32) -> Arc<dyn Store> {
        drop(world);
        let file = self.0.path().join("wakeful.db");
        let connection = rusqlite::Connection::open(file).unwrap();
        let moved = "INSERT OR IGNORE INTO ids SELECT id, no FROM deliveries ORDER BY id LIMIT ?1";
        connection.execute(moved, [many]).unwrap();
        if many == 60 {
            let next = "UPDATE settled SET next = (SELECT max(no) + 1 FROM deliveries)";
            connection.execute(next, []).unwrap();
        }
        drop(connection);
        self.open().await
    }

    async fn keeps(&self, bytes: &[u8]) -> bool {
        std::fs::read_dir(self.0.path()).unwrap().any(|file| {
            let held = std::fs::read(file.unwrap().path()).unwrap();
            held.windows(bytes.len()).any(|window| window == bytes)
        })
    }
}

#[derive(Default)]
struct Memory(store::memory::Memory);

impl Memory {
    fn fresh() -> Memory {
        Memory::default()
    }
}

impl Backend for Memory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn open_read_only(&self) -> Arc<dyn Store> {
        Arc::new(self.0.read_only())
    }

    async fn restored(&self, file: &Path) -> (Arc<dyn Store>, Secrets) {
        let (store, keys) = self.0.restored(file).unwrap();
        (Arc::new(store), keys)
    }

    fn backup_file(&self) -> std::path::PathBuf {
        "a name".into()
    }

    /// Its ids are all in one place.
    async fn settle_ids(&self, world: World, _: u32) -> Arc<dyn Store> {
        drop(world);
        self.open().await
    }

    /// Text is printed as it is, and content as a list of numbers.
    async fn keeps(&self, bytes: &[u8]) -> bool {
        let printed = format!("{:?}", self.0);
        let numbers = format!("{bytes:?}");
        let numbers = numbers.trim_matches(['[', ']']);
        printed.contains(std::str::from_utf8(bytes).unwrap()) || printed.contains(numbers)
    }
}

macro_rules! conforms {
    ($($backend:ident in $module:ident)* { $($sentence:ident)* }) => {
        conforms! { @ [$($backend $module)*] [$($sentence)*] }
    };
    (@ [] $sentences:tt) => {};
    (@ [$backend:ident $module:ident $($rest:ident)*] [$($sentence:ident)*]) => {
        mod $module {
            $(#[tokio::test]
            async fn $sentence() {
                super::$sentence(super::$backend::fresh()).await;
            })*
        }
        conforms! { @ [$($rest)*] [$($sentence)*] }
    };
}

conforms! { Sqlite in sqlite Memory in memory {
    a_new_store_is_empty
    what_was_appended_is_there_after_opening_again
    load_gives_what_was_written_and_nothing_else
    marks_are_one_persons_alone
    append_is_all_or_nothing
    a_second_writer_at_the_same_place_gets_a_conflict
    a_turn_that_another_process_overtook_appends_nothing
    sweeps_equal_the_model_across_block_boundaries
    ids_of_a_range_come_in_their_order_wherever_they_are_kept
    inbox_pages_equal_the_model_for_every_filter
    an_inbox_page_looks_through_no_more_than_it_may_and_loses_nothing
    search_finds_whole_words_and_beginnings_and_is_no_query_language
    timers_and_callbacks_come_soonest_first
    erasable_is_what_is_old_and_waits_for_no_answer
    erasing_removes_the_parts_of_every_entry_about_a_delivery
    erased_words_are_no_longer_found_nor_kept_anywhere
    of_a_long_history_the_newest_entries_are_given
    entries_and_history_come_in_order
    hashes_give_leaves_and_subtrees_by_range
    accounts_secrets_buckets_marks_and_records_replace_and_go
    a_backup_is_what_was_committed_when_it_was_made
    a_store_opened_to_be_read_refuses_to_write
    digests_change_with_any_view_and_come_back_after_a_rebuild
} }

async fn a_new_store_is_empty(backend: impl Backend) {
    let store = backend.open().await;
    assert_eq!(store.head().await.unwrap(), None);
    assert_eq!(store.streams("").await.unwrap(), []);
    assert_eq!(store.next_stream().await.unwrap(), 0);
    assert_eq!(store.next_due(Micros(i64::MIN)).await.unwrap(), None);
    assert_eq!(store.next_callback().await.unwrap(), None);
    assert_eq!(store.hashes(0, 0, 10).await.unwrap(), []);
    let sweep = SweepQuery {
        lanes: vec![Lane {
            stream: 0,
            status: 0,
        }],
        since: None,
        limit: 10,
    };
    let page = store.sweep(sweep).await.unwrap();
    assert_eq!((page.rows.len(), page.total), (0, 0));
    assert!(!store.index_some(10).await.unwrap());
}

async fn what_was_appended_is_there_after_opening_again(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0, 0]);
    let first = world.receive(0, "First", Some(b"\"one\""));
    world.receive(1, "Second", None);
    world.answer(first, 1, Some(b"\"well done\""));
    world.commit().await;
    let World {
        store,
        deliveries,
        entries,
        ..
    } = world;
    drop(store);

    let store = backend.open().await;
    let head = store.head().await.unwrap().unwrap();
    assert_eq!((head.size, head.note.as_str()), (3, "note 3"));
    for known in &deliveries {
        let row = store.delivery(known.row.id).await.unwrap().unwrap();
        assert_eq!(row, known.row);
        let response = store.response(known.row.id).await.unwrap().unwrap();
        assert_eq!(response, answered(known));
    }
    let query = EntryQuery {
        limit: 10,
        with_parts: true,
        ..Default::default()
    };
    assert_eq!(store.entries(query).await.unwrap(), entries);
    let entry = store.entry(0).await.unwrap();
    assert_eq!(entry.as_ref(), entries.first());
    assert_eq!(store.entry(entries.len() as u64).await.unwrap(), None);
    assert_eq!(store.delivery(Uuid::from_u128(1)).await.unwrap(), None);
}

async fn marks_are_one_persons_alone(backend: impl Backend) {
    let store = backend.open().await;
    let ids: Vec<Uuid> = (0..3).map(|_| Uuid::new_v4()).collect();
    let (ann, bob) = ("ann".to_owned(), "bob".to_owned());
    let batch = Batch {
        inbox: batch::inbox::Batch {
            seen: vec![(ann.clone(), ids[0]), (bob.clone(), ids[1])],
            snoozed: vec![
                (ann.clone(), 4, Some(Micros(10))),
                (ann.clone(), 5, Some(Micros(30))),
                (bob.clone(), 4, Some(Micros(20))),
            ],
            over: Vec::new(),
        },
        ..Default::default()
    };
    store.append(batch).await.unwrap();
    let seen = store.seen("ann", ids.clone()).await.unwrap();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [ids[0]]);
    let mine = |name: &'static str, now: i64| {
        let store = &store;
        async move {
            let found = store.snoozed(name, Micros(now), 10).await.unwrap();
            let mut found: Vec<(u64, i64)> = found.into_iter().map(|(no, at)| (no, at.0)).collect();
            found.sort_unstable();
            found
        }
    };
    assert_eq!(mine("ann", 9).await, [(4, 10), (5, 30)]);
    assert_eq!(mine("ann", 10).await, [(5, 30)], "its time is over");
    assert!(store.is_snoozed("ann", 5, Micros(29)).await.unwrap());
    assert!(!store.is_snoozed("ann", 5, Micros(30)).await.unwrap());
    assert!(!store.is_snoozed("bob", 5, Micros(9)).await.unwrap());
    assert_eq!(mine("bob", 9).await, [(4, 20)]);
    let batch = Batch {
        inbox: batch::inbox::Batch {
            snoozed: vec![(ann.clone(), 5, None), (bob, 4, Some(Micros(40)))],
            ..Default::default()
        },
        ..Default::default()
    };
    store.append(batch).await.unwrap();
    assert_eq!(mine("ann", 9).await, [(4, 10)]);
    assert_eq!(mine("bob", 30).await, [(4, 40)]);
    let over = Batch {
        inbox: batch::inbox::Batch {
            over: vec![(ann, Micros(10))],
            // So that there is something to append.
            snoozed: vec![("bob".to_owned(), 4, None)],
            ..Default::default()
        },
        ..Default::default()
    };
    store.append(over).await.unwrap();
    assert_eq!(mine("ann", 9).await, [], "what is over is gone");
}

async fn load_gives_what_was_written_and_nothing_else(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    let index = world.receive(0, "One", None);
    // Every field that can be there is there.
    let row = &mut world.deliveries[index].row;
    row.details_format = Some(2);
    row.timeout_at = Some(Micros(77));
    row.timed_out = true;
    row.callback = Some("https://example.com/x".to_owned());
    row.answer_position = Some(0);
    row.hold = Some(HoldRow {
        by: "ann".to_owned(),
        channel: 2,
        status: 3,
        until: Micros(5),
    });
    row.due_at = Some(Micros(5));
    let id = row.id;
    world.change(index, None);
    let bucket = BucketRow {
        key_id: "k".to_owned(),
        level: -3,
        at: Micros(9),
    };
    let record = IdempotencyRow {
        key_id: "k".to_owned(),
        idempotency_key: "once".to_owned(),
        digest: Hash([3; 32]),
        status: 201,
        body: b"{}".to_vec(),
        created_at: Micros(4),
    };
    let callback = CallbackRow {
        no: 0,
        delivery_id: id,
        webhook_id: "msg_1".to_owned(),
        attempts: 2,
        state: 0,
        next_at: Some(Micros(8)),
        last_error: Some("refused".to_owned()),
    };
    world.batch.kept.buckets.push(bucket.clone());
    world.batch.kept.idempotency.push(record.clone());
    world.batch.wake.callbacks.push(callback.clone());
    world.batch.inbox.seen.push(("ann".to_owned(), id));
    world.commit().await;

    let needs = Needs {
        wake: batch::wake::Needs {
            deliveries: vec![id, Uuid::from_u128(9)],
            lanes: vec![0, 9],
            callbacks: vec![0, 1],
        },
        log: batch::log::Needs {
            streams: vec!["agent/a0".to_owned(), "agent/none".to_owned()],
        },
        kept: batch::kept::Needs {
            buckets: vec!["k".to_owned(), "none".to_owned()],
            idempotency: vec![
                ("k".to_owned(), "once".to_owned()),
                ("other".to_owned(), "once".to_owned()),
            ],
        },
        inbox: batch::inbox::Needs {
            seen: vec![("ann".to_owned(), id), ("bob".to_owned(), id)],
        },
    };
    let loaded = world.store.load(&needs).await.unwrap();
    assert_eq!(loaded.wake.deliveries.len(), 1);
    assert_eq!(loaded.wake.deliveries[&id], world.deliveries[0].row);
    assert_eq!(loaded.log.streams.len(), 1);
    assert_eq!(loaded.log.streams["agent/a0"], world.streams[0]);
    assert_eq!(
        loaded.wake.lanes.into_values().collect::<Vec<_>>(),
        world.lanes
    );
    assert_eq!(
        loaded.kept.buckets.into_values().collect::<Vec<_>>(),
        [bucket]
    );
    assert_eq!(
        loaded.kept.idempotency.into_values().collect::<Vec<_>>(),
        [record]
    );
    assert_eq!(
        loaded.wake.callbacks.into_values().collect::<Vec<_>>(),
        [callback]
    );
    assert_eq!(
        loaded.inbox.seen.into_iter().collect::<Vec<_>>(),
        [("ann".to_owned(), id)]
    );
}

async fn append_is_all_or_nothing(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    let index = world.receive(0, "One", Some(b"\"x\""));
    world.commit().await;
    let before = world.store.view_digests().await.unwrap();

    // Everything a batch can hold, and at its end something that cannot be:
    // a part of an entry that has one already.
    world.answer(index, 2, Some(b"\"no\""));
    world.receive(0, "Two", None);
    let id = world.deliveries[1].row.id;
    let mut batch = world.take_batch();
    batch.account.accounts.push(AccountRow {
        kind: "user".to_owned(),
        id: "ann".to_owned(),
        body: Some("{}".to_owned()),
    });
    batch.kept.secrets.push(("s".to_owned(), vec![1]));
    batch.kept.buckets.push(BucketRow {
        key_id: "k".to_owned(),
        level: 1,
        at: Micros(1),
    });
    batch.inbox.seen.push(("ann".to_owned(), id));
    batch.wake.erase.push((0, 1_000));
    batch.log.subtrees.push(SubtreeRow {
        level: 1,
        index: 0,
        hash: Hash([1; 32]),
    });
    batch.log.subtrees.push(SubtreeRow {
        level: 1,
        index: 0,
        hash: Hash([2; 32]),
    });
    assert!(matches!(
        world.store.append(batch).await,
        Err(Error::Conflict)
    ));

    let store = &world.store;
    assert_eq!(store.head().await.unwrap().unwrap().size, 1);
    assert_eq!(store.view_digests().await.unwrap(), before);
    assert_eq!(store.hashes(1, 0, 1).await.unwrap(), []);
    assert_eq!(store.secret("s").await.unwrap(), None);
    assert_eq!(store.delivery(id).await.unwrap(), None);
    let kept = store.entry(0).await.unwrap().unwrap();
    assert_eq!(kept.parts[0].bytes, b"\"x\"");
    let needs = Needs {
        kept: batch::kept::Needs {
            buckets: vec!["k".to_owned()],
            ..Default::default()
        },
        inbox: batch::inbox::Needs {
            seen: vec![("ann".to_owned(), id)],
        },
        ..Default::default()
    };
    let loaded = store.load(&needs).await.unwrap();
    assert!(loaded.kept.buckets.is_empty() && loaded.inbox.seen.is_empty());
}

async fn a_turn_that_another_process_overtook_appends_nothing(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0, 0]);
    world.receive(0, "One", None);
    world.commit().await;
    let other = backend.open().await;
    let kept = |text: &str| Batch {
        kept: batch::kept::Batch {
            secrets: vec![("s".to_owned(), text.into())],
            ..Default::default()
        },
        ..Default::default()
    };

    let overtaken = world.store.turn().await.unwrap();
    let version = overtaken.version();
    other.append(kept("theirs")).await.unwrap();
    // No entry is in either batch.
    let appended = overtaken.append(kept("ours")).await;
    assert!(matches!(appended, Err(Error::Conflict)));
    assert_eq!(other.secret("s").await.unwrap().unwrap(), b"theirs");

    let next = world.store.turn().await.unwrap();
    assert_eq!(next.version(), version + 1);
    next.append(kept("ours")).await.unwrap();
    assert_eq!(other.secret("s").await.unwrap().unwrap(), b"ours");
}

async fn a_second_writer_at_the_same_place_gets_a_conflict(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0, 0]);
    world.receive(0, "One", None);
    world.commit().await;
    let second = backend.open().await;

    // Both decided on the same head.
    let mut theirs = World::new(Arc::clone(&second), &[0, 0]);
    theirs.entries = world.entries.clone();
    theirs.streams = world.streams.clone();
    world.receive(0, "Ours", None);
    theirs.receive(1, "Theirs, in another stream", None);
    world.commit().await;
    let batch = theirs.take_batch();
    assert!(matches!(second.append(batch).await, Err(Error::Conflict)));

    // A free position does not help where the number in the stream is taken.
    let mut stale = World::new(Arc::clone(&second), &[0, 0]);
    stale.entries = world.entries.clone();
    stale.receive(0, "Number 0 again", None);
    let batch = stale.take_batch();
    assert!(matches!(second.append(batch).await, Err(Error::Conflict)));

    // Nor does a gap.
    let mut ahead = World::new(Arc::clone(&second), &[0, 0]);
    ahead.entries = [world.entries.clone(), world.entries.clone()].concat();
    ahead.streams = world.streams.clone();
    ahead.receive(0, "From nowhere", None);
    let batch = ahead.take_batch();
    assert!(matches!(second.append(batch).await, Err(Error::Conflict)));
    assert_eq!(second.head().await.unwrap().unwrap().size, 2);
}

/// Numbers just below where a block of each level ends, so that a few hundred
/// deliveries cross it.
const NEAR_BOUNDARIES: [u64; 4] = [0, 200, (1 << 16) - 90, (1 << 24) - 60];

async fn sweeps_equal_the_model_across_block_boundaries(backend: impl Backend) {
    let seed = 0x5eed_0001;
    let mut dice = Dice(seed);
    let mut world = World::new(backend.open().await, &NEAR_BOUNDARIES);
    for step in 0..240 {
        for _ in 0..dice.below(12) + 1 {
            let stream = dice.below(4);
            let pending: Vec<usize> = (0..world.deliveries.len())
                .filter(|index| {
                    let row = &world.deliveries[*index].row;
                    row.stream == stream && row.status == 0
                })
                .collect();
            // Mostly the older ones are answered, which leaves holes everywhere.
            match !pending.is_empty() && dice.one_in(3) {
                true => {
                    let index = pending[dice.below(pending.len() as u64) as usize];
                    let feedback = dice.one_in(2).then_some(b"\"because\"".as_slice());
                    world.answer(index, 1 + dice.below(3) as u8, feedback);
                }
                false => drop(world.receive(stream, "Work", None)),
            }
        }
        world.commit().await;
        for _ in 0..8 {
            let query = random_sweep(&mut dice, &world);
            let page = world.store.sweep(query.clone()).await.unwrap();
            let (rows, total) = world.sweep(&query);
            assert_eq!(page.total, total, "seed {seed:#x}, step {step}, {query:?}");
            assert_eq!(page.rows, rows, "seed {seed:#x}, step {step}, {query:?}");
        }
        let mut waiting = HashMap::new();
        for delivery in world.deliveries.iter().filter(|one| one.row.status == 0) {
            *waiting.entry(delivery.row.stream).or_default() += 1;
        }
        let kept = world.store.waiting((0..5).collect()).await.unwrap();
        assert_eq!(kept, waiting, "seed {seed:#x}, step {step}");
    }
}

async fn ids_of_a_range_come_in_their_order_wherever_they_are_kept(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &NEAR_BOUNDARIES);
    for count in 0..60 {
        world.receive(count % 4, "Work", None);
    }
    world.commit().await;
    let rows = world.deliveries.iter().map(|one| one.row.clone());
    let mut expected: Vec<DeliveryRow> = rows.collect();
    expected.sort_by_key(|row| row.id);
    let [third, last] = [expected[2].id, expected[59].id];
    let all = Uuid::nil()..=Uuid::max();
    // Some of them in the place where old ones are kept, some in both.
    for settled in [0, 20, 60] {
        world = World::new(backend.settle_ids(world, settled).await, &NEAR_BOUNDARIES);
        let found = |range, limit| world.store.deliveries_within(range, limit);
        assert_eq!(found(all.clone(), 200).await.unwrap(), expected);
        assert_eq!(found(all.clone(), 7).await.unwrap(), expected[..7]);
        let some = found(third..=last, 3).await.unwrap();
        assert_eq!(some, expected[2..5]);
        let one = found(third..=third, 200).await.unwrap();
        assert_eq!(one, expected[2..3]);
        let none = found(Uuid::max()..=Uuid::max(), 200).await.unwrap();
        assert_eq!(none, []);
    }
}

fn random_sweep(dice: &mut Dice, world: &World) -> SweepQuery {
    let mut lanes = Vec::new();
    for stream in 0..5 {
        for status in 0..4 {
            if dice.one_in(3) {
                lanes.push(Lane { stream, status });
            }
        }
    }
    let since = match dice.below(5) {
        0 => None,
        1 => Some(Micros(world.now)),
        2 => Some(Micros(0)),
        // Often exactly the time of a change, which must not come again.
        3 => world
            .deliveries
            .get(dice.below(world.deliveries.len() as u64) as usize)
            .map(|known| known.row.changed_at),
        _ => Some(Micros(
            1_000_000 + dice.below((world.now - 1_000_000) as u64) as i64,
        )),
    };
    SweepQuery {
        lanes,
        since,
        limit: *dice.pick(&[1, 2, 7, 50, 200]),
    }
}

async fn inbox_pages_equal_the_model_for_every_filter(backend: impl Backend) {
    let seed = 0x5eed_0002;
    let mut dice = Dice(seed);
    let mut world = World::new(backend.open().await, &[0, 0, 0]);
    let words = ["amber", "birch", "cedar", "Dédale"];
    for _ in 0..300 {
        let headline = format!("{} {}", dice.pick(&words), dice.pick(&words));
        let details = dice.one_in(2).then(|| format!("{:?}", dice.pick(&words)));
        let stream = dice.below(3);
        let index = world.receive(stream, &headline, details.as_deref().map(str::as_bytes));
        if dice.one_in(2) {
            world.answer(index, 1 + dice.below(3) as u8, None);
        }
    }
    world.commit().await;
    while world.store.index_some(64).await.unwrap() {}

    for round in 0..300 {
        let some = |dice: &mut Dice| -> Vec<u8> { (0..4).filter(|_| dice.one_in(3)).collect() };
        let searched: Vec<&str> = match dice.below(4) {
            0 => vec!["ced"],
            1 => vec!["amber", "birch"],
            _ => vec![],
        };
        let filter = InboxFilter {
            stream: dice.one_in(2).then(|| dice.below(4)),
            kinds: some(&mut dice),
            statuses: some(&mut dice),
            test: dice.one_in(2).then(|| dice.one_in(2)),
            search: (!searched.is_empty()).then(|| searched.join(" ")),
            aside: None,
        };
        let limit = *dice.pick(&[1, 3, 20, 100]);
        let expected = world.inbox(&filter, &searched);
        let found = all_pages(world.store.as_ref(), &filter, limit).await;
        assert_eq!(
            found, expected,
            "seed {seed:#x}, round {round}, {filter:?}, {limit} a page"
        );
    }
}

async fn all_pages(store: &dyn Store, filter: &InboxFilter, limit: usize) -> Vec<DeliveryRow> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let query = InboxQuery {
            filter: filter.clone(),
            before,
            limit,
        };
        let page = store.inbox(query).await.unwrap();
        assert!(page.rows.len() <= limit);
        found.extend(page.rows);
        match page.next {
            None => return found,
            Some(next) => {
                assert!(
                    before.is_none_or(|before| next < before),
                    "paging stands still"
                );
                before = Some(next);
            }
        }
    }
}

async fn an_inbox_page_looks_through_no_more_than_it_may_and_loses_nothing(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    for number in 0..4500 {
        let headline = if number == 3 { "Needle" } else { "Hay" };
        world.receive(0, headline, None);
    }
    // One delivery in three is a test, but of these only the oldest.
    for index in 0..world.deliveries.len() {
        let row = &mut world.deliveries[index].row;
        row.test = index < 2;
        let row = row.clone();
        world.batch.wake.new_deliveries[index] = row;
    }
    world.commit().await;
    let filter = InboxFilter {
        test: Some(true),
        ..Default::default()
    };
    let found = all_pages(world.store.as_ref(), &filter, 10).await;
    assert_eq!(found, world.inbox(&filter, &[]));
    assert_eq!(found.len(), 2);

    while world.store.index_some(512).await.unwrap() {}
    let filter = InboxFilter {
        search: Some("hay".to_owned()),
        test: Some(true),
        ..Default::default()
    };
    let found = all_pages(world.store.as_ref(), &filter, 10).await;
    assert_eq!(found, world.inbox(&filter, &["hay"]));
}

async fn search_finds_whole_words_and_beginnings_and_is_no_query_language(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    world.receive(0, "Café report", Some(br#"{"secret":"walnut"}"#));
    world.receive(0, "Other", None);
    world.commit().await;
    let find = async |words: &str| {
        let filter = InboxFilter {
            search: Some(words.to_owned()),
            ..Default::default()
        };
        all_pages(world.store.as_ref(), &filter, 10).await.len()
    };
    assert_eq!(
        find("report").await,
        0,
        "the index lags, and nothing is made up"
    );
    while world.store.index_some(1).await.unwrap() {}
    for (words, hits) in [
        ("report", 1),
        ("rep", 1),
        ("eport", 0),
        ("CAFE", 1),
        ("café report", 1),
        ("report other", 0),
        ("walnut", 1),
        ("a0", 2),
        ("summary", 2),
        ("", 0),
        ("  ", 0),
        ("report OR other", 0),
        ("report NOT x", 0),
        ("headline:report", 0),
        ("rep*", 1),
        ("\"", 0),
        ("\"report", 1),
        ("(", 0),
        ("^report", 1),
        ("report\0", 1),
        ("-", 0),
    ] {
        assert_eq!(find(words).await, hits, "{words:?}");
    }
}

async fn timers_and_callbacks_come_soonest_first(backend: impl Backend) {
    let mut dice = Dice(0x5eed_0003);
    let mut world = World::new(backend.open().await, &[0]);
    let mut timers = Vec::new();
    let mut owed = Vec::new();
    for number in 0..40 {
        let index = world.receive(0, "Work", None);
        let at = Micros(dice.below(1000) as i64 * 100 + number);
        let id = world.deliveries[index].row.id;
        if dice.one_in(2) {
            world.deliveries[index].row.due_at = Some(at);
            world.change(index, None);
            timers.push((at, id));
        }
        let next_at = dice.one_in(2).then_some(at);
        let callback = CallbackRow {
            no: number as u64,
            delivery_id: id,
            webhook_id: format!("msg_{number}"),
            attempts: 0,
            state: 0,
            next_at,
            last_error: None,
        };
        owed.push(callback.clone());
        world.batch.wake.callbacks.push(callback);
    }
    world.commit().await;
    timers.sort_unstable();
    let store = &world.store;
    assert_eq!(
        store.next_due(Micros(i64::MIN)).await.unwrap(),
        timers.first().map(|timer| timer.0)
    );
    let mut waiting: Vec<CallbackRow> = owed.clone();
    waiting.retain(|row| row.next_at.is_some());
    waiting.sort_by_key(|row| row.next_at);
    assert_eq!(store.next_callback().await.unwrap(), waiting[0].next_at);
    for now in (0..110_000).step_by(9_000).map(Micros) {
        for limit in [1, 5, 100] {
            let due: Vec<Due> = timers
                .iter()
                .filter(|timer| timer.0 <= now)
                .take(limit)
                .map(|timer| Due::Delivery(timer.1))
                .collect();
            assert_eq!(store.due(now, limit).await.unwrap(), due);
            let due: Vec<CallbackRow> = waiting
                .iter()
                .filter(|row| row.next_at <= Some(now))
                .take(limit)
                .cloned()
                .collect();
            assert_eq!(store.callbacks_due(now, limit).await.unwrap(), due);
        }
    }
    owed.reverse();
    assert_eq!(store.callbacks(None, 100).await.unwrap(), owed);
    assert_eq!(store.callbacks(Some(10), 3).await.unwrap(), owed[30..33]);

    // One that is done is due no more, and keeps its place.
    let done = CallbackRow {
        next_at: None,
        state: 1,
        attempts: 1,
        ..waiting[0].clone()
    };
    let second = waiting[1].next_at;
    let batch = Batch {
        wake: batch::wake::Batch {
            callbacks: vec![done],
            ..Default::default()
        },
        ..Default::default()
    };
    store.append(batch).await.unwrap();
    assert_eq!(store.next_callback().await.unwrap(), second);
    assert_eq!(store.callbacks(None, 100).await.unwrap().len(), 40);
}

async fn erasable_is_what_is_old_and_waits_for_no_answer(backend: impl Backend) {
    let mut dice = Dice(0x5eed_0004);
    let mut world = World::new(backend.open().await, &[0, 0]);
    for _ in 0..160 {
        let stream = dice.below(2);
        let index = world.receive(stream, "Work", None);
        if dice.one_in(2) {
            world.answer(index, 1 + dice.below(3) as u8, None);
        }
        let row = &mut world.deliveries[index].row;
        if dice.one_in(3) {
            row.timeout_at = Some(Micros(row.created_at.0 + 10));
            row.timed_out = row.status == 0 && dice.one_in(2);
        }
        if row.status == 0 && dice.one_in(4) {
            row.hold = Some(HoldRow {
                by: "ann".to_owned(),
                channel: 0,
                status: 1,
                until: Micros(row.created_at.0 + 5),
            });
        }
        row.erased = match dice.below(4) {
            0 => Erased::All,
            1 => Erased::BeforeAnswer,
            _ => Erased::Nothing,
        };
        world.change(index, None);
    }
    world.commit().await;
    const UPDATE: u8 = 0;
    let counted_from = |row: &DeliveryRow, since: Since| match since {
        Since::Answer => (row.status > 0).then_some(row.changed_at),
        _ if row.status > 0 || row.hold.is_some() => None,
        Since::TimeOut => row
            .timeout_at
            .filter(|_| row.timed_out && row.kind != UPDATE),
        Since::Creation => (row.kind == UPDATE).then_some(row.created_at),
    };
    let mut found = 0;
    for (kind, since) in (0..4).flat_map(|kind| {
        [Since::Answer, Since::TimeOut, Since::Creation].map(|since| (kind, since))
    }) {
        for before in (1_000_000..world.now + 100).step_by(333).map(Micros) {
            let rows = world.deliveries.iter().map(|known| known.row.clone());
            let mut expected: Vec<DeliveryRow> = rows
                .filter(|row| row.kind == kind && row.erased != Erased::All)
                .filter(|row| counted_from(row, since).is_some_and(|at| at < before))
                .collect();
            expected.sort_by_key(|row| counted_from(row, since));
            expected.truncate(5);
            found += expected.len();
            let query = ErasableQuery {
                kind,
                since,
                before,
                limit: 5,
            };
            assert_eq!(world.store.erasable(query).await.unwrap(), expected);
        }
    }
    assert!(found > 100, "hardly anything was asked for");
}

async fn erasing_removes_the_parts_of_every_entry_about_a_delivery(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    let erased = world.receive(0, "Goes", Some(b"\"gone details\""));
    let kept = world.receive(0, "Stays", Some(b"\"kept details\""));
    // A held answer that was taken back, then the one that stands.
    let about = world.deliveries[erased].row.id;
    let held = world.entry(
        0,
        about,
        &[
            ("feedback", b"\"gone draft\""),
            ("edited_content", b"{\"n\":1}"),
        ],
    );
    world.change(erased, Some(held));
    world.answer(erased, 3, Some(b"\"gone answer\""));
    world.answer(kept, 1, Some(b"\"kept answer\""));
    world.commit().await;
    world.store.index_some(10).await.unwrap();

    let event = world.entry(0, about, &[]);
    world.deliveries[erased].row.erased = Erased::All;
    world.change(erased, Some(event));
    let no = world.deliveries[erased].row.no;
    world.batch.wake.erase.push((no, event));
    // What is answered after it, in the same commit, stays.
    let later = world.entry(0, about, &[("feedback", b"\"later answer\"")]);
    world.change(erased, Some(later));
    world.commit().await;

    let query = EntryQuery {
        limit: 100,
        with_parts: true,
        ..Default::default()
    };
    for entry in world.store.entries(query).await.unwrap() {
        let about_erased =
            entry.position == no || world.deliveries[erased].history.contains(&entry.position);
        let before = &world.entries[entry.position as usize];
        match about_erased && entry.position < event {
            true => assert_eq!(entry.parts, [], "entry {}", entry.position),
            false => assert_eq!(&entry, before),
        }
        // What is never erased stands.
        assert_eq!(
            (&entry.header, &entry.facts),
            (&before.header, &before.facts)
        );
    }
    for known in &world.deliveries {
        let response = world.store.response(known.row.id).await.unwrap().unwrap();
        assert_eq!(response, answered(known));
    }
    assert_eq!(world.store.history(no).await.unwrap().len(), 5);
}

async fn of_a_long_history_the_newest_entries_are_given(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    let index = world.receive(0, "Held and undone", None);
    let row = world.deliveries[index].row.clone();
    let mut last = row.no;
    for _ in 0..1001 {
        last = world.entry(0, row.id, &[]);
        world.change(index, Some(last));
    }
    world.commit().await;
    let history = world.store.history(row.no).await.unwrap();
    let positions: Vec<u64> = history.iter().map(|entry| entry.position).collect();
    assert_eq!(positions.len(), 1001);
    assert_eq!(positions[0], row.no);
    assert_eq!(positions[1], row.no + 2, "the oldest is left out");
    assert_eq!(positions[1000], last);
}

async fn erased_words_are_no_longer_found_nor_kept_anywhere(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    // Enough that the index has merged what it holds. Every seventh has words
    // that occur nowhere else, and a few that occur in all of these.
    let mut secret = Vec::new();
    for number in 0..600 {
        let details = match number % 7 {
            0 => format!("\"zq{number}xyzzysecret plughtoken\""),
            _ => format!("\"ordinary{number} words\""),
        };
        let index = world.receive(0, "Ordinary headline", Some(details.as_bytes()));
        let feedback: &[u8] = match number % 7 {
            0 => b"\"xyzzyfeedback\"",
            _ => b"\"fine\"",
        };
        world.answer(index, 1, Some(feedback));
        if number % 7 == 0 {
            secret.push(index);
        }
    }
    world.commit().await;
    while world.store.index_some(16).await.unwrap() {}
    let find = async |store: &dyn Store, words: &str| {
        let filter = InboxFilter {
            search: Some(words.to_owned()),
            ..Default::default()
        };
        all_pages(store, &filter, 200).await.len()
    };
    assert_eq!(find(world.store.as_ref(), "plughtoken").await, secret.len());
    assert!(backend.keeps(b"plughtoken").await && backend.keeps(b"xyzzysecret").await);

    for chunk in secret.chunks(32) {
        for index in chunk {
            world.deliveries[*index].row.erased = Erased::All;
            world.change(*index, None);
            let no = world.deliveries[*index].row.no;
            world.batch.wake.erase.push((no, i64::MAX as u64));
        }
        world.entry(0, Uuid::nil(), &[]);
        world.commit().await;
    }
    world.store.scrub().await.unwrap();
    assert_eq!(find(world.store.as_ref(), "plughtoken").await, 0);
    assert_eq!(find(world.store.as_ref(), "ordinary").await, 600);
    assert_eq!(
        find(world.store.as_ref(), "words").await,
        600 - secret.len()
    );
    let erased = [
        "xyzzysecret",
        "plughtoken",
        "xyzzyfeedback",
        "lughtoken",
        "zq7",
        "98xyzzy",
    ];
    for words in erased {
        assert!(
            !backend.keeps(words.as_bytes()).await,
            "{words} is still there"
        );
    }
}

async fn entries_and_history_come_in_order(backend: impl Backend) {
    let mut dice = Dice(0x5eed_0005);
    let mut world = World::new(backend.open().await, &[0, 0, 0]);
    for _ in 0..60 {
        let stream = dice.below(3);
        let index = world.receive(stream, "Work", dice.one_in(2).then_some(b"\"d\""));
        if dice.one_in(2) {
            world.answer(index, 1, Some(b"\"f\""));
        }
    }
    world.commit().await;
    for _ in 0..200 {
        let size = world.entries.len() as u64;
        let query = EntryQuery {
            from: dice.below(size),
            to: dice.one_in(2).then(|| dice.below(size + 5)),
            limit: *dice.pick(&[1, 4, 1000]),
            newest_first: dice.one_in(2),
            with_parts: dice.one_in(2),
        };
        let mut expected: Vec<EntryRow> = world
            .entries
            .iter()
            .filter(|entry| {
                entry.position >= query.from && query.to.is_none_or(|to| entry.position < to)
            })
            .cloned()
            .collect();
        if query.newest_first {
            expected.reverse();
        }
        expected.truncate(query.limit);
        if !query.with_parts {
            expected.iter_mut().for_each(|entry| entry.parts.clear());
        }
        assert_eq!(
            world.store.entries(query.clone()).await.unwrap(),
            expected,
            "{query:?}"
        );
    }
    // A stream alone, newest first, from any of its entries on.
    for stream in 0..4 {
        let mut own: Vec<EntryRow> = world
            .entries
            .iter()
            .filter(|entry| entry.stream == stream)
            .cloned()
            .collect();
        own.iter_mut().for_each(|entry| entry.parts.clear());
        own.reverse();
        for (skipped, from) in (0..own.len())
            .map(|at| (at, Some(own[at].position)))
            .chain([(0, None)])
        {
            let query = StreamQuery {
                stream,
                from,
                limit: 7,
            };
            let found = world.store.stream_entries(query).await.unwrap();
            assert_eq!(
                found,
                own.iter()
                    .skip(skipped)
                    .take(7)
                    .cloned()
                    .collect::<Vec<_>>()
            );
        }
    }
    for known in &world.deliveries {
        let about: Vec<u64> = std::iter::once(known.row.no)
            .chain(known.history.clone())
            .collect();
        let found = world.store.history(known.row.no).await.unwrap();
        let expected: Vec<EntryRow> = about
            .iter()
            .map(|position| EntryRow {
                parts: Vec::new(),
                ..world.entries[*position as usize].clone()
            })
            .collect();
        assert_eq!(found, expected);
    }
    // The walk gives the same, from anywhere to anywhere, until it is stopped.
    for (from, to, stop_after) in [(0, 1000, 1000), (7, 31, 1000), (0, 50, 9), (20, 20, 5)] {
        let mut walked = Vec::new();
        world
            .store
            .scan(from, to, &mut |entry| {
                walked.push((
                    entry.position,
                    entry.seq,
                    entry.header.to_vec(),
                    entry.parts.to_vec(),
                ));
                walked.len() < stop_after
            })
            .unwrap();
        let expected: Vec<_> = world
            .entries
            .iter()
            .filter(|entry| (from..to).contains(&entry.position))
            .take(stop_after)
            .map(|entry| {
                (
                    entry.position,
                    entry.seq,
                    entry.header.clone(),
                    entry.parts.clone(),
                )
            })
            .collect();
        assert_eq!(walked, expected);
    }
    let names: Vec<(u64, String)> = world
        .streams
        .iter()
        .map(|row| (row.no, row.name.clone()))
        .collect();
    for (prefix, found) in [
        ("", names.len()),
        ("agent/", names.len()),
        ("agent/a1", 1),
        ("agent", names.len()),
        ("run/", 0),
        ("b", 0),
    ] {
        let mut expected = names.clone();
        expected.retain(|(_, name)| name.starts_with(prefix));
        assert_eq!(expected.len(), found, "{prefix}");
        assert_eq!(world.store.streams(prefix).await.unwrap(), expected);
    }
    let next = world.store.next_stream().await.unwrap();
    assert_eq!(next, names.len() as u64);
    for (no, name) in &names {
        assert_eq!(world.store.stream_number(name).await.unwrap(), Some(*no));
    }
    assert_eq!(world.store.stream_number("nobody").await.unwrap(), None);
}

async fn hashes_give_leaves_and_subtrees_by_range(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    for _ in 0..20 {
        world.entry(0, Uuid::nil(), &[]);
    }
    for index in 0..5 {
        let hash = Hash([index as u8; 32]);
        world.batch.log.subtrees.push(SubtreeRow {
            level: 1,
            index,
            hash,
        });
        world.batch.log.subtrees.push(SubtreeRow {
            level: 2,
            index,
            hash: Hash([99; 32]),
        });
    }
    world.commit().await;
    let leaves: Vec<Hash> = world
        .entries
        .iter()
        .map(|entry| trail::merkle::leaf_hash(&entry.entry_hash))
        .collect();
    assert_eq!(world.store.hashes(0, 0, 20).await.unwrap(), leaves);
    assert_eq!(world.store.hashes(0, 3, 7).await.unwrap(), leaves[3..7]);
    assert_eq!(world.store.hashes(0, 18, 40).await.unwrap(), leaves[18..]);
    assert_eq!(
        world.store.hashes(1, 1, 3).await.unwrap(),
        [Hash([1; 32]), Hash([2; 32])]
    );
    assert_eq!(world.store.hashes(2, 4, 9).await.unwrap(), [Hash([99; 32])]);
    assert_eq!(world.store.hashes(3, 0, 9).await.unwrap(), []);
}

async fn accounts_secrets_buckets_marks_and_records_replace_and_go(backend: impl Backend) {
    let store = backend.open().await;
    let account = |id: &str, body: Option<&str>| AccountRow {
        kind: "user".to_owned(),
        id: id.to_owned(),
        body: body.map(str::to_owned),
    };
    let record = |number: i64| IdempotencyRow {
        key_id: "k".to_owned(),
        idempotency_key: number.to_string(),
        digest: Hash([0; 32]),
        status: 201,
        body: Vec::new(),
        created_at: Micros(number),
    };
    let first = Batch {
        account: batch::account::Batch {
            accounts: vec![account("ann", Some("1")), account("bob", Some("1"))],
            ..Default::default()
        },
        kept: batch::kept::Batch {
            secrets: vec![("s".to_owned(), vec![1])],
            buckets: vec![BucketRow {
                key_id: "k".to_owned(),
                level: 1,
                at: Micros(1),
            }],
            idempotency: (0..2500).map(record).collect(),
        },
        ..Default::default()
    };
    store.append(first).await.unwrap();
    let second = Batch {
        account: batch::account::Batch {
            accounts: vec![account("ann", Some("2")), account("bob", None)],
            ..Default::default()
        },
        kept: batch::kept::Batch {
            secrets: vec![("s".to_owned(), vec![2])],
            buckets: vec![BucketRow {
                key_id: "k".to_owned(),
                level: 2,
                at: Micros(2),
            }],
            ..Default::default()
        },
        ..Default::default()
    };
    store.append(second).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), [account("ann", Some("2"))]);
    assert_eq!(store.secret("s").await.unwrap(), Some(vec![2]));
    let pair = |number: i64| ("k".to_owned(), number.to_string());
    let needs = Needs {
        kept: batch::kept::Needs {
            buckets: vec!["k".to_owned()],
            idempotency: (0..2500).map(pair).collect(),
        },
        ..Default::default()
    };
    let loaded = store.load(&needs).await.unwrap();
    assert_eq!(loaded.kept.buckets["k"].level, 2);
    assert_eq!(loaded.kept.idempotency.len(), 2500);

    // Old records go, in steps if they are many, and no younger one with them.
    while store.forget_idempotency(Micros(2400)).await.unwrap() {}
    let left = store.load(&needs).await.unwrap().kept.idempotency;
    assert_eq!(left.len(), 100);
    assert!(left.contains_key(&pair(2400)) && !left.contains_key(&pair(2399)));
}

async fn a_backup_is_what_was_committed_when_it_was_made(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    for _ in 0..50 {
        let index = world.receive(0, "Before", Some(b"\"details\""));
        world.answer(index, 1, Some(b"\"yes\""));
    }
    world
        .batch
        .kept
        .secrets
        .push(("webhook/a".to_owned(), vec![5]));
    world.commit().await;
    let digests = world.store.view_digests().await.unwrap();
    let file = backend.backup_file();
    let keys = vec![("trail.key".to_owned(), b"key bytes".to_vec())];
    world.store.backup(&file, keys.clone()).await.unwrap();
    world.receive(0, "After", None);
    world.commit().await;

    let (restored, inside) = backend.restored(&file).await;
    assert_eq!(inside, keys);
    assert_eq!(restored.secret("trail.key").await.unwrap(), None);
    assert_eq!(restored.secret("backup-key/trail.key").await.unwrap(), None);
    assert_eq!(restored.secret("webhook/a").await.unwrap(), Some(vec![5]));
    assert_eq!(restored.head().await.unwrap().unwrap().size, 100);
    assert_eq!(restored.view_digests().await.unwrap(), digests);
    let query = EntryQuery {
        limit: 1000,
        with_parts: true,
        ..Default::default()
    };
    assert_eq!(restored.entries(query).await.unwrap(), world.entries[..100]);
}

async fn a_store_opened_to_be_read_refuses_to_write(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    world.receive(0, "One", None);
    world.commit().await;
    let reader = backend.open_read_only();
    world.receive(0, "Two", None);
    let batch = world.take_batch();
    assert!(matches!(
        reader.append(batch).await,
        Err(Error::Unavailable(_))
    ));
    assert!(reader.index_some(1).await.is_err());
    assert!(reader.clear_views().await.is_err());
    assert!(reader.scrub().await.is_err());
    assert!(reader.forget_idempotency(Micros(i64::MAX)).await.is_err());
    assert_eq!(reader.head().await.unwrap().unwrap().size, 1);
    assert_eq!(
        reader
            .delivery(world.deliveries[0].row.id)
            .await
            .unwrap()
            .unwrap()
            .no,
        0
    );
}

async fn digests_change_with_any_view_and_come_back_after_a_rebuild(backend: impl Backend) {
    let mut world = World::new(backend.open().await, &[0]);
    let index = world.receive(0, "One", None);
    world.answer(index, 1, None);
    world.commit().await;
    let before = world.store.view_digests().await.unwrap();
    let differing = |after: &[(String, Hash)]| -> Vec<String> {
        let pairs = before
            .iter()
            .zip(after)
            .filter(|(before, after)| before != after);
        pairs.map(|(before, _)| before.0.clone()).collect()
    };
    world.store.clear_views().await.unwrap();
    let cleared = world.store.view_digests().await.unwrap();
    assert_eq!(differing(&cleared), ["lanes", "deliveries", "history"]);
    assert_eq!(
        world
            .store
            .entries(EntryQuery {
                limit: 9,
                ..Default::default()
            })
            .await
            .unwrap()
            .len(),
        2
    );

    // The same rows again give the same digests, in whatever order they came.
    let known = &world.deliveries[0];
    let batch = Batch {
        wake: batch::wake::Batch {
            lanes: world.lanes.clone(),
            new_deliveries: vec![known.row.clone()],
            history: vec![(known.row.no, known.history[0])],
            ..Default::default()
        },
        ..Default::default()
    };
    world.store.append(batch).await.unwrap();
    assert_eq!(
        differing(&world.store.view_digests().await.unwrap()),
        [""; 0]
    );

    let mut row = known.row.clone();
    row.timed_out = true;
    let batch = Batch {
        wake: batch::wake::Batch {
            changed_deliveries: vec![row],
            ..Default::default()
        },
        ..Default::default()
    };
    world.store.append(batch).await.unwrap();
    assert_eq!(
        differing(&world.store.view_digests().await.unwrap()),
        ["deliveries"]
    );
    let batch = Batch {
        account: batch::account::Batch {
            accounts: vec![AccountRow {
                kind: "a".into(),
                id: "b".into(),
                body: Some("c".into()),
            }],
            ..Default::default()
        },
        wake: batch::wake::Batch {
            blocks: [((0, 0, 0), 1)].into(),
            ..Default::default()
        },
        ..Default::default()
    };
    world.store.append(batch).await.unwrap();
    let after = world.store.view_digests().await.unwrap();
    assert_eq!(differing(&after), ["deliveries", "blocks", "accounts"]);
}

/// A writer in the middle of its transaction is made with the database itself.
#[tokio::test]
async fn readers_see_only_what_is_committed_and_do_not_wait_for_the_writer() {
    let backend = Sqlite::fresh();
    let mut world = World::new(backend.open().await, &[0]);
    let index = world.receive(0, "Committed", None);
    world.commit().await;
    let id = world.deliveries[index].row.id;

    let other = rusqlite::Connection::open(backend.0.path().join("wakeful.db")).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; UPDATE deliveries SET headline = 'staged'; UPDATE head SET size = 99;")
        .unwrap();
    // On a thread of its own: a reader that waits would be noticed here, not hang.
    let (sender, receiver) = mpsc::channel();
    let store = Arc::clone(&world.store);
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let read = runtime.block_on(async {
            let row = store.delivery(id).await.unwrap().unwrap();
            let inbox = InboxQuery {
                filter: InboxFilter::default(),
                before: None,
                limit: 5,
            };
            let page = store.inbox(inbox).await.unwrap();
            let sweep = SweepQuery {
                lanes: vec![Lane {
                    stream: 0,
                    status: 0,
                }],
                since: None,
                limit: 5,
            };
            let swept = store.sweep(sweep).await.unwrap();
            let head = store.head().await.unwrap().unwrap();
            (
                row.headline,
                page.rows[0].headline.clone(),
                swept.total,
                head.size,
            )
        });
        sender.send(read).unwrap();
    });
    let read = tokio::task::spawn_blocking(move || {
        receiver.recv_timeout(std::time::Duration::from_secs(3))
    });
    let read = read.await.unwrap().expect("a reader waited for the writer");
    assert_eq!(read, ("Committed".to_owned(), "Committed".to_owned(), 1, 1));
    other.execute_batch("COMMIT").unwrap();
    // Now it is there, and is not taken for a row of ours.
    assert_eq!(world.store.head().await.unwrap().unwrap().size, 99);
    assert!(matches!(
        world.store.delivery(id).await,
        Err(store::Error::Damaged(_))
    ));
}

/// What a check of all rows says about these tables.
async fn said_of(store: &dyn Store, tables: &[&str]) -> Vec<String> {
    let mut wrong = store.check_rows().await.unwrap().wrong;
    wrong.retain(|what| tables.iter().any(|table| what.starts_with(table)));
    wrong
}

async fn found(store: &dyn Store, words: &str) -> usize {
    let filter = InboxFilter {
        search: Some(words.to_owned()),
        ..Default::default()
    };
    all_pages(store, &filter, 200).await.len()
}

#[tokio::test]
async fn a_boundary_that_was_removed_is_named_and_put_back_and_loses_no_delivery() {
    let backend = Sqlite::fresh();
    let mut world = World::new(backend.open().await, &[0]);
    for _ in 0..3 {
        world.receive(0, "Work", Some(b"\"ordinary words\""));
    }
    world.commit().await;
    while world.store.index_some(16).await.unwrap() {}
    let ids: Vec<Uuid> = world.deliveries.iter().map(|known| known.row.id).collect();
    drop(world);
    let data = rusqlite::Connection::open(backend.0.path().join("wakeful.db")).unwrap();
    data.execute_batch(
        "INSERT INTO ids SELECT id, no FROM deliveries ORDER BY no LIMIT 1;
         DELETE FROM settled; DELETE FROM indexed;",
    )
    .unwrap();

    let tables = ["settled", "indexed"];
    let reader = backend.open_read_only();
    for id in &ids {
        assert!(reader.delivery(*id).await.unwrap().is_some(), "only read");
    }
    let wrong = said_of(reader.as_ref(), &tables).await;
    for table in tables {
        let none = format!("{table}: there is more than one, or none");
        assert!(
            wrong.iter().any(|what| what.starts_with(&none)),
            "{wrong:?}"
        );
    }
    drop(reader);

    let store = backend.open().await;
    for id in &ids {
        assert!(store.delivery(*id).await.unwrap().is_some(), "opened");
    }
    while store.index_some(16).await.unwrap() {}
    assert_eq!(found(store.as_ref(), "words").await, ids.len());
    assert_eq!(said_of(store.as_ref(), &tables).await, [""; 0]);
}

/// One of two that are erased at once has its mark, and the index has been told
/// of it when the other is found to have none.
#[tokio::test]
async fn erasing_leaves_no_word_behind_though_the_mark_of_it_was_removed() {
    let backend = Sqlite::fresh();
    let mut world = World::new(backend.open().await, &[0]);
    let secret = [
        world.receive(0, "First", Some(b"\"xyzzysecret plughtoken\"")),
        world.receive(0, "Second", Some(b"\"plughtoken frobozz\"")),
    ];
    let sealed = world.receive(0, "Third", Some(b"\x01grueblood"));
    world.receive(0, "Fourth", Some(b"\"ordinary words\""));
    world.commit().await;
    while world.store.index_some(16).await.unwrap() {}
    assert_eq!(found(world.store.as_ref(), "plughtoken").await, 2);
    assert_eq!(found(world.store.as_ref(), "grueblood").await, 0);
    assert_eq!(said_of(world.store.as_ref(), &["detailed"]).await, [""; 0]);

    let second = world.deliveries[secret[1]].row.no;
    let data = rusqlite::Connection::open(backend.0.path().join("wakeful.db")).unwrap();
    let remove = "DELETE FROM detailed WHERE no = ?1";
    assert_eq!(data.execute(remove, [second as i64]).unwrap(), 1);
    let wrong = said_of(world.store.as_ref(), &["detailed"]).await;
    assert_eq!(wrong.len(), 1, "{wrong:?}");

    for index in secret.into_iter().chain([sealed]) {
        world.deliveries[index].row.erased = Erased::All;
        world.change(index, None);
        let no = world.deliveries[index].row.no;
        world.batch.wake.erase.push((no, i64::MAX as u64));
    }
    world.entry(0, Uuid::nil(), &[]);
    world.commit().await;
    while world.store.index_some(16).await.unwrap() {}
    world.store.scrub().await.unwrap();
    for words in ["xyzzysecret", "plughtoken", "frobozz"] {
        assert!(
            !backend.keeps(words.as_bytes()).await,
            "{words} is still there"
        );
    }
    for words in ["first", "second", "third", "ordinary"] {
        assert_eq!(found(world.store.as_ref(), words).await, 1, "{words}");
    }
    let tables = ["detailed", "indexed", "eras"];
    assert_eq!(said_of(world.store.as_ref(), &tables).await, [""; 0]);
}

//! One line of the table: a run with so many workspaces.

use std::{collections::BTreeMap, hint::black_box};

use trail::{Draft, Hash, Part, entry::FACTS};
use wacp::{Entry, apply, gate::config::Highway};

use crate::{
    clock::{Took, time},
    report::{Line, Pace},
    weight::{self, Kind},
    work::{EXCHANGE, LIFE, Work, visit},
};

/// Exchanges of one round, and of the history that is replayed.
const EXCHANGES: u32 = 200_000;
const REPLAYED: u32 = 60_000;
/// Governed lives of one round.
const LIVES: u32 = 20_000;
/// Entries that are spelled and hashed.
const SEALED: usize = 100_000;

pub fn line(count: u32, rounds: usize) -> Line {
    let mut work = Work::begin(Highway::open());
    for _ in 0..count {
        work.create();
    }
    // The first visits find cold memory and idle workspaces; they do not count.
    exchanges(&mut work, count, EXCHANGES / 4);
    let decided = median(rounds, || {
        let ((), took) = time(|| exchanges(&mut work, count, EXCHANGES));
        Pace::of(u64::from(EXCHANGES) * EXCHANGE, took)
    });
    let before = work.run.clone();
    work.entries = Some(Vec::new());
    exchanges(&mut work, count, REPLAYED);
    let entries = work.entries.take().unwrap_or_default();
    let replayed = median(rounds, || {
        let mut run = before.clone();
        let (run, took) = time(|| {
            entries.iter().for_each(|entry| apply(&mut run, entry));
            run
        });
        assert!(black_box(run) == work.run, "replay gives another run");
        Pace::of(entries.len() as u64, took)
    });
    drop((before, work));
    let governed = governed(count, rounds);
    let mapped = median(rounds, || map(count));
    let sealed = median(rounds, || seal(&entries));
    drop(entries);
    Line {
        workspaces: count,
        decided,
        replayed,
        governed,
        mapped,
        sealed,
        open_bytes: weight::of(Kind::Open, count),
        closed_bytes: weight::of(Kind::Closed, count),
    }
}

/// Lives under supervision, in a run with so many other workspaces.
fn governed(count: u32, rounds: usize) -> Pace {
    let mut work = Work::begin(Highway::supervised());
    for _ in 0..count {
        work.create();
    }
    work.delegate();
    (0..LIVES / 4).for_each(|_| work.govern());
    median(rounds, || {
        let ((), took) = time(|| (0..LIVES).for_each(|_| work.govern()));
        Pace::of(u64::from(LIVES) * LIFE, took)
    })
}

fn exchanges(work: &mut Work, count: u32, times: u32) {
    for at in 0..times {
        work.exchange(visit(at, count));
    }
}

/// The least a machine with so many workspaces could do: find one in a map and
/// change it, once per order.
fn map(count: u32) -> Pace {
    let mut map: BTreeMap<(u32, u64), u64> = (0..count).map(|id| ((id, 0), 0)).collect();
    let orders = EXCHANGES * EXCHANGE as u32;
    let ((), took) = time(|| {
        for at in 0..orders {
            let id = visit(at, count).0 - 1;
            let key = (id, u64::from(at) + 1);
            map.insert(key, 1);
            if let Some(value) = map.get_mut(&(id, 0)) {
                *value += 1;
            }
            map.remove(&key);
        }
    });
    black_box(map);
    Pace::of(u64::from(orders), took)
}

/// What keeping them costs: spelling, committing and chaining.
fn seal(entries: &[Entry]) -> Pace {
    let entries = &entries[..entries.len().min(SEALED)];
    let (last, took) = time(|| {
        let mut last: Option<Hash> = None;
        for (seq, entry) in (0u64..).zip(entries) {
            let draft = Draft {
                stream: "run/pace".to_owned(),
                id: seq.to_string(),
                time: entry.time,
                actor: "system".to_owned(),
                event_type: entry.event.event_type(),
                local: None,
                parts: vec![Part {
                    name: FACTS.into(),
                    salt: [7; 32],
                    bytes: entry.event.facts(),
                }],
            };
            last = Some(draft.seal(last, seq).entry_hash);
        }
        last
    });
    black_box(last);
    Pace::of(entries.len() as u64, took)
}

fn median(rounds: usize, mut round: impl FnMut() -> Pace) -> Pace {
    let mut paces: Vec<Pace> = (0..rounds).map(|_| round()).collect();
    paces.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    paces[rounds / 2]
}

impl Pace {
    fn of(count: u64, took: Took) -> Pace {
        Pace {
            per_second: count as f64 / took.cpu,
            per_second_wall: count as f64 / took.wall,
        }
    }
}

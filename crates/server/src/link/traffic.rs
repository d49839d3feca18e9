//! How much passed between each device and its owner's clients: counted as it
//! passes, and put on the trail once an hour at the most, so that traffic
//! cannot fill the disk. What passed is never looked at. A server that starts
//! goes on counting from what is on the trail.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

use account::event::RelaysCounted;
use engine::command::Account;
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use store::RelayedRow;
use trail::Micros;
use wakelink::relay::Moment;

use crate::App;

/// From one entry about a device to the next …
const ENTRY_SECONDS: i64 = 3600;
/// … and if there is nothing to say but that it is still there.
const STILL_THERE_SECONDS: i64 = 24 * 3600;
/// Entries that are on their way at once.
const ENTRIES: usize = 256;
/// How often it is looked whether an entry is due.
const LOOK: std::time::Duration = std::time::Duration::from_secs(60);

/// Of one device, since it was made.
#[derive(Debug)]
pub struct Traffic {
    agent_id: String,
    owner: String,
    to_device: Counted,
    from_device: Counted,
    refused: AtomicU64,
    /// When it was last connected; 0 if it never was.
    seen_at: AtomicI64,
    entries: Mutex<Entries>,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Counted {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    fn from(packets: u64, bytes: u64) -> Counted {
        Counted {
            packets: AtomicU64::new(packets),
            bytes: AtomicU64::new(bytes),
        }
    }

    fn add(&self, bytes: usize) {
        self.packets.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }
}

/// How often it came in.
#[derive(Debug, Default)]
struct Entries {
    minute: u64,
    count: u32,
}

/// What is on the trail already.
#[derive(Debug, Default)]
struct Recorded {
    /// When the last entry was made.
    at: Option<Micros>,
    /// Since when is counted what is not.
    since: Micros,
    sums: Sums,
    seen_at: Option<Micros>,
}

/// As people see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    pub to_device: u64,
    pub to_device_bytes: u64,
    pub from_device: u64,
    pub from_device_bytes: u64,
    pub refused: u64,
}

impl Traffic {
    fn new(agent_id: &str, owner: &str, now: Micros) -> Traffic {
        Traffic {
            agent_id: agent_id.to_owned(),
            owner: owner.to_owned(),
            to_device: Counted::default(),
            from_device: Counted::default(),
            refused: AtomicU64::new(0),
            seen_at: AtomicI64::new(0),
            entries: Mutex::default(),
            recorded: Mutex::new(Recorded {
                since: now,
                ..Recorded::default()
            }),
        }
    }

    /// One that is on the trail already.
    fn resumed(row: RelayedRow, now: Micros) -> Traffic {
        let sums = Sums {
            to_device: row.to_device,
            to_device_bytes: row.to_device_bytes,
            from_device: row.from_device,
            from_device_bytes: row.from_device_bytes,
            refused: row.refused,
        };
        Traffic {
            agent_id: row.agent_id,
            owner: row.owner,
            to_device: Counted::from(sums.to_device, sums.to_device_bytes),
            from_device: Counted::from(sums.from_device, sums.from_device_bytes),
            refused: AtomicU64::new(sums.refused),
            seen_at: AtomicI64::new(row.seen_at.unwrap_or_default().0),
            entries: Mutex::default(),
            recorded: Mutex::new(Recorded {
                // The last entry was not made before.
                at: row.seen_at,
                since: now,
                sums,
                seen_at: row.seen_at,
            }),
        }
    }

    pub fn to_device(&self, bytes: usize) {
        self.to_device.add(bytes);
    }

    pub fn from_device(&self, bytes: usize) {
        self.from_device.add(bytes);
    }

    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Whether it may come in once more in this minute.
    pub fn may_enter(&self, now: Moment, most: u32) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = now.0 / (60 * Moment::SECOND);
        if entries.minute != minute {
            *entries = Entries { minute, count: 0 };
        }
        let may = entries.count < most;
        entries.count += u32::from(may);
        may
    }

    pub fn saw(&self, now: Micros) {
        self.seen_at.store(now.0, Relaxed);
    }

    pub fn seen_at(&self) -> Option<Micros> {
        let seen_at = self.seen_at.load(Relaxed);
        (seen_at > 0).then_some(Micros(seen_at))
    }

    pub fn sums(&self) -> Sums {
        Sums {
            to_device: self.to_device.packets.load(Relaxed),
            to_device_bytes: self.to_device.bytes.load(Relaxed),
            from_device: self.from_device.packets.load(Relaxed),
            from_device_bytes: self.from_device.bytes.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }

    /// What the next entry would say, if one is due.
    fn due(&self, now: Micros, online: bool, at_once: bool) -> Option<(RelaysCounted, Sums)> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = self.sums();
        if online {
            self.saw(now);
        }
        let seen_at = self.seen_at();
        let pause = match (sums != recorded.sums, seen_at != recorded.seen_at) {
            (false, false) => return None,
            (false, true) if online => STILL_THERE_SECONDS,
            _ => ENTRY_SECONDS,
        };
        let long_ago = |at: Micros| now.0 - at.0 >= pause * Micros::SECOND;
        if !(at_once || recorded.at.is_none_or(long_ago)) {
            return None;
        }
        let before = recorded.sums;
        let counted = RelaysCounted {
            agent_id: self.agent_id.clone(),
            from_device: sums.from_device - before.from_device,
            from_device_bytes: sums.from_device_bytes - before.from_device_bytes,
            owner: self.owner.clone(),
            refused: sums.refused - before.refused,
            seen_at,
            since: recorded.since,
            to_device: sums.to_device - before.to_device,
            to_device_bytes: sums.to_device_bytes - before.to_device_bytes,
        };
        Some((counted, sums))
    }

    fn note_recorded(&self, sums: Sums, seen_at: Option<Micros>, now: Micros) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        *recorded = Recorded {
            at: Some(now),
            since: now,
            sums,
            seen_at,
        };
    }
}

/// Of every device that was there once.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<HashMap<String, Arc<Traffic>>>);

impl Ledger {
    /// The account of a device; a new one if it belongs to someone else now.
    pub fn of(&self, agent_id: &str, owner: &str, now: Micros) -> Arc<Traffic> {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match devices.get(agent_id) {
            Some(traffic) if traffic.owner == owner => Arc::clone(traffic),
            _ => {
                let traffic = Arc::new(Traffic::new(agent_id, owner, now));
                devices.insert(agent_id.to_owned(), Arc::clone(&traffic));
                traffic
            }
        }
    }

    pub fn find(&self, agent_id: &str, owner: &str) -> Option<Arc<Traffic>> {
        let devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = devices.get(agent_id);
        found.filter(|traffic| traffic.owner == owner).cloned()
    }

    fn all(&self) -> Vec<Arc<Traffic>> {
        let devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.values().cloned().collect()
    }

    /// Forgets one that was taken away: of its name another may be made.
    pub fn forget(&self, agent_id: &str) {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.remove(agent_id);
    }

    /// Forgets devices that are no more.
    fn trim(&self, accounts: &account::State) {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.retain(|agent_id, traffic| accounts.has_device(&traffic.owner, agent_id));
    }
}

/// Begins where the trail ends.
pub async fn resume(app: &App) -> store::Result<()> {
    let now = app.shared().clock.now();
    let rows = app.shared().relayed().await?;
    let traffic = rows.into_iter().map(|row| Traffic::resumed(row, now));
    let mut devices = (app.link.traffic.0.lock()).unwrap_or_else(PoisonError::into_inner);
    devices.extend(traffic.map(|traffic| (traffic.agent_id.clone(), Arc::new(traffic))));
    Ok(())
}

/// Runs until the server ends.
pub async fn run(app: App) {
    loop {
        tokio::time::sleep(LOOK).await;
        record(&app, false).await;
        app.link.traffic.trim(&app.shared().accounts());
    }
}

/// Puts on the trail what is due, or all that is not there yet.
pub async fn record(app: &App, at_once: bool) {
    let now = app.shared().clock.now();
    let due = app.link.traffic.all().into_iter().filter_map(|traffic| {
        let online = app.link.is_online(&traffic.owner, &traffic.agent_id);
        let (counted, sums) = traffic.due(now, online, at_once)?;
        Some((traffic, counted, sums))
    });
    let record = |(traffic, counted, sums): (Arc<Traffic>, RelaysCounted, Sums)| async move {
        let seen_at = counted.seen_at;
        match app.engine.submit(Account::RecordRelays(counted)).await {
            Ok(_) => traffic.note_recorded(sums, seen_at, now),
            // Counted on, and tried again with the next.
            Err(refusal) => tracing::warn!(%refusal, "relays could not be recorded"),
        }
    };
    stream::iter(due).for_each_concurrent(ENTRIES, record).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Micros {
        Micros(seconds * Micros::SECOND)
    }

    #[test]
    fn a_device_has_one_entry_an_hour_at_the_most_and_none_without_traffic() {
        let traffic = Traffic::new("lamp", "ann", at(0));
        assert_eq!(traffic.due(at(60), false, true), None);
        traffic.to_device(300);
        traffic.from_device(100);
        traffic.refused();
        let (counted, sums) = traffic.due(at(60), false, false).unwrap();
        assert_eq!((counted.to_device, counted.to_device_bytes), (1, 300));
        assert_eq!((counted.from_device, counted.refused), (1, 1));
        assert_eq!(counted.since, at(0));
        traffic.note_recorded(sums, None, at(60));
        assert_eq!(traffic.due(at(9000), false, true), None);
        traffic.to_device(50);
        assert_eq!(traffic.due(at(3659), false, false), None);
        let (counted, _) = traffic.due(at(3660), false, false).unwrap();
        assert_eq!((counted.to_device, counted.to_device_bytes), (1, 50));
        assert_eq!((counted.from_device, counted.since), (0, at(60)));
        // At the end of the server all of it.
        assert!(traffic.due(at(61), false, true).is_some());
    }

    #[test]
    fn when_a_device_was_last_there_is_recorded_when_it_left_and_once_a_day() {
        let traffic = Traffic::new("lamp", "ann", at(0));
        traffic.saw(at(10));
        let (counted, sums) = traffic.due(at(60), true, false).unwrap();
        assert_eq!(counted.seen_at, Some(at(60)));
        traffic.note_recorded(sums, counted.seen_at, at(60));
        // It is still there.
        assert_eq!(traffic.due(at(3660), true, false), None);
        let (counted, _) = traffic.due(at(60 + 86_400), true, false).unwrap();
        assert_eq!(counted.seen_at, Some(at(60 + 86_400)));
        // It left.
        traffic.saw(at(90_000));
        let (counted, _) = traffic.due(at(90_060), false, false).unwrap();
        assert_eq!(counted.seen_at, Some(at(90_000)));
    }

    #[test]
    fn counting_goes_on_where_the_trail_ends() {
        let row = RelayedRow {
            owner: "ann".to_owned(),
            agent_id: "lamp".to_owned(),
            seen_at: Some(at(50)),
            to_device: 3,
            to_device_bytes: 30,
            ..RelayedRow::default()
        };
        let traffic = Traffic::resumed(row, at(100));
        assert_eq!(traffic.seen_at(), Some(at(50)));
        assert_eq!(traffic.due(at(9000), false, true), None);
        traffic.to_device(5);
        assert_eq!(traffic.sums().to_device_bytes, 35);
        let (counted, _) = traffic.due(at(9000), false, true).unwrap();
        assert_eq!((counted.to_device, counted.to_device_bytes), (1, 5));
        assert_eq!(counted.since, at(100));
    }

    #[test]
    fn a_device_comes_in_so_often_in_a_minute() {
        let traffic = Traffic::new("lamp", "ann", at(0));
        for minute in [0, 1, 7] {
            let now = Moment(0).plus_seconds(minute * 60 + 5);
            let entered = (0..100).filter(|_| traffic.may_enter(now, 60)).count();
            assert_eq!(entered, 60);
        }
    }

    #[test]
    fn a_name_that_changed_hands_starts_anew() {
        let ledger = Ledger::default();
        ledger.of("lamp", "ann", at(0)).to_device(1);
        assert_eq!(ledger.find("lamp", "ann").unwrap().sums().to_device, 1);
        assert!(ledger.find("lamp", "bob").is_none());
        assert_eq!(ledger.of("lamp", "bob", at(1)).sums(), Sums::default());
    }
}

//! How much passed between each device and its owner's clients: counted as it
//! passes, and put on the trail once an hour at the most, so that traffic
//! cannot fill the disk. What passed is never looked at.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

use account::event::RelaysCounted;
use engine::Command;
use serde::Serialize;
use trail::Micros;

use crate::App;

/// From one entry about a device to the next.
const ENTRY_SECONDS: i64 = 3600;
/// How often it is looked whether an entry is due.
const LOOK: std::time::Duration = std::time::Duration::from_secs(60);

/// Of one device, since the server started.
#[derive(Debug)]
pub struct Traffic {
    agent_id: String,
    owner: String,
    to_device: Counted,
    from_device: Counted,
    refused: AtomicU64,
    /// When it was last connected; 0 if it never was.
    seen_at: AtomicI64,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Counted {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    fn add(&self, bytes: usize) {
        self.packets.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }
}

/// What is on the trail already.
#[derive(Debug, Default)]
struct Recorded {
    /// When the last entry was made.
    at: Option<Micros>,
    /// Since when is counted what is not.
    since: Micros,
    sums: Sums,
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
            recorded: Mutex::new(Recorded {
                since: now,
                ..Recorded::default()
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
    fn due(&self, now: Micros, at_once: bool) -> Option<(RelaysCounted, Sums)> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = self.sums();
        let long_ago = |at: Micros| now.0 - at.0 >= ENTRY_SECONDS * Micros::SECOND;
        if sums == recorded.sums || !(at_once || recorded.at.is_none_or(long_ago)) {
            return None;
        }
        let before = recorded.sums;
        let counted = RelaysCounted {
            agent_id: self.agent_id.clone(),
            from_device: sums.from_device - before.from_device,
            from_device_bytes: sums.from_device_bytes - before.from_device_bytes,
            owner: self.owner.clone(),
            refused: sums.refused - before.refused,
            since: recorded.since,
            to_device: sums.to_device - before.to_device,
            to_device_bytes: sums.to_device_bytes - before.to_device_bytes,
        };
        Some((counted, sums))
    }

    fn note_recorded(&self, sums: Sums, now: Micros) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        *recorded = Recorded {
            at: Some(now),
            since: now,
            sums,
        };
    }
}

/// Of every device that was spoken to since the server started.
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

    /// Forgets devices that are no more.
    fn trim(&self, accounts: &account::State) {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.retain(|agent_id, traffic| accounts.has_device(&traffic.owner, agent_id));
    }
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
    for traffic in app.link.traffic.all() {
        let Some((counted, sums)) = traffic.due(now, at_once) else {
            continue;
        };
        match app.engine.submit(Command::RecordRelays(counted)).await {
            Ok(_) => traffic.note_recorded(sums, now),
            // Counted on, and tried again with the next.
            Err(refusal) => tracing::warn!(%refusal, "relays could not be recorded"),
        }
    }
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
        assert_eq!(traffic.due(at(60), true), None);
        traffic.to_device(300);
        traffic.from_device(100);
        traffic.refused();
        let (counted, sums) = traffic.due(at(60), false).unwrap();
        assert_eq!((counted.to_device, counted.to_device_bytes), (1, 300));
        assert_eq!((counted.from_device, counted.refused), (1, 1));
        assert_eq!(counted.since, at(0));
        traffic.note_recorded(sums, at(60));
        assert_eq!(traffic.due(at(9000), true), None);
        traffic.to_device(50);
        assert_eq!(traffic.due(at(3659), false), None);
        let (counted, _) = traffic.due(at(3660), false).unwrap();
        assert_eq!((counted.to_device, counted.to_device_bytes), (1, 50));
        assert_eq!((counted.from_device, counted.since), (0, at(60)));
        // At the end of the server all of it.
        assert!(traffic.due(at(61), true).is_some());
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

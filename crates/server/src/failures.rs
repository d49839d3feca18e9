//! Requests that failed before anyone was recognised: counted by source, and
//! put on the trail once a minute, so that nobody can fill the disk.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use engine::command::Account;
use futures_util::future::join_all;

use crate::App;

const EVERY: Duration = Duration::from_secs(60);
/// Sources told apart within a minute; the rest share one count.
const SOURCES: usize = 256;
const OTHERS: &str = "others";

#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u64>>);

impl Failures {
    pub fn count(&self, source: IpAddr) {
        self.add(source.to_string(), 1);
    }

    fn add(&self, source: String, count: u64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.len() < SOURCES || counts.contains_key(&source);
        *counts
            .entry(if known { source } else { OTHERS.to_owned() })
            .or_default() += count;
    }

    fn take(&self) -> Vec<(String, u64)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain()
            .collect()
    }
}

/// Runs until the server ends.
pub async fn run(app: App) {
    loop {
        tokio::time::sleep(EVERY).await;
        flush(&app).await;
    }
}

/// All of them at once, so that they share a commit: one after the other they
/// would hold up everyone else's for a second.
pub async fn flush(app: &App) {
    let taken = app.failures.take();
    let records = taken.into_iter().map(|(source, count)| async move {
        let command = Account::RecordFailures {
            source: source.clone(),
            count,
        };
        if let Err(refusal) = app.engine.submit(command).await {
            // Counted on, and tried again with the next minute's.
            tracing::warn!(%refusal, "failed requests could not be recorded");
            app.failures.add(source, count);
        }
    });
    join_all(records).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_recorded_is_counted_on() {
        let failures = Failures::default();
        let source: IpAddr = "192.0.2.1".parse().unwrap();
        failures.count(source);
        failures.count(source);
        let taken = failures.take();
        assert_eq!(taken, [("192.0.2.1".to_owned(), 2)]);
        failures.count(source);
        taken
            .into_iter()
            .for_each(|(source, count)| failures.add(source, count));
        assert_eq!(failures.take(), [("192.0.2.1".to_owned(), 3)]);
    }

    #[test]
    fn more_sources_than_are_told_apart_share_one_count() {
        let failures = Failures::default();
        for n in 0..2 * SOURCES {
            failures.add(n.to_string(), 1);
        }
        let taken = failures.take();
        assert_eq!(taken.len(), SOURCES + 1);
        let others = taken.iter().find(|(source, _)| source == OTHERS);
        assert_eq!(others.map(|(_, count)| *count), Some(SOURCES as u64));
    }
}

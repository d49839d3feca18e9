//! Requests that failed before anyone was recognised: counted by source, and
//! put on the trail once a minute, so that nobody can fill the disk.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use engine::Command;

use crate::App;

const EVERY: Duration = Duration::from_secs(60);
/// Sources told apart within a minute; the rest share one count.
const SOURCES: usize = 256;
const OTHERS: &str = "others";

#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u64>>);

impl Failures {
    pub fn count(&self, source: IpAddr) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let source = source.to_string();
        let known = counts.len() < SOURCES || counts.contains_key(&source);
        *counts
            .entry(if known { source } else { OTHERS.to_owned() })
            .or_default() += 1;
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

pub async fn flush(app: &App) {
    for (source, count) in app.failures.take() {
        let command = Command::RecordFailures { source, count };
        if let Err(refusal) = app.engine.submit(command).await {
            tracing::warn!(%refusal, "failed requests could not be recorded");
        }
    }
}

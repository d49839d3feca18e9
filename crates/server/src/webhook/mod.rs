//! Callbacks: a worker that takes what is owed and due, and tries it.
//!
//! What is owed is durable before the worker hears of it, and what came of a
//! try is durable before the next one: a crash in between means that a callback
//! is sent again, with the same id.

mod guard;
mod send;

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use engine::{Command, command::Attempt};
use store::CallbackRow;
use tokio::task::JoinSet;

pub use send::certificates;

use crate::App;

/// Callbacks under way at once.
const AT_ONCE: usize = 32;
/// How long to sleep at the most; a clock may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// After a failure of our own storage.
const PAUSE: Duration = Duration::from_secs(5);

/// Runs until the server ends.
pub async fn run(app: App) {
    let mut under_way: JoinSet<u64> = JoinSet::new();
    let mut taken: HashSet<u64> = HashSet::new();
    loop {
        let sleep = match start_due(&app, &mut under_way, &mut taken).await {
            Ok(sleep) => sleep,
            Err(error) => {
                tracing::warn!(%error, "callbacks could not be read");
                PAUSE
            }
        };
        tokio::select! {
            () = app.shared().callbacks.notified() => {}
            () = tokio::time::sleep(sleep) => {}
            Some(done) = under_way.join_next() => {
                match done {
                    Ok(no) => drop(taken.remove(&no)),
                    Err(error) => {
                        // Which one it was is lost with the panic: look at all again.
                        tracing::error!(%error, "a callback task failed");
                        taken.clear();
                        under_way.abort_all();
                    }
                }
            }
        }
    }
}

async fn start_due(
    app: &App,
    under_way: &mut JoinSet<u64>,
    taken: &mut HashSet<u64>,
) -> store::Result<Duration> {
    let shared = app.shared();
    let now = shared.clock.now();
    // More than can run, since those under way are still due.
    for row in shared.store.callbacks_due(now, 2 * AT_ONCE).await? {
        if taken.len() >= AT_ONCE {
            return Ok(LONGEST_SLEEP);
        }
        if taken.insert(row.no) {
            let app = app.clone();
            under_way.spawn(async move {
                let no = row.no;
                attempt(&app, row).await;
                no
            });
        }
    }
    if !taken.is_empty() {
        return Ok(LONGEST_SLEEP.min(Duration::from_secs(1)));
    }
    let next = shared.store.next_callback().await?;
    Ok(next.map_or(LONGEST_SLEEP, |at| {
        Duration::from_micros(u64::try_from(at.0 - now.0).unwrap_or(0)).min(LONGEST_SLEEP)
    }))
}

async fn attempt(app: &App, row: CallbackRow) {
    let started = std::time::Instant::now();
    let sent = send::send(app, &row).await;
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let counter = match sent.is_ok() {
        true => &app.metrics.callbacks_delivered,
        false => &app.metrics.callbacks_failed,
    };
    counter.fetch_add(1, Ordering::Relaxed);
    let (http_status, error, retry_after_seconds) = match sent {
        Ok(status) => (Some(status), None, None),
        Err(failure) => (
            failure.http_status,
            Some(failure.reason),
            failure.retry_after_seconds,
        ),
    };
    let random = engine::keys::random().map_or(0, u64::from_be_bytes);
    let command = Command::RecordAttempt(Attempt {
        callback: row.no,
        delivery_id: row.delivery_id,
        http_status,
        error,
        took_ms,
        retry_after_seconds,
        random,
    });
    if let Err(refusal) = app.engine.submit(command).await {
        // It stays due, and is tried again.
        tracing::warn!(%refusal, "an attempt could not be recorded");
        tokio::time::sleep(PAUSE).await;
    }
}

//! Callbacks: a worker that takes what is owed and due, and tries it.
//!
//! What is owed is durable before the worker hears of it, and what came of a
//! try is durable before the next one: a crash in between means that a callback
//! is sent again, with the same id.

mod guard;
mod queue;
mod send;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ::wake::webhook::CallbackUrl;
use engine::command::{Attempt, Wake};
use store::CallbackRow;
use tokio::task::JoinSet;

pub use send::certificates;

use crate::App;
use queue::Queue;
use send::Clients;

/// Due callbacks read at a time.
const READ: usize = 64;
/// How long to sleep at the most; a clock may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How soon to look again while some are under way.
const SHORT_SLEEP: Duration = Duration::from_secs(1);
/// After a failure of our own storage.
const PAUSE: Duration = Duration::from_secs(5);

/// Runs until the server ends.
pub async fn run(app: App) {
    let clients = Arc::new(Clients::default());
    let mut under_way: JoinSet<(String, u64)> = JoinSet::new();
    let mut queue = Queue::default();
    loop {
        let sleep = match start_due(&app, &clients, &mut under_way, &mut queue).await {
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
                    Ok((host, no)) => queue.done(&host, no),
                    Err(error) => {
                        // Which one it was is lost with the panic: look at all again.
                        tracing::error!(%error, "a callback task failed");
                        under_way.shutdown().await;
                        queue = Queue::default();
                    }
                }
            }
        }
    }
}

async fn start_due(
    app: &App,
    clients: &Arc<Clients>,
    under_way: &mut JoinSet<(String, u64)>,
    queue: &mut Queue,
) -> store::Result<Duration> {
    loop {
        while let Some((host, row)) = queue.next() {
            let (app, clients) = (app.clone(), Arc::clone(clients));
            under_way.spawn(async move {
                let no = row.no;
                attempt(&app, &clients, row).await;
                (host, no)
            });
        }
        if queue.is_full() || !read_due(app, queue).await? {
            break;
        }
    }
    if !queue.is_empty() {
        return Ok(SHORT_SLEEP);
    }
    let shared = app.shared();
    let (now, next) = (shared.clock.now(), shared.store.next_callback().await?);
    Ok(next.map_or(LONGEST_SLEEP, |at| {
        Duration::from_micros(u64::try_from(at.0 - now.0).unwrap_or(0)).min(LONGEST_SLEEP)
    }))
}

/// Puts more of what is due into the queue; false if there is no more.
async fn read_due(app: &App, queue: &mut Queue) -> store::Result<bool> {
    let shared = app.shared();
    // Those in the queue are still due.
    let most = queue.len() + READ;
    let due = shared.store.callbacks_due(shared.clock.now(), most).await?;
    let known = queue.len();
    for row in due {
        if !queue.knows(&row) {
            queue.add(host(app, &row).await?, row);
        }
    }
    Ok(queue.len() > known)
}

/// The host and port that a callback goes to.
async fn host(app: &App, row: &CallbackRow) -> store::Result<String> {
    let delivery = app.shared().store.delivery(row.delivery_id).await?;
    let url = delivery.and_then(|delivery| delivery.callback);
    let callback = url.and_then(|url| CallbackUrl::parse(&url).ok());
    Ok(callback.map_or_else(String::new, |callback| callback.authority()))
}

async fn attempt(app: &App, clients: &Clients, row: CallbackRow) {
    let started = std::time::Instant::now();
    let sent = send::send(app, clients, &row).await;
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
    let command = Wake::RecordAttempt(Attempt {
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

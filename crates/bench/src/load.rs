//! The load generator: a fixed number of connections, each doing its work again
//! as soon as it is done (a closed loop), for a warm-up and a measured window.
//!
//! It runs on one thread. The machine's cores are shared with the server, and a
//! generator that can take only one of them leaves the others to the server,
//! whichever server it is; the wake-ups of 512 connections then cost no
//! cross-thread traffic either.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::child::Process;
use crate::connection::Connection;
use crate::work::{Requests, Target, Work};

/// An answer that has not come this long after the window is a failure.
const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What one measurement found.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub operations: usize,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// User and system time of the server, per operation.
    pub server_cpu_us: f64,
    /// Over warm-up and window: nothing may fail at any time.
    pub failures: u64,
    pub first_failure: Option<String>,
}

#[derive(Debug, Default)]
struct Tally {
    latencies_us: Vec<u32>,
    failures: u64,
    first_failure: Option<String>,
}

impl Tally {
    fn fail(&mut self, error: &anyhow::Error) {
        self.failures += 1;
        self.first_failure
            .get_or_insert_with(|| format!("{error:#}"));
    }
}

pub async fn run(
    target: &Target,
    process: Process,
    connections: usize,
    work: Work,
    window: Window,
) -> Result<Sample> {
    let open = tokio::time::timeout(GRACE, open(target, connections))
        .await
        .with_context(|| format!("{connections} connections took more than {GRACE:?}"))??;
    let work = Arc::new(work);
    let from = Instant::now() + window.warm_up;
    let until = from + window.measured;
    let mut workers = JoinSet::new();
    for conn in open {
        workers.spawn(repeat(conn, target.clone(), Arc::clone(&work), from, until));
    }
    tokio::time::sleep_until(from).await;
    let cpu_before = process.cpu()?;
    tokio::time::sleep_until(until).await;
    let cpu = process.cpu()?.saturating_sub(cpu_before);
    let tally = gather(workers, until + GRACE).await;
    Ok(summarise(tally, window.measured, cpu))
}

async fn open(target: &Target, connections: usize) -> Result<Vec<Connection>> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(target.addr).await.context("connect")?);
    }
    Ok(open)
}

async fn repeat(
    mut conn: Connection,
    target: Target,
    work: Arc<Work>,
    from: Instant,
    until: Instant,
) -> Tally {
    let mut requests = Requests::new(&target);
    let mut tally = Tally::default();
    let mut started = Instant::now();
    while started < until {
        let outcome = requests.perform(&mut conn, &work).await;
        let ended = Instant::now();
        match outcome {
            Ok(()) if ended >= from && ended < until => {
                let latency = ended.duration_since(started).as_micros();
                tally
                    .latencies_us
                    .push(u32::try_from(latency).unwrap_or(u32::MAX));
            }
            Ok(()) => {}
            Err(error) => {
                tally.fail(&error);
                // The stream may be out of step; a server that refuses a new one is gone.
                match Connection::open(target.addr).await {
                    Ok(fresh) => conn = fresh,
                    Err(_) => return tally,
                }
            }
        }
        started = ended;
    }
    tally
}

async fn gather(mut workers: JoinSet<Tally>, deadline: Instant) -> Tally {
    let mut all = Tally::default();
    loop {
        match tokio::time::timeout_at(deadline, workers.join_next()).await {
            Ok(Some(Ok(tally))) => {
                all.latencies_us.extend(tally.latencies_us);
                all.failures += tally.failures;
                all.first_failure = all.first_failure.or(tally.first_failure);
            }
            Ok(Some(Err(error))) => all.fail(&error.into()),
            Ok(None) => return all,
            Err(_) => {
                for _ in 0..workers.len() {
                    all.fail(&anyhow::anyhow!("no answer within {GRACE:?}"));
                }
                workers.shutdown().await;
                return all;
            }
        }
    }
}

fn summarise(tally: Tally, measured: Duration, cpu: Duration) -> Sample {
    let mut latencies = tally.latencies_us;
    latencies.sort_unstable();
    let operations = latencies.len();
    Sample {
        operations,
        per_second: operations as f64 / measured.as_secs_f64(),
        p50_us: quantile(&latencies, 0.50),
        p99_us: quantile(&latencies, 0.99),
        max_us: quantile(&latencies, 1.0),
        server_cpu_us: cpu.as_secs_f64() * 1e6 / operations.max(1) as f64,
        failures: tally.failures,
        first_failure: tally.first_failure,
    }
}

/// The smallest value that at least `share` of the sorted ones do not exceed.
fn quantile(sorted: &[u32], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(0)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        let sorted: Vec<u32> = (1..=100).collect();
        assert_eq!(quantile(&sorted, 0.50), 50.0);
        assert_eq!(quantile(&sorted, 0.99), 99.0);
        assert_eq!(quantile(&sorted, 1.0), 100.0);
        assert_eq!(quantile(&[7], 0.5), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}

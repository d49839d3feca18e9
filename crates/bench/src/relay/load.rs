//! Pairs that send as fast as the relay lets them: so many frames of each pair
//! are on their way at any time, and for each that arrives another is sent.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::peer::{masked, received_bytes};
use super::road::Stream;
use crate::child::Process;

/// A client and a device that can reach each other.
#[derive(Debug)]
pub struct Pair {
    pub client: Stream,
    pub device: Stream,
    /// What goes from one to the other.
    pub text: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub relayed: usize,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// User and system time of the server, per frame.
    pub server_cpu_us: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub warm_up: Duration,
    pub measured: Duration,
    /// Frames of one pair on their way at once.
    pub in_flight: usize,
}

pub async fn run(pairs: Vec<Pair>, process: Process, window: Window) -> Result<Sample> {
    let from = Instant::now() + window.warm_up;
    let until = from + window.measured;
    let mut working = JoinSet::new();
    for pair in pairs {
        working.spawn(work(pair, window.in_flight, from, until));
    }
    tokio::time::sleep_until(from.into()).await;
    let before = process.cpu()?;
    tokio::time::sleep_until(until.into()).await;
    let cpu = process.cpu()?.saturating_sub(before);
    let mut latencies = Vec::new();
    while let Some(worked) = working.join_next().await {
        latencies.extend(worked??);
    }
    let relayed = latencies.len();
    ensure!(relayed > 0, "nothing was relayed");
    latencies.sort_unstable();
    let at = |part: f64| f64::from(latencies[((relayed - 1) as f64 * part) as usize]);
    Ok(Sample {
        relayed,
        per_second: relayed as f64 / window.measured.as_secs_f64(),
        p50_us: at(0.5),
        p99_us: at(0.99),
        server_cpu_us: cpu.as_secs_f64() * 1e6 / relayed as f64,
    })
}

/// Gives how long each frame took that arrived in the window, in microseconds.
async fn work(pair: Pair, in_flight: usize, from: Instant, until: Instant) -> Result<Vec<u32>> {
    let Pair {
        mut client,
        mut device,
        text,
    } = pair;
    let frame = masked(&text);
    let frames = frame.repeat(in_flight);
    let each = received_bytes(text.len());
    let mut latencies = Vec::new();
    let mut on_their_way: VecDeque<(Instant, usize)> = VecDeque::new();
    let mut room = vec![0; 32 << 10];
    let (mut pending, mut missing) = (0, in_flight);
    loop {
        let now = Instant::now();
        if now >= until {
            break;
        }
        client.write_all(&frames[..missing * frame.len()]).await?;
        client.flush().await?;
        on_their_way.push_back((now, missing));
        // Whole frames, and perhaps the beginning of another.
        missing = 0;
        while missing == 0 {
            let read = tokio::time::timeout(Duration::from_secs(10), device.read(&mut room));
            let read = read.await.context("a frame was lost")??;
            ensure!(read > 0, "the server closed a connection");
            pending += read;
            missing = pending / each;
            pending %= each;
        }
        let arrived = Instant::now();
        let counts = arrived >= from && arrived < until;
        let mut left = missing;
        while left > 0 {
            let (sent, count) = on_their_way.front_mut().context("one frame too many")?;
            let taken = left.min(*count);
            if counts {
                let micros = arrived.duration_since(*sent).as_micros();
                let micros = u32::try_from(micros).unwrap_or(u32::MAX);
                latencies.extend(std::iter::repeat_n(micros, taken));
            }
            *count -= taken;
            left -= taken;
            if *count == 0 {
                on_their_way.pop_front();
            }
        }
    }
    Ok(latencies)
}
